package sema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/suggest"
)

// Decoration is a decorator that wraps a call: `@retry`, `@timeout`, `@cache` or `@log`. The
// library function Fn implements the decorator. The parameters of Fn are the call, the name of the
// callee, the arguments as text, the key of the call, and then the parameters of the decorator
// (stdlib/decorate.conc).
type Decoration struct {
	Name string
	Fn   *Function
	// Stream is the variant of Fn for a call that returns a stream. It is nil in a program that
	// does not use streams.
	Stream *Function
	Args   []any // constant arguments, one for each parameter of Fn from OwnParam on
	// ModulePath is the path from the root module to the decorated function, such as "tools::". The
	// keys of a cache contain it, so that functions with the same name in different modules do not
	// share answers.
	ModulePath string
	// CachedType is the type of the values that a `@cache` with `persist` stores, or nil.
	CachedType types.Type
}

// OwnParam is the index of the first parameter of Fn that belongs to the decorator itself.
const OwnParam = 4

// wrapping maps the decorators that wrap a call to the library functions that implement them.
var wrapping = map[string]string{"retry": "__retry", "timeout": "__timeout", "cache": "__cache", "log": "__log"}

// streamed is the name of the library function that applies an agent's decorators to a stream.
// wrappingStreams maps these decorators to their functions for streams.
const streamed = "__decorated_flow"

var wrappingStreams = map[string]string{"retry": "__retry_flow", "timeout": "__timeout_flow", "cache": "__cache_flow", "log": "__log_flow"}

// decorateStreams sets the Stream functions of the agents' decorators.
func (c *checker) decorateStreams() {
	for _, a := range c.prog.Agents {
		for _, d := range a.Decorations {
			d.Stream = c.constBody(c.entry).libraryHelper(wrappingStreams[d.Name])
		}
	}
}

// Shows reports whether the decorator uses the text of the call's arguments.
func (d *Decoration) Shows() bool { return d.Name == "cache" || d.Name == "log" }

// decorations reads the decorators that wrap a call. The outermost decorator comes first. The
// caller checks the other decorators.
func (c *checker) decorations(m *module, ds []*ast.Decorator) []*Decoration {
	var out []*Decoration
	for _, d := range ds {
		if wrapping[d.Name.Name] == "" {
			continue
		}
		if slices.ContainsFunc(out, func(x *Decoration) bool { return x.Name == d.Name.Name }) {
			c.report(m, diag.DecoratorPlace.At(d.Sp, "duplicate decorator `@%s`", d.Name.Name).Hint("remove one of them"))
			continue
		}
		b := c.constBody(m)
		fn := b.libraryHelper(wrapping[d.Name.Name])
		if fn == nil {
			continue // the program is compiled without the library
		}
		if x := b.decoration(d, fn); x != nil {
			x.ModulePath = m.pathTo(d)
			out = append(out, x)
		}
		b.finish()
	}
	return out
}

// writtenParams returns the parameters of fn for the written arguments of a decorator. It omits
// run-time types at the end, because the compiler passes them.
func writtenParams(fn *Function) []*Param {
	params := fn.Params[OwnParam:]
	for n := len(params); n > 0 && params[n-1].Type == types.Shape; n-- {
		params = params[:n-1]
	}
	return params
}

// persists reports whether the decorator is a `@cache` that stores answers in a file.
func (d *Decoration) persists() bool {
	return d.Name == "cache" && len(d.Args) > 1 && d.Args[1] != ""
}

// recordCachedType records the type t of the values that each `@cache` with `persist` stores. It
// reports a type that cannot be stored in a file. If t is a Result, only the Ok values are stored.
// decl contains the decorators in the syntax tree.
func (c *checker) recordCachedType(m *module, ds []*Decoration, decl []*ast.Decorator, t types.Type) {
	for _, d := range ds {
		if !d.persists() {
			continue
		}
		d.CachedType = t
		value := types.Resolve(t)
		if r, ok := value.(*types.Result); ok {
			value = r.Ok
		}
		part := unstorableType(value, map[*types.Decl]bool{})
		types.Walk(value, func(t types.Type) bool {
			if p, ok := types.Resolve(t).(*types.Param); ok && part == nil {
				part = p
			}
			return part == nil
		})
		if part != nil {
			c.report(m, diag.StoreType.At(findDecorator(decl, d.Name).Sp, "`@cache` cannot store values of type `%s` in a file", types.Full(part)).
				Hint("return data instead, or remove `persist`"))
		}
	}
}

// pathTo returns the path to the declaration with the decorator d: the names of the modules, and
// the position of d if the declaration is inside a block.
func (m *module) pathTo(d *ast.Decorator) string {
	path := ""
	if m.around != nil {
		path = fmt.Sprintf("%v::", d.Sp.Start)
	}
	for h := m.home(); h != nil && h.parent != nil; h = h.parent {
		path = h.name + "::" + path
	}
	if u := m.root().unit; u != nil && u.pkg != nil {
		path = u.pkg.Name + "::" + path
	}
	return path
}

