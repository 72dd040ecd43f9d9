package notes

import (
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	link   = regexp.MustCompile(`\[([^\]]+)\]\(([^)\s]+)\)`)
	symbol = regexp.MustCompile("^`(?:([A-Za-z]+)\\.)?([A-Za-z]+)`$")
)

// views are the values of ?view= that the page's address takes (web/src/views/address.ts).
var views = []string{"picture", "table", "charts", "story"}

// TestEveryLinkLeadsSomewhere resolves each link of each page: files by their path, functions by their declaration in the file that the
// link names, places of the page by the names that its address knows.
func TestEveryLinkLeadsSomewhere(t *testing.T) {
	pages := append([]string{"README.md"}, markdown(t)...)
	for _, page := range pages {
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range link.FindAllStringSubmatch(string(content), -1) {
			if problem := follow(page, found[1], found[2]); problem != "" {
				t.Errorf("%s: %s: %s", page, found[0], problem)
			}
		}
	}
}

func follow(page, text, target string) string {
	if strings.HasPrefix(target, "http") {
		address, err := url.Parse(target)
		if err != nil || address.Host != "127.0.0.1:7700" {
			return "a page leads to nothing outside of this machine"
		}
		if view := address.Query().Get("view"); !slices.Contains(views, view) {
			return "the page has no view " + view
		}
		return ""
	}
	file := filepath.FromSlash(path.Join(path.Dir(filepath.ToSlash(page)), target))
	content, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	name := symbol.FindStringSubmatch(text)
	if name == nil {
		return ""
	}
	declaration := `(?m)^func ` + name[2] + `\(`
	if name[1] != "" {
		declaration = `(?m)^func \(\w* ?\*?` + name[1] + `\) ` + name[2] + `\(`
	}
	if !regexp.MustCompile(declaration).Match(content) {
		return "the file does not declare it"
	}
	return ""
}

// TestEveryLabHasItsNote: both languages, each with the lab, the picture and code behind it.
func TestEveryLabHasItsNote(t *testing.T) {
	labs, err := filepath.Glob(filepath.FromSlash("../labs/catalogue/*/lab.yaml"))
	if err != nil || len(labs) == 0 {
		t.Fatal("no labs", err)
	}
	for _, lab := range labs {
		id := filepath.Base(filepath.Dir(lab))
		for _, language := range []string{"en", "zh"} {
			page := id + "/" + language + ".md"
			content, err := fs.ReadFile(Pages, page)
			if err != nil {
				t.Errorf("lab %s: %v", id, err)
				continue
			}
			for _, part := range []string{"../../labs/catalogue/" + id + "/" + language + ".md", "http://127.0.0.1:7700/?view=", "../../engine/"} {
				if !strings.Contains(string(content), part) {
					t.Errorf("%s does not lead to %s", page, part)
				}
			}
		}
	}
}

// TestLinksAreResolvedForReal keeps the two tests above able to fail.
func TestLinksAreResolvedForReal(t *testing.T) {
	for _, wrong := range [][2]string{
		{"a page", "../no-such.md"},
		{"`Log.Fly`", "../engine/commitlog/append.go"},
		{"the picture", "http://127.0.0.1:7700/?view=dream"},
		{"elsewhere", "https://example.org/"},
	} {
		if follow("README.md", wrong[0], wrong[1]) == "" {
			t.Errorf("[%s](%s) leads nowhere, and nobody says so", wrong[0], wrong[1])
		}
	}
	if problem := follow("README.md", "`Log.Append`", "../engine/commitlog/append.go"); problem != "" {
		t.Error(problem)
	}
}

func markdown(t *testing.T) []string {
	t.Helper()
	pages, err := fs.Glob(Pages, "*/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal("no pages", err)
	}
	return pages
}
