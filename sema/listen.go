package sema

import (
	"slices"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/internal/text/suggest"
	"github.com/concerto-lang/concerto/sema/edits"
)

// askWord, written instead of a handler, forwards a question or an approval to the person at the
// terminal.
const askWord = "ask"

// listen checks a listen expression (spec/09-listen.md).
func (b *body) listen(e *ast.ListenExpr) types.Type {
	b.c.noteCatch(b.m) // the exchange ends first
	d := &Listen{}
	b.info.details[e.Id] = d
	ok := b.listenCall(e, d)
	seen := map[string]*ast.Handler{}
	for _, h := range e.Handlers {
		if first := seen[h.Type.Value]; first != nil {
			b.report(diag.DuplicateHandler.At(h.Type.Sp, "duplicate handler for %q", h.Type.Value).
				Label(first.Type.Sp, "the first handler").WithFixes(b.removeHandlerFix(h)).Hint("merge the two handlers"))
		}
		seen[h.Type.Value] = h
		b.handlerType(h, d)
		d.Handlers = append(d.Handlers, b.handler(h, d.Host))
	}
	if ok && !b.info.Library {
		b.warnUnanswered(e, d, seen)
	}
	if !ok {
		return types.Bad
	}
	if d.Schema != nil {
		return &types.Result{Ok: d.Schema, Err: types.Error}
	}
	return &types.Result{Ok: &types.Map{Key: types.String, Value: types.Any, Message: b.messageSchema(hostmsg.Result)}, Err: types.Error}
}

// libraryHelper returns the library function with the given name, and adds it to the program.
func (b *body) libraryHelper(name string) *Function {
	if b.c.cfg.Library == nil {
		return nil
	}
	m := b.c.libraryModule(b.c.cfg.Library.Prelude(name))
	if m == nil || m.names[name] == nil {
		return nil
	}
	fn, _ := m.names[name].obj.(*Function)
	if fn != nil {
		b.c.lib.use(fn)
	}
	return fn
}

func isHost(t types.Type) bool {
	if t == types.Host {
		return true
	}
	d, ok := t.(*types.Declared)
	return ok && d.Kind == types.Host
}

// hostOf returns the declaration of the host at the start of a builder chain. It returns nil if the
// host is known only at run time.
func hostOf(i *Info, e ast.Expr) *Host {
	for {
		switch x := unparen(e).(type) {
		case *ast.MethodCall:
			e = x.Recv
		case *ast.PathExpr:
			h, _ := i.objects[x.Id].(*Host)
			return h
		default:
			return nil
		}
	}
}

// handlerType checks the message type for which a handler is written.
func (b *body) handlerType(h *ast.Handler, d *Listen) {
	typ := h.Type.Value
	msg := hostmsg.Lookup(typ)
	if b.info.Library && msg.Role == hostmsg.Succeeds {
		return
	}
	if msg.Terminal() {
		b.report(diag.TerminalHandler.At(h.Type.Sp, "a message %q ends the listen, so it cannot have a handler", typ).
			WithFixes(b.removeHandlerFix(h)).Hint("match the Result of the listen instead"))
		return
	}
	if !msg.Handled() || typ == "" {
		b.report(diag.TerminalHandler.At(h.Type.Sp, "messages %q are handled by the runtime, so they cannot have a handler", typ).
			Repair(b.removeHandlerFix(h), "remove the handler"))
		return
	}
	if d.Host == nil || b.c.cfg.Manifest == nil {
		b.reportMisspelled(h)
		return
	}
	mh, ok := b.c.cfg.Manifest.Hosts[d.Host.Connector]
	if !ok || mh.MessageTypes == nil {
		b.reportMisspelled(h)
		return
	}
	if !slices.Contains(mh.MessageTypes, typ) {
		dg := diag.NeverSent.At(h.Type.Sp, "host `%s` does not send %q", d.Host.Name, typ)
		if !suggestAs(dg, h.Type.Sp, typ, mh.MessageTypes, "%q", "did you mean %q?") {
			dg.Hint("its message_types in %s are %s", b.c.cfg.Manifest.File, strings.Join(mh.MessageTypes, ", "))
		}
		b.report(dg)
	}
}

