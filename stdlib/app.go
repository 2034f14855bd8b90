package stdlib

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

// appNatives implements std::app, which returns the data that the application has passed to the
// run.
var appNatives = native.Table{
	{"app.inputs", func(a *vm.Args) (value.Slot, error) {
		return a.Ask(&effect.Session{}, func(r effect.Result) (value.Slot, error) {
			return parseAppObject("inputs", r.(*effect.SessionInfo).Inputs)
		})
	}},
	{"app.session", func(a *vm.Args) (value.Slot, error) {
		t := a.Type(0)
		return a.Ask(&effect.Session{}, func(r effect.Result) (value.Slot, error) {
			info := r.(*effect.SessionInfo)
			metadata, err := parseAppObject("metadata", info.Metadata)
			if err != nil {
				return value.Nil, err
			}
			return native.Record(t,
				native.Field{"id", value.String(info.ID)},
				native.Field{"cwd", value.String(info.Cwd)},
				native.Field{"metadata", metadata},
				native.Field{"render", value.StringArray(info.Render)}), nil
		})
	}},
}

// runNatives implements std::run and std::process.
var runNatives = native.Table{
	{"run.continue_as_new", func(a *vm.Args) (value.Slot, error) {
		inputs := value.AppendJSONWithin(nil, a.Slot(0), a.TextBound())
		if !bytes.HasPrefix(inputs, []byte("{")) {
			return value.Nil, fmt.Errorf("run::continue_as_new requires a map or a struct, got %s", value.TypeName(a.Slot(0)))
		}
		return a.Ask(&effect.Continue{Inputs: inputs}, func(r effect.Result) (value.Slot, error) {
			return value.Nil, vm.ContinueAsNew(inputs, r.(*effect.Continued))
		})
	}},
	{"process.exit", func(a *vm.Args) (value.Slot, error) { return value.Nil, vm.ExitWith(a.Int(0)) }},
	{vm.UsageNative, func(a *vm.Args) (value.Slot, error) {
		usd, in, out := a.Usage()
		return native.Record(a.Type(0),
			native.Field{"cost_usd", value.Float(usd)},
			native.Field{"tokens_in", value.Int(in)},
			native.Field{"tokens_out", value.Int(out)}), nil
	}},
}

// parseAppObject parses a JSON object from the application. An empty text becomes an empty object.
func parseAppObject(what string, text []byte) (value.Slot, error) {
	if len(text) == 0 {
		return value.NewMap(0).Slot(), nil
	}
	v, err := value.Parse(text)
	if err == nil && v.Map() == nil {
		err = fmt.Errorf("it is not an object")
	}
	if err != nil {
		return value.Nil, fmt.Errorf("invalid %s of the session: %w", what, err)
	}
	return v, nil
}

// Natives for calls of the application's tools, and for the parts of such calls that calls of the
// program's own tools share.
var appCallNatives = native.Table{
	{"app.there", func(a *vm.Args) (value.Slot, error) { return value.Bool(a.Application().Tools), nil }},
	{"app.audited", func(a *vm.Args) (value.Slot, error) { return value.Bool(a.Application().Audited), nil }},
	{"app.caller", func(a *vm.Args) (value.Slot, error) { return value.String(a.Caller()), nil }},
	{"tool.all", func(a *vm.Args) (value.Slot, error) {
		all := value.NewArray()
		for _, x := range a.Tools(value.Nil) {
			all.Push(x.Value())
		}
		return all.Slot(), nil
	}},
	{"tool.list", appList},
	{"tool.call", appCall},
	{"tool.call_id", func(a *vm.Args) (value.Slot, error) {
		return value.String(fmt.Sprintf("%s-%d", a.Application().Run, a.NextEffect())), nil
	}},
	{"tool.prepare", appPrepare},
	{"tool.ask", appAsked},
	{"tool.decide", appDecide},
	{"tool.leave", func(a *vm.Args) (value.Slot, error) {
		a.Release(effect.KindAppLeave, a.Int(0))
		return a.Ask(&effect.AppLeave{ID: a.Int(0)}, vm.Nothing)
	}},
	{"tool.mock", appMock},
	{"mock.app", appMockOf},
	{"audit.call", auditCall},
	{"audit.done", auditDone},
}

