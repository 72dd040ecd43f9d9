// Package notes is the course's concept pages, English and Chinese: one a lab, each linked to the lab, to the page's picture and to the
// function in engine/ that does what it tells.
package notes

import "embed"

// Pages holds NN-name/{en,zh}.md; NN-name is the lab's id.
//
//go:embed */en.md */zh.md
var Pages embed.FS
