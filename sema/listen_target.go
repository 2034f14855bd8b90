package sema

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
)

// listenCall checks what is listened to: a builder chain on a host that ends
// in execute or execute_with_schema.
func (b *body) listenCall(e *ast.ListenExpr, d *Listen) bool {
	call, ok := unparen(e.Call).(*ast.MethodCall)
	if !ok || call.Name.Name != "execute" && call.Name.Name != "execute_with_schema" {
		b.noListenCall(e, call)
		return false
	}
	b.receiver, b.method = unparen(call.Recv), "listen"
	t := types.Resolve(b.expr(call.Recv, nil))
	if !isHost(t) {
		b.arguments(call.Args)
		if t != types.Bad {
			b.report(diag.ListenTarget.At(call.Recv.Span(), "`listen` needs a host, and this is `%s`", types.Full(t)).
				Hint("declare it with `host Name { connector: … }`"))
		}
		return false
	}
	b.info.types[call.Id] = types.Nil
	d.Builder = call.Recv
	d.Host = hostOf(b.info, call.Recv)
	if d.Host != nil && len(d.Host.Decorations) > 0 {
		b.report(diag.ListenDecorated.At(call.Recv.Span(), "the decorators of host `%s` stand around `execute`, not around a listen", d.Host.Name).
			Hint("put the listen into a function, and decorate that"))
	}
	b.speaks(call.Recv, d.Host)
	if len(call.Args) != 1 {
		b.arguments(call.Args)
		b.report(diag.ArgumentCount.At(call.Sp, "`%s` takes 1 argument, not %d", call.Name.Name, len(call.Args)).Hint("give the prompt"))
		return false
	}
	b.checkAs(call.Args[0].Value, types.String, reason{})
	d.Prompt = call.Args[0].Value
	d.Dispatch = b.libraryHelper("__host_tool")
	if call.Name.Name == "execute_with_schema" {
		if len(call.TypeArgs) != 1 {
			b.report(diag.TypeArguments.At(call.Sp, "`execute_with_schema` takes 1 type argument, not %d", len(call.TypeArgs)).
				Hint("name the type of the result: `execute_with_schema<T>(…)`"))
			return false
		}
		d.Schema = b.c.resolve(b.ts, call.TypeArgs[0])
		b.decodable(d.Schema, call.TypeArgs[0].Span())
		d.Typed = b.libraryHelper("__listen_typed")
	}
	return true
}

// streams checks which host a stream is of.
func (b *body) streams(e *ast.MethodCall) {
	h := hostOf(b.info, e.Recv)
	b.speaks(e.Recv, h)
	if h != nil && len(h.Decorations) > 0 {
		b.report(diag.ListenDecorated.At(e.Recv.Span(), "the decorators of host `%s` stand around `execute`, not around a stream", h.Name).
			Hint("put the loop into a function, and decorate that"))
	}
}

// speaks reports a listen to a host whose lines are text: it sends no messages.
func (b *body) speaks(at ast.Expr, h *Host) {
	if h == nil || b.c.cfg.Manifest == nil || b.info.Library {
		return
	}
	mh, known := b.c.cfg.Manifest.Hosts[h.Connector]
	if !known {
		return // that is reported where it is declared
	}
	format, declared := h.Fields["output_format"].(string)
	if !declared {
		format = mh.OutputFormat
	}
	if format == "json" {
		return
	}
	d := diag.ListenText.At(at.Span(), "host `%s` sends text, and no messages to listen to", h.Name)
	b.because(d, reason{h.mod, h.Decl.Name.Sp, "declared here"})
	if declared {
		d.By(jsonFormat(h)...).Hint("write `output_format: \"json\"` in `host %s`, when it sends a JSON object a line", h.Name)
	} else {
		d.By(jsonFormat(h)...).Hint("add `output_format: \"json\"` to `host %s`, or `output_format = \"json\"` to [hosts.%s], when it sends a JSON object a line", h.Name, h.Connector)
	}
	b.report(d.Hint("a host of text is asked by `%s.execute(…)` alone", h.Name))
}

// noListenCall reports a listen to something else than a call of execute.
func (b *body) noListenCall(e *ast.ListenExpr, call *ast.MethodCall) {
	errors := b.errors
	host, args := "Host", []*ast.Arg(nil)
	switch x := unparen(e.Call).(type) {
	case *ast.MethodCall:
		b.receiver, b.method = unparen(call.Recv), "listen"
		if isHost(types.Resolve(b.expr(call.Recv, nil))) {
			host = b.text(call.Recv)
		}
		args = call.Args
	case *ast.Call:
		b.receiver, b.method = unparen(x.Fn), "listen"
		if isHost(types.Resolve(b.expr(x.Fn, nil))) {
			host = b.text(x.Fn)
		}
		args = x.Args
	default:
		if isHost(types.Resolve(b.expr(e.Call, nil))) {
			host = b.text(e.Call)
		}
	}
	b.arguments(args)
	if b.errors == errors {
		b.report(diag.ListenTarget.At(e.Call.Span(), "`listen` needs a call of a host's `execute`").
			By(executing(e.Call, host)...).Hint("write `listen %s.execute(%s) { … }`", host, b.prompt(args)))
	}
}

// prompt is the first argument of a call as a hint repeats it.
func (b *body) prompt(args []*ast.Arg) string {
	if len(args) == 0 {
		return "prompt"
	}
	return b.text(args[0].Value)
}
