package sema

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// instance infers the type arguments for one use of a generic declaration. The type argument of a
// parameter is the join of the types of its arguments. Closures are checked last, with the type
// arguments that the other arguments determine. Then all arguments are coerced (spec/03-types.md).
type instance struct {
	params []*types.Param
	solved map[*types.Param]types.Type
	fixed  map[*types.Param]fixing
	hints  map[*types.Param]types.Type
	// whole is the type parameter that is the declared result type, or nil if the result is another
	// type.
	whole    *types.Param
	args     []instanceArg
	closures []instanceArg
	broken   bool // an argument has an error, so undetermined type parameters are not reported
}

// fixing limits how later arguments may change the type argument of a parameter.
type fixing uint8

const (
	widened       fixing = iota // to the join with any type; the earlier arguments are coerced
	supertypeOnly               // to a supertype; the type of the earlier argument does not change
	exact                       // not at all, because the type argument is written, or a variable of this type is changed
)

type instanceArg struct {
	x     ast.Expr
	t     types.Type // type of the argument
	param types.Type // declared type, which contains type parameters
	why   reason
}

func newInstance(params []*types.Param) *instance {
	if len(params) == 0 {
		return &instance{}
	}
	return &instance{
		params: params, solved: map[*types.Param]types.Type{}, fixed: map[*types.Param]fixing{}, hints: map[*types.Param]types.Type{},
	}
}

// fix unifies the declared type d with the actual type a. how limits later changes of the
// parameters in d.
func (in *instance) fix(d, a types.Type, how fixing) {
	in.solve(d, a)
	types.Walk(d, func(t types.Type) bool {
		if p, ok := t.(*types.Param); ok && in.has(p) && in.solved[p] != nil {
			in.fixed[p] = how
		}
		return true
	})
}

// setAll sets all type arguments, as `f::<A, B>` does.
func (in *instance) setAll(args []types.Type) {
	for i, p := range in.params {
		if i < len(args) {
			in.solved[p], in.fixed[p] = args[i], exact
		}
	}
}

// addHint records the expected types. A type argument may differ from the expected type.
func (in *instance) addHint(declared, wanted []types.Type) {
	for i, d := range declared {
		if i < len(wanted) {
			in.matchHint(d, wanted[i])
		}
	}
}

func (in *instance) matchHint(d, w types.Type) {
	if len(in.params) == 0 {
		return
	}
	d, w = types.Resolve(d), types.Resolve(w)
	if p, ok := d.(*types.Param); ok {
		if in.has(p) && in.hints[p] == nil && !types.HasVar(w) && w != types.Nil {
			in.hints[p] = w
		}
		return
	}
	if o, ok := w.(*types.Option); ok {
		if _, also := d.(*types.Option); !also {
			in.matchHint(d, o.Elem)
			return
		}
	}
	dp, wp := types.Parts(d), types.Parts(w)
	if sameForm(d, w) && len(dp) == len(wp) {
		for i := range dp {
			in.matchHint(dp[i], wp[i])
		}
	}
}

func (in *instance) has(p *types.Param) bool {
	for _, q := range in.params {
		if q == p {
			return true
		}
	}
	return false
}

// sameForm reports whether a and b have the same type constructor.
func sameForm(a, b types.Type) bool {
	switch x := a.(type) {
	case *types.Array:
		_, ok := b.(*types.Array)
		return ok
	case *types.Map:
		_, ok := b.(*types.Map)
		return ok
	case *types.HashMap:
		_, ok := b.(*types.HashMap)
		return ok
	case *types.Queue:
		_, ok := b.(*types.Queue)
		return ok
	case *types.Option:
		_, ok := b.(*types.Option)
		return ok
	case *types.Result:
		_, ok := b.(*types.Result)
		return ok
	case *types.Task:
		_, ok := b.(*types.Task)
		return ok
	case *types.Tuple:
		y, ok := b.(*types.Tuple)
		return ok && len(x.Elems) == len(y.Elems)
	case *types.Func:
		y, ok := b.(*types.Func)
		return ok && len(x.Params) == len(y.Params)
	case *types.Named:
		y, ok := b.(*types.Named)
		return ok && x.Decl == y.Decl
	}
	return false
}

