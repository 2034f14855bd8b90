package codegen

import (
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// remoteFunction generates a function of an MCP server. The function calls the library with a map
// of its arguments by name, and with the type of its result.
func (g *generator) remoteFunction(n int, fn *sema.Function) {
	call, result := fn.Tool.Call, fn.Result
	if r, ok := types.Resolve(result).(*types.Result); ok {
		call, result = fn.Tool.Try, r.Ok
	}
	g.build(n, func(bool) *builder {
		// The function belongs to the library, so that an error has the position of the program's
		// call.
		f := g.newFn(call.Info, fn.Name, call.Decl.Span().Start, g.signatureOf(fn))
		f.out.OnUnknown = fn.OnUnknown
		w := f.alloc()
		f.stringValue(fn.Tool.Server, f.alloc())
		f.stringValue(fn.Decl.Name.Name, f.alloc())
		args := f.alloc()
		first := f.top
		for i, p := range fn.Params[1:] {
			f.stringValue(p.Name, f.alloc())
			r := f.alloc()
			f.emit(ir.OpMove, r, 2+i, 0, 0)
			f.emit(ir.OpShare, r, 0, 0, 0)
		}
		f.emit(ir.OpNewMap, args, first, len(fn.Params)-1, 0)
		f.free(first)
		f.emit(ir.OpLoadType, f.alloc(), 0, 0, int32(g.typeIndex(result)))
		f.emit(ir.OpReturn, f.boxed(f.invoke(call, w), -1).reg, 0, 0, 0)
		return f.finishFunction()
	})
}

// signatureText returns the declaration of a server's function as text.
func signatureText(fn *sema.Function) string {
	var params []string
	for _, p := range fn.Params[1:] {
		text := p.Name + ": " + p.Type.String()
		if fn.Undeclared {
			text = p.Name
		}
		params = append(params, text)
	}
	if fn.Undeclared {
		return fn.Decl.Name.Name + "(" + strings.Join(params, ", ") + ")"
	}
	s := "fn " + fn.Decl.Name.Name + "(" + strings.Join(params, ", ") + ")"
	if fn.Result != types.Nil {
		s += " -> " + fn.Result.String()
	}
	return s
}
