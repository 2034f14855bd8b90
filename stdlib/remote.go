package stdlib

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/vm"
)

// The functions of an MCP server that its block leaves to `..`. They are known
// once the server has been asked for them; the library asks before a model or a
// host is told of them.

// remote is such a function.
type remote struct {
	own         string // the server's name for it
	name        string // as Concerto writes it
	description string
	parameters  []byte // JSON Schema
}

// remotesOf are those of a tool.
type remotesOf struct {
	functions []remote
	asked     bool // the server
	any       bool // in a test, without a mock: whatever is called is its function
}

// remotes are those of a run.
type remotes map[*vm.Tool]*remotesOf

// of gives those of a tool.
func (m *remotes) of(x *vm.Tool) *remotesOf {
	r := (*m)[x]
	if r == nil {
		if *m == nil {
			*m = remotes{}
		}
		r = &remotesOf{}
		(*m)[x] = r
	}
	return r
}

// begin forgets what was known of a tool: it is being asked.
func (r *remotesOf) begin(x *vm.Tool) {
	*r = remotesOf{asked: true}
	x.Besides = nil
}

// add adds a function of tool x, unless the block declares it or [permissions]
// forbid it.
func (r *remotesOf) add(a *vm.Args, x *vm.Tool, f remote) {
	for i := range x.Functions() {
		if info := x.Functions()[i].Info(); info.Described && info.Name == f.name {
			return
		}
	}
	for _, other := range r.functions {
		if other.name == f.name {
			return
		}
	}
	if a.Program().Permissions.LetsCall(x.Info().Name, f.name) {
		r.functions, x.Besides = append(r.functions, f), append(x.Besides, effect.ToolSpec{Name: f.name, Description: f.description, Parameters: f.parameters})
	}
}

// anyObject is the schema of arguments of which nothing is known.
const anyObject = `{"type":"object"}`

// toolUnlisted gives, for an Array of Tool, the servers that must still be
// asked for their functions, each with the function that asks. A mocked server
// has the functions that its mock names.
func toolUnlisted(a *vm.Args) (value.Slot, error) {
	all, known := value.NewArray(), vm.Own[remotes](a)
	for _, x := range a.Tools(a.Slot(0)) {
		if x.Info().List == nil {
			continue
		}
		r := known.of(x)
		if mock := (*vm.Own[mockedServers](a))[x.Info().Server]; mock != nil {
			r.begin(x)
			mock.Each(func(key, _ value.Slot) bool {
				if name := value.Text(key); !slices.Contains(effect.MCPMethods, name) {
					r.add(a, x, remote{own: name, name: name, parameters: []byte(anyObject)})
				}
				return true
			})
		} else if !r.asked {
			all.Push(value.Tuple(x.Value(), a.Function(x.Info().List)))
		}
	}
	return all.Slot(), nil
}

// toolListed takes what a server, argument 0, says that it has: an Array of maps.
func toolListed(a *vm.Args) (value.Slot, error) {
	x, found := tool(a), a.Array(1)
	r := vm.Own[remotes](a).of(x)
	r.begin(x)
	for i := range found.Len {
		a.Step(8)
		said := value.Flat(found.At(i)).Map()
		if said == nil {
			continue
		}
		if _, r.any = said.GetString("any"); r.any {
			break
		}
		f := remote{parameters: []byte(anyObject)}
		if v, ok := said.GetString("name"); ok {
			f.own = value.Text(v)
			f.name = remoteName(f.own)
		}
		if v, ok := said.GetString("description"); ok {
			f.description = value.Text(v)
		}
		if v, ok := said.GetString("parameters"); ok && value.Flat(v).Map() != nil {
			f.parameters = value.AppendJSONWithin(nil, v, a.TextBound())
		}
		r.add(a, x, f)
	}
	return value.Nil, nil
}

// remoteName is a server's name for a tool as Concerto writes it.
func remoteName(own string) string {
	return strings.NewReplacer("-", "_", ".", "_", "/", "_").Replace(own)
}

// find finds a function of a server by a name in the form that vm.FindFunction
// takes, when no declared function has the name.
func (m *remotes) find(tools []*vm.Tool, name string) (*vm.Tool, *remote) {
	if x, _ := vm.FindFunction(tools, name); x != nil {
		return nil, nil
	}
	var of *vm.Tool
	var found *remote
	for _, x := range tools {
		all := m.of(x).functions
		for i := range all {
			r, tool := &all[i], x.Info().Name
			switch name {
			case tool + "::" + r.name, tool + "_" + r.name, tool + "." + r.name:
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
		if rest, ok := strings.CutPrefix(name, x.Info().Name+"_"); ok && m.of(x).any {
			return x, &remote{own: rest, name: rest}
		}
	}
	return of, found
}

func (*remotes) KeptAs() string { return "remotes" }

// Keep keeps what servers have said that they have.
func (m *remotes) Keep(k *vm.Keeper) {
	all := slices.SortedFunc(maps.Keys(*m), func(a, b *vm.Tool) int { return cmp.Compare(a.Info().Name, b.Info().Name) })
	for i := range k.Count(len(all)) {
		var x *vm.Tool
		if !k.Reading() {
			x = all[i]
		}
		if k.Tool(&x); x != nil {
			m.of(x).keep(k, x)
		}
	}
}

func (r *remotesOf) keep(k *vm.Keeper, x *vm.Tool) {
	k.Bool(&r.asked)
	k.Bool(&r.any)
	n := k.Count(len(r.functions))
	for i := range n {
		var f remote
		if !k.Reading() {
			f = r.functions[i]
		}
		parameters := string(f.parameters)
		for _, text := range []*string{&f.own, &f.name, &f.description, &parameters} {
			k.Text(text)
		}
		if k.Reading() {
			f.parameters = []byte(parameters)
			r.functions = append(r.functions, f)
			x.Besides = append(x.Besides, effect.ToolSpec{Name: f.name, Description: f.description, Parameters: f.parameters})
		}
	}
}
