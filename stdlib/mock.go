package stdlib

import (
	"fmt"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

// Natives for the mocks of a test and for reading the test's record (spec/16-tests.md). The run
// stores the closures of mocks, because only the run can call them: the library calls a closure
// before the request and passes its result on. The other natives request effects.
var mockNatives = native.Table{
	{"mock.by", mockBy},
	{"mock.closure", func(a *vm.Args) (value.Slot, error) { return vm.StateOf[mocks](a).closures[mockKey(a)], nil }},
	{"mock.script", mockScript},
	{"mock.next", mockNext},
	{"mock.answer", func(a *vm.Args) (value.Slot, error) {
		return a.Ask(&effect.MockAnswer{Channel: a.String(0), Value: jsonOf(a, 1)}, vm.Nothing)
	}},
	{"mock.env", mockEnv},
	{"mock.args", func(a *vm.Args) (value.Slot, error) {
		a.Step(a.Array(0).Len)
		return a.Ask(&effect.MockArgs{Args: stringsOf(a.Array(0))}, vm.Nothing)
	}},
	{"mock.input", func(a *vm.Args) (value.Slot, error) {
		return a.Ask(&effect.MockInput{Text: a.String(0)}, vm.Nothing)
	}},
	{"mock.http", func(a *vm.Args) (value.Slot, error) {
		return a.Ask(&effect.MockHTTP{URL: a.String(0), Answer: jsonOf(a, 1)}, vm.Nothing)
	}},
	{"mock.command", func(a *vm.Args) (value.Slot, error) {
		return a.Ask(&effect.MockCommand{Line: a.String(0), Outcome: jsonOf(a, 1)}, vm.Nothing)
	}},
	{"mock.file", mockFile},
	{"mock.time", func(a *vm.Args) (value.Slot, error) { return a.Ask(&effect.MockTime{Unix: a.Int(0)}, vm.Nothing) }},
	{"mock.replies", func(a *vm.Args) (value.Slot, error) { return askRecord(a, "replies") }},
	{"mock.prompts", func(a *vm.Args) (value.Slot, error) { return askRecord(a, "prompts") }},
	{"test.emits", func(a *vm.Args) (value.Slot, error) { return askRecord(a, "emits") }},
	{"test.output", func(a *vm.Args) (value.Slot, error) { return askRecord(a, "output") }},
	{"test.requests", func(a *vm.Args) (value.Slot, error) { return askRecord(a, "requests") }},
}

// mocks contains the closures that answer for agents and hosts.
type mocks struct{ closures map[int]value.Slot }

// mockKey returns a key for the party in argument 0: the index of an agent, or -1 minus the index
// of a host.
func mockKey(a *vm.Args) int {
	index := a.Party(0).Index()
	if a.Slot(0).Kind() == value.KindHost {
		return -1 - index
	}
	return index
}

// mockBy stores argument 1 as the closure that answers for a party. If argument 1 is not a closure,
// it removes the stored closure.
func mockBy(a *vm.Args) (value.Slot, error) {
	key, m := mockKey(a), vm.StateOf[mocks](a)
	delete(m.closures, key)
	if f := value.Flatten(a.Slot(1)); f.Kind() == value.KindClosure {
		if m.closures == nil {
			m.closures = map[int]value.Slot{}
		}
		m.closures[key] = f
	}
	return value.Nil, nil
}

// jsonOf returns argument i as JSON.
func jsonOf(a *vm.Args, i int) []byte { return value.AppendJSONWithin(nil, a.Slot(i), a.TextBound()) }

// partyName returns the name of the party in argument 0, and whether it is a host.
func partyName(a *vm.Args) (name string, isHost bool) {
	if a.Slot(0).Kind() == value.KindHost {
		return a.Host(0).Name, true
	}
	return a.Agent(0).Name, false
}

// mockScript sets the script of a mock. The arguments are (party, fields). A closure among the
// fields is not part of the script; it answers through mock.next.
func mockScript(a *vm.Args) (value.Slot, error) {
	fields := value.Flatten(a.Slot(1)).Map()
	if fields == nil {
		a.WrongKind(1, "a Map")
	}
	r := &effect.MockScript{}
	r.Name, r.Host = partyName(a)
	plain := value.NewMap(fields.Len())
	fields.Each(func(k, v value.Slot) bool {
		a.Step(1)
		if value.Flatten(v).Kind() == value.KindClosure {
			r.By = true
		} else {
			plain.Set(k, native.MarkShared(v))
		}
		return true
	})
	r.Script = value.AppendJSONWithin(nil, plain.Slot(), a.TextBound())
	return a.Ask(r, vm.Nothing)
}

func mockNext(a *vm.Args) (value.Slot, error) {
	r := &effect.MockNext{Prompt: a.String(1), Answer: jsonOf(a, 2)}
	r.Party, r.Host = partyName(a)
	return a.Ask(r, vm.Nothing)
}

func mockEnv(a *vm.Args) (value.Slot, error) {
	r := &effect.MockEnv{Name: a.String(0)}
	if !a.Slot(1).IsNil() {
		r.Value, r.Set = a.String(1), true
	}
	return a.Ask(r, vm.Nothing)
}

func mockFile(a *vm.Args) (value.Slot, error) {
	r := &effect.MockFile{Path: a.String(0), Missing: a.Slot(1).IsNil()}
	if !r.Missing {
		r.Text = a.String(1)
	}
	return a.Ask(r, vm.Nothing)
}

// askRecord requests a part of the test's record. If there is an argument 0, the part is about that
// party.
func askRecord(a *vm.Args, what string) (value.Slot, error) {
	r := &effect.Record{What: what}
	if a.Len() > 0 {
		r.Party, _ = partyName(a)
	}
	return a.Ask(r, func(r effect.Result) (value.Slot, error) {
		v, err := value.Parse(r.(*effect.Recorded).Value)
		if err != nil {
			return value.Nil, fmt.Errorf("read the test's record: %w", err)
		}
		return v, nil
	})
}

// Natives for mocked MCP servers. The run stores the content of a `mock`, so that a call of a
// mocked function never reaches a server.
var mockMCPNatives = native.Table{
	{"mock.tools", mockTools},
	{"mock.tool", mockTool},
	{"mock.function", mockFunction},
	{"mock.given", mockResult},
}

// mockedServers contains the answers of mocked functions, by the name of the server.
type mockedServers map[string]*value.Map

func mockTools(a *vm.Args) (value.Slot, error) {
	all := vm.StateOf[mockedServers](a)
	if *all == nil {
		*all = mockedServers{}
	}
	(*all)[a.String(0)] = value.Flatten(native.MarkShared(a.Slot(1))).Map()
	return value.Nil, nil
}

// mockTool returns whether a function is mocked, and the mock's answer unless it is a closure. The
// arguments are (server, function).
func mockTool(a *vm.Args) (value.Slot, error) {
	v, ok := mockedAnswer(a)
	if value.Flatten(v).Kind() == value.KindClosure {
		v = value.Nil
	}
	return value.Tuple(value.Bool(ok), v), nil
}

// mockFunction returns the closure that computes the answer of a mocked function, or nil if there
// is none.
func mockFunction(a *vm.Args) (value.Slot, error) {
	v, _ := mockedAnswer(a)
	if f := value.Flatten(v); f.Kind() == value.KindClosure {
		return f, nil
	}
	return value.Nil, nil
}

// mockedAnswer returns the answer of the function that arguments 0 and 1 name. The bool reports
// whether the function is mocked.
func mockedAnswer(a *vm.Args) (value.Slot, bool) {
	answers := (*vm.StateOf[mockedServers](a))[a.String(0)]
	if answers == nil {
		return value.Nil, false
	}
	v, ok := answers.GetString(a.String(1))
	return native.MarkShared(v), ok
}

// mockResult converts an answer to the result of a call. An Err becomes a failure of the call.
func mockResult(a *vm.Args) (value.Slot, error) {
	v := a.Slot(2)
	if r := value.Flatten(v); r.IsResult() {
		v = r.Fields()[0]
		if r.Variant() == value.VariantErr {
			tool, ok := value.FieldByName(v, "tool")
			if !ok || tool.AsString() == "" {
				tool = value.String(a.String(0) + "." + a.String(1))
			}
			return value.Nil, value.Errorf("ToolError", "%s", value.Message(v)).With("tool", tool)
		}
	}
	return native.MarkShared(v), nil
}
