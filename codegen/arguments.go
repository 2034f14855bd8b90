package codegen

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// arguments describes the arguments of a call before their code is generated.
type arguments struct {
	call    *sema.Call
	written []*ast.Arg
	recv    ast.Expr
	piped   *piped
}

// arguments generates a call's arguments in evaluation order. It puts them into the call's window,
// whose first register is w. how returns how the callee uses each argument.
func (f *builder) arguments(in arguments, w int, params []ir.Class, how func(param int) passing) {
	for range params {
		f.alloc()
	}
	list := in.sources()
	ordered := true
	for i, s := range list {
		ordered = ordered && s.param == i
	}
	var exprs []ast.Expr
	for _, s := range list {
		exprs = append(exprs, s.expr)
	}
	// If the evaluation order differs from the order of the parameters, the registers of all
	// arguments are allocated first. Otherwise a call in a later argument could overwrite the
	// register of an earlier one, because a call preserves only the registers below its window.
	for i, s := range list {
		dst := w + 1 + s.param
		if ordered {
			f.free(dst + 1)
		}
		f.argument(in, s, dst, params[s.param], how(s.param), exprs[i+1:])
		if ordered {
			f.top = max(f.top, dst+1)
		}
	}
	f.top = w + 1 + len(params)
}

// argSource is the source of one parameter's value: an expression, or a value that is generated for
// the parameter.
type argSource struct {
	param int
	expr  ast.Expr
	arg   sema.Arg
}

// sources returns the values to evaluate, in evaluation order: first the receiver, a piped value
// and the written arguments, then the defaults.
func (in arguments) sources() []argSource {
	var first, rest []argSource
	written := make([]argSource, len(in.written))
	for k, a := range in.call.Args {
		s := argSource{param: k, arg: a}
		switch a.Kind {
		case sema.ArgReceiver:
			s.expr = in.recv
			first = append(first, s)
		case sema.ArgWritten:
			s.expr = in.written[a.Index].Value
			written[a.Index] = s
		case sema.ArgPiped:
			first = append(first, s)
		default:
			rest = append(rest, s)
		}
	}
	for _, s := range written {
		if s.expr != nil {
			first = append(first, s)
		}
	}
	return append(first, rest...)
}

// passing describes how a callee uses an argument.
type passing uint8

const (
	argOwned    passing = iota // the callee owns the value, so the caller marks or moves it
	argBorrowed                // the callee only reads the value, but may run other code
	argRead                    // the callee only reads the value and runs no other code
)

// passing returns a function that describes how fn uses each of its arguments.
func (g *generator) passing(fn *sema.Function) func(param int) passing {
	leaf := fn.Native != "" || fn.Effect != ""
	return func(param int) passing {
		switch {
		case leaf:
			return argRead
		case g.readOnly[fn.Params[param]]:
			return argBorrowed
		}
		return argOwned
	}
}

func allOwned(int) passing { return argOwned }

// argument generates one argument into the register dst. later are the expressions that are
// evaluated after it.
func (f *builder) argument(in arguments, s argSource, dst int, c ir.Class, how passing, later []ast.Expr) {
	switch s.arg.Kind {
	case sema.ArgReceiver, sema.ArgWritten:
		switch {
		case how == argOwned:
			f.into(s.expr, dst, c, true)
		case c != ir.Full:
			f.into(s.expr, dst, c, false)
		default:
			f.borrowInto(s.expr, dst, how, later...)
		}
	case sema.ArgPiped:
		v := in.piped.v
		if s.arg.Conv != nil {
			v = f.convert(v, in.piped.t, s.arg.Conv, -1)
		}
		if how != argRead {
			f.markShared(v, in.piped.t)
		}
		f.move(dst, c, v)
	case sema.ArgDefault:
		if p := in.call.Pipeline; p != nil {
			f.defaultArgument(p.Params[s.param], p.Info, p.Name, dst, c)
			return
		}
		f.defaultArgument(in.call.Fn.Params[s.param], in.call.Fn.Info, in.call.Fn.Name, dst, c)
	case sema.ArgShape:
		f.emit(ir.OpLoadType, dst, 0, 0, int32(f.g.typeIndex(in.call.TypeArgs[s.arg.Index])))
	case sema.ArgRest:
		f.restArguments(in, in.written[s.arg.Index:], dst)
	}
}

// restArguments collects the arguments of a variadic function in an array. A piped value is the
// array's first element.
func (f *builder) restArguments(in arguments, args []*ast.Arg, dst int) {
	top := f.top
	defer f.free(top)
	var v val
	piped := 0
	if in.call.Piped {
		v = f.convert(in.piped.v, in.piped.t, types.Any, -1)
		f.markShared(v, in.piped.t)
		piped = 1
	}
	base := f.top
	if piped > 0 {
		f.move(f.alloc(), ir.Full, v)
	}
	first := min(len(args), chunk)
	for _, a := range args[:first] {
		f.ownInto(a.Value, f.alloc())
	}
	f.emit(ir.OpNewArray, dst, base, first+piped, 0)
	f.free(base)
	for _, a := range args[first:] {
		r := f.alloc()
		f.ownInto(a.Value, r)
		f.emit(ir.OpArrayPush, dst, r, 0, 0)
		f.free(base)
	}
}

// defaultArgument evaluates a parameter's default in the callee's file. A default that consists of
// literals and names is evaluated inline, any other default by a hidden function.
func (f *builder) defaultArgument(p *sema.Param, info *sema.Info, owner string, dst int, c ir.Class) {
	if p.Default == nil { // the parameter is an Option, whose default is None
		f.emit(ir.OpLoadNil, dst, 0, 0, 0)
		return
	}
	if plain(p.Default) {
		f.inFile(info, func() { f.into(p.Default, dst, c, true) })
		return
	}
	top := f.top
	w := f.window(dst)
	f.emit(ir.OpCall, w, 0, 0, int32(f.g.defaultFunction(p, info, owner)))
	f.move(dst, c, val{reg: w, class: ir.Full})
	f.free(top)
}

// plain reports whether an expression consists only of literals and names.
func plain(e ast.Expr) bool {
	ok := true
	inspect(e, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.IntLit, *ast.FloatLit, *ast.BoolLit, *ast.StringLit, *ast.NilLit, *ast.PathExpr, *ast.ParenExpr,
			*ast.ArrayLit, *ast.MapLit, *ast.TupleLit, *ast.Unary:
		default:
			ok = false
		}
		return ok
	})
	return ok
}

// defaultFunction returns the index of the function that evaluates a parameter's default.
func (g *generator) defaultFunction(p *sema.Param, info *sema.Info, owner string) int {
	if n, ok := g.adapters[p]; ok {
		return n
	}
	n := g.reserve()
	g.adapters[p] = n
	g.enqueue(func() {
		g.build(n, func(spilled bool) *builder {
			f := g.newFn(info, owner+" default "+p.Name, p.At.Start, signature{result: ir.Full, abi: ir.FullABI})
			f.startSpill(spilled)
			f.leave = leave{kind: leaveFunction, result: p.Type}
			f.returnValue(f.lastUse(p.Default, -1), p.Type)
			return f.finishFunction()
		})
	})
	return n
}