// reportMisspelled reports a message type that is similar to a type of the protocol. If the host is
// known only at run time, it may be one whose section lists the type.
func (b *body) reportMisspelled(h *ast.Handler) {
	typ := h.Type.Value
	if hostmsg.Lookup(typ).IsKnown() {
		return
	}
	if b.c.cfg.Manifest != nil {
		for _, mh := range b.c.cfg.Manifest.Hosts {
			if slices.Contains(mh.MessageTypes, typ) {
				return
			}
		}
	}
	names := hostmsg.Types((*hostmsg.Message).Handled)
	slices.Sort(names)
	if near := suggest.Nearest(typ, names); near != "" {
		b.report(diag.MisspeltType.At(h.Type.Sp, "%q is not a message type of the protocol", typ).
			Repair(diag.UnsafeFix(diag.Replace(h.Type.Sp, strconv.Quote(near)), "Change to `%s`", near), "did you mean %q? If the host sends %q, add it to its `message_types` in Concerto.toml", near, typ))
	}
}

// warnUnanswered warns about questions that the host may send if they have neither a handler nor a
// default answer.
func (b *body) warnUnanswered(e *ast.ListenExpr, d *Listen, seen map[string]*ast.Handler) {
	var open, rows, asking, defaults []string
	for _, m := range hostmsg.Messages() {
		typ := m.Type
		if m.Waits() && m.Unhandled != hostmsg.ByTools && seen[typ] == nil && !isMisspelledIn(seen, typ) &&
			d.Host != nil && !b.hasDefault(d.Host, m.Default) && b.maySend(d.Host, typ) {
			rows = append(rows, handlerRow(m))
			if m.ByPerson() && b.isAskFree() {
				asking = append(asking, askRow(m))
			}
			if open = append(open, typ); !slices.Contains(defaults, m.Default) {
				defaults = append(defaults, m.Default)
			}
		}
	}
	if len(open) == 0 {
		return
	}
	dg := diag.Unanswered.At(e.Head, "no handler for %s, and host `%s` has no default", quotedNames(open), d.Host.Name)
	for _, key := range defaults {
		if key == "" {
			dg.Hint("add a handler: there is no default for this message")
		} else if _, declared := hostFields[key]; declared {
			dg.Hint("add a handler, or `%s: \"…\"` to the host", key)
		} else {
			dg.Hint("add a handler, or `%s` to [hosts.%s]", key, d.Host.Connector)
		}
	}
	if len(asking) > 0 {
		dg.Hint("or add %s: the person at the terminal answers", quotedNames(asking))
	}
	if l, ok := edits.ListIn(b.info.File.Source, e.Head.End, edits.LastEnd(e.Handlers), e.Sp); ok {
		dg.Fixes = append(dg.Fixes, diag.Fix{Title: "Add the missing handlers", Edits: l.Add(rows...)})
		if len(asking) == len(open) {
			dg.Fixes = append(dg.Fixes, diag.Fix{Title: "Let the person at the terminal answer", Edits: l.Add(asking...)})
		}
	}
	b.report(dg.Hint("or list the `message_types` that the host sends in [hosts.%s]", d.Host.Connector))
}

// isMisspelledIn reports whether a handler was probably written for the type typ. Another
// diagnostic reports its misspelled type.
func isMisspelledIn(seen map[string]*ast.Handler, typ string) bool {
	for t := range seen {
		if !hostmsg.Lookup(t).IsKnown() && suggest.Nearest(t, []string{typ}) != "" {
			return true
		}
	}
	return false
}

// hasDefault reports whether the declaration of a host, or its section in the manifest, sets the
// default answer key.
func (b *body) hasDefault(h *Host, key string) bool {
	return h.Fields[key] != nil || b.c.cfg.Manifest != nil && b.c.cfg.Manifest.Hosts[h.Connector].Found[key]
}

// isAssumed reports whether neither the declaration of a host nor its section sets the default
// answer key. The person at the terminal is then asked before the default applies.
func (b *body) isAssumed(h *Host, key string) bool {
	return h.Fields[key] == nil && b.c.cfg.Manifest != nil && slices.Contains(b.c.cfg.Manifest.Hosts[h.Connector].Assumed, key)
}

