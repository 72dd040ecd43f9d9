// Package web holds the page as it was built, so that the binary carries it.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Page returns the files of the page, index.html at the top: the built page where this binary was built with it, else the placeholder
// that says how to build it.
func Page() fs.FS {
	for _, directory := range []string{"dist/app", "dist"} {
		page, err := fs.Sub(dist, directory)
		if err != nil {
			continue
		}
		if _, err := fs.Stat(page, "index.html"); err == nil {
			return page
		}
	}
	return dist
}
