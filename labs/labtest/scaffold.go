package labtest

import (
	"embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
)

//go:embed scaffold/*
var template embed.FS

var folderName = regexp.MustCompile(`^[0-9]{2}-[a-z0-9-]+$`)

// scaffold makes a lab's folder. One that is there already is left alone.
func scaffold(out io.Writer, directory string) error {
	if name := filepath.Base(directory); !folderName.MatchString(name) {
		return fmt.Errorf("a lab's folder is named like 11-my-lab (two digits, then a-z, 0-9 and -), not %q", name)
	}
	if err := os.Mkdir(directory, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"lab.yaml", "en.md", "zh.md"} {
		content, err := template.ReadFile("scaffold/" + name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(directory, name), content, 0o644); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "%s: lab.yaml, en.md and zh.md are there. Change them, and hold them to what labs promise with: twinlog lab test %s\n", directory, directory)
	return nil
}
