package sema

import (
	"fmt"
	"slices"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// A call through a bound finds its method at run time, by the type of the value. Type arguments do
// not exist at run time. Therefore the name of a generic trait's method contains the trait's type
// arguments: `Into<String>.into`. If the type arguments of a bound are type parameters of the
// enclosing function (`fn f<T, X: Into<T>>`), the function's code is generated once for each
// combination of their values. The code of other functions is the same for all type arguments.
//
// Specialisation runs after all bodies are checked. A type parameter of a function is relevant if
// it determines the type arguments of such a bound, in the function or in its callees. A function
// with relevant type parameters is generated several times.

// specialiser is the state of specialisation.
type specialiser struct {
	owners    []*Function // functions that contain sites, in the order of checking; nil represents code outside functions
	sites     map[*Function][]*site
	settled   map[*Function]int // number of sites of each function that have been resolved
	relevant  map[*Function]map[*types.Param]bool
	instances map[*Function][]*specialised
	names     map[string][]*types.Bound
	traits    map[string][]*types.Trait
	untyped   []*untypedMethod
}

// site is a position in a function whose code depends on type arguments: a call through a bound, or
// a call or a value of a generic function.
type site struct {
	mod   *module
	at    source.Span
	id    ast.ID
	fn    *Function    // callee, or the method of the trait
	bound *types.Bound // bound of a call through a bound, else nil
	args  []types.Type // values of the type parameters of fn
}

// specialised is the copy of a function for certain type arguments.
type specialised struct {
	env map[*types.Param]types.Type
	fn  *Function
}

// untypedMethod is a method that a call on an Any may call.
type untypedMethod struct {
	name string
	im   *impl
	fn   *Function
	mod  *module
	at   source.Span
}

// maxInstances is the maximum number of copies of a function. A function that needs more calls
// itself with larger and larger type arguments.
const maxInstances = 200

func (sp *specialiser) clear() {
	*sp = specialiser{sites: map[*Function][]*site{}, settled: map[*Function]int{}, instances: map[*Function][]*specialised{},
		names: map[string][]*types.Bound{}, traits: map[string][]*types.Trait{}}
}

// recordSite records a site. It is resolved after all bodies are checked.
func (b *body) recordSite(s *site) {
	b.c.bodies.noteSite(s)
	sp, owner := &b.c.special, b.owner()
	if _, found := sp.sites[owner]; !found {
		sp.owners = append(sp.owners, owner)
	}
	s.mod = b.m
	sp.sites[owner] = append(sp.sites[owner], s)
}

// recordGeneric records a call or a value of a generic function of the program.
func (b *body) recordGeneric(id ast.ID, fn *Function, args []types.Type, at source.Span) {
	if len(args) > 0 && !fn.Info.Library {
		b.recordSite(&site{at: at, id: id, fn: fn, args: args})
	}
}

// specialise resolves all recorded sites.
func (c *checker) specialise() {
	sp := &c.special
	if len(sp.owners) == 0 && len(sp.untyped) == 0 || c.diags.HasErrors() {
		return
	}
	sp.findRelevant()
	for _, owner := range sp.owners {
		if len(sp.relevant[owner]) > 0 {
			continue
		}
		for _, s := range sp.sites[owner][sp.settled[owner]:] {
			c.resolveSite(s, nil, s.mod.info)
			sp.settled[owner]++
		}
	}
	c.recordUntypedMethods()
	c.prog.Functions = slices.DeleteFunc(c.prog.Functions, func(fn *Function) bool { return len(sp.relevant[fn]) > 0 && !fn.instance })
}

// findRelevant finds the relevant type parameters of all functions.
func (sp *specialiser) findRelevant() {
	sp.relevant = map[*Function]map[*types.Param]bool{}
	for changed := true; changed; {
		changed = false
		for _, owner := range sp.owners {
			if owner == nil {
				continue
			}
			for _, s := range sp.sites[owner] {
				for _, t := range sp.decidingTypes(s) {
					types.Walk(t, func(t types.Type) bool {
						if p, ok := t.(*types.Param); ok && slices.Contains(owner.Generics, p) && !sp.relevant[owner][p] {
							if sp.relevant[owner] == nil {
								sp.relevant[owner] = map[*types.Param]bool{}
							}
							sp.relevant[owner][p], changed = true, true
						}
						return true
					})
				}
			}
		}
	}
}

// decidingTypes returns the types that determine which code a site needs.
func (sp *specialiser) decidingTypes(s *site) []types.Type {
	if s.bound != nil {
		return s.bound.Args
	}
	var out []types.Type
	for i, p := range s.fn.Generics {
		if sp.relevant[s.fn][p] && s.args[i] != nil {
			out = append(out, s.args[i])
		}
	}
	return out
}

// resolveSite resolves a site. env contains the type arguments of the function that contains the
// site. The results are written to info, the tables of this function.
func (c *checker) resolveSite(s *site, env map[*types.Param]types.Type, info *Info) {
	if s.bound != nil {
		call := *info.details[s.id].(*Call)
		call.Name = c.boundCall(s, s.bound.Substitute(env))
		info.details[s.id] = &call
		return
	}
	sub := map[*types.Param]types.Type{}
	for i, p := range s.fn.Generics {
		if c.special.relevant[s.fn][p] {
			sub[p] = types.Full(types.Substitute(s.args[i], env))
		}
	}
	if len(sub) == 0 {
		return
	}
	fn := c.instance(s, s.fn, sub)
	if call, ok := info.details[s.id].(*Call); ok {
		made := *call
		made.Fn = fn
		info.details[s.id] = &made
		return
	}
	info.objects[s.id] = fn
}

// instance returns the copy of fn for the type arguments in env. It creates the copy when it is
// first needed.
func (c *checker) instance(s *site, fn *Function, env map[*types.Param]types.Type) *Function {
	sp := &c.special
	for _, x := range sp.instances[fn] {
		if sameArguments(x.env, env) {
			return x.fn
		}
	}
	made := *fn
	made.instance = true
	if len(sp.instances[fn]) >= maxInstances {
		c.report(s.mod, diag.BoundNotMet.At(s.at, "`%s` calls itself with infinitely many types", fn.Name).
			Hint("use a bound whose type arguments contain no type parameters"))
		return &made
	}
	sp.instances[fn] = append(sp.instances[fn], &specialised{env, &made})
	c.prog.Functions = append(c.prog.Functions, &made)
	made.Info = fn.Info.copyForInstance()
	for _, inner := range sp.sites[fn] {
		c.resolveSite(inner, env, made.Info)
	}
	return &made
}

// copyForInstance returns a copy of the tables in which the calls and values of one function can be
// changed.
func (i *Info) copyForInstance() *Info {
	out := *i
	out.details, out.objects = slices.Clone(i.details), slices.Clone(i.objects)
	return &out
}

func sameArguments(a, b map[*types.Param]types.Type) bool {
	for p, t := range a {
		if !types.Identical(t, b[p]) {
			return false
		}
	}
	return len(a) == len(b)
}

// boundCall returns the name of the method that a call through a bound calls, and records the
// methods that the call may call. If the type arguments of the bound are unknown, every impl of the
// trait may apply. Then it is an error if a type has several impls.
func (c *checker) boundCall(s *site, bound *types.Bound) string {
	td, method := c.conforms.traits[bound.Trait], s.fn.Decl.Name.Name
	name := c.special.traitName(bound.Trait) + "." + method
	if bound.Open() {
		c.reportSeveralImpls(s, td)
	} else if len(bound.Args) > 0 {
		name = c.special.boundName(bound) + "." + method
	}
	for _, im := range td.impls {
		target := im.method(method)
		if target == nil {
			continue
		}
		in := newInstance(im.generics)
		if !bound.Open() {
			for i, a := range im.args {
				in.solve(a, bound.Args[i])
			}
			if !im.bound().Substitute(in.solved).Identical(bound) {
				continue
			}
		}
		c.lib.use(target)
		c.prog.noteDynamic(name, im.target, c.implInstance(s, im, target, in))
	}
	return name
}

// implInstance returns a method of an impl, or a default method of its trait, for the values of the
// impl's type parameters.
func (c *checker) implInstance(s *site, im *impl, fn *Function, in *instance) *Function {
	env := map[*types.Param]types.Type{}
	for p := range c.special.relevant[fn] {
		t := im.traitArgs[p] // the type parameter belongs to a default method
		if t == nil {
			t = p
		}
		env[p] = types.Full(types.Substitute(t, in.solved))
	}
	if len(env) == 0 {
		return fn
	}
	return c.instance(s, fn, env)
}

// reportSeveralImpls reports a call to which several impls of the same type apply.
func (c *checker) reportSeveralImpls(s *site, td *traitDecl) {
	for i, im := range td.impls {
		for _, other := range td.impls[:i] {
			if implKey(im.target) != implKey(other.target) {
				continue
			}
			c.report(s.mod, diag.AmbiguousMethod.At(s.at, "ambiguous method `%s`: the type is not known at run time", s.fn.Decl.Name.Name).
				LabelIn(s.fn.Info.File.Source, s.fn.Decl.Name.Sp, "`%s` has it from `%s` and from `%s`", types.Full(im.target), other.bound(), im.bound()).
				Hint("use a trait with concrete type arguments as the bound: `%s`", im.bound()))
			return
		}
	}
}

// traitName returns the name of a trait as it appears in the names of methods. If several traits
// have the same name, the later ones have a number.
func (sp *specialiser) traitName(t *types.Trait) string {
	n := slices.Index(sp.traits[t.Name], t)
	if n < 0 {
		n = len(sp.traits[t.Name])
		sp.traits[t.Name] = append(sp.traits[t.Name], t)
	}
	return numberedName(t.Name, n)
}

// boundName returns the name of a trait and its type arguments.
func (sp *specialiser) boundName(b *types.Bound) string {
	text := b.String()
	n := slices.IndexFunc(sp.names[text], b.Identical)
	if n < 0 {
		n = len(sp.names[text])
		sp.names[text] = append(sp.names[text], b)
	}
	return numberedName(text, n)
}

func numberedName(name string, n int) string {
	if n == 0 {
		return name
	}
	return fmt.Sprintf("%s#%d", name, n+1)
}

// recordUntypedMethods records the methods of generic traits that a call on an Any may call.
func (c *checker) recordUntypedMethods() {
	for _, u := range c.special.untyped {
		s := &site{mod: u.mod, at: u.at, fn: u.fn}
		c.prog.noteDynamic(u.name, u.im.target, c.implInstance(s, u.im, u.fn, newInstance(u.im.generics)))
	}
	c.special.untyped = nil
}
