package sema

import (
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
)

// method finds a method or associated function of a type: of the user's impls
// first, then of the library.
func (c *checker) method(t types.Type, name string) *Function {
	t = types.Resolve(t)
	if fn := c.methodIn(implKey(t), t, name); fn != nil {
		return fn
	}
	if fn := c.libraryMethod(methodFile(t), t, name); fn != nil {
		return fn
	}
	if t == types.Bad || t == types.Never || isVar(t) {
		return nil
	}
	return c.libraryMethod("Any", t, name)
}

// libraryMethod finds a method in a file of the library.
func (c *checker) libraryMethod(file string, t types.Type, name string) *Function {
	if file == "" || c.cfg.Library == nil {
		return nil
	}
	c.libraryModule(c.cfg.Library.Methods(file, name))
	return c.methodIn(any(file), t, name)
}

func (c *checker) methodIn(key any, t types.Type, name string) *Function {
	for _, im := range c.impls[key] {
		if fn := im.methods[name]; fn != nil && im.trait == nil && matches(im, t) {
			return fn
		}
	}
	for _, im := range c.impls[key] {
		if im.trait == nil || !matches(im, t) {
			continue
		}
		if fn := im.methods[name]; fn != nil {
			return fn
		}
		if fn := im.trait.methods[name]; fn != nil && fn.Decl.Body != nil {
			return fn
		}
	}
	return nil
}

// matches says whether an impl is for t: its target's own parameters stand for
// anything.
func matches(im *impl, t types.Type) bool {
	if tuple, ok := im.target.(*types.Tuple); ok && len(tuple.Elems) == 0 {
		return true
	}
	in := newInstance(im.generics)
	in.solve(im.target, t)
	want := types.Substitute(im.target, in.solved)
	if in.open(want) {
		return true
	}
	ok, _ := types.Conversion(t, want)
	return ok
}

// methodCall checks `x.f(args)`.
func (b *body) methodCall(e *ast.MethodCall, hint types.Type, p *piped) types.Type {
	if t, ok := b.dotted(e.Recv, e.Name, e.Sp, e.Args...); ok {
		return t
	}
	b.receiver, b.method = unparen(e.Recv), e.Name.Name
	recvType := b.expr(e.Recv, nil)
	t := types.Resolve(recvType)
	switch x := t.(type) {
	case *types.Basic:
		if x == types.Bad {
			b.arguments(e.Args)
			return types.Bad
		}
		if x == types.Any {
			return b.anyMethod(e, p)
		}
	case *types.Option:
		if types.IsAny(x) && b.c.method(x, e.Name.Name) == nil {
			return b.anyMethod(e, p)
		}
	case *types.Var:
		b.arguments(e.Args)
		b.known(e.Recv, x)
		return types.Bad
	case *types.Declared:
		if pl, ok := x.Origin.(*Pipeline); ok {
			return b.pipelineCall(e, pl, p)
		}
		if tool, ok := x.Origin.(*Tool); ok {
			if fn := tool.method(e.Name.Name); fn != nil {
				return b.invoke(e, fn, t, hint, p)
			}
			if tool.Rest && b.c.method(t, e.Name.Name) == nil {
				return b.undeclaredCall(e, tool, p)
			}
		}
	case *types.Param:
		if all := b.c.boundMethods(x, e.Name.Name); len(all) > 0 && all[0].fn.Recv != nil {
			m, ok := b.choose(all, e.Name, e.Args, hint)
			if !ok {
				b.arguments(e.Args)
				return types.Bad
			}
			return b.callBound(e, m, x, hint, p)
		}
		if fn := b.c.libraryMethod("Any", t, e.Name.Name); fn != nil {
			return b.invoke(e, fn, t, hint, p)
		}
		b.arguments(e.Args)
		if b.c.refused[e.Name.Name] {
			return types.Bad
		}
		b.report(unknownName(diag.UnknownMethod, e.Name, "no bound of type parameter `"+x.Name+"` has a method `%s`", b.c.boundNames(x)).
			Hint("bound it by a trait that has: `%s: %s`", x.Name, b.c.traitWith(e.Name.Name)))
		return types.Bad
	}
	fn := b.c.method(t, e.Name.Name)
	if isOwnTool(t) && fn != nil && fn.Info.Library && implKey(fn.Recv) == any("Tool") {
		fn = nil // of MCP servers alone
	}
	if fn == nil || fn.Recv == nil || strings.HasPrefix(e.Name.Name, "__") && !b.info.Library {
		b.arguments(e.Args)
		if !b.c.refused[e.Name.Name] {
			b.unknownMethod(e, t, fn)
		}
		return types.Bad
	}
	if all := b.c.implMethods(t, e.Name.Name); len(all) > 0 {
		m, ok := b.choose(all, e.Name, e.Args, hint)
		if !ok {
			b.arguments(e.Args)
			return types.Bad
		}
		return b.invokeKnown(e, m.fn, m.known, t, hint, p)
	}
	if fn.Info.Library && isHost(t) && e.Name.Name == "stream" {
		b.streams(e)
	}
	return b.invoke(e, b.meantSchema(e, fn, t), t, hint, p)
}

// toolOf is the tool whose declaration t is, or nil.
func toolOf(t types.Type) *Tool {
	if d, ok := types.Resolve(t).(*types.Declared); ok {
		tool, _ := d.Origin.(*Tool)
		return tool
	}
	return nil
}

