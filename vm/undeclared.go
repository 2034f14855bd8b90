package vm

import (
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/effect"
	"github.com/concerto-lang/concerto/internal/value"
)

// The functions of an MCP server that its block leaves to `..`: what they are is
// known when the server has been asked, which the library does before a model or a
// host gets to know of them.

// remote is such a function.
type remote struct {
	own         string // the server's name for it
	name        string // as Concerto writes it
	description string
	parameters  []byte // JSON Schema
}

// anyObject is the schema of arguments of which nothing is known.
var anyObject = []byte(`{"type":"object"}`)

// undeclaredNatives are the natives that list and find such functions.
func (m *VM) undeclaredNatives(name string) Native {
	switch name {
	case "tool.unlisted":
		return m.unlisted
	case "tool.listed":
		return m.listed
	case "tool.remote":
		return m.remoteTool
	}
	return nil
}

// unlisted gives of an Array of Tool the servers that have to be asked, each with
// the function that does. A mocked one has the functions that its mock names.
func (m *VM) unlisted(a *Args) (value.Slot, error) {
	all := value.NewArray()
	for _, x := range m.offered(a.Slot(0)) {
		switch mock := m.mocks.servers[x.info.Server]; {
		case x.info.List == nil:
		case mock != nil:
			x.rest, x.asked, x.any = nil, true, false
			mock.Each(func(key, _ value.Slot) bool {
				if name := value.Text(key); !slices.Contains(effect.MCPMethods, name) {
					m.addRemote(x, remote{own: name, name: name, parameters: anyObject})
				}
				return true
			})
		case !x.asked:
			all.Push(value.Tuple(x.self, m.closureOf(*x.info.List)))
		}
	}
	return all.Slot(), nil
}

// listed takes what a server, argument 0, says that it has: an Array of maps.
func (m *VM) listed(a *Args) (value.Slot, error) {
	for _, x := range m.tools {
		if x.self != a.Slot(0) {
			continue
		}
		x.rest, x.asked = nil, true
		found := a.Array(1)
		for i := range found.Len {
			tool := value.Flat(found.At(i)).Map()
			if tool == nil {
				continue
			}
			if _, x.any = tool.GetString("any"); x.any {
				break
			}
			r := remote{parameters: anyObject}
			if v, ok := tool.GetString("name"); ok {
				r.own = value.Text(v)
				r.name = remoteName(r.own)
			}
			if v, ok := tool.GetString("description"); ok {
				r.description = value.Text(v)
			}
			if v, ok := tool.GetString("parameters"); ok && value.Flat(v).Map() != nil {
				r.parameters = value.AppendJSON(nil, v)
			}
			m.addRemote(x, r)
		}
	}
	return value.Nil, nil
}

// remoteName is a server's name for a tool as Concerto writes it.
func remoteName(own string) string {
	return strings.NewReplacer("-", "_", ".", "_", "/", "_").Replace(own)
}

// addRemote adds a function, unless the block declares it or [permissions] does
// not let it be called.
func (m *VM) addRemote(x *tool, r remote) {
	for i := range x.methods {
		if x.methods[i].info.Described && x.methods[i].info.Name == r.name {
			return
		}
	}
	for _, other := range x.rest {
		if other.name == r.name {
			return
		}
	}
	if m.permitsName(x.info.Name, r.name) {
		x.rest = append(x.rest, r)
	}
}

// findRemote finds such a function by a name that findTool takes, where no
// declared one has it.
func (m *VM) findRemote(tools []*tool, name string) (*tool, *remote) {
	if x, _ := findTool(tools, name); x != nil {
		return nil, nil
	}
	var of *tool
	var found *remote
	for _, x := range tools {
		for i := range x.rest {
			r := &x.rest[i]
			switch name {
			case x.info.Name + "::" + r.name, x.info.Name + "_" + r.name, x.info.Name + "." + r.name:
				return x, r
			case r.name:
				if found != nil {
					return nil, nil // ambiguous
				}
				of, found = x, r
			}
		}
	}
	for _, x := range tools {
		if rest, ok := strings.CutPrefix(name, x.info.Name+"_"); ok && x.any {
			return x, &remote{own: rest, name: rest}
		}
	}
	return of, found
}

// remoteTool gives, of the function that a name finds among tools, the function
// that calls it, the server and its own name there; nil when there is none.
func (m *VM) remoteTool(a *Args) (value.Slot, error) {
	x, r := m.findRemote(m.offered(a.Slot(0)), a.String(1))
	if r == nil || x.info.Call == nil {
		return value.Nil, nil
	}
	return value.Tuple(m.closureOf(*x.info.Call), value.String(x.info.Server), value.String(r.own)), nil
}
