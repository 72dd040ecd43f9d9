package visualizer

import (
	"go/ast"
	"os"
	"strings"
	"testing"
)

func TestADeclarationIsCutOutWithItsComment(t *testing.T) {
	content, err := os.ReadFile("notes.go")
	if err != nil {
		t.Fatal(err)
	}
	for symbol, begins := range map[string]string{
		"Server.getSource": "func (s *Server) getSource(",
		"declaration":      "// declaration is where",
	} {
		first, last, found := declaration("notes.go", content, symbol)
		if text := string(content[first:last]); !found || !strings.HasPrefix(text, begins) || !strings.HasSuffix(text, "}") {
			t.Errorf("%s: %v %q", symbol, found, text)
		}
	}
	for _, symbol := range []string{"nothing", "Server", "Server.nothing", "getSource"} {
		if _, _, found := declaration("notes.go", content, symbol); found {
			t.Errorf("notes.go declares no %s", symbol)
		}
	}
	if _, _, found := declaration("broken.go", []byte("package broken\nfunc ("), "f"); found {
		t.Error("what does not parse declares nothing")
	}
	if name, _ := nameOf(&ast.BadDecl{}); name != "" {
		t.Errorf("a bad declaration is called %q", name)
	}
}