// maySend reports whether the host may send messages of type typ, according to the manifest.
func (b *body) maySend(h *Host, typ string) bool {
	if b.c.cfg.Manifest == nil {
		return true
	}
	mh, ok := b.c.cfg.Manifest.Hosts[h.Connector]
	return !ok || mh.MessageTypes == nil || slices.Contains(mh.MessageTypes, typ)
}

// handler checks one handler. The body of a closure uses the variables of the enclosing function
// without capturing them. A `return` or an error leaves only the handler.
func (b *body) handler(h *ast.Handler, host *Host) *Handler {
	out := &Handler{At: h.Sp, Type: h.Type.Value}
	cl, ok := h.Value.(*ast.Closure)
	if !ok {
		if b.isAskWord(h.Value) {
			out.Value = h.Value
			b.askHandler(h, host)
			return out
		}
		b.namedHandler(h, out)
		return out
	}
	f := &frame{parent: b.frame.parent, home: b.frame.home, handler: true, depth: b.scopeDepth(), result: types.Any, fn: b.frame.fn, closure: b.frame.closure}
	outer := b.frame
	b.frame = f
	b.enterScope()
	before := b.flow.clone()
	b.handlerParam(cl, out)
	if cl.Result != nil {
		f.result = b.c.resolve(b.ts, cl.Result)
		f.because = reason{b.m, cl.Result.Span(), "the handler's result type"}
	}
	out.Body = cl.Body
	t := b.exprFor(cl.Body, f.result, f.because)
	if types.Resolve(t) != types.Never {
		b.coerce(cl.Body, t, f.result, f.because)
	}
	b.checkSerialisable(cl.Body)
	if types.Resolve(t) != types.Never {
		b.warnNoAnswer(out.Type, b.lastType(cl.Body), h.Type.Sp, cl.Body)
	}
	b.leaveScope()
	b.flow = before
	b.frame = outer
	return out
}

func (b *body) handlerParam(cl *ast.Closure, out *Handler) {
	if len(cl.Params) != 1 {
		at := cl.Sp
		if len(cl.Params) > 1 {
			at = cl.Params[1].Sp
		}
		b.report(diag.HandlerParams.At(at, "a handler takes one parameter, the message, not %d", len(cl.Params)).WithFixes(b.oneParameterFix(cl)...).Hint("write `|message| …`"))
	}
	for i, p := range cl.Params {
		t := types.Type(types.Any)
		if p.Type != nil {
			t = b.c.resolve(b.ts, p.Type)
			if i == 0 {
				b.checkDecodable(t, p.Type.Span())
				if !types.IsAny(t) && t != types.Bad {
					out.Schema = t
					b.messageType(out.Type, t, p.Type.Span())
					b.checkObjectType(t, p.Type.Span())
				}
			}
		}
		if p.Name == nil {
			b.pattern(p.Pattern, t, p.Mut)
			if _, wild := p.Pattern.(*ast.WildPat); !wild {
				b.report(diag.HandlerParams.At(p.Sp, "the parameter of a handler must be a name").Hint("destructure the message in the body"))
			}
			continue
		}
		l := &Local{Name: p.Name.Name, Type: t, Mut: p.Mut, Param: true, At: p.Name.Sp, used: true}
		if i == 0 {
			if out.Param = l; p.Type == nil {
				l.known = b.messageSchema(out.Type)
			}
		}
		b.bind(l)
	}
}

// checkObjectType reports a parameter type that no message can have, because messages are objects.
func (b *body) checkObjectType(t types.Type, at source.Span) {
	switch x := types.Resolve(t).(type) {
	case *types.Named:
		if x.Decl.Kind != types.Enum {
			return
		}
	case *types.Map:
		return
	}
	if t = types.Resolve(t); !types.IsAny(t) && t != types.Bad {
		b.report(diag.HandlerParams.At(at, "a message is an object, not `%s`", types.Full(t)).Hint("use a schema, a struct, `Map<String, Any>` or Any"))
	}
}

