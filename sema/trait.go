package sema

import (
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/foreign"
	"github.com/concerto-lang/concerto/internal/text/suggest"
	"github.com/concerto-lang/concerto/sema/edits"
)

// conformance records the traits and their impls.
type conformance struct {
	impls      map[any][]*impl // impls by the implKey of their target type
	methods    map[any]methodList
	refused    map[string]bool // names of methods in traits or impls with errors
	froms      []conversion
	traits     map[*types.Trait]*traitDecl
	traitOrder []*traitDecl // traits in the order of their declaration
	// genericTraits reports that the program contains an impl of a generic trait.
	genericTraits bool
}

// traitDecl is a trait with its signatures, default methods and impls (spec/03-types.md). Inside
// the trait, Self is a type parameter whose bound is the trait.
type traitDecl struct {
	mod     *module
	decl    *ast.TraitDecl
	trait   *types.Trait
	params  []*types.Param
	self    *types.Param
	methods map[string]*Function
	order   []*Function
	impls   []*impl
	object  *types.Param // the trait as a type; nil until it is used as one
	asked   []types.Type // types of which object finds out at present whether they implement the trait
}

// traitType returns the trait as a type: that of all values whose type implements it.
func (c *checker) traitType(td *traitDecl) *types.Param {
	if td.object == nil {
		bound := &types.Bound{Trait: td.trait}
		td.object = &types.Param{Name: td.trait.Name, Bounds: []*types.Bound{bound}, Admits: func(t types.Type) bool {
			// an impl for a type that contains the trait, such as Shape?, asks about the type again
			if slices.ContainsFunc(td.asked, func(x types.Type) bool { return types.Identical(x, t) }) {
				return false
			}
			td.asked = append(td.asked, t)
			defer func() { td.asked = td.asked[:len(td.asked)-1] }()
			return c.conforms.satisfies(t, bound)
		}}
	}
	return td.object
}

// commonTrait returns the name of a trait of the program that may be used as a type and that both
// types implement, or "Any".
func (k *conformance) commonTrait(a, b types.Type) string {
	for _, td := range k.traitOrder {
		bound := &types.Bound{Trait: td.trait}
		if !td.mod.info.Library && len(td.params) == 0 && k.satisfies(a, bound) && k.satisfies(b, bound) {
			return td.trait.Name
		}
	}
	return types.Any.String()
}

// binary returns a method of the trait that has Self in a parameter or its type arguments, or nil.
// A value of the trait cannot have it: the type of its argument is not that of the value.
func (td *traitDecl) binary() *Function {
	for _, fn := range td.order {
		if fn.hasSelfParam() {
			return fn
		}
	}
	return nil
}

// hasSelfParam reports whether a parameter of a trait's method, other than the receiver, has a type
// that contains Self.
func (fn *Function) hasSelfParam() bool {
	params := fn.Params
	if fn.Recv != nil {
		params = params[1:]
	}
	return slices.ContainsFunc(params, func(p *Param) bool {
		found := false
		types.Walk(p.Type, func(t types.Type) bool {
			found = found || t == types.Type(fn.assoc)
			return !found
		})
		return found
	})
}

func (c *checker) declareTrait(m *module, e *entity, d *ast.TraitDecl) {
	t := &types.Trait{Name: e.name}
	td := &traitDecl{mod: m, decl: d, trait: t, params: c.newParams(d.Generics), methods: map[string]*Function{}}
	td.self = &types.Param{Name: "Self", Bounds: []*types.Bound{{Trait: t, Args: asTypes(td.params)}}}
	t.Origin = td
	e.trait = td
	c.conforms.traits[t] = td
	c.conforms.traitOrder = append(c.conforms.traitOrder, td)
}

