// Package chinese joins the lines of a Chinese Markdown text as a Chinese reader expects them. Where the file breaks a line between two
// Chinese characters, or at Chinese punctuation, no gap must be seen; between a character and a Latin word there must be one, as within a line.
package chinese

import (
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Lines is the extension for goldmark. (Its own for East Asian line breaks loses the gap between a character and a word, and every gap
// beside a code span or a link.)
var Lines goldmark.Extender = lines{}

type lines struct{}

func (lines) Extend(markdown goldmark.Markdown) {
	markdown.Parser().AddOptions(parser.WithASTTransformers(util.Prioritized(lines{}, 100)))
}

// Transform takes away the line breaks that would be seen as a gap where none belongs. Those that stay are seen as a space.
func (lines) Transform(document *ast.Document, reader text.Reader, _ parser.Context) {
	source := reader.Source()
	_ = ast.Walk(document, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if words, ok := node.(*ast.Text); ok && entering && words.SoftLineBreak() {
			words.SetSoftLineBreak(gap(before(source[:words.Segment.Stop]), after(source[words.Segment.Stop:])))
		}
		return ast.WalkContinue, nil
	})
}

// gap tells whether a space belongs between two characters.
func gap(left, right rune) bool {
	if wide(left) && wide(right) {
		return false
	}
	return !wideMark(left) && !wideMark(right)
}

func wide(r rune) bool { return unicode.Is(unicode.Han, r) || wideMark(r) }

// wideMark tells whether a rune is punctuation that brings its own space.
func wideMark(r rune) bool {
	switch r {
	case '“', '”', '‘', '’', '…', '—':
		return true
	}
	return r >= 0x3000 && r <= 0x303f || r >= 0xff00 && r <= 0xff60
}

// unseen are the marks of Markdown that stand between a line break and what is seen beside it, and the spaces.
func unseen(r rune) bool {
	switch r {
	case '*', '_', '`', '[', ' ', '\t', '\n':
		return true
	}
	return false
}

func before(source []byte) rune {
	for len(source) > 0 {
		r, size := utf8.DecodeLastRune(source)
		if !unseen(r) {
			return r
		}
		source = source[:len(source)-size]
	}
	return ' '
}

func after(source []byte) rune {
	for len(source) > 0 {
		r, size := utf8.DecodeRune(source)
		if !unseen(r) {
			return r
		}
		source = source[size:]
	}
	return ' '
}