// messageType reports a parameter type that is the built-in schema of another message. No message
// of type typ would match it.
func (b *body) messageType(typ string, t types.Type, at source.Span) {
	n, ok := t.(*types.Named)
	want := hostmsg.Lookup(typ).Schema
	if !ok || !n.Decl.Library || want == "" || n.Decl.Name == want {
		return
	}
	for _, other := range hostmsg.Messages() {
		if other.Handled() && other.Schema == n.Decl.Name {
			b.report(diag.WrongMessage.At(at, "`%s` is the schema of %q, but this handler handles %q", other.Schema, other.Type, typ).
				Repair(diag.Change(at, want, want, false), "write `%s`", want))
		}
	}
}

// checkSerialisable reports a handler whose value cannot be encoded as JSON.
func (b *body) checkSerialisable(x ast.Expr) {
	for {
		blk, ok := x.(*ast.BlockExpr)
		if !ok {
			break
		}
		if blk.Block.Tail == nil {
			return
		}
		x = blk.Block.Tail
	}
	switch t := types.Resolve(b.info.types[x.ID()]).(type) {
	case *types.Func, *types.Task:
		b.report(diag.NotSerialisable.At(x.Span(), "`%s` cannot be encoded as JSON, which a handler must send to the host", types.Full(t)).
			WithFixes(b.sendNothing(x)).Hint("end the handler with data, or with `;` to send nothing"))
	}
}

// lastType returns the type of an expression's last value before any conversion.
func (b *body) lastType(x ast.Expr) types.Type {
	for {
		blk, ok := x.(*ast.BlockExpr)
		switch {
		case !ok:
			return b.info.types[x.ID()]
		case blk.Block.Tail == nil:
			return types.Nil
		}
		x = blk.Block.Tail
	}
}

// warnNoAnswer warns about a handler of a question whose value, of type t, cannot be an answer. x
// is the body of the handler's closure.
func (b *body) warnNoAnswer(typ string, t types.Type, at source.Span, x ast.Expr) {
	m := hostmsg.Lookup(typ)
	if !m.Waits() || m.Default == "" || types.Resolve(t) != types.Nil {
		return
	}
	d := diag.NoAnswer.At(at, "this handler has no value, so the host receives no answer to its %s", typ)
	if s := b.lostValue(x); s != nil {
		d.Cause = valueCause(s.X)
		semi := source.Span{Start: s.X.Span().End, End: s.Sp.End}
		d.Repair(diag.UnsafeFix(diag.Remove(semi), "Remove the `;`"), "remove the `;` after `%s` to make it the answer", b.sourceText(s.X))
	} else {
		d.Hint("end the handler with the answer, without `;`")
	}
	b.report(d)
}

// isAskWord reports whether a handler is the word `ask` and not a variable with this name.
func (b *body) isAskWord(x ast.Expr) bool {
	path, ok := x.(*ast.PathExpr)
	return ok && len(path.Segments) == 1 && path.Segments[0].Name == askWord && path.TypeArgs == nil && b.isAskFree()
}

// isAskFree reports whether no value with the name `ask` is in scope.
func (b *body) isAskFree() bool {
	if b.visibleLocal(askWord) != nil {
		return false
	}
	e := b.c.lookupValue(b.m, askWord)
	return e == nil || e.obj == nil && !e.refused
}

// askHandler checks `"type" => ask`. No code is generated for it, and at run time the message has
// no handler.
func (b *body) askHandler(h *ast.Handler, host *Host) {
	b.info.details[h.Value.ID()] = askPerson{}
	m := hostmsg.Lookup(h.Type.Value)
	switch {
	case m.Terminal() || !m.Handled(): // handlerType has reported the error
	case !m.ByPerson():
		b.report(diag.InvalidAsk.At(h.Value.Span(), "`ask` is only allowed for questions and approvals, not for %q", h.Type.Value).
			WithFixes(b.removeHandlerFix(h)).Hint("write `|message| …`"))
	case host != nil && b.hasDefault(host, m.Default) && !b.isAssumed(host, m.Default):
		b.report(diag.InvalidAsk.At(h.Value.Span(), "`ask` has no effect: `%s` of host `%s` is the answer", m.Default, host.Name).
			WithFixes(b.removeHandlerFix(h)).Hint("remove `%s` or this handler", m.Default))
	}
}

