package sema

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/foreign"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema/edits"
)

// signature checks the parameters and the result of a function. recv is the type of self in an impl
// or a tool, or nil.
func (c *checker) signature(fn *Function, outer *typeScope, recv types.Type) {
	d := fn.Decl
	fn.Async = d.Async
	own := c.newParams(d.Generics)
	fn.Generics = append(slices.Clone(fn.Generics), own...)
	ts := &typeScope{m: outer.m, params: own, self: recv, parent: outer}
	c.bounds(ts, d.Generics, own)
	for i, p := range d.Params {
		c.parameter(fn, ts, p, i, recv)
	}
	c.parameterCount(outer.m, d.Name.Sp, len(d.Params))
	fn.Result = c.resolve(ts, d.Result)
	if fn.Async && fn.MutSelf && !isReference(recv) {
		c.report(outer.m, diag.AsyncMutSelf.At(d.Params[0].Sp, "an async method cannot have `mut self`").
			Hint("take `self` instead, and return the changed value"))
	}
	if fn.Info.Library {
		c.readLibraryDecorators(fn)
	} else {
		c.functionDecorators(outer.m, fn)
	}
}

// maxParams is the maximum number of parameters of a function. The registers of the machine must
// contain the arguments in addition to the caller's values.
const maxParams = 96

func (c *checker) parameterCount(m *module, at source.Span, n int) {
	if n > maxParams {
		c.report(m, diag.TooManyRegisters.At(at, "too many parameters: %d, but at most %d are allowed", n, maxParams).
			Hint("combine them in a struct"))
	}
}

func (c *checker) parameter(fn *Function, ts *typeScope, p *ast.Param, i int, recv types.Type) {
	if p.IsSelf {
		switch {
		case recv == nil:
			c.report(ts.m, diag.SelfOutside.At(p.Sp, "`self` is only allowed in methods of an impl, trait or tool").
				Hint("write a name and a type for the parameter"))
			return
		case i > 0:
			c.report(ts.m, diag.SelfOutside.At(p.Sp, "`self` must be the first parameter").Hint("move it to the front"))
			return
		}
		fn.Recv, fn.MutSelf = recv, p.Mut
		l := &Local{Name: "self", Type: recv, Mut: p.Mut, Param: true, At: p.Sp, used: true}
		fn.Params = append(fn.Params, &Param{Name: "self", Type: recv, Local: l, At: p.Sp})
		return
	}
	t := types.Type(types.Bad)
	if p.Type != nil { // a missing type is a syntax error
		t = c.resolve(ts, p.Type)
	}
	for _, q := range fn.Params {
		if q.Name == p.Name.Name {
			c.report(ts.m, diag.DuplicateName.At(p.Name.Sp, "parameter `%s` is declared twice", p.Name.Name).
				Label(q.At, "first declared here").Hint("rename one of them"))
		}
	}
	if n := len(fn.Params); p.Default == nil && n > 0 && fn.Params[n-1].Default != nil && t != types.Shape && !fn.isOptional(&Param{Type: t}) {
		c.report(ts.m, diag.DefaultOrder.At(p.Sp, "required parameter `%s` after an optional parameter", p.Name.Name).
			WithFixes(edits.MoveForward(ts.m.info.File.Source, fn.Decl, p)...).Hint("add a default value, or move it forward"))
	}
	l := &Local{Name: p.Name.Name, Type: t, Mut: p.Mut, Param: true, At: p.Name.Sp, used: fn.Info.Library || t == types.Bad}
	param := &Param{Name: p.Name.Name, Type: t, Local: l, Default: p.Default, At: p.Sp}
	if doc, ok := decoratorText(findDecorator(p.Decorators, "param"), 0); ok {
		param.Doc = doc
	}
	param.regex = fn.Info.Library && findDecorator(p.Decorators, "regex") != nil
	fn.Params = append(fn.Params, param)
}