// decoration reads the arguments of one decorator. fn is the library function that implements it.
func (b *body) decoration(d *ast.Decorator, fn *Function) *Decoration {
	params := writtenParams(fn)
	out := &Decoration{Name: d.Name.Name, Fn: fn, Args: make([]any, len(params))}
	isSet := make([]bool, len(params))
	ok, misnamed := true, false
	for i, a := range d.Args {
		k := i
		if a.Name != nil {
			k = slices.IndexFunc(params, func(p *Param) bool { return p.Name == a.Name.Name })
		}
		if k < 0 || k >= len(params) || isSet[k] {
			b.expr(a.Value, nil)
			b.reportWrongArgument(d, a, params, k)
			ok, misnamed = false, true
			continue
		}
		isSet[k] = true
		p := params[k]
		b.checkAs(a.Value, p.Type, reason{})
		v := b.c.evaluate(b.m, a.Value, p.Type)
		if out.Args[k] = v; v == nil {
			ok = false
		} else if problem := argumentProblem(p.Name, v); problem != "" {
			e := diag.DecoratorArgument.At(a.Value.Span(), "`%s` of `@%s` %s", p.Name, d.Name.Name, problem)
			if p.Name == "persist" {
				e.Hint("set a file name, such as `persist: \"answers.db\"`, or remove it")
			} else {
				e.Hint("use a value in this range")
			}
			b.report(e)
		}
	}
	for k, p := range params {
		if isSet[k] {
			continue
		}
		if p.Default == nil && misnamed {
			return nil // a missing argument may be a consequence of this error
		}
		if p.Default == nil {
			b.report(diag.DecoratorArgument.At(d.Sp, "`@%s` requires `%s`", d.Name.Name, p.Name).Hint("write `@%s`", decoratorSignature(d.Name.Name, params)))
			return nil
		}
		out.Args[k] = b.c.evaluate(fn.mod, p.Default, p.Type)
	}
	if !ok {
		return nil
	}
	return out
}

// reportWrongArgument reports an argument with an unknown name, or a duplicate argument.
func (b *body) reportWrongArgument(d *ast.Decorator, a *ast.Arg, params []*Param, k int) {
	e := diag.DecoratorArgument.At(a.Sp, "`@%s` takes at most %s", d.Name.Name, count(len(params), "argument"))
	switch {
	case k < 0:
		e = diag.DecoratorArgument.At(a.Name.Sp, "`@%s` has no argument `%s`", d.Name.Name, a.Name.Name)
	case k < len(params):
		e = diag.DecoratorArgument.At(a.Sp, "argument `%s` is passed twice", params[k].Name)
	}
	b.report(e.Hint("write `@%s`", decoratorSignature(d.Name.Name, params)))
}

// decoratorSignature returns the signature of a decorator for a hint.
func decoratorSignature(name string, params []*Param) string {
	s := name + "("
	for i, p := range params {
		if i > 0 {
			s += ", "
		}
		s += p.Name
	}
	return s + ")"
}

// argumentProblem describes the error in a decorator's argument, or returns "".
func argumentProblem(name string, v any) string {
	n, isNumber := number(v)
	switch {
	case name == "backoff" && !slices.Contains(backoffs, fmt.Sprint(v)):
		return "must be \"none\", \"linear\" or \"exponential\""
	case name == "delay_ms" && n < 0:
		return "must be 0 or more"
	case name == "persist" && strings.Trim(fmt.Sprint(v), " /\\\x00") == "":
		return "must be a file name"
	case name == "channel" && v == "":
		return "must not be empty"
	case isNumber && name != "delay_ms" && n <= 0:
		return "must be more than 0"
	}
	return ""
}

var backoffs = []string{"none", "linear", "exponential"}

// rejectDecorators reports all decorators of a declaration that allows none.
func (c *checker) rejectDecorators(m *module, d ast.Decl) {
	switch d.(type) {
	case *ast.FnDecl, *ast.AgentDecl, *ast.HostDecl, *ast.ToolDecl, *ast.PipelineDecl, *ast.McpDecl, *ast.BadDecl:
		return // these declarations check their decorators elsewhere
	default: // the others allow no decorators, except those of all declarations
	}
	for _, x := range d.Head().Decorators {
		c.rejectOtherDecorator(m, x)
	}
}