// namedHandler checks a handler that is the name of a function.
func (b *body) namedHandler(h *ast.Handler, out *Handler) {
	out.Value = h.Value
	t := types.Resolve(b.expr(h.Value, nil))
	f, ok := t.(*types.Func)
	if !ok {
		if t != types.Bad {
			d := diag.HandlerParams.At(h.Value.Span(), "a handler must be a closure or a function, not `%s`", types.Full(t)).Hint("write `|message| …`")
			if b.sourceText(h.Value) == askWord {
				d.Hint("to ask a person, rename the `ask` in scope")
			}
			b.report(d)
		}
		return
	}
	b.warnNoAnswer(out.Type, f.Result, h.Type.Sp, nil)
	if len(f.Params) != 1 {
		b.report(diag.HandlerParams.At(h.Value.Span(), "a handler takes one parameter, the message, not %d", len(f.Params)).Hint("wrap it: `|message| …`"))
		return
	}
	if p := types.Resolve(f.Params[0]); !types.IsAny(p) {
		b.checkDecodable(p, h.Value.Span())
		b.messageType(out.Type, p, h.Value.Span())
		b.checkObjectType(p, h.Value.Span())
		out.Schema = p
	}
	if path, ok := h.Value.(*ast.PathExpr); ok {
		out.Fn, _ = b.info.objects[path.Id].(*Function)
	}
}

// listenCall checks the operand of a listen. The operand must be a builder chain on a host that
// ends with execute or execute_with_schema.
func (b *body) listenCall(e *ast.ListenExpr, d *Listen) bool {
	call, ok := unparen(e.Call).(*ast.MethodCall)
	if !ok || call.Name.Name != "execute" && call.Name.Name != "execute_with_schema" {
		b.reportNoListenCall(e, call)
		return false
	}
	b.receiver, b.method = unparen(call.Recv), "listen"
	t := types.Resolve(b.expr(call.Recv, nil))
	if !isHost(t) {
		b.arguments(call.Args)
		if t != types.Bad {
			b.report(diag.ListenTarget.At(call.Recv.Span(), "`listen` needs a host, not `%s`", types.Full(t)).
				Hint("declare it with `host Name { connector: … }`"))
		}
		return false
	}
	b.info.types[call.Id] = types.Nil
	d.Builder = call.Recv
	d.Host = hostOf(b.info, call.Recv)
	if d.Host != nil && len(d.Host.Decorations) > 0 {
		b.report(diag.ListenDecorated.At(call.Recv.Span(), "decorators of host `%s` apply to `execute`, not to a `listen`", d.Host.Name).
			Hint("move the `listen` into a function, and decorate the function"))
	}
	b.checkSendsMessages(call.Recv, d.Host)
	if len(call.Args) != 1 {
		b.arguments(call.Args)
		b.report(diag.ArgumentCount.At(call.Sp, "`%s` takes 1 argument, but got %d", call.Name.Name, len(call.Args)).Hint("pass the prompt"))
		return false
	}
	b.checkAs(call.Args[0].Value, types.String, reason{})
	d.Prompt = call.Args[0].Value
	d.Dispatch = b.libraryHelper("__host_tool")
	if call.Name.Name == "execute_with_schema" {
		if len(call.TypeArgs) != 1 {
			b.report(diag.TypeArguments.At(call.Sp, "`execute_with_schema` takes 1 type argument, but got %d", len(call.TypeArgs)).
				Hint("write the type of the result: `execute_with_schema<T>(…)`"))
			return false
		}
		d.Schema = b.c.resolve(b.ts, call.TypeArgs[0])
		b.checkDecodable(d.Schema, call.TypeArgs[0].Span())
		d.Typed, d.Check = b.libraryHelper("__listen_typed"), b.libraryHelper("__check_result")
	}
	return true
}

// checkHostMethod checks a call of the library's methods of hosts.
func (b *body) checkHostMethod(e *ast.MethodCall) {
	switch e.Name.Name {
	case "stream":
		b.checkStreamHost(e)
	case "with_gate":
		b.checkGate(e)
	}
}

