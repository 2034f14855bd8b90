package sema

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// This file handles the bounds of type parameters: it finds the impls of a trait for a type, and
// infers type arguments from bounds.

// isImplFor reports whether im implements the trait of a bound for type t, with the type arguments
// of the bound. in then contains the values of the impl's type parameters.
func (k *conformance) isImplFor(im *impl, t types.Type, bound *types.Bound) (in *instance, ok bool) {
	if implKey(im.target) != implKey(t) || !matches(im, t) {
		return nil, false
	}
	in = newInstance(im.generics)
	in.solve(im.target, t)
	for i, a := range im.args {
		in.solve(a, bound.Args[i])
	}
	if !im.bound().Substitute(in.solved).Identical(bound) {
		return nil, false
	}
	for _, p := range im.generics {
		if s := in.solved[p]; p.Ordered && s != nil && !types.IsOrdered(s) {
			return nil, false
		}
		for _, own := range p.Bounds {
			if s := in.solved[p]; s != nil && !k.satisfies(s, own.Substitute(in.solved)) {
				return nil, false
			}
		}
	}
	return in, true
}

// satisfies reports whether type t satisfies a bound.
func (k *conformance) satisfies(t types.Type, bound *types.Bound) bool {
	t = types.Resolve(t)
	switch x := t.(type) {
	case *types.Param:
		for _, b := range x.Bounds {
			if b.Identical(bound) {
				return x.Admits == nil || k.traits[b.Trait].binary() == nil
			}
		}
		return false
	case *types.Basic:
		if x == types.Bad || x == types.Never || x == types.Any {
			return true
		}
	case *types.Var:
		return true
	}
	for _, im := range k.traits[bound.Trait].impls {
		if _, ok := k.isImplFor(im, t, bound); ok {
			return true
		}
	}
	return false
}

// implementedBounds returns the bounds with the given trait that type t satisfies.
func (k *conformance) implementedBounds(t types.Type, trait *types.Trait) (out []*types.Bound) {
	t = types.Resolve(t)
	if p, ok := t.(*types.Param); ok {
		for _, b := range p.Bounds {
			if b.Trait == trait {
				out = append(out, b)
			}
		}
		return out
	}
	for _, im := range k.traits[trait].impls {
		if implKey(im.target) == implKey(t) && matches(im, t) {
			in := newInstance(im.generics)
			in.solve(im.target, t)
			out = append(out, im.bound().Substitute(in.solved))
		}
	}
	return out
}

// inferFromBounds infers unknown type parameters that appear in the arguments of a bound. This is
// possible if the type with the bound has exactly one impl of the trait.
func (b *body) inferFromBounds(in *instance) {
	for _, p := range in.params {
		t := in.solved[p]
		if t == nil {
			continue
		}
		for _, bound := range p.Bounds {
			if !in.openBound(bound) {
				continue
			}
			var fit *types.Bound
			n := 0
			for _, have := range b.c.conforms.implementedBounds(t, bound.Trait) {
				if mayOverlap(&impl{args: bound.Substitute(in.solved).Args}, &impl{args: have.Args}) {
					fit, n = have, n+1
				}
			}
			if n == 1 && !fit.Open() {
				for i, a := range bound.Args {
					in.solve(a, fit.Args[i])
				}
			}
		}
	}
}

// openBound reports whether a type argument of a bound is still unknown.
func (in *instance) openBound(bound *types.Bound) bool {
	for _, a := range bound.Args {
		if t, _ := in.substituteKnown(a, false); in.open(t) {
			return true
		}
	}
	return false
}

// checkBounds checks that type arguments satisfy the bounds of their parameters. The check runs
// when all type arguments are known.
func (b *body) checkBounds(in *instance, at source.Span) {
	for _, p := range in.params {
		t := in.solved[p]
		if t == nil || p.Name == "Self" {
			continue
		}
		if p.Ordered {
			b.late = append(b.late, func() {
				if !types.IsOrdered(t) {
					b.reportNotOrdered(types.Full(t), at)
				}
			})
		}
		for _, bound := range p.Bounds {
			b.late = append(b.late, func() {
				if bound := bound.Substitute(in.solved); !b.c.conforms.satisfies(t, bound) {
					b.reportBoundNotMet(types.Full(t), bound, at)
				}
			})
		}
	}
}

