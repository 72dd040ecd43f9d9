package visualizer

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/gin-gonic/gin"

	"twinlog/engine/sentence"
	"twinlog/notes"
	"twinlog/visualizer/wire"
)

// notesTable is the routes of what is read: concept pages, and the engines' code that they lead to.
func (s *Server) notesTable() []route {
	language := []parameter{{"lang", "en or zh; en unless told", "string"}}
	return []route{
		{method: "GET", path: "/notes", about: "The concept pages' ids and titles, in the course's order", handle: s.getNotes,
			query: language, status: 200, answer: wire.Notes{}},
		{method: "GET", path: "/notes/:id", about: "The concept page of a lab; links in it are queries: note, lab, view, source with symbol", handle: s.getNote,
			query: language, status: 200, answer: notes.Page{}, problems: []int{404}},
		{method: "GET", path: "/source", about: "The engines' code: a file, or one declaration in it with its comment", handle: s.getSource,
			query:  []parameter{{"file", "engine/kafka/replica/leader.go", "string"}, {"symbol", "Partition.Fetched; without it the whole file", "string"}},
			status: 200, answer: wire.Source{}, problems: []int{404, 501}},
	}
}

// languageOf is the language that is asked for; where there is no such one it has refused.
func languageOf(c *gin.Context) (language string, ok bool) {
	language = c.DefaultQuery("lang", "en")
	if ok = language == "en" || language == "zh"; !ok {
		refuse(c, http.StatusBadRequest, "badRequest", sentence.Of("notALanguage", `lang is en or zh, not "{given}"`, language))
	}
	return language, ok
}

func (s *Server) getNotes(c *gin.Context) {
	language, ok := languageOf(c)
	if !ok {
		return
	}
	list, err := notes.Titles(language)
	if err != nil {
		refuseError(c, err)
		return
	}
	c.JSON(http.StatusOK, wire.Notes{Notes: list})
}

func (s *Server) getNote(c *gin.Context) {
	language, ok := languageOf(c)
	if !ok {
		return
	}
	page, err := notes.Read(c.Param("id"), language)
	switch {
	case errors.Is(err, notes.ErrUnknown):
		refuse(c, http.StatusNotFound, "notFound", sentence.Of("noSuchNote", `there is no note "{note}"`, c.Param("id")))
	case err != nil:
		refuseError(c, err)
	default:
		c.JSON(http.StatusOK, page)
	}
}

func (s *Server) getSource(c *gin.Context) {
	if s.config.Sources == nil {
		refuse(c, http.StatusNotImplemented, "notAvailable", sentence.Of("noSource", "this process was built without the engines' code"))
		return
	}
	file, symbol := c.Query("file"), c.Query("symbol")
	if !fs.ValidPath(file) || !strings.HasPrefix(file, "engine/") {
		refuse(c, http.StatusNotFound, "notFound", sentence.Of("noSuchSource", `there is no file "{file}" under engine/`, file))
		return
	}
	content, err := fs.ReadFile(s.config.Sources, file)
	if err != nil {
		refuse(c, http.StatusNotFound, "notFound", sentence.Of("noSuchSource", `there is no file "{file}" under engine/`, file))
		return
	}
	answer := wire.Source{File: file, Symbol: symbol, Line: 1, Text: string(content)}
	if symbol != "" {
		first, last, found := declaration(file, content, symbol)
		if !found {
			refuse(c, http.StatusNotFound, "notFound", sentence.Of("noSuchSymbol", `{file} declares no "{symbol}"`, path.Base(file), symbol))
			return
		}
		answer.Line = bytes.Count(content[:first], []byte("\n")) + 1
		answer.Text = string(content[first:last])
	}
	c.JSON(http.StatusOK, answer)
}

// declaration is where a function, a method (Type.Method) or a type stands in a file, its comment included.
func declaration(file string, content []byte, symbol string) (first, last int, found bool) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return 0, 0, false
	}
	for _, one := range parsed.Decls {
		name, doc := nameOf(one)
		if name != symbol {
			continue
		}
		begin := one.Pos()
		if doc != nil {
			begin = doc.Pos()
		}
		return files.Position(begin).Offset, files.Position(one.End()).Offset, true
	}
	return 0, 0, false
}

func nameOf(declared ast.Decl) (name string, doc *ast.CommentGroup) {
	switch one := declared.(type) {
	case *ast.FuncDecl:
		if one.Recv == nil || len(one.Recv.List) == 0 {
			return one.Name.Name, one.Doc
		}
		receiver := one.Recv.List[0].Type
		if pointer, isPointer := receiver.(*ast.StarExpr); isPointer {
			receiver = pointer.X
		}
		if named, isNamed := receiver.(*ast.Ident); isNamed {
			return named.Name + "." + one.Name.Name, one.Doc
		}
	case *ast.GenDecl:
		if len(one.Specs) == 1 {
			if named, isType := one.Specs[0].(*ast.TypeSpec); isType {
				return named.Name.Name, one.Doc
			}
		}
	}
	return "", nil
}
