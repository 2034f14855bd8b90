package refactor

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
)

// addHandlerType adds the library's schema of a message as the type of the handler's parameter.
func addHandlerType(in *Input) []diag.Edit {
	h, ok := nearest[*ast.Handler](in)
	if !ok || in.Broken || h.Type == nil {
		return nil
	}
	c, ok := h.Value.(*ast.Closure)
	if !ok || len(c.Params) != 1 || c.Params[0].Type != nil || c.Params[0].Name == nil || c.Params[0].Name.Missing() || in.At.Start > c.Body.Span().Start {
		return nil
	}
	schema := hostmsg.Lookup(h.Type.Value).Schema
	if schema == "" {
		return nil
	}
	return []diag.Edit{diag.Insert(c.Params[0].Name.Sp.End, ": "+schema)}
}
