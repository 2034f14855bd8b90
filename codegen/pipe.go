package codegen

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
)

// piped is the value of the left side of a |>, which is in a register.
type piped struct {
	v val
	t types.Type
}

// pipe generates `x |> f(a)`.
func (f *builder) pipe(e *ast.Pipe, hint int) val {
	v := f.operand(e.X, e.Right)
	if !v.owned && f.isVar[v.reg] {
		d := f.alloc()
		f.markShared(v, f.resultType(e.X))
		f.emit(moves[v.class], d, v.reg, 0, 0)
		v = val{reg: d, class: v.class, owned: true}
	}
	p := &piped{v, f.resultType(e.X)}
	f.pipes = append(f.pipes, pipedInto{e.Call, p})
	defer func() { f.pipes = f.pipes[:len(f.pipes)-1] }()
	if e.Right == e.Call {
		switch e.Call.(type) {
		case *ast.Call, *ast.MethodCall:
		default:
			return f.call(e.Right, nil, nil, p, hint)
		}
	}
	return f.value(e.Right, hint)
}

// pipedInto identifies the call in the right side of a pipe that receives the left side.
type pipedInto struct {
	call ast.Expr
	p    *piped
}

// takePiped returns the value that is piped into e, or nil.
func (f *builder) takePiped(e ast.Expr) *piped {
	if n := len(f.pipes); n > 0 && f.pipes[n-1].call == e {
		return f.pipes[n-1].p
	}
	return nil
}
