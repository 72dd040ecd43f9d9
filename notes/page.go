package notes

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	"twinlog/labs/chinese"
)

// Page is a concept page as the browser shows it.
type Page struct {
	ID    string `json:"id"` // the lab's
	Title string `json:"title"`
	HTML  string `json:"html"` // of the text below the title; links are queries of the page's own address, see queryOf
}

// ErrUnknown: no such page.
var ErrUnknown = errors.New("there is no such note")

var pageName = regexp.MustCompile(`^\d\d-[a-z0-9-]+$`)

// Read renders the note that belongs to a lab, in a language ("en" or "zh").
func Read(id, language string) (Page, error) {
	if !pageName.MatchString(id) || (language != "en" && language != "zh") {
		return Page{}, ErrUnknown
	}
	source, err := Pages.ReadFile(path.Join(id, language+".md"))
	if errors.Is(err, fs.ErrNotExist) {
		return Page{}, ErrUnknown
	}
	if err != nil {
		return Page{}, fmt.Errorf("notes: reading %s: %w", id, err)
	}
	page := Page{ID: id}
	if title, rest, found := bytes.Cut(source, []byte("\n")); found && bytes.HasPrefix(title, []byte("# ")) {
		page.Title, source = string(title[2:]), rest
	}
	extensions := []goldmark.Extender{extension.Table}
	if language == "zh" {
		extensions = append(extensions, chinese.Lines)
	}
	markdown := goldmark.New(goldmark.WithExtensions(extensions...))
	document := markdown.Parser().Parse(text.NewReader(source))
	err = ast.Walk(document, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if link, isLink := node.(*ast.Link); isLink && entering {
			link.Destination = []byte(queryOf(id, string(link.Destination), linkText(link, source)))
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return Page{}, err
	}
	var html bytes.Buffer
	if err := markdown.Renderer().Render(&html, source, document); err != nil {
		return Page{}, fmt.Errorf("notes: rendering %s: %w", id, err)
	}
	page.HTML = html.String()
	return page, nil
}

// Titles lists the notes in the course's order, without their texts.
func Titles(language string) ([]Page, error) {
	entries, err := Pages.ReadDir(".")
	if err != nil {
		return nil, err
	}
	list := make([]Page, 0, len(entries))
	for _, entry := range entries {
		page, err := Read(entry.Name(), language)
		if err != nil {
			return nil, err
		}
		page.HTML = ""
		list = append(list, page)
	}
	return list, nil
}

func linkText(link *ast.Link, source []byte) string {
	var words strings.Builder
	_ = ast.Walk(link, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if part, isText := node.(*ast.Text); isText && entering {
			words.Write(part.Segment.Value(source))
		}
		return ast.WalkContinue, nil
	})
	return words.String()
}

// queryOf is where a link leads within the page:
//
//	../06-isr-and-acks/en.md                        ?note=06-isr-and-acks
//	../../labs/catalogue/06-isr-and-acks/en.md      ?lab=06-isr-and-acks
//	[`Log.Append`](../../engine/commitlog/append.go)  ?source=engine/commitlog/append.go&symbol=Log.Append
//	http://127.0.0.1:7700/?view=charts              ?view=charts
func queryOf(id, destination, linkText string) string {
	if address, err := url.Parse(destination); err == nil && address.IsAbs() {
		return "?" + address.RawQuery
	}
	file := path.Join("notes", id, destination)
	switch folder := path.Base(path.Dir(file)); {
	case strings.HasPrefix(file, "notes/"):
		return "?note=" + folder
	case strings.HasPrefix(file, "labs/catalogue/"):
		return "?lab=" + folder
	}
	query := url.Values{"source": {file}}
	if path.Ext(file) == ".go" {
		query.Set("symbol", linkText)
	}
	return "?" + query.Encode()
}