// reportNotOrdered reports a type argument that does not satisfy the bound Ord.
func (b *body) reportNotOrdered(t types.Type, at source.Span) {
	d := diag.BoundNotMet.At(at, "values of `%s` have no order", t)
	if _, ok := t.(*types.Param); ok {
		b.report(d.Hint("add a bound: `%s: %s`", t, types.OrderedBound))
		return
	}
	b.report(d.Hint("only Int, Float and String satisfy `%s`: pass the key by which values are compared, such as `xs.sort_by_key(|x| …)`", types.OrderedBound))
}

func (b *body) reportBoundNotMet(t types.Type, bound *types.Bound, at source.Span) {
	td := b.c.conforms.traits[bound.Trait]
	d := diag.BoundNotMet.At(at, "`%s` does not implement `%s`", t, bound).LabelIn(td.mod.info.File.Source, td.decl.Name.Sp, "the trait")
	if p, ok := t.(*types.Param); ok {
		switch fn := td.binary(); {
		case p.Admits == nil:
			d.Hint("add a bound: `%s: %s`", t, bound)
		case fn != nil && p.Bounds[0].Identical(bound):
			d.Hint("its values have different types, but `%s` takes a value of the same type", fn.Decl.Name.Name)
		default:
			d.Hint("use a type that implements it")
		}
		b.report(d)
		return
	}
	var has []string
	for _, h := range b.c.conforms.implementedBounds(t, bound.Trait) {
		if len(h.Args) > 0 && b.c.conforms.satisfies(t, h) {
			has = append(has, h.String())
		}
	}
	if len(has) > 0 {
		d.Hint("it implements %s", quotedNames(has))
	}
	b.report(d.WithFixes(b.implementFix(t, bound, at)...).Hint("add `impl %s for %s { … }`", bound, t))
}

// candidate is a method to which a call may refer.
type candidate struct {
	fn *Function
	// bindings contains the values of the trait's type parameters. shown also contains the values
	// of the impl's type parameters, if the receiver determines them.
	bindings, shown map[*types.Param]types.Type
	bound           *types.Bound // bound that provides the method, or nil
}

// boundMethods returns the methods with the given name that the bounds of a type parameter provide.
// If several traits have such a method, it returns those of the first trait.
func (k *conformance) boundMethods(p *types.Param, name string) (out []candidate) {
	for _, bound := range p.Bounds {
		td := k.traits[bound.Trait]
		fn := td.methods[name]
		if fn == nil || len(out) > 0 && out[0].bound.Trait != bound.Trait {
			continue
		}
		bindings := types.Bindings(td.params, bound.Args)
		out = append(out, candidate{fn, bindings, bindings, bound})
	}
	return out
}

// implMethods returns the methods with the given name that a type has from impls of a generic
// trait. Several impls may provide the method. It returns nil if the method that a call would find
// first is not from a generic trait.
func (c *checker) implMethods(t types.Type, name string) (out []candidate) {
	if !c.conforms.genericTraits {
		return nil
	}
	first := c.method(t, name)
	for _, im := range c.conforms.impls[implKey(t)] {
		fn := im.method(name)
		if fn == nil || !matches(im, t) || im.trait == nil || len(im.args) == 0 {
			continue
		}
		if len(out) > 0 && out[0].bound.Trait != im.trait.trait || len(out) == 0 && fn != first {
			continue
		}
		in := newInstance(im.generics)
		in.solve(im.target, t)
		bound := im.bound().Substitute(in.solved)
		m := candidate{fn: fn, shown: in.solved, bound: bound}
		if fn.trait != nil { // the parameters of a default method are those of the trait
			m.bindings = types.Bindings(fn.trait.params, bound.Args)
			m.shown = m.bindings
		}
		out = append(out, m)
	}
	return out
}

