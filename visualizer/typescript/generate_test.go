package typescript_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"twinlog/visualizer/typescript"
)

const root = "../.."

func TestWhatIsGeneratedIsFresh(t *testing.T) {
	for output, generate := range typescript.Outputs {
		want, err := generate(os.DirFS(root))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(root, output))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is stale: the Go code has changed since. Run `go generate ./visualizer/typescript`.", output)
		}
	}
}

// TestShapes writes a small trace and world and looks at what comes out.
func TestShapes(t *testing.T) {
	const tracePackage = `package trace
// Partition names one.
type Partition struct {
	Topic string ` + "`json:\"topic\"`" + `
}
type Folded int
// Appended says that a log grew.
type Appended struct {
	Partition
	ISR    []int32           ` + "`json:\"isr\"`" + ` // in sync
	Config map[string]string ` + "`json:\"config,omitempty\"`" + `
	Folded Folded            ` + "`json:\"folded,omitempty\"`" + `
	Until  *time.Time        ` + "`json:\"until\"`" + `
	hidden int
}
func (Appended) Kind() string { return "kafka.appended" }
`
	got, err := typescript.Generate(packages(tracePackage))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"/** Partition names one. */\nexport interface Partition {\n  topic: string;\n}\n",
		"export interface Appended extends Partition {\n  /** in sync */\n  isr: number[] | null;\n" +
			"  config?: Record<string, string>;\n  folded?: number;\n  until: string | null;\n}\n",
		"  \"kafka.appended\": Appended;\n",
		"export const kinds: readonly Kind[] = [\n  \"kafka.appended\",\n];\n",
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("missing:\n%s\nin:\n%s", want, got)
		}
	}
}

func TestTypesWithoutTypeScriptAreRefused(t *testing.T) {
	for name, field := range map[string]string{
		"channel": "C chan int `json:\"c\"`",
		"no tag":  "C int",
		"foreign": "C big.Int `json:\"c\"`",
	} {
		if _, err := typescript.Generate(packages("package trace\ntype E struct {\n" + field + "\n}\n")); err == nil {
			t.Errorf("%s: no error", name)
		} else if !strings.Contains(err.Error(), "trace.E.C") {
			t.Errorf("%s: the error does not name the field: %v", name, err)
		}
	}
}

func packages(trace string) fstest.MapFS {
	empty := func(name string) *fstest.MapFile { return &fstest.MapFile{Data: []byte("package " + name + "\n")} }
	return fstest.MapFS{
		"engine/trace/a.go":          &fstest.MapFile{Data: []byte(trace)},
		"engine/world/a.go":          empty("world"),
		"engine/sentence/a.go":       empty("sentence"),
		"engine/administration/a.go": empty("administration"),
		"engine/cluster/a.go":        empty("cluster"),
		"engine/situation/a.go":      empty("situation"),
		"engine/workload/a.go":       empty("workload"),
		"labs/a.go":                  empty("labs"),
		"notes/a.go":                 empty("notes"),
		"labs/lab/a.go":              empty("lab"),
		"visualizer/wire/a.go":       empty("wire"),
		"visualizer/store/a.go":      empty("store"),
	}
}

// TestSentences: a sentence that the page could not translate is refused where it is said.
func TestSentences(t *testing.T) {
	file := func(call string) fstest.MapFS {
		code := "package a\nimport \"twinlog/engine/sentence\"\nvar _ = " + call + "\n"
		return fstest.MapFS{"engine/a.go": {Data: []byte(code)}, "engine/a_test.go": {Data: []byte("package a; not Go")}}
	}
	got, err := typescript.Sentences(file(`[]any{sentence.Of("b", "it is "+"{state}", state), sentence.Error(kind, "a", "it's {count} {count|node|nodes}", 1)}`))
	if want := "  'said.a': 'it\\'s {count} {count|node|nodes}',\n  'said.b': 'it is {state}',\n"; err != nil || !strings.Contains(string(got), want) {
		t.Errorf("%v, %s, want %s", err, got, want)
	}
	for _, wrong := range []string{
		`sentence.Of(key, "it is so")`, `sentence.Of("a", "it is {state}")`, `sentence.Of("a", "it is so", 1)`, `sentence.Of("a", "{all}", all...)`,
		`[]any{sentence.Of("a", "it is so"), sentence.Error(nil, "a", "it is not so")}`,
	} {
		if _, err := typescript.Sentences(file(wrong)); err == nil {
			t.Errorf("%s: no error", wrong)
		}
	}
}
