package sema

import (
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// method returns a method or an associated function of a type, or nil. It searches the program's
// impls first, and then the library.
func (c *checker) method(t types.Type, name string) *Function {
	t = types.Resolve(t)
	if fn := c.conforms.methodIn(implKey(t), t, name); fn != nil {
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

// libraryMethod returns a method that a file of the library declares, or nil.
func (c *checker) libraryMethod(file string, t types.Type, name string) *Function {
	if file == "" || c.cfg.Library == nil {
		return nil
	}
	c.libraryModule(c.cfg.Library.Methods(file, name))
	return c.conforms.methodIn(any(file), t, name)
}

func (k *conformance) methodIn(key any, t types.Type, name string) *Function {
	for _, im := range k.impls[key] {
		if fn := im.methods[name]; fn != nil && im.trait == nil && matches(im, t) {
			return fn
		}
	}
	for _, im := range k.impls[key] {
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

// matches reports whether an impl applies to type t. The type parameters of the impl match any
// type.
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
	if t, ok := b.reportDotted(e.Recv, e.Name, e.Sp, e.Args...); ok {
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
		b.isTypeKnown(e.Recv, x)
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
		if all := b.c.conforms.boundMethods(x, e.Name.Name); len(all) > 0 && all[0].fn.Recv != nil {
			m, ok := b.chooseMethod(all, e.Name, e.Args, hint)
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
		if b.c.conforms.refused[e.Name.Name] {
			return types.Bad
		}
		b.reportUnbound(e, x)
		return types.Bad
	}
	fn := b.c.method(t, e.Name.Name)
	if isOwnTool(t) && fn != nil && fn.Info.Library && implKey(fn.Recv) == any("Tool") {
		fn = nil // the library's methods of tools are only for MCP servers
	}
	if fn == nil || fn.Recv == nil || strings.HasPrefix(e.Name.Name, "__") && !b.info.Library {
		b.arguments(e.Args)
		if !b.c.conforms.refused[e.Name.Name] {
			b.reportUnknownMethod(e, t, fn)
		}
		return types.Bad
	}
	if all := b.c.implMethods(t, e.Name.Name); len(all) > 0 {
		m, ok := b.chooseMethod(all, e.Name, e.Args, hint)
		if !ok {
			b.arguments(e.Args)
			return types.Bad
		}
		return b.invokeKnown(e, m.fn, m.bindings, t, hint, p)
	}
	if fn.Info.Library && isHost(t) {
		b.checkHostMethod(e)
	}
	return b.invoke(e, b.reportMissingSchema(e, fn, t), t, hint, p)
}

// toolOf returns the tool whose type is t, or nil.
func toolOf(t types.Type) *Tool {
	if d, ok := types.Resolve(t).(*types.Declared); ok {
		tool, _ := d.Origin.(*Tool)
		return tool
	}
	return nil
}

// isOwnTool reports whether t is the type of a tool that is no MCP server.
func isOwnTool(t types.Type) bool {
	tool := toolOf(t)
	return tool != nil && tool.Server == ""
}

// invoke checks a call of a method that has been resolved.
func (b *body) invoke(e *ast.MethodCall, fn *Function, t, hint types.Type, p *piped) types.Type {
	return b.invokeKnown(e, fn, nil, t, hint, p)
}

// invokeKnown checks a call of a resolved method. bindings contains the known type parameters of
// the method's trait.
func (b *body) invokeKnown(e *ast.MethodCall, fn *Function, bindings map[*types.Param]types.Type, t, hint types.Type, p *piped) types.Type {
	recv := &receiver{x: e.Recv, t: t, at: e.Sp, bindings: bindings}
	if len(e.TypeArgs) > 0 {
		recv.typeArgs = b.c.resolveAll(b.ts, e.TypeArgs)
	}
	b.checkVisible(fn, e.Name)
	if fn.MutSelf && !isReference(t) {
		b.checkMutable(e.Recv, "`"+e.Name.Name+"` changes its receiver")
		b.reportCapturingClosures(e)
	}
	out := b.callFunction(e, fn, nil, recv, nil, hint, e.Args, p)
	return out
}

// reportCapturingClosures reports a closure argument that captures the variable which the method
// changes.
func (b *body) reportCapturingClosures(e *ast.MethodCall) {
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
					b.report(diag.ReceiverCaptured.At(a.Value.Span(), "this closure uses `%s` while `%s` changes it", l.Name, e.Name.Name).
						Label(e.Recv.Span(), "changed here").Hint("copy the value into another variable first"))
				}
			}
		}
	})
}