// solve unifies a declared type with an actual type, and sets the type parameters that this
// determines.
func (in *instance) solve(d, a types.Type) {
	if len(in.params) == 0 {
		return
	}
	d, a = types.Resolve(d), types.Resolve(a)
	if p, ok := d.(*types.Param); ok {
		if in.has(p) {
			in.add(p, a)
		}
		return
	}
	if o, ok := d.(*types.Option); ok {
		if _, also := a.(*types.Option); !also {
			if a != types.Nil && !types.IsAny(a) {
				in.solve(o.Elem, a)
			}
			return
		}
	}
	dp, ap := types.Parts(d), types.Parts(a)
	if sameForm(d, a) && len(dp) == len(ap) {
		for i := range dp {
			in.solve(dp[i], ap[i])
		}
		return
	}
	if types.IsAny(a) {
		types.Walk(d, func(t types.Type) bool {
			if p, ok := t.(*types.Param); ok && in.has(p) && in.solved[p] == nil {
				in.solved[p] = types.Any
			}
			return true
		})
	}
}

func (in *instance) add(p *types.Param, a types.Type) {
	old := in.solved[p]
	if old == nil {
		in.solved[p] = a
		return
	}
	t, ok := types.Join(old, a) // Join may bind a variable, so it is called even if the type is exact
	if !ok || in.fixed[p] == exact || in.fixed[p] == supertypeOnly && !types.Subtype(old, t) {
		return
	}
	in.solved[p] = t
}

// substituteKnown replaces the known type parameters in d. With withHints, parameters that only
// have a hint count as known. ok reports that all parameters are known.
func (in *instance) substituteKnown(d types.Type, withHints bool) (types.Type, bool) {
	t := types.Substitute(d, in.solved)
	if withHints {
		t = types.Substitute(t, in.hints)
	}
	return t, !in.open(t)
}

func (in *instance) open(t types.Type) bool {
	open := false
	types.Walk(t, func(u types.Type) bool {
		if p, ok := u.(*types.Param); ok && in.has(p) {
			open = true
		}
		return !open
	})
	return open
}

// argument checks one argument against its declared type. It defers a closure to finishArguments.
func (in *instance) argument(b *body, x ast.Expr, declared types.Type, why reason) {
	if !in.open(declared) {
		b.checkAs(x, declared, why)
		return
	}
	if _, isClosure := unparen(x).(*ast.Closure); isClosure {
		in.closures = append(in.closures, instanceArg{x: x, param: declared, why: why})
		return
	}
	want, closed := in.substituteKnown(declared, true)
	if !closed {
		want = nil
	}
	errors := b.errors
	t := b.expr(x, want)
	in.broken = in.broken || b.errors > errors
	in.addTyped(x, t, declared, why)
}

// addTyped adds an argument whose type t is known.
func (in *instance) addTyped(x ast.Expr, t, declared types.Type, why reason) {
	in.args = append(in.args, instanceArg{x, t, declared, why})
	in.unwrapHint(declared, t)
	want, closed := in.substituteKnown(declared, true)
	if closed && in.isHinted(declared) {
		if ok, _ := types.Conversion(t, want); ok {
			in.applyHints(declared)
			return
		}
	}
	in.solve(declared, t)
}

// unwrapHint handles a function whose result type is just a type parameter, if an Option is
// expected. If the first argument of this type is no Option, the type argument becomes the Option's
// element type. Then the result is converted instead of the argument.
func (in *instance) unwrapHint(declared, t types.Type) {
	p, ok := types.Resolve(declared).(*types.Param)
	if !ok || p != in.whole || in.solved[p] != nil || in.hints[p] == nil {
		return
	}
	o, ok := types.Resolve(in.hints[p]).(*types.Option)
	if !ok || isOption(types.Resolve(t)) || types.Resolve(t) == types.Nil {
		return
	}
	if fits, _ := types.Conversion(t, o.Elem); fits {
		in.hints[p] = o.Elem
	}
}

