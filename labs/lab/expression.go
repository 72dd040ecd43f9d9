package lab

import (
	"fmt"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"twinlog/labs/observe"
)

// Expression is an expression over [observe.World], compiled, with what has to be looked at for it.
type Expression struct {
	source  string
	program *vm.Program
	// NeedsKafka and NeedsPulsar tell that it looks at what clients of that cluster see.
	NeedsKafka, NeedsPulsar bool

	inverted, dropped bool // see turned
}

// turned returns the expression's opposite, or what always holds.
func (e *Expression) turned(drop bool) *Expression {
	changed := *e
	changed.inverted, changed.dropped = !drop, drop
	return &changed
}

// String is the expression's source.
func (e *Expression) String() string { return e.source }

// Compile compiles and type-checks an expression over the world.
func Compile(source string, options ...expr.Option) (*Expression, error) {
	program, err := expr.Compile(source, append([]expr.Option{expr.Env(observe.World{})}, options...)...)
	if err != nil {
		return nil, err
	}
	tree, err := parser.Parse(source)
	if err != nil {
		return nil, err
	}
	e := &Expression{source: source, program: program}
	ast.Walk(&tree.Node, e)
	return e, nil
}

// Visit notes which cluster an expression looks at.
func (e *Expression) Visit(node *ast.Node) {
	if name, ok := (*node).(*ast.IdentifierNode); ok {
		e.NeedsKafka = e.NeedsKafka || name.Value == "kafka"
		e.NeedsPulsar = e.NeedsPulsar || name.Value == "pulsar"
	}
}

// Run evaluates the expression. It fails when what it looks at could not be looked at.
func (e *Expression) Run(world observe.World) (any, error) {
	if e.NeedsKafka && world.KafkaError != nil {
		return nil, world.KafkaError
	}
	if e.NeedsPulsar && world.PulsarError != nil {
		return nil, world.PulsarError
	}
	return expr.Run(e.program, world)
}

// Holds evaluates an expression that was compiled with [expr.AsBool].
func (e *Expression) Holds(world observe.World) (bool, error) {
	value, err := e.Run(world)
	if err != nil {
		return false, err
	}
	if e.dropped {
		return true, nil
	}
	holds, ok := value.(bool)
	if !ok {
		return false, fmt.Errorf("%q is %v, which is neither true nor false", e.source, value)
	}
	return holds != e.inverted, nil
}
