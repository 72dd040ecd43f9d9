package typescript

import (
	"fmt"
	"go/ast"
	"reflect"
	"strconv"
	"strings"
)

// structure writes one struct as an interface; what it embeds becomes what it extends.
func (g *generator) structure(packageName, name string, doc *ast.CommentGroup, structure *ast.StructType) error {
	var embedded, lines []string
	for _, field := range structure.Fields.List {
		if len(field.Names) == 0 {
			base, err := g.typeOf(packageName, field.Type)
			if err != nil {
				return fmt.Errorf("typescript: %s.%s: %w", packageName, name, err)
			}
			embedded = append(embedded, base)
			continue
		}
		for _, fieldName := range field.Names {
			line, err := g.field(packageName, fieldName.Name, field)
			if err != nil {
				return fmt.Errorf("typescript: %s.%s.%s: %w", packageName, name, fieldName.Name, err)
			}
			lines = append(lines, line)
		}
	}
	g.out.WriteString("\n" + comment("", doc))
	fmt.Fprintf(&g.out, "export interface %s%s", g.source.prefix, name)
	if len(embedded) > 0 {
		g.out.WriteString(" extends " + strings.Join(embedded, ", "))
	}
	fmt.Fprintf(&g.out, " {\n%s}\n", strings.Join(lines, ""))
	return nil
}

// field writes one field. Its tags: json gives the name and whether it can be missing; ts gives the type where Go's says too little.
func (g *generator) field(packageName, goName string, field *ast.Field) (string, error) {
	if !ast.IsExported(goName) {
		return "", nil
	}
	if field.Tag == nil {
		return "", fmt.Errorf("an exported field needs a json tag")
	}
	tags, err := strconv.Unquote(field.Tag.Value)
	if err != nil {
		return "", err
	}
	jsonName, options, _ := strings.Cut(reflect.StructTag(tags).Get("json"), ",")
	fieldType := reflect.StructTag(tags).Get("ts")
	if fieldType == "" {
		if fieldType, err = g.typeOf(packageName, field.Type); err != nil {
			return "", err
		}
	}
	missing := ""
	if strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero") {
		missing = "?"
	} else if _, pointer := field.Type.(*ast.StarExpr); pointer || g.source.nullable && canBeNil(field.Type) {
		fieldType += " | null"
	}
	doc := field.Doc
	if doc == nil {
		doc = field.Comment
	}
	return fmt.Sprintf("%s  %s%s: %s;\n", comment("  ", doc), jsonName, missing, fieldType), nil
}

func canBeNil(expression ast.Expr) bool {
	switch expression.(type) {
	case *ast.ArrayType, *ast.MapType:
		return true
	}
	return false
}

func (g *generator) typeOf(packageName string, expression ast.Expr) (string, error) {
	switch expression := expression.(type) {
	case *ast.Ident:
		if name, ok := g.names[expression.Name]; ok {
			return name, nil
		}
		return g.known(packageName + "." + expression.Name)
	case *ast.SelectorExpr:
		return g.known(expression.X.(*ast.Ident).Name + "." + expression.Sel.Name)
	case *ast.StarExpr:
		return g.typeOf(packageName, expression.X)
	case *ast.ArrayType:
		element, err := g.typeOf(packageName, expression.Elt)
		return element + "[]", err
	case *ast.MapType:
		value, err := g.typeOf(packageName, expression.Value)
		return "Record<string, " + value + ">", err
	}
	return "", fmt.Errorf("no TypeScript for a Go type written as %T", expression)
}

func (g *generator) known(name string) (string, error) {
	if typescript, ok := g.names[name]; ok {
		return typescript, nil
	}
	return "", fmt.Errorf("no TypeScript for the Go type %s", name)
}

func comment(indent string, doc *ast.CommentGroup) string {
	text := strings.TrimSpace(doc.Text())
	if text == "" {
		return ""
	}
	text = strings.ReplaceAll(text, "*/", "* /")
	lines := strings.Split(text, "\n")
	if len(lines) == 1 {
		return indent + "/** " + lines[0] + " */\n"
	}
	return indent + "/**\n" + indent + " * " + strings.Join(lines, "\n"+indent+" * ") + "\n" + indent + " */\n"
}