// defineTrait checks the methods of a trait, or the bounds in a type declaration.
func (c *checker) defineTrait(m *module, e *entity) {
	if e == nil || e.refused {
		return
	}
	if e.typ != nil {
		c.bounds(&typeScope{m: m, params: e.typ.Params}, originOf(e.typ).generics, e.typ.Params)
		return
	}
	if e.trait == nil {
		return
	}
	td := e.trait
	ts := &typeScope{m: m, params: td.params, self: td.self}
	c.bounds(ts, td.decl.Generics, td.params)
	for _, decl := range td.decl.Methods {
		fn := &Function{Name: e.name + "." + decl.Name.Name, Decl: decl, Info: m.info, mod: m, pub: true, trait: td, ofTrait: true, assoc: td.self,
			Generics: append(append([]*types.Param(nil), td.params...), td.self)}
		if first := td.methods[decl.Name.Name]; first != nil {
			c.report(m, diag.DuplicateName.At(decl.Name.Sp, "method `%s` is declared twice", decl.Name.Name).
				Label(first.Decl.Name.Sp, "first declared here").Hint("rename one of them"))
			continue
		}
		c.signature(fn, ts, td.self)
		td.methods[decl.Name.Name] = fn
		td.order = append(td.order, fn)
		if decl.Body != nil {
			c.enter(m, fn)
		}
	}
}

// bounds resolves the bounds of type parameters and stores them in params.
func (c *checker) bounds(ts *typeScope, generics []*ast.TypeParam, params []*types.Param) {
	for i, g := range generics {
		for _, n := range g.Bounds {
			if last := n.Segments[0].Name; len(n.Segments) == 1 && len(n.Args) == 0 && last == types.OrderedBound && c.findDeclared(ts.m, last) == nil {
				params[i].Ordered = true
				continue
			}
			td := c.traitNamed(ts.m, n.Segments)
			if td == nil {
				continue
			}
			args := c.resolveAll(ts, n.Args)
			if len(args) != len(td.params) {
				c.traitArguments(ts.m, n, td, g.Name.Name+": ")
				args = make([]types.Type, len(td.params))
				for k := range args {
					args[k] = types.Bad
				}
			}
			params[i].Bounds = append(params[i].Bounds, &types.Bound{Trait: td.trait, Args: args})
		}
	}
}

// traitArguments reports a trait with too few or too many type arguments.
func (c *checker) traitArguments(m *module, n *ast.NamedType, td *traitDecl, before string) {
	d := diag.TypeArguments.At(n.Sp, "trait `%s` takes %s, but got %d", td.trait.Name, count(len(td.params), "type argument"), len(n.Args)).
		LabelIn(td.mod.info.File.Source, td.decl.Name.Sp, "the trait")
	if len(td.params) == 0 {
		c.report(m, d.Hint("write `%s%s`", before, td.trait.Name))
		return
	}
	self := &types.Bound{Trait: td.trait, Args: asTypes(td.params)}
	c.report(m, d.Hint("write `%s%s` with a type for %s", before, self, quotedParams(td.params)))
}

// asTypes converts type parameters to types.
func asTypes(params []*types.Param) []types.Type {
	out := make([]types.Type, len(params))
	for i, p := range params {
		out[i] = p
	}
	return out
}

func quotedParams(params []*types.Param) string {
	names := make([]string, len(params))
	for i, p := range params {
		names[i] = p.Name
	}
	return quotedNames(names)
}

// traitNamed returns the trait to which a path refers. It reports a path that does not refer to a
// trait.
func (c *checker) traitNamed(m *module, path []*ast.Ident) *traitDecl {
	last := path[len(path)-1]
	var e *entity
	if len(path) > 1 {
		e, _ = c.prefix(m, path, len(path))
		if e == nil {
			return nil
		}
	} else {
		e = c.findDeclared(m, last.Name)
	}
	switch {
	case e == nil:
		var names []string
		for scope := m; scope != nil; scope = scope.around {
			for n, x := range scope.names {
				if x.trait != nil || x.imported != nil {
					names = append(names, n)
				}
			}
		}
		d := unknownName(diag.UnknownTrait, last, "unknown trait `%s`", names)
		if hint := foreign.Trait.Hint(last.Name); hint != "" && len(d.Fixes) == 0 {
			d.Hint("%s", hint)
			d.WithFixes(removeTraitFix(m, last)...)
		} else if len(d.Hints) == 0 {
			d.Repair(declareTrait(m, last), "declare it: `trait %s { … }`", last.Name)
		}
		c.report(m, d)
		return nil
	case e.refused:
		return nil
	case e.trait == nil:
		c.report(m, diag.UnknownTrait.At(last.Sp, "`%s` is not a trait", last.Name).Hint("only traits can be bounds or be implemented"))
		return nil
	}
	return e.trait
}