// isHinted reports whether d contains a type parameter that only a hint determines.
func (in *instance) isHinted(d types.Type) bool {
	found := false
	types.Walk(d, func(t types.Type) bool {
		if p, ok := t.(*types.Param); ok && in.solved[p] == nil && in.hints[p] != nil {
			found = true
		}
		return !found
	})
	return found
}

func (in *instance) applyHints(d types.Type) {
	types.Walk(d, func(t types.Type) bool {
		if p, ok := t.(*types.Param); ok && in.solved[p] == nil && in.hints[p] != nil {
			in.solved[p] = in.hints[p]
		}
		return true
	})
}

// finishArguments coerces the arguments to the inferred types, and then checks the closures.
func (in *instance) finishArguments(b *body) {
	errors := b.errors
	defer func() { in.broken = in.broken || b.errors > errors }()
	for _, a := range in.args {
		b.coerce(a.x, a.t, types.Substitute(a.param, in.solved), a.why)
	}
	for _, a := range in.closures {
		in.closure(b, a)
	}
	in.args, in.closures = nil, nil
}

func (in *instance) closure(b *body, a instanceArg) {
	want, closed := in.substituteKnown(a.param, false)
	if closed {
		b.checkAs(a.x, want, a.why)
		return
	}
	f, ok := types.Resolve(want).(*types.Func)
	if !ok {
		in.solve(a.param, b.expr(a.x, nil))
		return
	}
	hint := &types.Func{Result: f.Result}
	for _, p := range f.Params {
		hint.Params = append(hint.Params, in.replaceOpen(b, p))
	}
	if in.open(f.Result) {
		hint.Result, _ = in.substituteKnown(f.Result, true)
		if in.open(hint.Result) {
			hint.Result = in.openResult(b, hint.Result)
		}
	}
	got := b.expr(a.x, hint)
	if g, ok := types.Resolve(got).(*types.Func); ok && len(g.Params) == len(f.Params) {
		in.solve(f, got)
	}
	b.coerce(a.x, got, types.Substitute(a.param, in.solved), a.why)
}

// openResult returns the expected result type of a closure whose type is not completely known. It
// returns an Option or a Result with unknown parts, because these determine the target of `?`. For
// other types it returns nil.
func (in *instance) openResult(b *body, t types.Type) types.Type {
	switch types.Resolve(t).(type) {
	case *types.Option, *types.Result:
		return in.replaceOpen(b, t)
	}
	return nil
}

// replaceOpen returns t with each undetermined type parameter replaced by its hint, or by an
// inference variable without a hint.
func (in *instance) replaceOpen(b *body, t types.Type) types.Type {
	types.Walk(t, func(u types.Type) bool {
		p, ok := u.(*types.Param)
		switch {
		case !ok || !in.has(p) || in.solved[p] != nil:
		case in.hints[p] != nil:
			in.solved[p] = in.hints[p]
		default:
			in.solved[p] = b.c.newVar()
		}
		return true
	})
	return types.Substitute(t, in.solved)
}

// apply returns t with the type arguments substituted. An undetermined parameter becomes a
// variable, which later code must determine.
func (in *instance) apply(b *body, t types.Type, at source.Span) types.Type {
	if len(in.params) == 0 {
		return t
	}
	for _, p := range in.params {
		if in.solved[p] != nil {
			continue
		}
		if h := in.hints[p]; h != nil {
			in.solved[p] = h
			continue
		}
		if in.broken {
			in.solved[p] = types.Bad
			continue
		}
		in.solved[p] = b.freshVar(at, "`"+p.Name+"`", "annotate the variable or parameter that receives it")
	}
	return types.Substitute(t, in.solved)
}

// arguments returns the type arguments in the order of the type parameters.
func (in *instance) arguments() []types.Type {
	out := make([]types.Type, len(in.params))
	for i, p := range in.params {
		out[i] = in.solved[p]
	}
	return out
}

func unparen(x ast.Expr) ast.Expr {
	for {
		p, ok := x.(*ast.ParenExpr)
		if !ok {
			return x
		}
		x = p.X
	}
}