// isReference reports whether values of type t are references. Their methods need no mutable
// variable.
func isReference(t types.Type) bool {
	switch x := types.Resolve(t).(type) {
	case *types.Declared, *types.HashMap, *types.Queue, *types.Task, *types.Func:
		return true
	case *types.Basic:
		return x == types.Agent || x == types.Host || x == types.Tool || x == types.Memory || x == types.Ledger
	}
	return false
}

// fieldOf returns the field of a struct type with the given name, or nil.
func (b *body) fieldOf(t types.Type, name string) *types.Field {
	if n, ok := types.Resolve(t).(*types.Named); ok {
		return n.Decl.Field(name)
	}
	return nil
}

// anyMethod checks a method call on an Any. The method is looked up at run time.
func (b *body) anyMethod(e *ast.MethodCall, p *piped) types.Type {
	d := &Call{Kind: CallAnyMethod, Name: e.Name.Name, Piped: p != nil, Args: []Arg{{Kind: ArgReceiver}}}
	if p != nil {
		d.Args = append(d.Args, Arg{Kind: ArgPiped, Conv: types.Any})
	}
	for i, a := range e.Args {
		if a.Name != nil {
			b.report(diag.UnknownParameter.At(a.Name.Sp, "arguments of a call on Any cannot be named").Hint("write only the value"))
		}
		b.checkAs(a.Value, types.Any, reason{})
		d.Args = append(d.Args, Arg{Kind: ArgWritten, Index: i})
	}
	b.info.details[e.Id] = d
	found, mutates := b.c.useAllMethods(b.m, e.Name)
	switch {
	case b.reportAmbiguousOnAny(e.Name):
	case !found:
		b.report(diag.UnknownMethod.At(e.Name.Sp, "no type has a method `%s`", e.Name.Name).Hint("check the spelling, or convert the value with `as`"))
	case mutates:
		b.checkMutable(e.Recv, "`"+e.Name.Name+"` changes its receiver")
	}
	return types.Any
}

// anyKinds contains the names of the library's method files whose methods a call on an Any may
// call. The methods of Option apply to a value of any type that has no method with the same name.
var anyKinds = []string{"String", "Array", "Map", "Int", "Float", "Bool", "Range", "Error", "HashMap", "Ledger", "Memory", "Queue", "Agent", "Host", "Task", "Result", "Option", "Any"}

// useAllMethods adds every method with the given name to the program. found reports that there is
// such a method. mutates reports that all of them change their receiver.
func (c *checker) useAllMethods(m *module, at *ast.Ident) (found, mutates bool) {
	name := at.Name
	if c.cfg.Library != nil {
		for _, k := range anyKinds {
			c.libraryModule(c.cfg.Library.Methods(k, name))
		}
	}
	mutates = true
	for _, list := range c.conforms.impls {
		for _, im := range list {
			if fn := im.method(name); fn != nil && fn.Recv != nil && !fn.Shape {
				c.lib.use(fn)
				found = true
				mutates = mutates && fn.MutSelf && !isReference(im.target)
				if fn.Info.Library {
					c.prog.noteDynamic(name, im.target, fn)
				} else {
					c.bodies.now.whole = true
					c.special.untyped = append(c.special.untyped, &untypedMethod{name, im, fn, m, at.Sp})
				}
			}
		}
	}
	return found, found && mutates
}

// methodNames returns the names of a type's methods. Suggestions use them.
func (c *checker) methodNames(t types.Type) []string {
	t = types.Resolve(t)
	key := implKey(t)
	if cached, ok := c.conforms.methods[key]; ok && cached.impls == c.conforms.implCount(t) {
		return cached.names
	}
	names := c.gatherMethods(t)
	if c.conforms.methods == nil {
		c.conforms.methods = map[any]methodList{}
	}
	c.conforms.methods[key] = methodList{names, c.conforms.implCount(t)} // counted afterwards, because collecting the names may load impls of the library
	return names
}

// implCount returns the number of impls that may contain methods of type t.
func (k *conformance) implCount(t types.Type) (n int) {
	for _, key := range []any{implKey(t), methodFile(t), "Any"} {
		n += len(k.impls[key])
	}
	return n
}

// methodList caches the names of a type's methods. The cache is valid as long as the number of
// impls does not change.
type methodList struct {
	names []string
	impls int
}

