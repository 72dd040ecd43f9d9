package engine_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadme resolves what README.md names: packages, files, and the functions that the guided reads send the reader to.
func TestReadme(t *testing.T) {
	content, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var everything strings.Builder
	for _, file := range sources(t) {
		if !file.test {
			code, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(file.name)))
			if err != nil {
				t.Fatal(err)
			}
			everything.Write(code)
		}
	}
	packageRow := regexp.MustCompile("(?m)^\\| (`[^|]+) \\|")
	for _, row := range packageRow.FindAllStringSubmatch(string(content), -1) {
		for _, name := range strings.Split(row[1], ", ") {
			name = strings.Trim(name, "`")
			if matches, _ := filepath.Glob(filepath.Join(filepath.FromSlash(name), "*.go")); len(matches) == 0 {
				t.Errorf("README.md names the package %s, which has no Go file", name)
			}
		}
	}
	for _, match := range regexp.MustCompile("`([a-z/]+\\.go)`").FindAllStringSubmatch(string(content), -1) {
		if _, err := os.Stat(filepath.FromSlash(match[1])); err != nil && match[1] != "deps_test.go" {
			t.Errorf("README.md names the file %s: %v", match[1], err)
		}
	}
	for _, match := range regexp.MustCompile("`([A-Za-z]+)\\.([A-Za-z]+)`").FindAllStringSubmatch(string(content), -1) {
		if match[2] == "go" || match[2] == "md" {
			continue
		}
		method := regexp.MustCompile(`func \(\w+ \*?` + match[1] + `\) ` + match[2] + `\(`)
		function := regexp.MustCompile(`func ` + match[2] + `\(`)
		if code := everything.String(); !method.MatchString(code) && !(match[1] == "records" && function.MatchString(code)) {
			t.Errorf("README.md names %s, which is not in the code", match[0])
		}
	}
}

// TestEnsembleReadme follows the guided reads of the ensemble's README: a file, and what it has that the reader is sent to.
func TestEnsembleReadme(t *testing.T) {
	content, err := os.ReadFile("ensemble/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, reads, found := strings.Cut(string(content), "## Four guided reads")
	reads, _, ended := strings.Cut(reads, "## ")
	if !found || !ended {
		t.Fatal("ensemble/README.md has no guided reads")
	}
	var file, code string
	for _, match := range regexp.MustCompile("`([A-Za-z/]+)(\\.go)?`").FindAllStringSubmatch(reads, -1) {
		if match[2] != "" {
			file = match[1] + match[2]
			source, err := os.ReadFile(filepath.Join("ensemble", filepath.FromSlash(file)))
			if err != nil {
				t.Errorf("ensemble/README.md names a file: %v", err)
			}
			code = string(source)
		} else if !regexp.MustCompile(`(?m)^func (\(.*\) )?` + match[1] + `\(|^func \(\w+ ` + match[1] + `\) `).MatchString(code) {
			t.Errorf("ensemble/README.md names %s in %s, where it is not", match[1], file)
		}
	}
}
