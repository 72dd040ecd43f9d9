package engine_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "twinlog/"

// importRule says which of our own packages a package may import, and why no others. The rule with the longest matching prefix holds;
// a package without a rule may import nothing of ours.
type importRule struct {
	from   string
	may    []string // prefixes of packages
	reason string
}

var (
	seams      = []string{"engine/trace", "engine/fabric", "engine/disk"}
	everything = []string{""}
)

func with(prefixes ...[]string) (all []string) {
	for _, p := range prefixes {
		all = append(all, p...)
	}
	return all
}

var importRules = []importRule{
	{"engine/trace", []string{"engine/sentence"}, "the trace is below everything"},
	{"engine/fabric", []string{"engine/trace"}, "a seam knows no user"},
	{"engine/disk", []string{"engine/trace"}, "a seam knows no user"},
	{"engine/commitlog", []string{"engine/disk", "engine/trace", "engine/sentence"}, "the log core knows neither Kafka nor Pulsar"},
	{"engine/sentence", nil, "what is said to people is below everything"},
	{"engine/media", nil, "a medium is a place for files and knows no engine"},
	{"engine/world", []string{"engine/trace"}, "what a trace tells is computed from the trace alone"},

	{"engine/ensemble/tree", []string{"engine/trace", "engine/ensemble/jute"}, "pure"},
	{"engine/ensemble", with(seams, []string{"engine/commitlog", "engine/ensemble", "engine/sentence"}), "the ensemble serves both engines and knows neither"},

	{"engine/kafka/replica", []string{"engine/trace"}, "pure"},
	{"engine/kafka/controller", []string{"engine/trace", "engine/kafka/placement", "engine/kafka/metadata"}, "pure"},
	{"engine/kafka/placement", nil, "pure"},
	{"engine/kafka/group", []string{"engine/trace", "engine/sentence"}, "pure"},
	{"engine/kafka", with(seams, []string{"engine/commitlog", "engine/kafka", "engine/sentence"}), "Kafka-mode never sees Pulsar-mode, and the ensemble only through a ZooKeeper client"},

	{"engine/pulsar/bundle", []string{"engine/trace"}, "pure"},
	{"engine/pulsar/ledger", []string{"engine/trace", "engine/pulsar/bookkeeperpb"}, "pure"},
	{"engine/pulsar/subscription", []string{"engine/trace"}, "pure"},
	{"engine/pulsar", with(seams, []string{"engine/commitlog", "engine/pulsar", "engine/sentence"}), "Pulsar-mode never sees Kafka-mode, and the ensemble only through a ZooKeeper client"},

	{"engine/gossip", []string{"engine/trace"}, "gossip knows processes, not engines"},
	{"engine/administration", []string{"engine/kafka/placement", "engine/kafka/errorname", "engine/sentence"}, "an administrator has the public protocols, and a calculator for placement"},
	{"engine/workload", []string{"engine/trace", "engine/sentence", "engine/kafka/errorname"}, "the demo clients are clients like any other"},
	{"engine/node", []string{"engine"}, "a node is made of everything"},
	{"engine/cluster", []string{"engine"}, "a cluster is made of nodes"},
	{"engine/dump", []string{"engine"}, "it knows every kind of file"},
	{"engine/dissect", []string{"engine"}, "it knows every protocol"},
	{"engine/attach", []string{"engine"}, "another process's cluster looks like our own"},
	{"engine", []string{"engine"}, "the engines know nothing of labs, visualizer, web"},

	{"labs", []string{"engine", "labs"}, "a lab sees the engines, not the page"},
	{"visualizer", []string{"engine", "labs", "notes", "visualizer", "web"}, "the page's server sees the engines and the labs"},
	{"web", nil, "the page is files"},
	{"notes", []string{"labs/chinese"}, "the notes are files, rendered as the labs' texts are"},
	{"bench", []string{"engine"}, "a benchmark measures engines"},
	{"interop", nil, "the clients that are tested here know nothing of ours"},
	{"main.go", everything, "only main wires everything"},
}

