package vm

import "github.com/concerto-lang/concerto/internal/value"

// bindMockMCP makes the natives of mocked MCP servers: what a `mock` says stays
// with the VM, so that a call of a mocked function never asks for a server.
func (m *VM) bindMockMCP(name string) Native {
	switch name {
	case "mock.tools":
		return func(a *Args) (value.Slot, error) {
			if m.mocks.servers == nil {
				m.mocks.servers = map[string]*value.Map{}
			}
			value.Share(a.Slot(1))
			m.mocks.servers[a.String(0)] = value.Flat(a.Slot(1)).Map()
			return value.Nil, nil
		}
	case "mock.tool":
		return func(a *Args) (value.Slot, error) {
			v, ok := m.mockedTool(a)
			if value.Flat(v).Kind() == value.KindClosure {
				v = value.Nil
			}
			return value.Tuple(value.Bool(ok), v), nil
		}
	case "mock.function":
		return func(a *Args) (value.Slot, error) {
			v, _ := m.mockedTool(a)
			if f := value.Flat(v); f.Kind() == value.KindClosure {
				return f, nil
			}
			return value.Nil, nil
		}
	case "mock.given":
		return mockGiven
	}
	return nil
}

// mockedTool is the answer for the function that the first two arguments name.
func (m *VM) mockedTool(a *Args) (value.Slot, bool) {
	answers := m.mocks.servers[a.String(0)]
	if answers == nil {
		return value.Nil, false
	}
	v, ok := answers.GetString(a.String(1))
	value.Share(v)
	return v, ok
}

// mockGiven is an answer as a call's result: an Err is the call's failure.
func mockGiven(a *Args) (value.Slot, error) {
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
	value.Share(v)
	return v, nil
}
