package codegen

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// This file finds borrowed parameters. A parameter is borrowed if its function only reads it. The
// caller neither marks nor moves the argument of a borrowed parameter, so that `more(xs)` in a loop
// that pushes to xs does not cause a copy. A function owns its other parameters: the caller marks
// such an argument as shared, or moves it if no other variable or container holds the value.
//
// The analysis affects only the cost of a program, not its results. If a function stores a part of
// a borrowed parameter, it marks the part, as it does with the parts of any value that it does not
// own.

// borrow finds the parameters that are only read. A function may pass such a parameter only to
// parameters that are also only read.
func (g *generator) borrow() {
	var all []*reading
	r := &readings{}
	r.in = newInspector(r.visit)
	for _, fn := range g.p.Functions {
		if _, ok := g.numbers.functions[fn]; !ok || fn.Async || len(fn.Decorations) > 0 || fn.Remote() { // tasks and decorators retain their arguments
			continue
		}
		if fn.MutSelf { // it owns its arguments (callMutating)
			continue
		}
		r.info, r.of = fn.Info, r.of[:0]
		for _, p := range fn.Params {
			if l := p.Local; l != nil && !l.Mut && !l.Cell && mayShare(p.Type) {
				r.of = append(r.of, &reading{param: p})
			}
		}
		if len(r.of) == 0 {
			continue
		}
		r.block(fn.Decl.Body)
		for _, x := range r.of {
			if !x.retains {
				g.readOnly[x.param] = true
				all = append(all, x)
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for _, x := range all {
			if !g.readOnly[x.param] {
				continue
			}
			for _, q := range x.passedTo {
				if !g.readOnly[q] {
					g.readOnly[x.param], changed = false, true
					break
				}
			}
		}
	}
}

// reading describes a function's use of one of its parameters.
type reading struct {
	param    *sema.Param
	retains  bool
	passedTo []*sema.Param // parameters that receive the value in calls of other functions
}

// readings searches a function for uses of its parameters that retain the parameters' values.
type readings struct {
	info *sema.Info
	of   []*reading
	in   *inspector
}

// readingOf returns the reading of the parameter that e refers to, or nil.
func (r *readings) readingOf(e ast.Expr) *reading {
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.PathExpr:
			o := r.info.Object(x)
			for _, p := range r.of {
				if o == sema.Object(p.param.Local) {
					return p
				}
			}
			return nil
		default:
			return nil
		}
	}
}

// visitOperands walks the operands of an expression that only reads them. It skips an operand that
// is just a parameter, because reading does not retain the parameter's value.
func (r *readings) visitOperands(es ...ast.Expr) {
	for _, e := range es {
		if e != nil && r.readingOf(e) == nil {
			r.walk(e)
		}
	}
}

func (r *readings) block(b *ast.Block) {
	for _, s := range b.Stmts {
		if x, ok := s.(*ast.ExprStmt); ok {
			r.visitOperands(x.X)
		} else {
			r.walk(s)
		}
	}
	if b.Tail != nil {
		r.walk(b.Tail)
	}
}

// walk visits a node and its children. A use of a parameter retains the value, except in the cases
// that visit handles.
func (r *readings) walk(n ast.Node) { r.in.inspect(n) }

func (r *readings) visit(n ast.Node) bool {
	switch x := n.(type) {
	case *ast.PathExpr:
		if p := r.readingOf(x); p != nil {
			p.retains = true
		}
	case *ast.FieldExpr:
		r.visitOperands(x.X)
		return false
	case *ast.TupleIndex:
		r.visitOperands(x.X)
		return false
	case *ast.IndexExpr:
		r.visitOperands(x.X, x.Index)
		return false
	case *ast.Question:
		r.visitOperands(x.X)
		return false
	case *ast.Binary:
		if x.Op != ast.OpCoalesce {
			r.visitOperands(x.X, x.Y)
			return false
		}
	case *ast.InterpLit:
		r.visitOperands(x.Exprs...)
		return false
	case *ast.EmitExpr:
		r.visitOperands(x.Channel, x.Payload)
		return false
	case *ast.LetCond:
		r.visitOperands(x.X)
		return false
	case *ast.MatchExpr:
		r.match(x)
		return false
	case *ast.ForExpr:
		r.visitOperands(x.Iter)
		r.block(x.Body)
		return false
	case *ast.Call:
		return r.call(x, nil, x.Args)
	case *ast.MethodCall:
		return r.call(x, x.Recv, x.Args)
	}
	return true
}

func (r *readings) match(x *ast.MatchExpr) {
	r.visitOperands(x.Subject)
	for _, a := range x.Arms {
		if a.Guard != nil {
			r.walk(a.Guard)
		}
		r.walk(a.Body)
	}
}

