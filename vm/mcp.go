package vm

import (
	"github.com/concerto-lang/concerto/internal/effect"
	"github.com/concerto-lang/concerto/internal/value"
)

func init() {
	performs["mcp.open"] = &performing{
		request: func(t *task, a *Args) (effect.Request, error) {
			r := &effect.MCPOpen{Server: a.String(0), Tool: a.String(2), Declared: t.m.declaredBy(a.String(0))}
			if method := a.String(1); method != effect.MCPCallTool {
				r.Method = method
			}
			if args := value.Flat(a.Slot(3)).Map(); args != nil && (r.Method == "" || args.Len() > 0) {
				r.Args = value.AppendJSON(nil, args.Slot())
			}
			return r, nil
		},
		value: func(r effect.Result) (value.Slot, error) { return value.Int(r.(*effect.MCPOpened).ID), nil },
	}
	// mcp.next(id) gives (kind, data, text).
	performs["mcp.next"] = &performing{
		request: func(_ *task, a *Args) (effect.Request, error) { return &effect.MCPNext{ID: a.Int(0)}, nil },
		value: func(r effect.Result) (value.Slot, error) {
			e := r.(*effect.MCPEvent)
			data := value.Nil
			if len(e.Data) > 0 {
				v, err := value.Parse(e.Data)
				if err != nil {
					return value.Nil, err
				}
				data = v
			}
			return value.Tuple(value.String(e.Kind), data, value.String(e.Text)), nil
		},
	}
	performs["mcp.reply"] = &performing{
		request: func(_ *task, a *Args) (effect.Request, error) {
			return &effect.MCPReply{ID: a.Int(0), Answer: value.AppendJSON(nil, value.Flat(a.Slot(1)))}, nil
		},
		value: nothing,
	}
}

// toolServer gives the MCP server whose declaration a tool is, nil for another
// one, and the tool's name.
func (m *VM) toolServer(a *Args) (value.Slot, error) {
	for _, x := range m.tools {
		if x.self != a.Slot(0) {
			continue
		}
		if x.info.Server == "" {
			return value.Tuple(value.Nil, value.String(x.info.Name)), nil
		}
		return value.Tuple(value.String(x.info.Server), value.String(x.info.Name)), nil
	}
	a.wrong(0, "a Tool")
	return value.Nil, nil
}

// declaredBy lists what the program declares of an MCP server.
func (m *VM) declaredBy(server string) []effect.MCPTool {
	var out []effect.MCPTool
	for _, x := range m.tools {
		if x.info.Server != server {
			continue
		}
		for i := range x.methods {
			method := &x.methods[i]
			out = append(out, effect.MCPTool{Name: method.info.Name, Signature: method.info.Signature, Parameters: method.parameters(), Undeclared: !method.info.Described})
		}
	}
	return out
}