// isOwnTool says whether t is a tool that is no MCP server.
func isOwnTool(t types.Type) bool {
	tool := toolOf(t)
	return tool != nil && tool.Server == ""
}

// invoke calls a method that has been found.
func (b *body) invoke(e *ast.MethodCall, fn *Function, t, hint types.Type, p *piped) types.Type {
	return b.invokeKnown(e, fn, nil, t, hint, p)
}

// invokeKnown is invoke where the type parameters of the method's trait are known.
func (b *body) invokeKnown(e *ast.MethodCall, fn *Function, known map[*types.Param]types.Type, t, hint types.Type, p *piped) types.Type {
	recv := &receiver{x: e.Recv, t: t, at: e.Sp, known: known}
	if len(e.TypeArgs) > 0 {
		recv.typeArgs = b.c.resolveAll(b.ts, e.TypeArgs)
	}
	b.visible(fn, e.Name)
	if fn.MutSelf && !isReference(t) {
		b.mutated(e.Recv, "`"+e.Name.Name+"` changes what it is called on")
		b.closuresOver(e)
	}
	out := b.callFunction(e, fn, nil, recv, nil, hint, e.Args, p)
	return out
}

// closuresOver refuses a closure argument that captures the variable which the
// method is changing.
func (b *body) closuresOver(e *ast.MethodCall) {
	root := rootName(e.Recv)
	if root == nil {
		return
	}
	l, ok := b.info.objects[root.Id].(*Local)
	if !ok {
		return
	}
	b.late = append(b.late, func() {
		for _, a := range e.Args {
			if cl, isClosure := unparen(a.Value).(*ast.Closure); isClosure {
				if d := b.info.Closure(cl); d != nil && contains(d.Captures, l) {
					b.report(diag.ReceiverCaptured.At(a.Value.Span(), "this closure uses `%s`, which `%s` is changing meanwhile", l.Name, e.Name.Name).
						Label(e.Recv.Span(), "changed here").Hint("copy what it needs into another variable first"))
				}
			}
		}
	})
}

// isReference says whether values of t are references, whose methods need no
// mutable place.
func isReference(t types.Type) bool {
	switch x := types.Resolve(t).(type) {
	case *types.Declared, *types.HashMap, *types.Task, *types.Func:
		return true
	case *types.Basic:
		return x == types.Agent || x == types.Host || x == types.Tool || x == types.Memory || x == types.Ledger
	}
	return false
}

// fieldOf is the field of a struct type by name, or nil.
func (b *body) fieldOf(t types.Type, name string) *types.Field {
	if n, ok := types.Resolve(t).(*types.Named); ok {
		return n.Decl.Field(name)
	}
	return nil
}

// anyMethod is a method of an Any, found at run time.
func (b *body) anyMethod(e *ast.MethodCall, p *piped) types.Type {
	d := &Call{Kind: CallAnyMethod, Name: e.Name.Name, Piped: p != nil, Args: []Arg{{Kind: ArgReceiver}}}
	if p != nil {
		d.Args = append(d.Args, Arg{Kind: ArgPiped, Conv: types.Any})
	}
	for i, a := range e.Args {
		if a.Name != nil {
			b.report(diag.UnknownParameter.At(a.Name.Sp, "arguments of a call on Any have no names").Hint("give the value alone"))
		}
		b.checkAs(a.Value, types.Any, reason{})
		d.Args = append(d.Args, Arg{Kind: ArgWritten, Index: i})
	}
	b.info.details[e.Id] = d
	found, mutates := b.c.methodAnywhere(b.m, e.Name)
	switch {
	case b.ambiguousAnywhere(e.Name):
	case !found:
		b.report(diag.UnknownMethod.At(e.Name.Sp, "no type has a method `%s`", e.Name.Name).Hint("check the spelling, or cast with `as`"))
	case mutates:
		b.mutated(e.Recv, "`"+e.Name.Name+"` changes what it is called on")
	}
	return types.Any
}

// anyKinds are the library's method files that an Any's call can reach. Option's
// methods are those of any value that has none of that name itself.
var anyKinds = []string{"String", "Array", "Map", "Int", "Float", "Bool", "Range", "Error", "HashMap", "Ledger", "Memory", "Agent", "Host", "Task", "Result", "Option", "Any"}

// methodAnywhere brings every method of that name into the program, and says
// whether there is one and whether all of them change the value they are
// called on.
func (c *checker) methodAnywhere(m *module, at *ast.Ident) (found, mutates bool) {
	name := at.Name
	if c.cfg.Library != nil {
		for _, k := range anyKinds {
			c.libraryModule(c.cfg.Library.Methods(k, name))
		}
	}
	mutates = true
	for _, list := range c.impls {
		for _, im := range list {
			if fn := im.method(name); fn != nil && fn.Recv != nil && !fn.Shape {
				c.use(fn)
				found = true
				mutates = mutates && fn.MutSelf && !isReference(im.target)
				if fn.Info.Library {
					c.prog.noteDynamic(name, im.target, fn)
				} else {
					c.now.whole = true
					c.special.untyped = append(c.special.untyped, &untypedMethod{name, im, fn, m, at.Sp})
				}
			}
		}
	}
	return found, found && mutates
}
