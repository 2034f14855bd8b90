package stdlib

import (
	"encoding/json"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

// hostStreamNatives contains the natives for a host's stream. Their first argument is the result of
// host.stream.open. An argument named ask identifies a message whose answer the host awaits.
// host.stream.next returns it together with the message.
var hostStreamNatives = native.Table{
	{"host.stream.open", func(a *vm.Args) (value.Slot, error) { return a.OpenHostStream(a.String(1)) }},
	{"host.stream.next", func(a *vm.Args) (value.Slot, error) {
		t := a.Type(1)
		return a.NextMessage(func(m *effect.HostMessage, ask value.Slot) value.Slot { return hostMessage(t, m, ask) })
	}},
	{"host.stream.refusal", func(a *vm.Args) (value.Slot, error) { return value.String(a.Refusal()), nil }},
	{"host.stream.until", func(a *vm.Args) (value.Slot, error) { return a.Until(), nil }},
	{"host.stream.reply", hostStreamReply},
	{"host.stream.steer", func(a *vm.Args) (value.Slot, error) { return a.SteerStream(a.String(1)) }},
	{"host.plan_until", vm.PlanUntil},
	{"host.stream.plan_wait", vm.BeginPlanWait},
	{"host.stream.reopen", func(a *vm.Args) (value.Slot, error) { return vm.ReopenStream(a, a.Bool(1)) }},
	{"host.stream.continue", func(a *vm.Args) (value.Slot, error) { return vm.GatesOf(a).Continue(a.String(2)) }},
	{"host.stream.proved", func(a *vm.Args) (value.Slot, error) { return vm.GatesOf(a).Pass(), nil }},
	{"host.stream.leave", func(a *vm.Args) (value.Slot, error) {
		a.Leave(a.String(1))
		return value.Nil, nil
	}},
	{"host.stream.fail", func(a *vm.Args) (value.Slot, error) {
		reason := ""
		if e := value.Flatten(a.Slot(1)); !e.IsNil() {
			reason = value.Message(e)
		}
		a.Leave(reason)
		return value.Nil, nil
	}},
	{"host.stream.session", func(a *vm.Args) (value.Slot, error) {
		if s := a.Session(); s != "" {
			return value.String(s), nil
		}
		return value.Nil, nil
	}},
	{"host.message.read", hostMessageRead},
	{"tool.there", toolExists},
}

// hostMessage converts a message to a value of the type t, which is HostMessage.
func hostMessage(t *value.Type, m *effect.HostMessage, ask value.Slot) value.Slot {
	payload := m.Payload.Map()
	all := value.NewMap(payload.Len() + 1)
	all.SetString("type", value.String(m.Type))
	payload.Each(func(k, v value.Slot) bool {
		all.Set(k, v)
		return true
	})
	id := value.Nil
	if v, _ := payload.GetString("id"); !v.IsNil() {
		id = value.String(value.Text(v))
	}
	return native.Record(t,
		native.Field{"type", value.String(m.Type)},
		native.Field{"id", id},
		native.Field{"__ask", ask},
		native.Field{"__members", all.Slot()})
}

// hostStreamReply answers a message. The arguments are (stream, ask, value, problem, whether a tool
// answers). If the value is an Ok, its content is sent. If it is an Err, its message becomes the
// problem.
func hostStreamReply(a *vm.Args) (value.Slot, error) {
	problem, v := a.String(3), value.Flatten(a.Slot(2))
	if v.IsResult() {
		inner := value.Flatten(v.Fields()[0])
		if v.Variant() == value.VariantErr && problem == "" {
			problem = value.Message(inner)
		}
		v = inner
	}
	var text json.RawMessage
	if problem == "" {
		text = value.AppendJSONWithin(nil, v, a.TextBound())
	}
	by := effect.ByHandler
	if a.Bool(4) {
		by = effect.ByTools
	}
	return a.Answer(by, text, problem)
}

// hostMessageRead converts the members of a message in argument 0 to the type in argument 1.
func hostMessageRead(a *vm.Args) (value.Slot, error) {
	t := a.Type(1)
	v, errs := vm.ConvertMessage(a.Pace(), native.MarkShared(a.Slot(0)), t)
	if len(errs) > 0 {
		return value.Nil, native.SchemaError(t, schema.Join(errs), "")
	}
	return v, nil
}

// toolExists reports whether one of the tools in argument 0 has a function with the name in
// argument 1.
func toolExists(a *vm.Args) (value.Slot, error) {
	tools, name := a.Tools(a.Slot(0)), value.Flatten(a.Slot(1))
	if name.Kind() != value.KindString {
		return value.Bool(false), nil
	}
	if _, r := vm.StateOf[remotes](a).find(tools, name.AsString()); r != nil {
		return value.Bool(true), nil
	}
	f, _ := vm.FindFunction(tools, name.AsString())
	return value.Bool(f != nil), nil
}
