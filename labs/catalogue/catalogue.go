// Package catalogue holds the labs: one folder each, with lab.yaml, en.md and zh.md.
package catalogue

import "embed"

// Files has a folder a lab.
//
//go:embed */lab.yaml */*.md
var Files embed.FS
