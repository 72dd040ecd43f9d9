// Command write puts the generated types into the page's sources. `go generate` runs it from the directory of its parent package.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"twinlog/visualizer/typescript"
)

func main() {
	if err := write(filepath.Join("..", "..")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(root string) error {
	for output, generate := range typescript.Outputs {
		text, err := generate(os.DirFS(root))
		if err != nil {
			return err
		}
		path := filepath.Join(root, filepath.FromSlash(output))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
