package codegen

import (
	"fmt"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// lost generates the call that logs the errors in v, a value of type t that the program discards. e
// is the expression with the value.
func (f *builder) lost(e ast.Expr, v val, t types.Type) {
	f.logLost("the result of "+f.operationOf(e), e.Span().Start, v, t)
}

// lostIn does the same for the value of the variable l, if the program never reads it. e is the
// expression with the value, or nil if a pattern binds the variable.
func (f *builder) lostIn(l *sema.Local, e ast.Expr) {
	if !l.Lost || f.dead {
		return
	}
	defer f.free(f.top)
	v := f.read(place{v: f.variable(l), root: l.Type})
	if e != nil {
		f.lost(e, v, l.Type)
	} else {
		f.logLost("the Result in "+l.Name, l.At.Start, v, l.Type)
	}
}

func (f *builder) logLost(what string, at source.Pos, v val, t types.Type) {
	if f.dead || f.g.p.OnLost == nil { // a program without the library has no such function
		return
	}
	defer f.free(f.top)
	end := &label{}
	if _, single := types.Resolve(t).(*types.Result); single {
		f.jump(ir.OpJumpVariant, v.reg, 0, end)
	}
	w := f.alloc()
	f.stringValue(fmt.Sprintf("%s at %s:%s", what, f.info.File.Source.Name, f.places.Position(at)), f.alloc())
	r := f.alloc()
	f.emit(ir.OpMove, r, v.reg, 0, 0)
	f.emit(ir.OpShare, r, 0, 0, 0)
	f.invoke(f.g.p.OnLost, w)
	f.bindLabel(end)
}

// operationOf describes the operation that e performs: `listen Coder`, or the start of its text,
// such as `Coder.execute`.
func (f *builder) operationOf(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.ParenExpr:
		return f.operationOf(x.X)
	case *ast.ListenExpr:
		if l := f.info.Listen(x); l.Host != nil {
			return "listen " + l.Host.Name
		}
	case *ast.MethodCall:
		recv := x.Recv
		for {
			inner, ok := recv.(*ast.MethodCall)
			if !ok {
				break
			}
			recv = inner.Recv
		}
		return f.operationOf(recv) + "." + x.Name.Name
	}
	text, _, _ := strings.Cut(f.info.File.Source.Slice(e.Span()), "\n")
	if i := strings.IndexAny(text, "({"); i > 0 {
		text = text[:i]
	}
	return strings.TrimSpace(text)
}