// onlyIn says which packages may import an outside one.
var onlyIn = map[string]struct {
	packages []string
	reason   string
}{
	"github.com/gin-gonic/gin":           {[]string{"visualizer", "engine/pulsar/admin"}, "HTTP APIs live in two places"},
	"github.com/gorilla/websocket":       {[]string{"visualizer"}, "only the page needs a WebSocket"},
	"github.com/hashicorp/memberlist":    {[]string{"engine/gossip"}, "gossip is behind a small interface"},
	"github.com/golang-migrate/migrate":  {[]string{"visualizer/store"}, "one package owns the database"},
	"github.com/minio/minio-go":          {[]string{"engine/media"}, "an object store is behind the interface of a medium"},
	"github.com/johannesboyne/gofakes3":  {nil, "tests only"},
	"modernc.org/sqlite":                 {[]string{"visualizer/store"}, "one package owns the database"},
	"go.etcd.io/raft":                    {[]string{"engine/ensemble/server"}, "the ensemble is the only user of Raft"},
	"github.com/apache/pulsar-client-go": {[]string{"engine/workload", "labs/action", "labs/pulsarclient", "bench", "interop"}, "client libraries are for clients"},
	"github.com/twmb/franz-go/pkg/kgo":   {[]string{"engine/workload", "engine/administration", "labs/action", "bench", "interop"}, "client libraries are for clients"},
	"github.com/twmb/franz-go/pkg/kadm":  {[]string{"engine/workload", "engine/administration", "labs/action", "bench", "interop"}, "client libraries are for clients"},
	"github.com/anishathalye/porcupine":  {nil, "tests only"},
	"pgregory.net/rapid":                 {nil, "tests only"},
	"go.uber.org/goleak":                 {nil, "tests only"},
	"github.com/stretchr/testify":        {nil, "tests only"},
	"github.com/twmb/franz-go/pkg/kfake": {[]string{"bench/kfakepeer"}, "a peer to measure against, not a part"},
	"github.com/twmb/franz-go/pkg/kmsg":  {[]string{"engine/kafka", "labs/action"}, "the Kafka protocol is Kafka-mode's; labs ask one broker after the other what it knows"},
	"twinlog/engine/pulsar/pulsarpb":     {[]string{"engine/pulsar", "engine/dissect"}, "the Pulsar protocol is Pulsar-mode's"},
	"twinlog/engine/pulsar/bookkeeperpb": {[]string{"engine/pulsar", "engine/dissect"}, "the BookKeeper protocol is Pulsar-mode's"},
	"math/rand":                          {nil, "use math/rand/v2"},
	"github.com/expr-lang/expr":          {[]string{"labs"}, "conditions are the labs'"},
	"github.com/yuin/goldmark":           {[]string{"labs", "notes", "visualizer"}, "Markdown is for texts"},
}

// pure packages decide; they never do.
var pure = []string{
	"engine/ensemble/tree", "engine/kafka/replica", "engine/kafka/controller", "engine/kafka/placement", "engine/kafka/group",
	"engine/pulsar/bundle", "engine/pulsar/ledger", "engine/pulsar/subscription", "engine/world",
}

// seamCalls says which packages may make a call that goes around a seam.
var seamCalls = map[string]struct {
	packages []string
	reason   string
}{
	"net.Dial":        {[]string{"engine/fabric"}, "a node dials through its fabric.Network"},
	"net.DialTimeout": {[]string{"engine/fabric"}, "a node dials through its fabric.Network"},
	"net.Listen":      {[]string{"engine/fabric", "visualizer", "engine/node", "labs/labtest", "main.go"}, "a node listens through its fabric.Network"},
	"os.OpenFile":     {[]string{"engine/disk", "main.go"}, "a node's files are on its disk.Disk"},
	"os.Create":       {[]string{"engine/disk", "main.go"}, "a node's files are on its disk.Disk"},
	"os.WriteFile":    {[]string{"engine/disk", "main.go", "visualizer/typescript", "labs", "labs/labtest"}, "a node's files are on its disk.Disk"}, // a command writes its user's files
	"os.Remove":       {[]string{"engine/disk", "main.go"}, "a node's files are on its disk.Disk"},
	"os.Rename":       {[]string{"engine/disk", "main.go"}, "a node's files are on its disk.Disk"},
}