// implement checks an `impl Trait for Type` against the declaration of the trait.
func (c *checker) implement(m *module, d *ast.ImplDecl, im *impl, ts *typeScope) {
	n, ok := d.Trait.(*ast.NamedType)
	if !ok {
		c.report(m, diag.UnknownTrait.At(d.Trait.Span(), "not a trait").Hint("write the name of a trait"))
		return
	}
	td := c.traitNamed(m, n.Segments)
	if td == nil {
		c.conforms.refuseMethods(d.Methods)
		return
	}
	args := c.resolveAll(ts, n.Args)
	if len(args) != len(td.params) {
		c.traitArguments(m, n, td, "impl ")
		c.conforms.refuseMethods(d.Methods)
		return
	}
	im.trait, im.args = td, args
	c.conforms.genericTraits = c.conforms.genericTraits || len(args) > 0
	im.traitArgs = types.Bindings(td.params, args)
	im.traitArgs[td.self] = im.target
	for _, fn := range im.order {
		fn.pub = true // the methods of a trait have the visibility of the trait
		want := td.methods[fn.Decl.Name.Name]
		if want == nil {
			var names []string
			for _, w := range td.order {
				names = append(names, w.Decl.Name.Name)
			}
			extra := unknownName(diag.ExtraMethod, fn.Decl.Name, "trait `"+td.trait.Name+"` has no method `%s`", names)
			markUsedUnsafe(extra, func(name string) bool { return im.methods[name] != nil })
			if near := suggest.Nearest(fn.Decl.Name.Name, names); near != "" && im.methods[near] == nil {
				im.methods[near] = fn // the method was probably meant, so it is not reported as missing
			} else {
				extra.Repair(edits.MoveMethod(m.info.File.Source, d, fn.Decl, im.name()), "declare it in an impl of the type itself: `impl %s { … }`", im.name())
			}
			c.report(m, extra)
			continue
		}
		c.checkMatchesTrait(m, fn, want, im)
	}
	c.reportMissingMethods(m, d, im)
	if c.reportOverlap(m, d, im) {
		c.conforms.refuseMethods(d.Methods)
		return
	}
	td.impls = append(td.impls, im)
	key := implKey(im.target)
	c.conforms.impls[key] = append(c.conforms.impls[key], im)
}

// refuseMethods records the names of the methods in an impl with errors. Calls of these methods
// then report no further errors.
func (k *conformance) refuseMethods(ms []*ast.FnDecl) {
	for _, d := range ms {
		k.refused[d.Name.Name] = true
	}
}

