// Package catalogue holds the labs: one folder each, with lab.yaml, en.md and zh.md.
package catalogue

import (
	"embed"
	"io/fs"
	"strings"
)

// Files has a folder a lab.
//
//go:embed */lab.yaml */*.md
var Files embed.FS

// ID is the id of the lab whose number a name is: 01-first-messages of 01. Any other name is taken for an id.
func ID(name string) string {
	entries, err := fs.ReadDir(Files, ".")
	if err != nil {
		return name
	}
	for _, entry := range entries {
		if number, _, _ := strings.Cut(entry.Name(), "-"); number == name {
			return entry.Name()
		}
	}
	return name
}
