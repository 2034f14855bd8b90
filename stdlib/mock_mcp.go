package stdlib

import (
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

// Mocked MCP servers. The content of a `mock` stays with the run, so that a
// call of a mocked function never reaches a server.
var mockMCPNatives = native.Table{
	{"mock.tools", mockTools},
	{"mock.tool", mockTool},
	{"mock.function", mockFunction},
	{"mock.given", mockGiven},
}

// mockedServers are the answers for the functions of servers, by the server's name.
type mockedServers map[string]*value.Map

func mockTools(a *vm.Args) (value.Slot, error) {
	all := vm.Own[mockedServers](a)
	if *all == nil {
		*all = mockedServers{}
	}
	(*all)[a.String(0)] = value.Flat(native.Lend(a.Slot(1))).Map()
	return value.Nil, nil
}

// mockTool takes (server, function). It gives whether the function is mocked,
// and the mock's answer unless a closure makes it.
func mockTool(a *vm.Args) (value.Slot, error) {
	v, ok := mockedAnswer(a)
	if value.Flat(v).Kind() == value.KindClosure {
		v = value.Nil
	}
	return value.Tuple(value.Bool(ok), v), nil
}

// mockFunction gives the closure that makes the answer, nil when none does.
func mockFunction(a *vm.Args) (value.Slot, error) {
	v, _ := mockedAnswer(a)
	if f := value.Flat(v); f.Kind() == value.KindClosure {
		return f, nil
	}
	return value.Nil, nil
}

// mockedAnswer is the answer for the function that the first two arguments name.
func mockedAnswer(a *vm.Args) (value.Slot, bool) {
	answers := (*vm.Own[mockedServers](a))[a.String(0)]
	if answers == nil {
		return value.Nil, false
	}
	v, ok := answers.GetString(a.String(1))
	return native.Lend(v), ok
}

// mockGiven is an answer as a call's result: an Err is the call's failure.
func mockGiven(a *vm.Args) (value.Slot, error) {
	v := a.Slot(2)
	if r := value.Flat(v); r.IsResult() {
		v = r.Fields()[0]
		if r.Variant() == value.VariantErr {
			tool, ok := value.FieldByName(v, "tool")
			if !ok || tool.AsString() == "" {
				tool = value.String(a.String(0) + "." + a.String(1))
			}
			return value.Nil, value.Errorf("ToolError", "%s", value.Message(v)).With("tool", tool)
		}
	}
	return native.Lend(v), nil
}

func (*mockedServers) KeptAs() string { return "mocked servers" }

// Keep keeps the answers for the functions of servers.
func (m *mockedServers) Keep(k *vm.Keeper) {
	native.KeepMap(k, (*map[string]*value.Map)(m), func(name *string, answers **value.Map) {
		k.Text(name)
		v := value.Nil
		if *answers != nil {
			v = (*answers).Slot()
		}
		if k.Slot(&v); v.Map() == nil {
			k.Fail("a mock of a server has no functions")
		}
		*answers = v.Map()
	})
}