// checkMatchesTrait checks that a method in an impl has the signature that the trait declares.
func (c *checker) checkMatchesTrait(m *module, fn, want *Function, im *impl) {
	subst := map[*types.Param]types.Type{}
	for p, t := range im.traitArgs {
		subst[p] = t
	}
	own, wanted := fn.Generics[len(fn.Generics)-len(fn.Decl.Generics):], want.Generics[len(want.Generics)-len(want.Decl.Generics):]
	for i := range min(len(own), len(wanted)) {
		subst[wanted[i]] = own[i]
	}
	same := len(own) == len(wanted) && len(fn.Params) == len(want.Params) && fn.MutSelf == want.MutSelf && (fn.Recv == nil) == (want.Recv == nil) &&
		types.Identical(fn.CallType(), types.Substitute(want.CallType(), subst))
	for i := range min(len(fn.Params), len(want.Params)) {
		same = same && types.Identical(fn.Params[i].Type, types.Substitute(want.Params[i].Type, subst))
	}
	if same || fn.Result == types.Bad {
		return
	}
	c.report(m, diag.MethodSignature.At(fn.Decl.Name.Sp, "`%s` does not match its declaration in trait `%s`", fn.Decl.Name.Name, im.trait.trait.Name).
		LabelIn(im.trait.mod.info.File.Source, want.Decl.Signature, "declared here").
		Repair(diag.UnsafeFix(diag.Replace(fn.Decl.Signature, asDeclared(want, subst)), "Write `%s`", asDeclared(want, subst)), "its type must be `%s`", asDeclared(want, subst)))
}

// asDeclared returns the text of a method's signature in which type arguments replace the type
// parameters.
func asDeclared(fn *Function, args map[*types.Param]types.Type) string {
	var b strings.Builder
	if fn.Async {
		b.WriteString("async ")
	}
	b.WriteString("fn " + fn.Decl.Name.Name)
	for i, g := range fn.Decl.Generics {
		b.WriteString(map[bool]string{true: "<", false: ", "}[i == 0] + g.Name.Name)
	}
	if len(fn.Decl.Generics) > 0 {
		b.WriteString(">")
	}
	b.WriteString("(")
	for i, p := range fn.Params {
		if i > 0 {
			b.WriteString(", ")
		}
		switch {
		case p.Name == "self" && fn.Recv != nil:
			b.WriteString(map[bool]string{true: "mut "}[fn.MutSelf] + "self")
		default:
			b.WriteString(p.Name + ": " + types.Full(types.Substitute(p.Type, args)).String())
		}
	}
	b.WriteString(")")
	if fn.Decl.Result != nil {
		b.WriteString(" -> " + types.Full(types.Substitute(fn.Result, args)).String())
	}
	return b.String()
}

func (c *checker) reportMissingMethods(m *module, d *ast.ImplDecl, im *impl) {
	var missing, signatures, heads []string
	for _, want := range im.trait.order {
		name := want.Decl.Name.Name
		if want.Decl.Body == nil && im.methods[name] == nil {
			missing = append(missing, name)
			head := asDeclared(want, im.traitArgs)
			heads, signatures = append(heads, head), append(signatures, "`"+head+" { … }`")
		}
	}
	if len(missing) > 0 {
		c.report(m, diag.MissingMethod.At(d.Trait.Span(), "`%s` does not implement %s of trait `%s`", im.name(), quotedNames(missing), im.trait.trait.Name).
			LabelIn(im.trait.mod.info.File.Source, im.trait.decl.Name.Sp, "the trait").
			Advise(edits.AddMethods(diag.HintAdvice("add this method: "+strings.Join(signatures, ", ")), m.info.File.Source, d, heads)))
	}
}

// reportOverlap reports a second impl of a trait for a type that is the same at run time, because
// type arguments do not exist at run time. The impls may have different type arguments of the
// trait. It returns false if there is no overlap.
func (c *checker) reportOverlap(m *module, impl *ast.ImplDecl, im *impl) bool {
	for _, other := range im.trait.impls {
		if implKey(other.target) != implKey(im.target) || !mayOverlap(im, other) {
			continue
		}
		d := diag.DuplicateImpl.At(impl.Target.Span(), "trait `%s` is already implemented for `%s`", other.bound(), types.Full(other.target))
		if types.Identical(other.target, im.target) {
			d.Repair(diag.UnsafeFix(diag.Remove(edits.WithItsLines(m.info.File.Source, impl.Sp)), "Remove this impl"), "keep one of the two")
		} else {
			d.Hint("one impl applies to all type arguments: `impl<T> %s for …`", im.bound())
		}
		c.report(m, d)
		return true
	}
	return false
}

