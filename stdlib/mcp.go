package stdlib

import (
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/data/toolname"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/utf8cut"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

var mcpNatives = native.Table{
	{"mcp.open", mcpOpen},
	{"mcp.next", func(a *vm.Args) (value.Slot, error) { return a.Ask(&effect.MCPNext{ID: a.Int(0)}, mcpEvent) }},
	{"mcp.reply", func(a *vm.Args) (value.Slot, error) {
		answer := value.AppendJSONWithin(nil, value.Flatten(a.Slot(1)), a.TextBound())
		return a.Ask(&effect.MCPReply{ID: a.Int(0), Answer: answer}, vm.Nothing)
	}},
	{"mcp.read", mcpRead},
	{"mcp.changed", func(a *vm.Args) (value.Slot, error) {
		return a.Ask(&effect.MCPChanged{Server: a.String(0)}, func(r effect.Result) (value.Slot, error) {
			return value.Bool(r.(*effect.MCPChange).Changed), nil
		})
	}},
}

// mcpOpen requests a call of an MCP server. The arguments are (server, method, about, args).
func mcpOpen(a *vm.Args) (value.Slot, error) {
	r := &effect.MCPOpen{Server: a.String(0), Tool: a.String(2), Declared: declaredBy(a, a.String(0))}
	if method := a.String(1); method != effect.MCPCallTool {
		r.Method = method
	}
	if args := value.Flatten(a.Slot(3)).Map(); args != nil && (r.Method == "" || args.Len() > 0) {
		r.Args = value.AppendJSONWithin(nil, args.Slot(), a.TextBound())
	}
	return a.Ask(r, func(r effect.Result) (value.Slot, error) { return value.Int(r.(*effect.MCPOpened).ID), nil })
}

// declaredBy returns the functions of an MCP server that the program declares.
func declaredBy(a *vm.Args, server string) []effect.MCPTool {
	var out []effect.MCPTool
	for _, x := range a.Tools(value.Nil) {
		if x.Info().Server != server {
			continue
		}
		for i := range x.Functions() {
			f := &x.Functions()[i]
			info := f.Info()
			out = append(out, effect.MCPTool{Name: info.Name, Signature: info.Signature, Parameters: f.Parameters(), Undeclared: !info.Described})
		}
	}
	return out
}

// mcpEvent converts an event of a call to (kind, data, text).
func mcpEvent(r effect.Result) (value.Slot, error) {
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
}

// mcpRead converts a tool's result to the expected type. For a String it returns the text.
// Otherwise it converts the structured value, or the member `result` of that value: servers use
// such a member for a value that is not an object. If there is no structured value, it parses the
// text as JSON.
func mcpRead(a *vm.Args) (value.Slot, error) {
	text, t := a.String(2), a.Type(4)
	data := value.Flatten(a.Slot(3))
	switch t.Kind {
	case value.TypeNil:
		return value.Nil, nil
	case value.TypeString:
		return value.String(text), nil
	case value.TypeAny:
		return anyResult(a, text, data), nil
	}
	wrong := ""
	if !data.IsNil() {
		v, errs := schema.ConvertIn(a.Pace(), data, t)
		if len(errs) == 0 {
			return v, nil
		}
		wrong = schema.Join(errs)
		if m := data.Map(); m != nil && m.Len() == 1 {
			if inner, ok := m.GetString("result"); ok {
				if v, errs = schema.ConvertIn(a.Pace(), inner, t); len(errs) == 0 {
					return v, nil
				}
			}
		}
	} else {
		v, _, problem := readText(a, text, t)
		if problem == "" {
			return v, nil
		}
		wrong = problem
		if _, err := value.ParseIn([]byte(text), a.Room, a.Pace()); err != nil {
			wrong = "it is the text " + excerpt(text) + "; use `-> String`"
		}
	}
	return value.Nil, value.Errorf("ToolError", "mcp server '%s', tool %s: the result is not %s: %s", a.String(0), a.String(1), t, wrong).
		With("tool", value.String(a.String(0)+"."+a.String(1)))
}

// anyResult returns the value of a result that has no declared type. If the value has a single
// member `result`, which equals the value in the text, it returns that member: servers use such a
// member for a value that is not an object.
func anyResult(a *vm.Args, text string, data value.Slot) value.Slot {
	v, err := value.ParseIn([]byte(text), a.Room, a.Pace())
	if err != nil {
		v = value.String(text)
	}
	if data.IsNil() {
		return v
	}
	if m := data.Map(); m != nil && m.Len() == 1 {
		inner, ok := m.GetString("result")
		switch {
		case ok && value.EqualIn(a.Pace(), inner, v):
			return v
		case ok && value.Equal(inner, value.String(text)):
			return value.String(text)
		}
	}
	return native.MarkShared(data)
}

// excerpt returns the beginning of a text in quotes.
func excerpt(text string) string {
	const most = 80
	head := text[:utf8cut.Before(text, 4*most)]
	if r := []rune(head); len(r) > most || len(head) < len(text) {
		text = string(r[:min(len(r), most)]) + "…"
	}
	return string(value.AppendString(nil, text))
}

// The functions of an MCP server that its `mcp` block does not declare and includes by `..`. The
// library asks the server for a list of its functions before it offers them to a model or a host.

// remote is a function that an `mcp` block includes by `..`.
type remote struct {
	own         string // name that the server uses
	name        string // name in Concerto
	description string
	parameters  []byte // JSON Schema
}

// toolRemotes contains the remote functions of one server, which is a tool of the program.
type toolRemotes struct {
	functions []remote
	listed    bool // the server has listed its functions
	changes   bool // the server announces changes of the list
	past      []pastList
	any       bool // every name is a function of the server: a test without a mock for it is running
}

// mostPast is the number of earlier lists of a server that are stored for calls in progress.
const mostPast = 8

// pastList contains the functions that a tool had before a list.
type pastList struct {
	before int64 // number of the list
	added  []effect.ToolSpec
}

// listings is the number of the lists that servers have sent instead of earlier ones.
type listings int64

// remotes contains the remote functions of a run.
type remotes map[*vm.Tool]*toolRemotes

// forTool returns the remote functions of a tool. It creates an empty list if necessary.
func (m *remotes) forTool(x *vm.Tool) *toolRemotes {
	r := (*m)[x]
	if r == nil {
		if *m == nil {
			*m = remotes{}
		}
		r = &toolRemotes{}
		(*m)[x] = r
	}
	return r
}

// reset clears the remote functions before a new list is stored.
func (r *toolRemotes) reset(x *vm.Tool) {
	*r = toolRemotes{listed: true, past: r.past}
	x.Added = nil
}

// addedAt returns the remote functions that the tool had after a number of lists.
func (r *toolRemotes) addedAt(x *vm.Tool, listing int64) []effect.ToolSpec {
	for _, p := range r.past {
		if listing < p.before {
			return p.added
		}
	}
	return x.Added
}

// specsAt returns the descriptions of the tools' functions after a number of lists: within a call,
// what an agent offers to its model does not change.
func specsAt(a *vm.Args, tools []*vm.Tool, listing value.Slot) []effect.ToolSpec {
	if !listing.IsNil() {
		then := slices.Clone(tools)
		for i, x := range tools {
			if r := (*vm.StateOf[remotes](a))[x]; r != nil {
				was := *x
				was.Added = r.addedAt(x, listing.AsInt())
				then[i] = &was
			}
		}
		tools = then
	}
	return vm.Specs(tools)
}

// add adds a remote function of tool x, unless the block declares a function with that name, the
// list already contains it, or [permissions] forbid it.
func (r *toolRemotes) add(a *vm.Args, x *vm.Tool, f remote) {
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
	if a.Program().Permissions.AllowsCall(x.Info().Name, f.name) {
		r.functions, x.Added = append(r.functions, f), append(x.Added, effect.ToolSpec{Name: f.name, Description: f.description, Parameters: f.parameters, Listed: true})
	}
}

// anyObject is the schema for a function whose parameters are unknown.
const anyObject = `{"type":"object"}`

// toolUnlisted returns the servers in an Array of Tool that have not listed their functions, each
// with the function that lists them. For a mocked server, it stores the functions that the mock
// names.
func toolUnlisted(a *vm.Args) (value.Slot, error) {
	all, listed := value.NewArray(), vm.StateOf[remotes](a)
	for _, x := range a.Tools(a.Slot(0)) {
		if x.Info().List == nil {
			continue
		}
		r := listed.forTool(x)
		if mock := (*vm.StateOf[mockedServers](a))[x.Info().Server]; mock != nil {
			r.reset(x)
			mock.Each(func(key, _ value.Slot) bool {
				if name := value.Text(key); !slices.Contains(effect.MCPMethods, name) {
					r.add(a, x, remote{own: name, name: name, parameters: []byte(anyObject)})
				}
				return true
			})
		} else if !r.listed {
			all.Push(value.Tuple(x.Value(), a.Function(x.Info().List)))
		}
	}
	return all.Slot(), nil
}

// toolChanging returns the servers in an Array of Tool that have listed their functions and
// announce changes of the list, each with the function that lists them and its name.
func toolChanging(a *vm.Args) (value.Slot, error) {
	all := value.NewArray()
	for _, x := range a.Tools(a.Slot(0)) {
		if r := (*vm.StateOf[remotes](a))[x]; r != nil && r.changes && (*vm.StateOf[mockedServers](a))[x.Info().Server] == nil {
			all.Push(value.Tuple(x.Value(), a.Function(x.Info().List), value.String(x.Info().Server)))
		}
	}
	return all.Slot(), nil
}

// agentOffering returns the agent in argument 0 with the current lists of its servers' tools, for
// one call. Without a server that announces changes it is the agent itself.
func agentOffering(a *vm.Args) (value.Slot, error) {
	listed := *vm.StateOf[remotes](a)
	if !slices.ContainsFunc(a.Tools(a.ToolsOf(a.Slot(0))), func(x *vm.Tool) bool { r := listed[x]; return r != nil && r.changes }) {
		return native.MarkShared(a.Slot(0)), nil
	}
	return copyParty(a, func(p value.Party) { p[value.PartyListing] = value.Int(int64(*vm.StateOf[listings](a))) })
}

// toolListed stores the functions that the server in argument 0 has listed. Argument 1 is an Array
// of maps.
func toolListed(a *vm.Args) (value.Slot, error) {
	x, found := tool(a), a.Array(1)
	r := vm.StateOf[remotes](a).forTool(x)
	if r.listed {
		n := vm.StateOf[listings](a)
		*n++
		r.past = append(r.past, pastList{int64(*n), x.Added})
		r.past = r.past[max(0, len(r.past)-mostPast):]
	}
	r.reset(x)
	var all []remote
	for i := range found.Len {
		a.Step(8)
		fields := value.Flatten(found.At(i)).Map()
		if fields == nil {
			continue
		}
		if _, r.any = fields.GetString("any"); r.any {
			break
		}
		if _, announces := fields.GetString(effect.MCPChanges); announces {
			r.changes = true
			continue
		}
		f := remote{}
		if v, ok := fields.GetString("name"); ok {
			f.own = value.Text(v)
		}
		if v, ok := fields.GetString("description"); ok {
			f.description = value.Text(v)
		}
		v, _ := fields.GetString("parameters")
		f.parameters = objectSchema(a, value.Flatten(v).Map())
		all = append(all, f)
	}
	named := map[string][]string{} // the server's names by the names in Concerto
	for _, f := range all {
		name := remoteName(f.own)
		named[name] = append(named[name], f.own)
	}
	for _, f := range all {
		f.name = remoteName(f.own)
		if own := named[f.name]; f.own != f.name && slices.ContainsFunc(own, func(n string) bool { return n != f.own }) {
			f.name = toolname.Hashed(f.name, f.own) // another function has this name, or may have it
		}
		r.add(a, x, f)
	}
	return value.Nil, nil
}

// objectSchema returns the parameters of a function as the schema of an object, which providers
// require. A schema without a type permits any value.
func objectSchema(a *vm.Args, parameters *value.Map) []byte {
	switch {
	case parameters == nil:
		return []byte(anyObject)
	case parameters.Len() == 0:
		return []byte(`{"type":"object","properties":{}}`)
	}
	text := value.AppendJSONWithin(nil, parameters.Slot(), a.TextBound())
	if _, typed := parameters.GetString("type"); !typed {
		text = append([]byte(`{"type":"object",`), text[1:]...)
	}
	return text
}

// remoteName converts the server's name of a function to a Concerto name.
func remoteName(own string) string {
	return strings.NewReplacer("-", "_", ".", "_", "/", "_").Replace(own)
}

// find finds a remote function by a name in one of the forms that vm.FindFunction accepts. It
// returns nil if a declared function has the name, or if the name is ambiguous.
func (m *remotes) find(tools []*vm.Tool, name string) (*vm.Tool, *remote) {
	if x, _ := vm.FindFunction(tools, name); x != nil {
		return nil, nil
	}
	var of *vm.Tool
	var found *remote
	for _, o := range vm.NamedFunctions(tools) {
		if o.Function != nil {
			continue
		}
		r := &m.forTool(o.Tool).functions[o.Added]
		switch {
		case o.Calls(name):
			return o.Tool, r
		case r.name != name:
		case found != nil:
			return nil, nil // several servers have a function with this name
		default:
			of, found = o.Tool, r
		}
	}
	for _, x := range tools {
		if rest, ok := strings.CutPrefix(name, x.Info().Name+"_"); ok && m.forTool(x).any {
			return x, &remote{own: rest, name: rest}
		}
	}
	return of, found
}
