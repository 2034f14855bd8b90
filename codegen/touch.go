package codegen

import (
	"slices"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/sema"
)

// touch describes how evaluating an expression can affect values that are borrowed while it runs.
type touch struct {
	locals []*sema.Local // variables that the expression assigns or mutates
	calls  bool          // the expression calls code that the analysis does not know
}

// nothing is the touch of an expression without effects.
var nothing = &touch{}

func (t *touch) changes(l *sema.Local) bool { return slices.Contains(t.locals, l) }

// touches returns what evaluating e, including its parts, can change.
func (f *builder) touches(e ast.Node) *touch {
	switch x := e.(type) {
	case *ast.PathExpr:
		if !f.isMove(x) {
			return nothing
		}
	case *ast.IntLit, *ast.FloatLit, *ast.StringLit, *ast.BoolLit, *ast.NilLit:
		return nothing
	}
	if t := f.seen.touched[e]; t != nil {
		return t
	}
	t := &touch{}
	if f.seen.touched == nil {
		f.seen.touched = map[ast.Node]*touch{}
	}
	f.seen.touched[e] = t
	f.touchInto(t, e)
	return t
}

// touchInto adds the effects of n to t.
func (f *builder) touchInto(t *touch, n ast.Node) {
	inspect(n, func(n ast.Node) bool {
		switch e := n.(type) {
		case *ast.PathExpr:
			if f.isMove(e) { // the value's next holder may change it
				f.touchRoot(t, e)
			}
		case *ast.Assign:
			f.touchRoot(t, e.Target)
		case *ast.MethodCall:
			t.calls = true
			if c := f.info.Call(e); c == nil || c.Kind == sema.CallAnyMethod || c.Fn != nil && c.Fn.MutSelf {
				f.touchRoot(t, e.Recv)
			}
		case *ast.Call, *ast.Pipe, *ast.ListenExpr, *ast.Await, *ast.AwaitAll, *ast.Race, *ast.ParallelFor:
			t.calls = true
		case *ast.EmitExpr:
			t.calls = t.calls || e.Await
		case *ast.Closure:
			return false // the body runs when the closure is called; the variables that it changes are in cells
		}
		return true
	})
}

func (f *builder) touchRoot(t *touch, e ast.Expr) {
	if l := f.rootOf(e); l != nil && !t.changes(l) {
		t.locals = append(t.locals, l)
	}
}

// rootOf returns the variable whose value contains the value of e, or nil.
func (f *builder) rootOf(e ast.Expr) *sema.Local {
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.FieldExpr:
			e = x.X
		case *ast.TupleIndex:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.Question:
			e = x.X
		case *ast.Binary:
			if x.Op != ast.OpCoalesce {
				return nil
			}
			e = x.X
		case *ast.Cast:
			e = x.X
		case *ast.PathExpr:
			l, _ := f.info.Object(x).(*sema.Local)
			return l
		default:
			return nil
		}
	}
}