// bound returns the trait of an impl and its type arguments as a Bound.
func (im *impl) bound() *types.Bound { return &types.Bound{Trait: im.trait.trait, Args: im.args} }

// mayOverlap reports whether the type arguments of the trait in two impls could be the same.
func mayOverlap(a, b *impl) bool {
	for i := range a.args {
		if !mayBeSame(a.args[i], b.args[i]) {
			return false
		}
	}
	return true
}

// mayBeSame reports whether two types are the same for some values of their type parameters.
func mayBeSame(a, b types.Type) bool {
	a, b = types.Resolve(a), types.Resolve(b)
	_, left := a.(*types.Param)
	_, right := b.(*types.Param)
	if left || right || a == types.Bad || b == types.Bad {
		return true
	}
	pa, pb := types.Parts(a), types.Parts(b)
	if len(pa) == 0 || !sameForm(a, b) || len(pa) != len(pb) {
		return types.Identical(a, b)
	}
	for i := range pa {
		if !mayBeSame(pa[i], pb[i]) {
			return false
		}
	}
	return true
}

// method returns the method of an impl with the given name, the default method of its trait, or
// nil. Another check reports missing methods.
func (im *impl) method(name string) *Function {
	if fn := im.methods[name]; fn != nil || im.trait == nil {
		return fn
	}
	if fn := im.trait.methods[name]; fn != nil && fn.Decl.Body != nil {
		return fn
	}
	return nil
}

// boundNames returns the names of the methods that the bounds of a type parameter provide.
func (k *conformance) boundNames(p *types.Param) []string {
	var names []string
	for _, bound := range p.Bounds {
		for _, fn := range k.traits[bound.Trait].order {
			names = append(names, fn.Decl.Name.Name)
		}
	}
	return names
}

// callBound checks a call of a trait's method on a value whose type is a type parameter. The impl
// is selected at run time.
func (b *body) callBound(e *ast.MethodCall, m candidate, p *types.Param, hint types.Type, pp *piped) types.Type {
	fn := m.fn
	if types.IsTrait(p) && fn.hasSelfParam() {
		b.arguments(e.Args)
		b.report(diag.BoundNotMet.At(e.Name.Sp, "`%s` takes a value of the same type, and values of the trait `%s` have different types", e.Name.Name, p.Name).
			Hint("call it in a function with a bound: `fn f<T: %s>(x: T, y: T)`", p.Name))
		return types.Bad
	}
	recv := &receiver{x: e.Recv, t: p, at: e.Sp, bindings: m.bindings}
	if len(e.TypeArgs) > 0 {
		recv.typeArgs = b.c.resolveAll(b.ts, e.TypeArgs)
	}
	if fn.MutSelf {
		b.checkMutable(e.Recv, "`"+e.Name.Name+"` changes its receiver")
		b.reportCapturingClosures(e)
	}
	t := b.callFunction(e, fn, nil, recv, nil, hint, e.Args, pp)
	d := b.info.Call(e)
	d.Kind = CallAnyMethod
	b.recordSite(&site{at: e.Name.Sp, id: e.Id, fn: fn, bound: m.bound})
	return t
}

// reportUnbound reports a call of a method that no bound of a type parameter has, or that a trait
// as a type does not have.
func (b *body) reportUnbound(e *ast.MethodCall, p *types.Param) {
	names := b.c.conforms.boundNames(p)
	if types.IsTrait(p) {
		b.report(unknownName(diag.UnknownMethod, e.Name, "the trait `"+p.Name+"` has no method `%s`", names).
			Hint("a value of the trait has only the methods of the trait: declare it there, or use an enum of the types"))
		return
	}
	b.report(unknownName(diag.UnknownMethod, e.Name, "no bound of type parameter `"+p.Name+"` has a method `%s`", names).
		Hint("add the bound of a trait with this method: `%s: %s`", p.Name, b.c.conforms.traitOfMethod(e.Name.Name)))
}