// readLibraryDecorators reads the decorators that describe the implementation of a library
// function.
func (c *checker) readLibraryDecorators(fn *Function) {
	ds := fn.Decl.Decorators
	if name := libraryModuleName(fn.Info); name != "" && fn.Recv == nil {
		fn.Name = name + "." + fn.Name
	}
	if d := findDecorator(ds, "native"); d != nil {
		fn.Native = fn.Name
		if name, ok := decoratorText(d, 0); ok {
			fn.Native = name
		}
	}
	if name, ok := decoratorText(findDecorator(ds, "effect"), 0); ok {
		fn.Effect = name
	}
	_, isResult := fn.Result.(*types.Result)
	fn.Wraps = isResult && (fn.Native != "" || fn.Effect != "")
	fn.Shape = findDecorator(ds, "shape") != nil
	if fn.Native == "" && fn.Effect == "" && fn.Decl.Body == nil {
		panic(fmt.Sprintf("library function %s has neither body nor native", fn.Name))
	}
}

// libraryModuleName returns x for the file of std::x. It returns "" for the prelude and for files
// of methods.
func libraryModuleName(i *Info) string {
	name := strings.TrimSuffix(path.Base(i.File.Source.Name), ".conc")
	if m, ok := strings.CutPrefix(name, "mod_"); ok {
		return m
	}
	return ""
}

// isVariadic reports whether the function accepts any number of arguments. A call passes all of
// them in one array.
func (fn *Function) isVariadic() bool {
	return fn.Info.Library && findDecorator(fn.Decl.Decorators, "variadic") != nil
}

// CallType returns the type of a call of the function. It is a Task if the function is async.
func (fn *Function) CallType() types.Type {
	if fn.Async {
		return &types.Task{Elem: fn.Result}
	}
	return fn.Result
}

// Type returns the type of the function when it is used as a value.
func (fn *Function) Type() *types.Func {
	f := &types.Func{Result: fn.CallType()}
	for _, p := range fn.Params {
		f.Params = append(f.Params, p.Type)
	}
	return f
}

// DecoratorPlace is a set of places where a decorator is allowed.
type DecoratorPlace uint8

// The places of decorators.
const (
	OnFunction DecoratorPlace = 1 << iota // functions of a module and methods
	OnToolFunction
	OnParameter // parameters of tool functions
	OnParty     // agents and hosts
	OnStage
	OnField
	OnLoop  // `parallel for`
	OnOther // any other declaration

	everywhere = OnFunction | OnToolFunction | OnParty | OnStage | OnOther
	onWork     = OnFunction | OnParty | OnStage
	onMarked   = OnFunction | OnToolFunction | OnParty
)

// decorators are the language's decorators, and where each is allowed, by name.
var decorators = []struct {
	name, place string
	at          DecoratorPlace
}{
	{"allow", "declarations", everywhere},
	{"approve", "tool functions", OnToolFunction},
	{"cache", "agents, hosts, stages and functions", onWork},
	{"describe", "tool functions and fields of schemas", OnToolFunction | OnField},
	{"eval", "functions of a module", OnFunction},
	{"expect_fail", "tests", OnFunction},
	{"guard", "functions of a module", OnFunction},
	{"idempotent", marked, onMarked},
	{"limit", "`parallel for`", OnLoop},
	{"log", "agents, hosts, stages and functions", onWork},
	{"on_unknown", marked, onMarked},
	{"param", "tool functions and their parameters", OnToolFunction | OnParameter},
	{"retry", "agents, hosts, stages and functions", onWork},
	{"sequential", "tool functions", OnToolFunction},
	{"test", "functions of a module", OnFunction},
	{"timeout", "agents, hosts, stages and functions", onWork},
}

// Decorators returns the names of the language's decorators.
func Decorators() []string { return DecoratorsAt(^DecoratorPlace(0)) }

// DecoratorsAt returns the names of the decorators that are allowed at one of the places.
func DecoratorsAt(places DecoratorPlace) (names []string) {
	for _, d := range decorators {
		if d.at&places != 0 {
			names = append(names, d.name)
		}
	}
	return names
}