// chooseMethod selects one of several methods for a call. It compares the types of the arguments
// first, and then the expected type of the call.
func (b *body) chooseMethod(all []candidate, name *ast.Ident, args []*ast.Arg, hint types.Type) (candidate, bool) {
	fits := all
	for i, a := range args {
		if len(fits) < 2 {
			break
		}
		fits = b.filterByArgument(fits, i, a)
	}
	if len(fits) > 1 && hint != nil && !types.IsAny(hint) {
		fits = mostSpecific(fits, hint, func(c *candidate) (have, want types.Type) { return types.Substitute(c.fn.CallType(), c.shown), hint })
	}
	if len(fits) == 1 {
		return fits[0], true
	}
	if len(fits) == 0 {
		return all[0], true // the errors are reported for the first method
	}
	b.reportAmbiguous(fits, name)
	return fits[0], false
}

// filterByArgument returns the candidates that accept the i-th argument.
func (b *body) filterByArgument(all []candidate, i int, a *ast.Arg) []candidate {
	param := func(c *candidate) types.Type {
		if c.fn.Recv != nil {
			i++
			defer func() { i-- }()
		}
		if i >= len(c.fn.Params) || a.Name != nil {
			return nil
		}
		return types.Substitute(c.fn.Params[i].Type, c.shown)
	}
	first := param(&all[0])
	differ := first == nil
	for k := range all {
		p := param(&all[k])
		differ = differ || p == nil || !types.Identical(p, first)
	}
	if _, isClosure := unparen(a.Value).(*ast.Closure); !differ || isClosure {
		return all
	}
	t := b.argumentType(a.Value)
	return mostSpecific(all, t, func(c *candidate) (have, want types.Type) { return t, param(c) })
}

// mostSpecific returns the candidates whose required type is identical to the type they have. If
// there are none, it returns those for which a conversion exists, and if there are none either, all
// candidates. pair returns the two types of a candidate.
func mostSpecific(all []candidate, there types.Type, pair func(*candidate) (have, want types.Type)) []candidate {
	var same, fit []candidate
	for i := range all {
		have, want := pair(&all[i])
		if have == nil || want == nil {
			continue
		}
		if types.Identical(have, want) {
			same = append(same, all[i])
		}
		if !types.HasVar(have) && !types.HasVar(want) {
			if ok, _ := types.Conversion(have, want); ok {
				fit = append(fit, all[i])
			}
		}
	}
	switch {
	case len(same) > 0:
		return same
	case len(fit) > 0:
		return fit
	}
	return all
}

// argumentType checks an argument before the callee is chosen, and returns the argument's type.
// There is no expected type. Each argument is checked only once.
func (b *body) argumentType(x ast.Expr) types.Type {
	if b.typed == nil {
		b.typed = map[ast.Expr]types.Type{}
	}
	if t, ok := b.typed[x]; ok {
		return t
	}
	t := b.expr(x, nil)
	b.typed[x] = t
	return t
}

func (b *body) reportAmbiguous(fits []candidate, name *ast.Ident) {
	names := make([]string, len(fits))
	for i, f := range fits {
		names[i] = f.bound.String()
	}
	fn := fits[0].fn
	b.report(diag.AmbiguousMethod.At(name.Sp, "ambiguous method `%s`: declared in %s", name.Name, quotedNames(names)).
		LabelIn(fn.Info.File.Source, fn.Decl.Name.Sp, "one of them").
		Hint("annotate the result, such as `let x: %s = …`, or call the method in a function with a bound on its parameter", types.Full(types.Substitute(fn.CallType(), fits[0].shown))))
}

// reportAmbiguousOnAny reports a call of a method on an Any if the method belongs to a generic
// trait that some type implements several times. It returns false if there is no such trait.
func (b *body) reportAmbiguousOnAny(name *ast.Ident) bool {
	for _, td := range b.c.conforms.traitOrder {
		if len(td.params) == 0 || td.methods[name.Name] == nil {
			continue
		}
		for i, im := range td.impls {
			for _, other := range td.impls[:i] {
				if implKey(im.target) == implKey(other.target) {
					b.report(diag.AmbiguousMethod.At(name.Sp, "ambiguous method `%s`: `%s` has it from %s, and the type of this value is not known", name.Name, types.Full(im.target),
						quotedNames([]string{other.bound().String(), im.bound().String()})).
						Hint("convert the value with `as %s` first", types.Full(im.target)))
					return true
				}
			}
		}
	}
	return false
}

func isParam(t types.Type) bool { _, ok := types.Resolve(t).(*types.Param); return ok }
