package refactor

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
)

// addMapErr inserts a conversion of the error before a `?`. If the function's error type is a
// library error or String, the conversion passes on the message. Otherwise it passes on the error
// itself.
func addMapErr(in *Input) []diag.Edit {
	q, ok := nearest[*ast.Question](in)
	if !ok || in.Broken || in.Info == nil || in.At.Start == in.At.End && in.At.Start < q.X.Span().End-1 && !in.isOnCalleeName(q.X) {
		return nil
	}
	r, ok := in.Info.TypeOf(q.X).(*types.Result)
	if m, call := q.X.(*ast.MethodCall); !ok || call && m.Name.Name == "map_err" {
		return nil
	}
	return []diag.Edit{diag.Insert(q.X.Span().End, ".map_err(|e| "+in.convertedError(r.Err)+")")}
}

// isOnCalleeName reports whether the range is on the name of the callee.
func (in *Input) isOnCalleeName(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Call:
		return e.Fn.Span().Contains(in.At)
	case *ast.MethodCall:
		return e.Name.Sp.Contains(in.At)
	default: // the others have no name of a callee
	}
	return e.Span().Contains(in.At)
}

// convertedError returns `e` converted to the error type of the enclosing function.
func (in *Input) convertedError(err types.Type) string {
	nodes := in.nodesAround(in.At)
	for i := len(nodes) - 1; i >= 0; i-- {
		switch fn := nodes[i].(type) {
		case *ast.Closure:
			return "e"
		case *ast.FnDecl:
			r, ok := fn.Result.(*ast.NamedType)
			if !ok || len(r.Args) != 2 {
				return "e"
			}
			return in.errorAs(r.Args[1], err)
		}
	}
	return "e"
}

func (in *Input) errorAs(want ast.Type, err types.Type) string {
	text := in.text(want)
	if has, _ := typeText(err); has == text {
		return "e"
	}
	if text == "String" {
		return "e.to_string()"
	}
	message := "e.to_string()"
	if types.Full(err) == types.String {
		message = "e"
	}
	for _, r := range in.Refs() {
		if r.At == want.Span() && r.Def.Type != nil {
			if n, ok := types.Resolve(r.Def.Type).(*types.Named); ok && n.Decl.Kind == types.ErrorStruct {
				return text + "::new(" + message + ")"
			}
		}
	}
	return "e"
}