func (c *checker) gatherMethods(t types.Type) []string {
	var names []string
	add := func(key any) {
		for _, im := range c.conforms.impls[key] {
			for _, fn := range im.order {
				if n := fn.Decl.Name.Name; !strings.HasPrefix(n, "__") {
					names = append(names, n)
				}
			}
		}
	}
	file := methodFile(t)
	if tool := toolOf(t); tool != nil {
		for _, fn := range tool.Methods {
			if !fn.Undeclared {
				names = append(names, fn.Decl.Name.Name)
			}
		}
		if tool.Server == "" {
			file = ""
		}
	}
	if file != "" && c.cfg.Library != nil {
		c.libraryModule(c.cfg.Library.Methods(file, ""))
	}
	if c.cfg.Library != nil {
		c.libraryModule(c.cfg.Library.Methods("Any", ""))
		add(any("Any"))
	}
	add(implKey(t))
	if file != "" && any(file) != implKey(t) {
		add(any(file))
	}
	sort.Strings(names)
	return slices.Compact(names)
}

// hostAdvice adds the hint for a method that hosts do not have, although it names what a program
// does with a host. It returns false for other names.
func (b *body) hostAdvice(d *diag.Diagnostic, e *ast.MethodCall) bool {
	host, prompt := b.sourceText(e.Recv), b.promptText(e.Args)
	switch e.Name.Name {
	case "execute_streaming":
		d.Repair(diag.UnsafeFix(diag.Replace(e.Name.Sp, "stream"), "Change to `stream`"),
			"read its messages with `for m in %s.stream(%s) { … }`, or handle them with `listen %s.execute(%s) { … }`", host, prompt, host, prompt)
	case "respond":
		d.Hint("the value of a `listen` handler is the answer; a stream `s` of the host answers with `s.respond(m, …)`")
	default:
		return false
	}
	return true
}

func (b *body) reportUnknownMethod(e *ast.MethodCall, t types.Type, fn *Function) {
	ft := types.Full(t)
	if fn != nil && fn.Recv == nil {
		d := diag.UnknownMethod.At(e.Name.Sp, "`%s` is a function of type `%s`, not a method", e.Name.Name, ft)
		d.FollowsFrom = selfCause(fn)
		owner := ft.String()
		if n, ok := types.Resolve(t).(*types.Named); ok {
			owner = n.Decl.Name
		}
		call := owner + "::" + e.Name.Name + "(" + b.argumentText(e.Args) + ")"
		at := source.Span{Start: e.Span().Start, End: e.Name.Sp.End}
		b.report(d.Repair(diag.UnsafeFix(diag.Replace(at, owner+"::"+e.Name.Name), "Call it as `%s`", call), "call it as `%s`", call))
		return
	}
	d := b.linkMissingResult(diag.UnknownMethod.At(e.Name.Sp, "`%s` has no method `%s`", ft, e.Name.Name), e.Recv, t)
	if tool := toolOf(t); tool != nil {
		d = diag.UnknownMethod.At(e.Name.Sp, "`%s` has no function `%s`", tool.Name, e.Name.Name)
	}
	if hint := b.innerMethodHint(e, t); hint != "" {
		b.report(d.Hint("%s", hint))
		return
	}
	if isHost(t) && slices.Contains([]string{"listen", "supervise", "subscribe", "on"}, e.Name.Name) {
		if e.Name.Name == "on" {
			d.Hint("handle messages in a `listen`: `listen %s.execute(…) { %s => |m| … }`", b.sourceText(e.Recv), b.promptText(e.Args))
		} else {
			d.Hint("write `listen` before the call: `listen %s.execute(%s) { … }`", b.sourceText(e.Recv), b.promptText(e.Args))
		}
		b.report(d)
		return
	}
	if isHost(t) && b.hostAdvice(d, e) {
		b.report(d)
		return
	}
	method, meant := b.foreignMember(t, e.Name.Name)
	if meant == "" {
		suggestName(d, e.Name, b.c.methodNames(t))
	}
	if f := b.fieldOf(t, e.Name.Name); f != nil {
		d.Hint("%s", map[bool]string{
			true:  "it is a field: call it as `(x." + e.Name.Name + ")(…)`",
			false: "it is a field: remove the parentheses",
		}[isFunc(f.Type)])
	}
	if len(d.Hints) == 0 {
		hint := b.methodHint(t, e.Name.Name, meant)
		if method != "" && hint == meant {
			d.Repair(diag.UnsafeFix(diag.Replace(e.Name.Sp, method), "Change to `%s`", method), "%s", hint)
		} else {
			if rest, ok := strings.CutPrefix(hint, "remove it"); ok {
				hint = "remove `." + e.Name.Name + "()`" + rest
			}
			if strings.HasPrefix(hint, "remove") && len(e.Args) == 0 {
				at := source.Span{Start: e.Recv.Span().End, End: e.Sp.End}
				d.WithFixes(diag.UnsafeFix(diag.Remove(at), "Remove `%s`", strings.TrimSpace(b.info.File.Source.Slice(at))))
			}
			d.Hint("%s", hint)
		}
	}
	b.report(d)
}