// decoratorPlace returns where a decorator is allowed, or "" if there is no such decorator.
func decoratorPlace(name string) string {
	for _, d := range decorators {
		if d.name == name {
			return d.place
		}
	}
	return ""
}

// functionDecorators checks the decorators of a function in the program.
func (c *checker) functionDecorators(m *module, fn *Function) {
	for _, d := range fn.Decl.Decorators {
		switch name := d.Name.Name; {
		case name == "test" || name == "expect_fail":
			c.testDecorator(m, fn, d)
		case name == "eval":
			c.evalDecorator(m, fn, d)
		case name == "guard":
			c.guardDecorator(m, fn, d)
		case name == "describe" || name == "param":
			if fn.Tool == nil {
				c.report(m, diag.DecoratorPlace.At(d.Sp, "`@%s` is only allowed on tool functions", name).
					Hint("use a `///` comment instead"))
			}
		case fn.Tool != nil && (name == "sequential" || name == "approve"):
			if findDecorator(fn.Decl.Decorators, "describe") == nil {
				c.report(m, diag.DecoratorPlace.At(d.Sp, "`@%s` is only allowed on functions that models can call", name).Hint("add `@describe(\"…\")`, or remove it"))
			}
			c.rejectArguments(m, d)
		case wrapping[name] != "", policies[name]:
		default:
			c.rejectOtherDecorator(m, d)
		}
	}
	if fn.OnUnknown = c.onUnknown(m, fn.Decl.Decorators); fn.OnUnknown != "" && fn.Decl.Body == nil && !fn.Remote() {
		d := policyOf(fn.Decl.Decorators)
		c.report(m, diag.DecoratorPlace.At(d.Sp, "`@%s` is only allowed on functions with a body", d.Name.Name).Hint("put it on the function that does the work"))
	}
}

// rejectArguments reports arguments of a decorator that has no parameters.
func (c *checker) rejectArguments(m *module, d *ast.Decorator) {
	if len(d.Args) > 0 {
		c.report(m, diag.DecoratorArgument.At(d.Args[0].Sp, "`@%s` takes no arguments", d.Name.Name).Hint("write `@%s`", d.Name.Name))
	}
}

// rejectOtherDecorators reports the decorators that are not allowed on a declaration. It ignores
// those that wrap a call.
func (c *checker) rejectOtherDecorators(m *module, ds []*ast.Decorator) {
	for _, d := range ds {
		if wrapping[d.Name.Name] == "" {
			c.rejectOtherDecorator(m, d)
		}
	}
}

// rejectOtherDecorator reports a decorator that is not allowed on a declaration.
func (c *checker) rejectOtherDecorator(m *module, d *ast.Decorator) {
	if m.info.allows[d] {
		return
	}
	if place := decoratorPlace(d.Name.Name); place != "" {
		c.report(m, diag.DecoratorPlace.At(d.Sp, "`@%s` is not allowed here", d.Name.Name).Hint("`@%s` is only allowed on %s", d.Name.Name, place))
		return
	}
	names := Decorators()
	if w := foreign.Decorator.Find(d.Name.Name); w.HintText() != "" {
		unknown := diag.UnknownDecorator.At(d.Name.Sp, "unknown decorator `@%s`", d.Name.Name)
		switch {
		case len(w.Ours) == 1 && w.Hint == "":
			unknown.Repair(diag.Change(d.Name.Sp, w.Ours[0], w.Ours[0], false), "did you mean `@%s`?", w.Ours[0])
		case len(w.Ours) == 0:
			unknown.Repair(edits.RemoveDecorator(m.info.File.Source, d), "%s", w.Hint)
		default:
			unknown.Hint("%s", w.Hint)
		}
		c.report(m, unknown)
		return
	}
	unknown := diag.UnknownDecorator.At(d.Name.Sp, "unknown decorator `@%s`", d.Name.Name)
	if !suggestAs(unknown, d.Name.Sp, d.Name.Name, names, "%s", "did you mean `@%s`?") {
		unknown.Hint("the decorators are %s", quotedNames(names))
	}
	c.report(m, unknown)
}