// decorateFunction reads the decorators that wrap calls of a function. It reports decorators that
// are not allowed on the function.
func (c *checker) decorateFunction(fn *Function) {
	if fn.Info.Library {
		return
	}
	m := fn.mod
	fn.Decorations = c.decorations(m, fn.Decl.Decorators)
	if slices.ContainsFunc(fn.Decorations, func(d *Decoration) bool { return d.Name == "retry" }) {
		c.noteCatch(m)
	}
	c.recordCachedType(m, fn.Decorations, fn.Decl.Decorators, fn.Result)
	for _, d := range fn.Decorations {
		at := findDecorator(fn.Decl.Decorators, d.Name).Sp
		switch {
		case fn.Decl.Body == nil && !fn.Remote():
			c.report(m, diag.DecoratorPlace.At(at, "`@%s` is only allowed on functions with a body", d.Name).Hint("put it on the function that does the work"))
		case fn.MutSelf && fn.Tool == nil:
			c.report(m, diag.DecoratorPlace.At(at, "`@%s` is not allowed on a method with `mut self`", d.Name).
				Hint("take `self` instead, and return the changed value"))
		case d.Name == "cache":
			c.checkCacheable(fn)
		}
	}
}

// Remote reports whether a function of an MCP server implements the function.
func (fn *Function) Remote() bool { return fn.Tool != nil && fn.Tool.Server != "" }

// checkCacheable reports parameters whose types are not allowed in the key of a cache.
func (c *checker) checkCacheable(fn *Function) {
	for _, p := range fn.Params {
		if fn.Tool != nil && p.Name == "self" {
			continue
		}
		if bad := unkeyed(p.Type, map[*types.Decl]bool{}); bad != nil {
			c.report(fn.mod, diag.DecoratorPlace.At(p.At, "`@cache` uses the parameters as the key, but `%s` cannot be part of a key", types.Full(bad)).
				Hint("pass data instead, or remove `@cache`"))
		}
	}
}

// unkeyed returns a type within t whose values cannot be compared as data: a function, a task or a
// store. It returns nil if there is no such type.
func unkeyed(t types.Type, seen map[*types.Decl]bool) types.Type {
	t = types.Resolve(t)
	switch x := t.(type) {
	case *types.Func, *types.Task, *types.HashMap, *types.Queue:
		return t
	case *types.Basic:
		if x == types.Ledger || x == types.Memory {
			return t
		}
	case *types.Named:
		if seen[x.Decl] {
			return nil
		}
		seen[x.Decl] = true
		m := types.Bindings(x.Decl.Params, x.Args)
		for _, fs := range namedFields(x.Decl) {
			for _, f := range fs {
				if bad := unkeyed(types.Substitute(f.Type, m), seen); bad != nil {
					return bad
				}
			}
		}
	}
	for _, p := range types.Parts(t) {
		if bad := unkeyed(p, seen); bad != nil {
			return bad
		}
	}
	return nil
}

// policies contains the decorators that set the policy for effects with an unknown outcome:
// `@on_unknown("…")` and `@idempotent`, which means `@on_unknown("retry")`.
var policies = map[string]bool{"on_unknown": true, "idempotent": true}

// marked describes the declarations that allow policies.
const marked = "functions, functions of tools and of MCP servers, agents and hosts"

// onUnknowns contains the allowed arguments of `@on_unknown`.
var onUnknowns = []string{"retry", "fail", "ask"}

// policyOf returns the first decorator that sets a policy, or nil.
func policyOf(ds []*ast.Decorator) *ast.Decorator {
	if i := slices.IndexFunc(ds, func(d *ast.Decorator) bool { return policies[d.Name.Name] }); i >= 0 {
		return ds[i]
	}
	return nil
}

// withoutPolicy returns the decorators that do not set a policy.
func withoutPolicy(ds []*ast.Decorator) []*ast.Decorator {
	return slices.DeleteFunc(slices.Clone(ds), func(d *ast.Decorator) bool { return policies[d.Name.Name] })
}

// onUnknown returns the policy that the decorators set. It returns "" if no decorator sets a
// policy, or if there is an error.
func (c *checker) onUnknown(m *module, ds []*ast.Decorator) string {
	first := policyOf(ds)
	if first == nil {
		return ""
	}
	for _, d := range ds {
		if policies[d.Name.Name] && d != first {
			c.report(m, diag.DecoratorPlace.At(d.Sp, "`@%s` conflicts with another decorator", d.Name.Name).
				Label(first.Sp, "the policy is already set here").Hint("remove one of them"))
		}
	}
	if first.Name.Name == "idempotent" {
		c.rejectArguments(m, first)
		return "retry"
	}
	policy, ok := decoratorText(first, 0)
	switch {
	case !ok || len(first.Args) != 1 || first.Args[0].Name != nil:
		c.report(m, diag.DecoratorArgument.At(first.Sp, "`@on_unknown` takes one policy").
			Hint("write `@on_unknown(\"retry\")`, \"fail\" or \"ask\""))
	case !slices.Contains(onUnknowns, policy):
		e := diag.DecoratorArgument.At(first.Args[0].Sp, "unknown policy %q", policy)
		if near := suggest.Nearest(policy, onUnknowns); near != "" {
			c.report(m, e.Hint("did you mean %q?", near))
		} else {
			c.report(m, e.Hint("the policies are \"retry\", \"fail\" and \"ask\""))
		}
	default:
		return policy
	}
	return ""
}