// checkStreamHost reports a stream of a host that cannot be streamed.
func (b *body) checkStreamHost(e *ast.MethodCall) {
	h := hostOf(b.info, e.Recv)
	b.checkSendsMessages(e.Recv, h)
	if h != nil && len(h.Decorations) > 0 {
		b.report(diag.ListenDecorated.At(e.Recv.Span(), "decorators of host `%s` apply to `execute`, not to a stream", h.Name).
			Hint("move the loop into a function, and decorate the function"))
	}
}

// checkGate reports a gate without commands, and a gate of a host that may still work when it runs.
func (b *body) checkGate(e *ast.MethodCall) {
	b.c.prog.OnResult = b.libraryHelper("__prove_result")
	h := hostOf(b.info, e.Recv)
	if h == nil || b.c.cfg.Manifest == nil || b.c.cfg.Manifest.Unread {
		return
	}
	mh, found := b.c.cfg.Manifest.Hosts[h.Connector]
	switch {
	case !found: // the declaration of the host has been reported
	case mh.Detaches:
		b.report(diag.GateDetached.At(e.Name.Sp, "host `%s` may still work when the gate runs", h.Name).
			Hint("background is \"detach\" in [hosts.%s]: use \"wait\"", h.Connector))
	case len(e.Args) == 0 && !mh.Gate:
		b.report(diag.GateMissing.At(e.Name.Sp, "no gate: set gate in [hosts.%s], or pass a function", h.Connector).
			Hint("for example `gate = [[\"make\", \"test\"]]`"))
	}
}

// checkSendsMessages reports a listen to a host with text output. Such a host sends no messages.
func (b *body) checkSendsMessages(at ast.Expr, h *Host) {
	if h == nil || b.c.cfg.Manifest == nil || b.info.Library {
		return
	}
	mh, found := b.c.cfg.Manifest.Hosts[h.Connector]
	if !found {
		return // the declaration of the host has been reported
	}
	format, declared := h.Fields["output_format"].(string)
	if !declared {
		format = mh.OutputFormat
	}
	if format == "json" {
		return
	}
	d := diag.ListenText.At(at.Span(), "host `%s` sends text, not messages", h.Name)
	b.explainType(d, reason{h.mod, h.Decl.Name.Sp, "declared here"})
	if declared {
		d.WithFixes(jsonFormatFix(h)...).Hint("if it sends one JSON object per line, write `output_format: \"json\"` in `host %s`", h.Name)
	} else {
		d.WithFixes(jsonFormatFix(h)...).Hint("if it sends one JSON object per line, add `output_format: \"json\"` to `host %s`, or `output_format = \"json\"` to [hosts.%s]", h.Name, h.Connector)
	}
	b.report(d.Hint("otherwise call `%s.execute(…)` without `listen`", h.Name))
}

// reportNoListenCall reports a listen whose operand is no call of execute.
func (b *body) reportNoListenCall(e *ast.ListenExpr, call *ast.MethodCall) {
	errors := b.errors
	host, args := "Host", []*ast.Arg(nil)
	switch x := unparen(e.Call).(type) {
	case *ast.MethodCall:
		b.receiver, b.method = unparen(call.Recv), "listen"
		if isHost(types.Resolve(b.expr(call.Recv, nil))) {
			host = b.sourceText(call.Recv)
		}
		args = call.Args
	case *ast.Call:
		b.receiver, b.method = unparen(x.Fn), "listen"
		if isHost(types.Resolve(b.expr(x.Fn, nil))) {
			host = b.sourceText(x.Fn)
		}
		args = x.Args
	default:
		if isHost(types.Resolve(b.expr(e.Call, nil))) {
			host = b.sourceText(e.Call)
		}
	}
	b.arguments(args)
	if b.errors == errors {
		b.report(diag.ListenTarget.At(e.Call.Span(), "`listen` needs a call of a host's `execute`").
			WithFixes(executeFixes(e.Call, host)...).Hint("write `listen %s.execute(%s) { … }`", host, b.promptText(args)))
	}
}