// innerMethodHint returns the hint for a method that the receiver's type does not have, but the
// type of the value inside the receiver has.
func (b *body) innerMethodHint(e *ast.MethodCall, t types.Type) string {
	has := func(t types.Type) bool { return b.c.method(t, e.Name.Name) != nil }
	inner := heldType(t)
	if inner == nil {
		return ""
	}
	x, rest := b.operandText(e.Recv), "."+e.Name.Name+"(…)"
	if len(e.Args) == 0 {
		rest = "." + e.Name.Name + "()"
	}
	switch types.Resolve(t).(type) {
	case *types.Task:
		if has(inner) {
			return "`await` it first: `" + x + ".await" + rest + "`"
		}
		if in := heldType(inner); in != nil && has(in) {
			return "`await` it first: `" + x + ".await?" + rest + "`"
		}
	case *types.Option:
		if has(inner) {
			return "it may be None: write `" + x + "?" + rest + "`, `??` with a default, or `.map(|x| x" + rest + ")`"
		}
	case *types.Result:
		if has(inner) {
			return "it may be an Err: write `" + x + "?" + rest + "`"
		}
	}
	return ""
}

// methodHint returns the hint for a method that does not exist. meant is the hint for another
// language's name, or "".
func (b *body) methodHint(t types.Type, name, meant string) string {
	if isOwnTool(t) && b.c.method(t, name) != nil {
		return "only an MCP server, declared with `mcp`, has `" + name + "`"
	}
	if tool := toolOf(t); tool != nil && tool.Server != "" {
		return "declare it in `mcp " + tool.Name + "`, or end the block with `..` to declare all functions of the server"
	} else if tool != nil {
		return "declare it in `tool " + tool.Name + "`"
	}
	if meant != "" {
		return meant
	}
	if a, ok := t.(*types.Array); ok {
		if _, tasks := types.Resolve(a.Elem).(*types.Task); tasks {
			return "its elements are tasks: `parallel for x in … { … }` returns an array of values"
		}
	}
	if t == types.Int && b.c.method(types.Float, name) != nil {
		return "Float has this method: `(… as Float)." + name + "(…)`"
	}
	if n, ok := t.(*types.Named); ok && !n.Decl.Library {
		return "declare it: `impl " + n.Decl.Name + " { fn " + name + "(self) { … } }`"
	}
	if names := b.c.methodNames(t); len(names) > 0 && len(names) <= 12 {
		return "its methods are " + quotedNames(names)
	}
	return "`concerto doc " + strings.TrimSuffix(methodFile(t), "") + "` lists its methods"
}

// traitOfMethod returns the name of a trait that declares a method, for a hint.
func (k *conformance) traitOfMethod(method string) string {
	best := ""
	for _, t := range k.traits {
		if t.methods[method] != nil && (best == "" || t.trait.Name < best) {
			best = t.trait.Name
		}
	}
	if best == "" {
		return "Trait"
	}
	return best
}

// selfCause returns the Cause of errors about a method that uses `self` without declaring it.
func selfCause(fn *Function) string {
	return "self of " + fn.Info.File.Source.Name + ":" + strconv.Itoa(int(fn.Decl.Name.Sp.Start))
}

// argumentText returns the source text of a call's arguments, or `…` if it is long.
func (b *body) argumentText(args []*ast.Arg) string {
	if len(args) == 0 {
		return ""
	}
	var texts []string
	for _, a := range args {
		texts = append(texts, b.info.File.Source.Slice(a.Sp))
	}
	if s := strings.Join(texts, ", "); len(s) <= shortText && !strings.ContainsAny(s, "\n`") {
		return s
	}
	return "…"
}