type sourceFile struct {
	pkg  string // path from the module's root; "main.go" for the root package
	name string
	test bool
	ast  *ast.File
	set  *token.FileSet
}

func sources(t *testing.T) (files []sourceFile) {
	t.Helper()
	root := ".."
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if base := entry.Name(); name != root && (strings.HasPrefix(base, ".") || base == "node_modules" || base == "testdata" || base == "bin") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		relative = filepath.ToSlash(relative)
		pkg := path.Dir(relative)
		if pkg == "." {
			pkg = "main.go"
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, sourceFile{pkg, relative, strings.HasSuffix(name, "_test.go"), parsed, set})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 20 {
		t.Fatalf("only %d source files were found", len(files))
	}
	return files
}

func under(pkg, prefix string) bool {
	return prefix == "" || pkg == prefix || strings.HasPrefix(pkg, prefix+"/")
}

func underAny(pkg string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return under(pkg, prefix) })
}

func ruleOf(pkg string) (rule importRule, found bool) {
	for _, candidate := range importRules {
		if under(pkg, candidate.from) && len(candidate.from) >= len(rule.from) {
			rule, found = candidate, true
		}
	}
	return rule, found
}

// TestImports holds the code to the dependency directions. Tests may import more: they put real things together.
func TestImports(t *testing.T) {
	for _, file := range sources(t) {
		if file.test {
			continue
		}
		rule, found := ruleOf(file.pkg)
		if !found {
			t.Errorf("%s: package %s has no import rule; give it one in engine/deps_test.go", file.name, file.pkg)
			continue
		}
		for _, spec := range file.ast.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			if own, isOurs := strings.CutPrefix(imported, module); isOurs && !under(own, file.pkg) && !underAny(own, rule.may) {
				t.Errorf("%s imports %s: %s", file.name, imported, rule.reason)
			}
			for outside, limit := range onlyIn {
				if under(imported, outside) && !(outside == "math/rand" && imported != outside) && file.pkg != "main.go" && !underAny(file.pkg, limit.packages) {
					t.Errorf("%s imports %s: %s", file.name, imported, limit.reason)
				}
			}
		}
	}
}

// TestSeams holds the code to the seams: network and files go through them, and pure packages touch neither those nor the clock.
func TestSeams(t *testing.T) {
	for _, file := range sources(t) {
		if file.test || !under(file.pkg, "engine") && !under(file.pkg, "labs") && !under(file.pkg, "visualizer") {
			continue
		}
		isPure := slices.Contains(pure, file.pkg)
		ast.Inspect(file.ast, func(n ast.Node) bool {
			if _, isGo := n.(*ast.GoStmt); isGo && isPure {
				t.Errorf("%s: a goroutine in a pure package", file.set.Position(n.Pos()))
			}
			selector, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			qualifier, ok := selector.X.(*ast.Ident)
			if !ok {
				return true
			}
			call := qualifier.Name + "." + selector.Sel.Name
			if limit, limited := seamCalls[call]; limited && !underAny(file.pkg, limit.packages) {
				t.Errorf("%s calls %s: %s", file.set.Position(n.Pos()), call, limit.reason)
			}
			if isPure && (slices.Contains([]string{"time.Now", "time.Since", "time.Until", "time.After", "time.NewTimer", "time.AfterFunc", "time.Sleep"}, call) ||
				slices.Contains([]string{"net", "os", "sync", "rand"}, qualifier.Name)) {
				t.Errorf("%s uses %s: time, randomness and the outside come into a pure package as arguments", file.set.Position(n.Pos()), call)
			}
			return true
		})
	}
}

// TestFilesAreShort keeps files at a length that can be read in one go.
func TestFilesAreShort(t *testing.T) {
	const limit = 450
	for _, file := range sources(t) {
		if strings.HasSuffix(file.name, ".pb.go") || file.test {
			continue
		}
		content, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(file.name)))
		if err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(string(content), "\n"); lines > limit {
			t.Errorf("%s has %d lines; split it where a second thought begins (limit %d)", file.name, lines, limit)
		}
	}
}
