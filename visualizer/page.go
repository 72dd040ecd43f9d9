package visualizer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"twinlog/engine/sentence"
)

// contentTypes by the end of a file's name. The system's own table is not asked: on some machines it calls scripts text.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".json": "application/json", ".map": "application/json", ".svg": "image/svg+xml", ".png": "image/png", ".ico": "image/x-icon",
	".woff2": "font/woff2", ".webmanifest": "application/manifest+json", ".txt": "text/plain; charset=utf-8", ".wasm": "application/wasm",
}

// page serves the page's files. What the build has put under assets/ has a hash in its name and never changes; everything else is asked
// for again each time, and answered with 304 while it is the same.
func (s *Server) page(files fs.FS) gin.HandlerFunc {
	return func(c *gin.Context) {
		request := c.Request
		if strings.HasPrefix(request.URL.Path, "/api/") {
			refuse(c, http.StatusNotFound, "notFound", sentence.Of("noSuchPath", `the API has nothing at "{path}"; /api/v1/openapi.json lists what there is`, request.URL.Path))
			return
		}
		if request.Method != http.MethodGet && request.Method != http.MethodHead {
			refuse(c, http.StatusMethodNotAllowed, "methodNotAllowed", sentence.Of("pageIsReadOnly", "the page's files can only be read"))
			return
		}
		name := strings.TrimPrefix(path.Clean("/"+request.URL.Path), "/")
		if name == "" {
			name = "index.html"
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			refuse(c, http.StatusNotFound, "notFound", sentence.Of("noSuchPageFile", `the page has no file "{file}"`, name))
			return
		}
		header := c.Writer.Header()
		header.Set("Content-Type", contentType(name))
		if strings.HasPrefix(name, "assets/") {
			header.Set("Cache-Control", "private, max-age=31536000, immutable")
		} else {
			header.Set("Cache-Control", "private, no-cache")
		}
		sum := sha256.Sum256(text)
		header.Set("ETag", `"`+hex.EncodeToString(sum[:16])+`"`)
		c.Status(http.StatusOK) // gin's NoRoute has 404 prepared
		http.ServeContent(c.Writer, request, name, time.Time{}, bytes.NewReader(text))
	}
}

func contentType(name string) string {
	if known, ok := contentTypes[path.Ext(name)]; ok {
		return known
	}
	return "application/octet-stream"
}