// appList requests the application's tools that the party in argument 0 may call. Argument 1
// contains the party's own tools, and argument 2 is the type of the result's elements.
func appList(a *vm.Args) (value.Slot, error) {
	r := &effect.AppList{Only: a.AppTools(0)}
	for _, s := range vm.Specs(a.Tools(a.Slot(1))) {
		r.Reserved = append(r.Reserved, s.Name)
	}
	t := a.Type(2)
	return a.Ask(r, func(result effect.Result) (value.Slot, error) {
		out := value.NewArray()
		for _, x := range result.(*effect.AppOffer).Tools {
			out.Push(native.Record(t,
				native.Field{"name", value.String(x.Name)},
				native.Field{"tool", value.String(x.Tool)},
				native.Field{"version", value.Int(x.Version)},
				native.Field{"description", value.String(x.Description)},
				native.Field{"category", value.String(x.Category)},
				native.Field{"parameters", value.String(string(x.Parameters))},
				native.Field{"sequential", value.Bool(x.Sequential)},
				native.Field{"approve", value.Bool(x.Approve)}))
		}
		return out.Slot(), nil
	})
}

// offeredTools converts the tools of an offer, argument i, to descriptions for a model.
func offeredTools(a *vm.Args, i int) (out []effect.ToolSpec) {
	offer := a.Array(i)
	for j := range offer.Len {
		x := offer.At(j)
		out = append(out, effect.ToolSpec{Name: native.Member(x, "name").AsString(), Description: native.Member(x, "description").AsString(),
			Parameters: json.RawMessage(native.Member(x, "parameters").AsString())})
	}
	return out
}

// appAsk converts the call in argument 0, which is an __AppAsk.
func appAsk(a *vm.Args) effect.AppAsk {
	x := a.Slot(0)
	text := func(name string) string { return native.Member(x, name).AsString() }
	q := effect.AppAsk{CallID: text("id"), Tool: text("called"), Version: native.Member(x, "version").AsInt(),
		Args: value.AppendJSONWithin(nil, native.Member(x, "args"), a.TextBound()), By: text("by"), Route: text("route")}
	q.Missing = native.Member(x, "missing").AsBool()
	if name := text("own"); name != "" {
		q.Own = &effect.OwnTool{Name: name, Owner: text("owner"), Description: text("description")}
	}
	return q
}

// appPrepare prepares a call and returns (question, seconds, number). The question is nil if no
// approval is needed.
func appPrepare(a *vm.Args) (value.Slot, error) {
	return a.AskToOpen(&effect.AppPrepare{AppAsk: appAsk(a)}, func(result effect.Result) (value.Slot, error) {
		q := result.(*effect.AppQuestion)
		payload, err := parseAppJSON("an approval's question", q.Payload)
		return value.Tuple(payload, value.Float(q.Within), value.Int(q.ID)), err
	}, func(result effect.Result) (int64, effect.Request) {
		id := result.(*effect.AppQuestion).ID
		return id, &effect.AppLeave{ID: id, Cancelled: true}
	})
}

// appAsked sends a question to the application. It returns (answer, whether a person typed it, the
// kind of the party that answered, its name).
func appAsked(a *vm.Args) (value.Slot, error) {
	ask := &effect.AwaitEmit{Channel: a.String(0), Payload: value.AppendJSONWithin(nil, a.Slot(1), a.TextBound())}
	var call value.Slot
	if question := a.Slot(1).Map(); question != nil {
		call, _ = question.GetString("call_id")
	}
	return a.Ask(ask, func(result effect.Result) (value.Slot, error) {
		x := result.(*effect.Answer)
		if x.Seal != nil && call.Kind() == value.KindString {
			a.SealCall(call.AsString(), x.Seal)
		}
		v, err := parseAppJSON("the answer to an approval", x.Value)
		return value.Tuple(v, value.Bool(x.Typed), value.String(x.By), value.String(x.Name)), err
	})
}

// appDecide reports the answer about the call with the ID in argument 0. It returns the verdict,
// which has the type in argument 8.
func appDecide(a *vm.Args) (value.Slot, error) {
	r := &effect.AppDecide{CallID: a.String(0), Typed: a.Bool(2), By: a.String(3), Name: a.String(4), Unanswered: a.String(6), Late: a.Bool(7)}
	if r.Unanswered == "" && !r.Late {
		r.Answer = value.AppendJSONWithin(nil, a.Slot(1), a.TextBound())
	}
	t, decided := a.Type(8), a.DecidesCall(r.CallID, 5)
	return a.Ask(r, func(result effect.Result) (value.Slot, error) {
		x := result.(*effect.AppVerdict)
		if err := decided(r.Answer, x.Decided); err != nil {
			return value.Nil, err
		}
		args, err := parseAppJSON("changed arguments", x.Args)
		if err != nil {
			return value.Nil, err
		}
		output, err := parseAppJSON("the output given in a tool's place", x.Output)
		return native.Record(t,
			native.Field{"outcome", value.String(x.Outcome)},
			native.Field{"error", value.String(x.Error)},
			native.Field{"stop", value.Bool(x.Stop)},
			native.Field{"args", args},
			native.Field{"changed", value.String(string(x.Changed))},
			native.Field{"respond", value.Bool(x.Respond)},
			native.Field{"output", output}), err
	})
}

