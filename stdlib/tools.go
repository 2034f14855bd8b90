package stdlib

import (
	"github.com/concerto-lang/concerto/internal/value"
	"github.com/concerto-lang/concerto/vm"
)

var toolsNatives = []native{
	{"tool.marks", toolMarks},
	{"tool.server", toolServer},
	{"tool.unlisted", toolUnlisted},
	{"tool.listed", toolListed},
	{"tool.remote", toolRemote},
	{"tools.__positive", func(a *vm.Args) (value.Slot, error) {
		if n := a.Int(1); n <= 0 {
			return value.Nil, value.Faultf("%s is %d, it must be positive", a.String(0), n)
		}
		return a.Slot(1), nil
	}},
}

// toolMarks gives, of the function that name finds among tools, its full name,
// whether it is @sequential and @approve, and its description; of none the name.
func toolMarks(a *vm.Args) (value.Slot, error) {
	tools := a.Tools(a.Slot(0))
	if of, r := vm.Own[remotes](a).find(tools, a.String(1)); r != nil {
		return value.Tuple(value.String(of.Info().Name+"."+r.name), value.Bool(false), value.Bool(false), value.String(r.description)), nil
	}
	x, _ := vm.FindFunction(tools, a.String(1))
	if x == nil {
		return value.Tuple(a.Slot(1), value.Bool(false), value.Bool(false), value.String("")), nil
	}
	info := x.Info()
	return value.Tuple(value.String(x.Tool()+"."+info.Name), value.Bool(info.Sequential), value.Bool(info.Approve), value.String(info.Description)), nil
}

// tool gives the tool in argument 0.
func tool(a *vm.Args) *vm.Tool {
	for _, x := range a.Tools(value.Nil) {
		if x.Value() == a.Slot(0) {
			return x
		}
	}
	a.Wrong(0, "a Tool")
	return nil
}

// toolServer gives the MCP server whose declaration a tool is, nil for another
// one, and the tool's name.
func toolServer(a *vm.Args) (value.Slot, error) {
	info := tool(a).Info()
	if info.Server == "" {
		return value.Tuple(value.Nil, value.String(info.Name)), nil
	}
	return value.Tuple(value.String(info.Server), value.String(info.Name)), nil
}
