package refactor

import (
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// writeType adds the inferred type of a variable, of a constant, or of a closure's parameters and
// result.
func writeType(in *Input) []diag.Edit {
	if !in.isComplete() {
		return nil
	}
	nodes := in.nodesAround(in.At)
	for i := len(nodes) - 1; i >= 0; i-- {
		switch n := nodes[i].(type) {
		case *ast.LetStmt:
			if n.Type != nil || n.Value == nil || n.Pattern == nil || in.At.Start > n.Pattern.Span().End || in.At.End > n.Pattern.Span().End && in.At != n.Sp {
				return nil
			}
			return typeEdit(n.Pattern.Span().End, in.Info.PatternType(n.Pattern))
		case *ast.ConstDecl:
			if n.Type != nil || n.Value == nil || n.Name == nil || in.At.Start > n.Name.Sp.End || in.At.End > n.Name.Sp.End && in.At != n.Sp {
				return nil
			}
			return typeEdit(n.Name.Sp.End, in.Info.TypeOf(n.Value))
		case *ast.Closure:
			if n.Body != nil && in.At.End <= n.Body.Span().Start {
				return in.closureTypeEdits(n)
			}
		}
	}
	return nil
}

func typeEdit(at source.Pos, t types.Type) []diag.Edit {
	text, ok := typeText(t)
	if !ok {
		return nil
	}
	return []diag.Edit{diag.Insert(at, ": "+text)}
}

// closureTypeEdits adds the types that a closure omits. It adds the result type only if the
// closure's body is a block.
func (in *Input) closureTypeEdits(n *ast.Closure) (edits []diag.Edit) {
	d := in.Info.Closure(n)
	if d == nil || d.Type == nil {
		return nil
	}
	for i, p := range n.Params {
		if p.Type != nil || p.Name == nil || i >= len(d.Params) || d.Params[i] == nil {
			continue
		}
		if types.Resolve(d.Params[i].Type) == types.Any {
			continue // the type is unknown
		}
		edits = append(edits, typeEdit(p.Name.Sp.End, d.Params[i].Type)...)
	}
	if _, block := n.Body.(*ast.BlockExpr); block && n.Result == nil && types.Resolve(d.Type.Result) != types.Nil {
		if t, ok := typeText(d.Type.Result); ok {
			at := n.Body.Span().Start
			at -= source.Pos(len(in.File.Slice(source.Span{End: at})) - len(strings.TrimRight(in.File.Slice(source.Span{End: at}), " \t\r\n")))
			edits = append(edits, diag.Insert(at, " -> "+t))
		}
	}
	return edits
}
