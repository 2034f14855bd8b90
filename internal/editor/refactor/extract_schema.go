package refactor

import (
	"cmp"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/sema"
)

// extractSchema declares a schema with the keys of a map literal and replaces the literal by a
// schema literal. Each nested map literal gets a separate schema.
func extractSchema(in *Input) []diag.Edit {
	n, ok := nearest[*ast.MapLit](in)
	if !ok || !in.isComplete() {
		return nil
	}
	own := in.moduleDecl(n.Sp)
	if own == nil || !in.canBeStruct(n) {
		return nil
	}
	x := schemaExtraction{in: in, names: map[string]bool{}}
	if _, ok := x.convertLiteral(n, x.nameSchema(in.nameOfMap(n))); !ok {
		return nil
	}
	edits := append(x.edits, in.insertBefore(own, strings.Join(x.schemas, "\n\n")))
	slices.SortFunc(edits, func(a, b diag.Edit) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
	return edits
}

type schemaExtraction struct {
	in      *Input
	names   map[string]bool
	schemas []string
	edits   []diag.Edit
}

func (x *schemaExtraction) nameSchema(base string) string {
	n := unusedName(typeName(base), func(n string) bool { return x.names[n] || x.in.freshName(n) != n || x.in.isPreludeName(n) })
	x.names[n] = true
	return n
}

// convertLiteral converts a map literal and declares its schema after the schemas of nested
// literals.
func (x *schemaExtraction) convertLiteral(n *ast.MapLit, name string) (string, bool) {
	if len(n.Entries) == 0 {
		return "", false
	}
	rows, seen := []string{}, map[string]bool{}
	for _, e := range n.Entries {
		key, ok := e.Key.(*ast.StringLit)
		if !ok || e.Computed || !isWord(key.Value) || seen[key.Value] {
			return "", false
		}
		seen[key.Value] = true
		t, optional := "", ""
		switch v := e.Value.(type) {
		case *ast.NilLit:
			t, optional = "Any", "?"
		case *ast.MapLit:
			if len(v.Entries) > 0 {
				if t, ok = x.convertLiteral(v, x.nameSchema(key.Value)); !ok {
					return "", false
				}
			}
		default: // the checker knows the type of the others
		}
		if t == "" {
			if t, ok = typeText(x.in.Info.TypeOf(e.Value)); !ok {
				return "", false
			}
		}
		rows = append(rows, key.Value+optional+": "+t+",")
		x.edits = append(x.edits, diag.Replace(key.Sp, key.Value))
	}
	x.edits = append(x.edits, diag.Insert(n.Sp.Start, name+" "))
	x.schemas = append(x.schemas, "schema "+name+" {\n    "+strings.Join(rows, "\n    ")+"\n}")
	return name, true
}

// canBeStruct reports whether replacing a literal by a struct makes no visible difference. If the
// literal has type Any, this requires that it is only shown, sent, or read by existing keys.
func (in *Input) canBeStruct(n *ast.MapLit) bool {
	if in.Info.TypeOf(n) != types.Any && in.Info.Conv(n) != types.Any {
		return true
	}
	nodes := in.nodesAround(n.Sp)
	for len(nodes) > 0 && nodes[len(nodes)-1] != ast.Node(n) {
		nodes = nodes[:len(nodes)-1]
	}
	if len(nodes) < 2 {
		return false
	}
	if l, ok := nodes[len(nodes)-2].(*ast.LetStmt); ok {
		p, named := l.Pattern.(*ast.NamePat)
		if !named {
			return false
		}
		local, _ := in.Info.Object(p).(*sema.Local)
		if local == nil || local.Mut {
			return false
		}
		v := in.variableOf(local)
		return v != nil && !slices.ContainsFunc(v.uses, func(use []ast.Node) bool { return !in.isShownOrRead(use, n) })
	}
	return in.isShownOrRead(nodes, n)
}

// isShownOrRead reports whether the last of nodes is only shown, sent, or used to read keys of the
// literal n.
func (in *Input) isShownOrRead(nodes []ast.Node, n *ast.MapLit) bool {
	switch p := nodes[len(nodes)-2].(type) {
	case *ast.EmitExpr, *ast.InterpLit:
		return true
	case *ast.FieldExpr:
		return slices.ContainsFunc(n.Entries, func(e *ast.MapEntry) bool {
			k, ok := e.Key.(*ast.StringLit)
			_, inner := e.Value.(*ast.MapLit)
			return ok && k.Value == p.Name.Name && !inner
		})
	case *ast.Arg:
		c, ok := nodes[len(nodes)-3].(*ast.Call)
		if !ok {
			return false
		}
		d := in.Info.Call(c)
		return d != nil && d.Fn != nil && (d.Fn.Name == "println" || d.Fn.Name == "print")
	}
	return false
}

// nameOfMap returns a schema name for a map literal, derived from the context of the literal.
func (in *Input) nameOfMap(n *ast.MapLit) string {
	nodes := in.nodesAround(n.Sp)
	for i := len(nodes) - 1; i >= 0; i-- {
		switch p := nodes[i].(type) {
		case *ast.LetStmt:
			if v, ok := p.Pattern.(*ast.NamePat); ok && p.Value == ast.Expr(n) {
				return v.Name.Name
			}
		case *ast.ConstDecl:
			if p.Value == ast.Expr(n) {
				return strings.ToLower(p.Name.Name)
			}
		case *ast.MapEntry:
			if k, ok := p.Key.(*ast.StringLit); ok && p.Value == ast.Expr(n) {
				return k.Value
			}
		case ast.Stmt:
			return "data"
		}
	}
	return "data"
}

// isPreludeName reports whether the prelude declares a name.
func (in *Input) isPreludeName(name string) bool {
	return in.IsPreludeName != nil && in.IsPreludeName(name)
}