// call handles the arguments of a call. It returns false if its caller must not walk the arguments
// again.
func (r *readings) call(e ast.Expr, recv ast.Expr, args []*ast.Arg) bool {
	c := r.info.Call(e)
	if c == nil || c.Fn == nil || c.Kind != sema.CallFunction && c.Kind != sema.CallTool || c.Fn.MutSelf {
		return true
	}
	leaf := c.Fn.Native != "" || c.Fn.Effect != ""
	for k, a := range c.Args {
		var x ast.Expr
		switch a.Kind {
		case sema.ArgReceiver:
			x = recv
		case sema.ArgWritten:
			x = args[a.Index].Value
		case sema.ArgRest:
			for _, rest := range args[a.Index:] {
				r.walk(rest.Value)
			}
			continue
		default:
			continue
		}
		if p := r.readingOf(x); p == nil {
			r.walk(x)
		} else if !leaf {
			p.passedTo = append(p.passedTo, c.Fn.Params[k])
		}
	}
	return false
}

// If two holders (variables or containers) hold the same value, the value must be marked as shared,
// so that a change through one holder copies the value first. There are two exceptions. Borrowing:
// the first holder cannot change the value as long as the second one holds it. Moving: the first
// holder is overwritten before it is read again. If the analysis cannot decide, the value is
// marked.

// markBorrowed marks v, the value of e, as borrowed if no code in scope changes the variable that e
// reads. The variables that are bound to v live in scope, and may hold a borrowed value without a
// mark.
func (f *builder) markBorrowed(e ast.Expr, v val, scope scope) val {
	if v.borrowed || v.owned || v.volatile || v.class != ir.Full || !mayShare(f.resultType(e)) {
		return v
	}
	root := f.rootOf(e)
	if root == nil || f.vars[root] == nil || f.vars[root].cell {
		return v
	}
	for _, n := range f.runs(scope) {
		if f.touches(n).changes(root) {
			return v
		}
	}
	v.borrowed = true
	return v
}

// borrows reports whether the variable l at location x may hold v without a mark. This is the case
// if v is borrowed, and l is in a register and never changes.
func (x *variable) borrows(l *sema.Local, v val) bool {
	return v.borrowed && !v.owned && !l.Mut && !l.Late && !x.cell && !x.spill
}

// movedUse finds the use of a variable from which an assignment such as `x = f(x)` can move the
// variable's value. The use must be the only one in the assigned expression, and must be an
// argument or a part of a literal. The assignment must not be left by a jump, or by an error that
// is caught where the variable is still alive, because the program could then read the variable
// after its value was moved. movedUse returns nil if there is no such use.
func (f *builder) movedUse(e *ast.Assign, x *variable) *ast.PathExpr {
	l, ok := f.info.Object(rootPath(e.Target)).(*sema.Local)
	if !ok || x.cell || x.spill || x.captured || x.depth != f.depth || f.returnsSelf && x.reg == 1 {
		return nil
	}
	uses, jumps := 0, false
	inspect(e.Value, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.PathExpr:
			if f.info.Object(n) == sema.Object(l) {
				uses++
			}
		case *ast.BreakExpr, *ast.ContinueExpr, *ast.ListenExpr:
			jumps = true
		}
		return true
	})
	if uses != 1 || jumps {
		return nil
	}
	return f.movedUseIn(e.Value, l)
}

// rootPath returns the variable's name at the start of a place expression.
func rootPath(e ast.Expr) *ast.PathExpr {
	for {
		paren, ok := e.(*ast.ParenExpr)
		if !ok {
			return e.(*ast.PathExpr) // the checker reports others
		}
		e = paren.X
	}
}

// movedUseIn searches the use of l in calls and literals, which evaluate each part exactly once.
func (f *builder) movedUseIn(e ast.Expr, l *sema.Local) *ast.PathExpr {
	var parts []ast.Expr
	switch x := e.(type) {
	case *ast.PathExpr:
		if f.info.Object(x) == sema.Object(l) && f.info.Conv(x) == nil {
			return x
		}
	case *ast.ParenExpr:
		parts = []ast.Expr{x.X}
	case *ast.Question:
		parts = []ast.Expr{x.X}
	case *ast.Call:
		for _, a := range x.Args {
			parts = append(parts, a.Value)
		}
	case *ast.MethodCall:
		if c := f.info.Call(x); c == nil || c.Fn == nil || !c.Fn.MutSelf {
			parts = append(parts, x.Recv)
		}
		for _, a := range x.Args {
			parts = append(parts, a.Value)
		}
	case *ast.ArrayLit:
		parts = x.Elems
	case *ast.TupleLit:
		parts = x.Elems
	case *ast.StructLit:
		for _, i := range x.Fields {
			parts = append(parts, i.Value)
		}
	case *ast.MapLit:
		for _, en := range x.Entries {
			parts = append(parts, en.Value)
		}
	default: // the others keep what they contain
	}
	for _, p := range parts {
		if use := f.movedUseIn(p, l); use != nil {
			return use
		}
	}
	return nil
}
