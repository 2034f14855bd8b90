package stdlib

import (
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

var agentNatives = native.Table{
	{"agent.tool_args", toolArgs},
	{"agent.tool_text", toolText},
	{"host.tool_call", toolCall},
}

// toolArgs reads the arguments of a tool call as a model wrote them.
func toolArgs(a *vm.Args) (value.Slot, error) {
	text := native.Trim(a, a.String(0))
	if text == "" {
		return value.NewMap(0).Slot(), nil
	}
	v, err := value.ParseIn([]byte(text), a.Room, a.Pace())
	if err != nil {
		return value.Nil, value.Errorf("ToolError", "the arguments are not JSON: %s", err)
	}
	switch v.Kind() {
	case value.KindMap:
		return v, nil
	case value.KindNil:
		return value.NewMap(0).Slot(), nil
	}
	return value.Nil, value.Errorf("ToolError", "the arguments must be a JSON object, not %s", value.TypeName(v))
}

func toolText(a *vm.Args) (value.Slot, error) {
	s := value.Flat(a.Slot(0))
	if s.Kind() == value.KindString {
		return s, nil
	}
	return value.StringTaking(value.AppendJSONWithin(nil, s, a.TextBound())), nil
}

// toolCall takes a host's tool_call message apart into (tool, args). When args
// are missing they are empty.
func toolCall(a *vm.Args) (value.Slot, error) {
	m := value.Flat(a.Slot(0))
	name, _ := value.FieldByName(m, "tool")
	if name.Kind() != value.KindString {
		return value.Nil, value.Errorf("ToolError", "tool_call: `tool` must be a string, not %s", value.TypeName(name))
	}
	args, _ := value.FieldByName(m, "args")
	switch args.Kind() {
	case value.KindMap:
		return value.Tuple(name, native.Lend(args)), nil
	case value.KindNil:
		return value.Tuple(name, value.NewMap(0).Slot()), nil
	}
	return value.Nil, value.Errorf("ToolError", "tool_call: `args` must be an object, not %s", value.TypeName(args)).
		With("tool", name)
}
