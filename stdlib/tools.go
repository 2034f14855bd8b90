package stdlib

import (
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

var toolsNatives = native.Table{
	{"tool.function", toolFunction},
	{"tool.server", toolServer},
	{"tool.unlisted", toolUnlisted},
	{"tool.changing", toolChanging},
	{"tool.listed", toolListed},
	{"tool.dispatching", func(a *vm.Args) (value.Slot, error) {
		a.ReportStep(func() *effect.Step {
			return &effect.Step{What: effect.StepToolCall, Tool: dispatchedTool(a), Text: shownText(a, a.Slot(1)).AsString()}
		})
		return value.Nil, nil
	}},
	{"tool.dispatched", func(a *vm.Args) (value.Slot, error) {
		a.ReportStep(func() *effect.Step {
			return &effect.Step{What: effect.StepToolResult, Tool: dispatchedTool(a), Text: shownText(a, a.Slot(1)).AsString(), Failed: a.Bool(2)}
		})
		return value.Nil, nil
	}},
	{"tools.__positive", func(a *vm.Args) (value.Slot, error) {
		if n := a.Int(1); n <= 0 {
			return value.Nil, value.Faultf("%s is %d, but must be positive", a.String(0), n)
		}
		return a.Slot(1), nil
	}},
}

// dispatchedTool returns the name in argument 0 in the form for models.
func dispatchedTool(a *vm.Args) string { return strings.ReplaceAll(a.String(0), "::", "_") }

// toolFunction finds a function by its name in tools and returns an __Function, the type in
// argument 2. If there is no such function, only the name is set.
func toolFunction(a *vm.Args) (value.Slot, error) {
	tools, name := a.Tools(a.Slot(0)), a.String(1)
	var info ir.ToolMethod
	call, server, own, shown, owner := value.Nil, "", "", name, ""
	if of, r := vm.StateOf[remotes](a).find(tools, name); r != nil {
		name, info.Description = of.Info().Name+"."+r.name, r.description
		owner = "mcp:" + of.Info().Server
		call, server, own = a.Function(of.Info().Call), of.Info().Server, r.own
	} else if x, _ := vm.FindFunction(tools, name); x != nil {
		info = *x.Info()
		name, owner = x.Tool()+"."+info.Name, "program"
		if s := x.Server(); s != "" {
			owner = "mcp:" + s
		}
	}
	for _, o := range vm.NamedFunctions(tools) {
		if o.Calls(name) {
			shown = o.Name
		}
	}
	return native.Record(a.Type(2),
		native.Field{"name", value.String(name)},
		native.Field{"shown", value.String(shown)},
		native.Field{"owner", value.String(owner)},
		native.Field{"sequential", value.Bool(info.Sequential)},
		native.Field{"approve", value.Bool(info.Approve)},
		native.Field{"description", value.String(info.Description)},
		native.Field{"call", call},
		native.Field{"server", value.String(server)},
		native.Field{"own", value.String(own)}), nil
}

// tool returns the tool in argument 0.
func tool(a *vm.Args) *vm.Tool {
	for _, x := range a.Tools(value.Nil) {
		if x.Value() == a.Slot(0) {
			return x
		}
	}
	a.WrongKind(0, "a Tool")
	return nil
}

// toolServer returns the MCP server that a tool represents, or nil for a tool of the program, and
// the name of the tool.
func toolServer(a *vm.Args) (value.Slot, error) {
	info := tool(a).Info()
	if info.Server == "" {
		return value.Tuple(value.Nil, value.String(info.Name)), nil
	}
	return value.Tuple(value.String(info.Server), value.String(info.Name)), nil
}