// auditCall records the start of a call in the audit log. It returns (number, error), where the
// error is "" if the call was recorded.
func auditCall(a *vm.Args) (value.Slot, error) {
	convert := func(result effect.Result) (value.Slot, error) {
		x := result.(*effect.AuditCalled)
		return value.Tuple(value.Int(x.ID), value.String(x.Error)), nil
	}
	return a.AskToOpen(&effect.AuditCall{AppAsk: appAsk(a)}, convert, func(result effect.Result) (int64, effect.Request) {
		id := result.(*effect.AuditCalled).ID
		if id == 0 {
			return 0, nil
		}
		return id, &effect.AuditDone{ID: id, Outcome: "cancelled", Error: "the call has ended"}
	})
}

// auditDone records the end of a call. The arguments are (number, outcome, error, output).
func auditDone(a *vm.Args) (value.Slot, error) {
	r := &effect.AuditDone{ID: a.Int(0), Outcome: a.String(1), Error: a.String(2)}
	if r.Outcome == "ok" {
		r.OutputBytes = int64(len(value.AppendJSONWithin(nil, a.Slot(3), a.TextBound())))
	}
	a.Release(effect.KindAuditDone, r.ID)
	return a.Ask(r, vm.Nothing)
}

// routeDispatch is the route of calls that the program makes by the name of the tool.
const routeDispatch = "dispatch"

// appCall performs a call and returns an __AppResult. Argument 1 is the number of the call if
// appPrepare has prepared it.
func appCall(a *vm.Args) (value.Slot, error) {
	ask, t := appAsk(a), a.Type(2)
	if id := a.Int(1); id != 0 {
		a.Release(effect.KindAppLeave, id)
	}
	return a.Ask(&effect.AppCall{AppAsk: ask}, func(result effect.Result) (value.Slot, error) {
		x := result.(*effect.AppResult)
		output, err := parseAppJSON("the result of tool "+ask.Tool, x.Output)
		if err != nil {
			return value.Nil, err
		}
		if x.Changed != nil && x.Outcome == "ok" && !x.Mocked && ask.Route != routeDispatch { // the program receives the result, a model its text
			output = value.String(value.Text(output) + "\n(called with changed arguments: " + string(x.Changed) + ")")
		}
		return native.Record(t,
			native.Field{"outcome", value.String(x.Outcome)},
			native.Field{"output", output},
			native.Field{"error", value.String(x.Error)},
			native.Field{"stop", value.Bool(x.Stop)},
			native.Field{"mocked", value.Bool(x.Mocked)}), nil
	})
}

// mockedApp contains the closures by which a test replaces the application's tools, by "name" or
// "name@version".
type mockedApp map[string]value.Slot

// appMock replaces a tool of the application by a closure. The arguments are (tool, closure).
func appMock(a *vm.Args) (value.Slot, error) {
	all := vm.StateOf[mockedApp](a)
	if *all == nil {
		*all = mockedApp{}
	}
	(*all)[a.String(0)] = value.Flatten(native.MarkShared(a.Slot(1)))
	return a.Ask(&effect.AppMock{Name: a.String(0)}, vm.Nothing)
}

// appMockOf returns the closure for (tool, version), or nil if there is none.
func appMockOf(a *vm.Args) (value.Slot, error) {
	all := *vm.StateOf[mockedApp](a)
	if f, ok := all[fmt.Sprintf("%s@%d", a.String(0), a.Int(1))]; ok {
		return native.MarkShared(f), nil
	}
	if f, ok := all[a.String(0)]; ok {
		return native.MarkShared(f), nil
	}
	return value.Nil, nil
}

// parseAppJSON parses JSON from the application. An empty text becomes nil.
func parseAppJSON(what string, text json.RawMessage) (value.Slot, error) {
	if text == nil {
		return value.Nil, nil
	}
	v, err := value.Parse(text)
	if err != nil {
		return value.Nil, fmt.Errorf("%s: %w", what, err)
	}
	return v, nil
}
