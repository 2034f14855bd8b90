package stdlib

import (
	"encoding/json"
	"fmt"

	"github.com/concerto-lang/concerto/internal/effect"
	"github.com/concerto-lang/concerto/internal/value"
	"github.com/concerto-lang/concerto/vm"
)

// The calls of the application's tools.
var appCallNatives = []native{
	{"app.there", func(a *vm.Args) (value.Slot, error) { return value.Bool(a.Application() != ""), nil }},
	{"tool.all", func(a *vm.Args) (value.Slot, error) {
		all := value.NewArray()
		for _, x := range a.Tools(value.Nil) {
			all.Push(x.Value())
		}
		return all.Slot(), nil
	}},
	{"tool.list", appList},
	{"tool.prepare", appPrepare},
	{"tool.decide", func(a *vm.Args) (value.Slot, error) {
		r := &effect.AppDecide{CallID: a.String(0), Nobody: a.String(2), Late: a.Bool(3)}
		if r.Nobody == "" && !r.Late {
			r.Answer = value.AppendJSONWithin(nil, a.Slot(1), a.TextBound())
		}
		return a.Ask(r, vm.Nothing)
	}},
	{"tool.call", appCall},
	{"tool.call_id", func(a *vm.Args) (value.Slot, error) {
		return value.String(fmt.Sprintf("%s-%d", a.Application(), a.NextEffect())), nil
	}},
}

// appList asks which tools of the application a party, argument 0, may call; argument
// 1 are its own.
func appList(a *vm.Args) (value.Slot, error) {
	r := &effect.AppList{Only: a.AppTools(0)}
	for _, s := range vm.Specs(a.Tools(a.Slot(1))) {
		r.Taken = append(r.Taken, s.Name)
	}
	t := a.Type(2)
	return a.Ask(r, func(result effect.Result) (value.Slot, error) {
		out := value.NewArray()
		for _, x := range result.(*effect.AppOffer).Tools {
			out.Push(record(t,
				field{"name", value.String(x.Name)},
				field{"tool", value.String(x.Tool)},
				field{"version", value.Int(x.Version)},
				field{"description", value.String(x.Description)},
				field{"category", value.String(x.Category)},
				field{"parameters", value.String(string(x.Parameters))},
				field{"sequential", value.Bool(x.Sequential)}))
		}
		return out.Slot(), nil
	})
}

// offered are the tools of an offer, argument i, as models are told of them.
func offered(a *vm.Args, i int) (out []effect.ToolSpec) {
	offer := a.Array(i)
	for j := range offer.Len {
		x := offer.At(j)
		out = append(out, effect.ToolSpec{Name: member(x, "name").AsString(), Description: member(x, "description").AsString(),
			Parameters: json.RawMessage(member(x, "parameters").AsString())})
	}
	return out
}

// appAsk is the call in argument 0, an __AppAsk.
func appAsk(a *vm.Args) effect.AppAsk {
	x := a.Slot(0)
	return effect.AppAsk{CallID: member(x, "id").AsString(), Tool: member(x, "called").AsString(), Version: member(x, "version").AsInt(),
		Args: value.AppendJSONWithin(nil, member(x, "args"), a.TextBound()), By: member(x, "by").AsString(), Route: member(x, "route").AsString()}
}

// appPrepare gives (question, seconds) of a call; a nil question is none.
func appPrepare(a *vm.Args) (value.Slot, error) {
	return a.Ask(&effect.AppPrepare{AppAsk: appAsk(a)}, func(result effect.Result) (value.Slot, error) {
		q := result.(*effect.AppQuestion)
		payload, err := given("an approval's question", q.Payload)
		return value.Tuple(payload, value.Float(q.Within)), err
	})
}

// appCall makes a call, and gives its __AppResult.
func appCall(a *vm.Args) (value.Slot, error) {
	ask, t := appAsk(a), a.Type(1)
	return a.Ask(&effect.AppCall{AppAsk: ask}, func(result effect.Result) (value.Slot, error) {
		x := result.(*effect.AppResult)
		output, err := given("the result of tool "+ask.Tool, x.Output)
		if err != nil {
			return value.Nil, err
		}
		if x.Changed != nil && x.Outcome == "ok" {
			output = value.String(value.Text(output) + "\n(called with changed arguments: " + string(x.Changed) + ")")
		}
		return record(t,
			field{"outcome", value.String(x.Outcome)},
			field{"output", output},
			field{"error", value.String(x.Error)},
			field{"stop", value.Bool(x.Stop)}), nil
	})
}

// given reads a JSON text that the application has given; none at all is nil.
func given(what string, text json.RawMessage) (value.Slot, error) {
	if text == nil {
		return value.Nil, nil
	}
	v, err := value.Parse(text)
	if err != nil {
		return value.Nil, fmt.Errorf("%s: %w", what, err)
	}
	return v, nil
}