// promptText returns the source text of a call's first argument for a hint.
func (b *body) promptText(args []*ast.Arg) string {
	if len(args) == 0 {
		return "prompt"
	}
	return b.sourceText(args[0].Value)
}

// The parameter of a handler without a type is an Any, and the result of a listen a map, because a
// host may send more than the schema of the message contains. The checker knows the schema from the
// message's type nevertheless: it reports misspelled members, and values that do not fit where the
// program uses them.

// messageSchema returns the schema of the messages of a type, or nil. A schema of the program with
// the same name replaces that of the library.
func (b *body) messageSchema(typ string) types.Type {
	name := hostmsg.Lookup(typ).Schema
	if name == "" || b.c.cfg.Library == nil {
		return nil
	}
	if e := b.c.lookup(b.m, name); e != nil && e.typ != nil && len(e.typ.Params) == 0 && e.typ.Kind != types.Enum {
		return &types.Named{Decl: e.typ}
	}
	return nil
}

// knownType returns the type that the value of e, an Any, has if the host follows the protocol. It
// returns nil if e is no message and no member of one.
func (b *body) knownType(e ast.Expr) types.Type {
	switch x := unparen(e).(type) {
	case *ast.PathExpr:
		if l, ok := b.info.objects[x.Id].(*Local); ok {
			return l.known
		}
	case *ast.FieldExpr:
		return b.known[x.Id]
	default: // the type of the others is only known when they are checked
	}
	return nil
}

// messageField checks the access of a member of a message with a schema, or of a value in one.
func (b *body) messageField(e *ast.FieldExpr, schema types.Type) {
	n, ok := types.Resolve(schema).(*types.Named)
	if !ok || n.Decl.Kind == types.Enum || b.info.Library {
		return
	}
	var names []string
	for _, f := range n.Decl.Fields {
		if f.Name == e.Name.Name {
			if b.known == nil {
				b.known = map[ast.ID]types.Type{}
			}
			b.known[e.Id] = types.Loose(withoutOption(f.Type))
			return
		}
		names = append(names, f.Name)
	}
	d := diag.UnknownMember.At(e.Name.Sp, "`%s` has no field `%s`", n.Decl.Name, e.Name.Name)
	if e.Name.Name != partialOutput && suggestName(d, e.Name, names) {
		b.report(d)
	}
}

// messageAdvice returns the advice for the id of a HostMessage where the message is expected, as in
// `s.respond(m.id, …)`.
func (b *body) messageAdvice(e ast.Expr, want types.Type) diag.Advice {
	n, ok := types.Resolve(want).(*types.Named)
	x, isField := unparen(e).(*ast.FieldExpr)
	if !ok || !isField || !n.Decl.Members || x.Name.Name != "id" || !types.Identical(b.info.types[x.X.ID()], want) {
		return diag.Advice{}
	}
	text := b.sourceText(x.X)
	return replaceAdvice(e, "pass the message itself", text)
}

// partialOutput is a member that Concerto adds to results.
const partialOutput = "partial_output"

func withoutOption(t types.Type) types.Type {
	if o, ok := types.Resolve(t).(*types.Option); ok {
		return o.Elem
	}
	return t
}

// contradict reports whether no value of the known type of an Any can be used as a value of type
// want. Types whose JSON has the same form do not contradict each other.
func contradict(known, want types.Type) bool {
	x, y := jsonForm(known), jsonForm(withoutOption(want))
	return x != "" && y != "" && x != y
}

// jsonForm returns the form of the JSON of a type's values, or "" if it is not fixed.
func jsonForm(t types.Type) string {
	if t == nil {
		return ""
	}
	switch t := types.Resolve(t).(type) {
	case *types.Union:
		return "string"
	case *types.Array, *types.Tuple:
		return "array"
	case *types.Map:
		return "object"
	case *types.Named:
		if t.Decl.Kind == types.Schema || t.Decl.Kind == types.Struct {
			return "object"
		}
	case *types.Basic:
		switch t {
		case types.String:
			return "string"
		case types.Int, types.Float:
			return "number"
		case types.Bool:
			return "boolean"
		}
	}
	return ""
}
