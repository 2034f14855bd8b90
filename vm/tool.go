package vm

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sort"
	"strings"
	"unsafe"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/data/toolname"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// toolDecl is a loaded declaration of a tool.
type toolDecl struct {
	index   int // index of the tool in the program's tools
	info    *ir.Tool
	typ     *value.Type
	methods []ToolFunction
}

// Tool is a tool in a run. Its value exists once, and the slots of the value are the tool's state.
type Tool struct {
	decl *toolDecl
	self value.Slot
	// Added contains additional functions that the tool does not declare.
	Added []effect.ToolSpec
}

// Info returns the tool's declaration.
func (x *Tool) Info() *ir.Tool { return x.decl.info }

// Value returns the tool as a value of the program.
func (x *Tool) Value() value.Slot { return x.self }

// Functions returns the declared functions, in order.
func (x *Tool) Functions() []ToolFunction { return x.decl.methods }

// ToolFunction is a tool function that models and hosts may call. The loader generates a stub for
// it. The stub computes default arguments, calls the tool function, unwraps an Ok, and converts
// every error to a ToolError.
type ToolFunction struct {
	tool   *toolDecl // nil for a pipeline and for a plain function
	info   *ir.ToolMethod
	params []value.Field
	stub   *function
	called bool // the function is a plain function
}

// Info returns the declaration of the function.
func (x *ToolFunction) Info() *ir.ToolMethod { return x.info }

// Tool returns the name of the function's tool.
func (x *ToolFunction) Tool() string { return x.tool.info.Name }

// Server returns the name of the MCP server that provides the function, or "" for a function of the
// program.
func (x *ToolFunction) Server() string { return x.tool.info.Server }

// absentHead marks a missing argument in the window of a stub.
var absentHead value.Head

var absent = value.Slot{Ref: unsafe.Pointer(&absentHead)}

func (m *loader) loadTools() error {
	if err := m.loadDeclaredTools(); err != nil {
		return err
	}
	p := m.program
	for i := range p.Pipelines {
		x := &pipeline{info: &p.Pipelines[i]}
		if m.pipelines = append(m.pipelines, x); x.info.Withheld != "" {
			continue
		}
		method, err := m.loadToolMethod(nil, &x.info.Run)
		if err != nil {
			return fmt.Errorf("load pipeline %s: %w", x.info.Run.Name, err)
		}
		x.run = method
	}
	for i := range p.Called {
		method, err := m.loadToolMethod(nil, &p.Called[i])
		if err != nil {
			return fmt.Errorf("load function %s: %w", p.Called[i].Name, err)
		}
		method.called = true
		m.called = append(m.called, method)
	}
	return nil
}

// loadDeclaredTools creates the tools that do not exist yet.
func (m *loader) loadDeclaredTools() error {
	p := m.program
	for i := len(m.toolDecls); i < len(p.Tools); i++ {
		info := &p.Tools[i]
		typ := &value.Type{Kind: value.TypeTool, Name: info.Name, Doc: info.Description}
		if info.State >= 0 && info.State < len(m.types) {
			typ.Fields = m.types[info.State].Fields
		}
		x := &toolDecl{index: i, info: info, typ: typ}
		m.toolDecls = append(m.toolDecls, x)
		for j := range info.Methods {
			method, err := m.loadToolMethod(x, &info.Methods[j])
			if err != nil {
				return fmt.Errorf("load tool %s: %w", info.Name, err)
			}
			x.methods = append(x.methods, method)
		}
	}
	return nil
}

// pipeline is a public pipeline.
type pipeline struct {
	info *ir.Pipeline
	run  ToolFunction
}

// name returns the name of the function in traces.
func (x *ToolFunction) name() string {
	if x.tool == nil && x.called {
		return x.info.Name
	}
	if x.tool == nil {
		return x.info.Name + ".run"
	}
	return x.tool.info.Name + "." + x.info.Name
}

func (m *loader) loadToolMethod(x *toolDecl, info *ir.ToolMethod) (ToolFunction, error) {
	method := ToolFunction{tool: x, info: info}
	if info.Function < 0 || info.Function >= len(m.functions) {
		return method, fmt.Errorf("method %s: no function %d", info.Name, info.Function)
	}
	for _, p := range info.Params {
		if p.Type < 0 || p.Type >= len(m.types) || p.Default >= len(m.functions) {
			return method, fmt.Errorf("method %s: no type %d or function %d", info.Name, p.Type, p.Default)
		}
		method.params = append(method.params, value.Field{Name: p.Name, Type: m.types[p.Type], Doc: p.Description})
	}
	method.stub = m.writeStub(&method)
	return method, nil
}

// writeStub appends the stub of a tool function. Register 1 of the stub contains the tool, if there
// is one. The parameters follow, and then the window for calls.
func (m *loader) writeStub(x *ToolFunction) *function {
	first := 1 // register of the first parameter
	if x.tool != nil {
		first = 2
	}
	n := first - 1 + len(x.params)
	w := uint8(n + 1)
	target := &m.functions[x.info.Function]
	f := &function{Function: value.Function{Name: x.name(), Params: n},
		number: target.number, entry: len(m.code), registers: 2*n + 2, info: target.info}
	if f.registers > headroom {
		m.emitIns(ins{op: opEnter, imm: int32(f.registers)}, 0)
	}
	for i, p := range x.info.Params {
		if p.Default >= 0 {
			r := uint8(first + i)
			m.emitIns(ins{op: opSkipPresent, a: r, imm: 2}, 0)
			m.emitIns(ins{op: uint8(ir.OpCall), a: w, imm: int32(p.Default)}, 0)
			m.emitIns(ins{op: uint8(ir.OpMove), a: r, b: w}, 0)
		}
	}
	for i := range n {
		m.emitIns(ins{op: uint8(ir.OpMove), a: w + 1 + uint8(i), b: 1 + uint8(i)}, 0)
	}
	call := len(m.code)
	m.emitIns(ins{op: uint8(ir.OpCall), a: w, imm: int32(x.info.Function)}, 0)
	m.emitIns(ins{op: opToolResult, a: w}, 0)
	m.emitIns(ins{op: uint8(ir.OpReturn), a: w}, 0)
	caught := len(m.code)
	m.emitIns(ins{op: opToolError, a: w}, 0)
	m.emitIns(ins{op: opTrap}, 0)
	m.blocks = append(m.blocks, block{start: f.entry, fn: f,
		regions: []region{{call, call + 1, caught, w}}})
	return f
}

func doSkipPresent(t *task, in *ins) status {
	if t.slot(in.a).Ref != absent.Ref {
		t.ip = jump(t.ip, in.imm)
	}
	return running
}

func doToolResult(t *task, in *ins) status {
	d := t.slot(in.a)
	if d.IsResult() {
		v := d.Fields()[0]
		if d.Variant() == value.VariantErr {
			return t.throwTool(v)
		}
		*d = v
	}
	return running
}

func doToolError(t *task, in *ins) status {
	v := *t.slot(in.a)
	if value.IsError(v) && v.Type().Name == "ToolError" {
		return opRethrow(t, in)
	}
	return t.throwTool(v)
}

// throwTool raises v as a ToolError.
func (t *task) throwTool(v value.Slot) status {
	if value.IsError(v) && v.Type().Name == "ToolError" {
		return t.throw(v)
	}
	value.Share(v)
	return t.throw(value.NewError("ToolError", value.Message(v),
		value.ErrorField{Name: "tool", Value: value.String(t.m.image.blockAt(t.pc()).fn.Name)},
		value.ErrorField{Name: "reason", Value: value.String("failed")}, value.ErrorField{Name: "source", Value: v}))
}

// initTools computes the initial state of every tool, before the run executes any other code.
func (m *VM) initTools(ctx context.Context) error { return m.initToolsFrom(ctx, 0) }

// initToolsFrom computes the initial state of the tools from number first on.
func (m *VM) initToolsFrom(ctx context.Context, first int) error {
	for _, x := range m.declared.tools[first:] {
		if x.decl.info.Init < 0 || x.decl.info.Init >= len(m.image.functions) {
			continue
		}
		v, err := m.runTask(ctx, &m.image.functions[x.decl.info.Init], nil)
		if err != nil {
			return err
		}
		if copy(x.self.Fields(), v.Fields()) < len(x.self.Fields()) {
			return &Broken{Stack: string(debug.Stack())} // the state of the tools is incomplete
		}
	}
	return nil
}

// opDispatchTool calls a tool function by name with a map of arguments.
func opDispatchTool(t *task, in *ins) status {
	name := t.slot(in.a + 2).Str()
	args := value.Flatten(*t.slot(in.a + 3)).Map()
	if name == nil || args == nil {
		return t.badOperand(in)
	}
	fail := func(reason, format string, a ...any) status {
		return t.throw(value.NewError("ToolError", fmt.Sprintf(format, a...),
			value.ErrorField{Name: "tool", Value: value.String(name.S)}, value.ErrorField{Name: "reason", Value: value.String(reason)}))
	}
	x, problem := FindFunction(t.m.declared.offered(*t.slot(in.a + 1), &t.m.pace), name.S)
	if x == nil {
		return fail("not_found", "%s", problem)
	}
	if !t.m.image.permits(x) {
		return fail("denied", "tool function %s::%s is not permitted: add \"%[1]s\" to `tools` in [permissions]", x.tool.info.Name, x.info.Name)
	}
	values, errs := x.arguments(args)
	if len(errs) > 0 {
		return fail("arguments", "bad arguments for %s: %s", name.S, schema.Join(errs))
	}
	if !t.need(int(in.a), max(headroom, len(values)+2)) {
		return t.tooDeep()
	}
	if d := t.debugger(); d != nil {
		d.Calls(Scene{t}, x.tool.info.Name, x.info.Name)
	}
	*t.slot(in.a + 1) = t.m.declared.tools[x.tool.index].self
	for i, v := range values {
		*t.slot(in.a + 2 + uint8(i)) = v
	}
	return t.enter(in.a, x.stub.entry, nil)
}

// permits reports whether [permissions] let models, hosts and dispatch_tool call a tool function.
func (m *image) permits(x *ToolFunction) bool {
	return m.program.Permissions.AllowsCall(x.tool.info.Name, x.info.Name)
}

// toolsOf returns the tools that an agent or a host may call, as an Array without duplicates: the
// declared tools, unless they are disabled, followed by the added tools.
func (m *VM) toolsOf(s value.Slot, pace *value.Pace) value.Slot {
	p := s.Party()
	declared := []int(nil)
	if s.Kind() == value.KindAgent {
		declared = m.image.program.Agents[p.Index()].Tools
	} else {
		declared = m.image.program.Hosts[p.Index()].Tools
	}
	all := value.NewArray()
	add := func(t value.Slot) {
		pace.Step(1 + all.Len>>2)
		for i := range all.Len {
			if all.At(i) == t {
				return
			}
		}
		all.Push(t)
	}
	if !p[value.PartyToolsOff].AsBool() {
		for _, i := range declared {
			if i >= 0 && i < len(m.declared.tools) {
				add(m.declared.tools[i].self)
			}
		}
	}
	if added := p[value.PartyTools].Array(); added != nil {
		for i := range added.Len {
			add(added.At(i))
		}
	}
	return all.Slot()
}

// NamedFunction is a function that models and hosts may call, with its name for them. Function is
// nil for the function Tool.Added[Added].
type NamedFunction struct {
	Name     string
	Tool     *Tool
	Function *ToolFunction
	Added    int
}

// NamedFunctions returns the functions of the tools with distinct names, which every provider
// accepts. The names of functions that would have the same name contain a hash.
func NamedFunctions(tools []*Tool) (out []NamedFunction) {
	add := func(o NamedFunction, name string) {
		o.Name = toolname.ForModel(o.Tool.decl.info.Name + "_" + name)
		out = append(out, o)
	}
	for _, x := range tools {
		for i := range x.decl.methods {
			if f := &x.decl.methods[i]; f.info.Described {
				add(NamedFunction{Tool: x, Function: f}, f.info.Name)
			}
		}
		for i := range x.Added {
			add(NamedFunction{Tool: x, Added: i}, x.Added[i].Name)
		}
	}
	same := map[string]int{}
	for _, o := range out {
		same[o.Name]++
	}
	for i := range out {
		if o := &out[i]; same[o.Name] > 1 {
			o.Name = toolname.Hashed(o.Name, o.Tool.decl.info.Name+"::"+o.ownName())
		}
	}
	return out
}

// ownName returns the name of the function in its tool.
func (o *NamedFunction) ownName() string {
	if o.Function != nil {
		return o.Function.info.Name
	}
	return o.Tool.Added[o.Added].Name
}

// Calls reports whether a name is one of the function: the name for models and hosts, "T::m" or
// "T.m".
func (o *NamedFunction) Calls(name string) bool {
	tool, own := o.Tool.decl.info.Name, o.ownName()
	return name == o.Name || name == tool+"::"+own || name == tool+"."+own
}

// Specs returns the descriptions of the tools' functions for models and hosts.
func Specs(tools []*Tool) (out []effect.ToolSpec) {
	for _, o := range NamedFunctions(tools) {
		if f := o.Function; f != nil {
			out = append(out, effect.ToolSpec{Name: o.Name, Description: f.info.Description, Parameters: f.Parameters()})
			continue
		}
		f := o.Tool.Added[o.Added]
		f.Name = o.Name
		out = append(out, f)
	}
	return out
}

// offered returns the tools in an Array of Tool. For nil it returns all declared tools.
func (d *declared) offered(list value.Slot, pace *value.Pace) []*Tool {
	a := list.Array()
	if a == nil && d.replaced == nil {
		return d.tools
	}
	var tools []*Tool
	if a == nil {
		for _, x := range d.tools {
			if !d.replaced[x.decl] {
				tools = append(tools, x)
			}
		}
		return tools
	}
	for i := range a.Len {
		pace.Step(1 + len(d.tools)>>2)
		for _, x := range d.tools {
			if x.self == a.At(i) {
				tools = append(tools, x)
			}
		}
	}
	return tools
}

// FindFunction finds a function by its name for models, "T::m" or "T.m". It also finds it by "m" if
// only one tool has a function m.
func FindFunction(tools []*Tool, name string) (x *ToolFunction, problem string) {
	var plain []NamedFunction
	var names []string
	for _, o := range NamedFunctions(tools) {
		if f := o.Function; f != nil {
			if o.Calls(name) {
				return f, ""
			}
			if name == f.info.Name {
				plain = append(plain, o)
			}
		}
		names = append(names, o.Name)
	}
	if len(plain) == 1 {
		return plain[0].Function, ""
	}
	if len(plain) > 1 {
		names = names[:0]
		for _, o := range plain {
			names = append(names, o.Name)
		}
		return nil, fmt.Sprintf("tool %s is ambiguous: %s", name, strings.Join(names, ", "))
	}
	if len(names) == 0 {
		return nil, fmt.Sprintf("unknown tool %s: there are no tools", name)
	}
	sort.Strings(names)
	return nil, fmt.Sprintf("unknown tool %s; the tools are %s", name, strings.Join(names, ", "))
}

// arguments checks a call's arguments and returns them in the order of the parameters. The value
// absent represents an argument whose default the stub computes.
func (x *ToolFunction) arguments(args *value.Map) (given []value.Slot, errs []schema.FieldError) {
	given = make([]value.Slot, len(x.params))
	for i := range x.params {
		p := &x.params[i]
		v, ok := args.GetString(p.Name)
		hasDefault := x.info.Params[i].Default >= 0
		if hasDefault && (!ok || v.IsNil() && p.Type.Kind != value.TypeAny && p.Type.Kind != value.TypeOption) {
			given[i] = absent
			continue
		}
		if !ok && p.Type.Kind != value.TypeOption {
			errs = append(errs, schema.FieldError{Path: p.Name, Message: "missing, expected " + p.Type.String()})
			continue
		}
		var more []schema.FieldError
		given[i], more = schema.Convert(v, p.Type)
		for _, e := range more {
			if e.Path = strings.TrimSuffix(p.Name+"."+e.Path, "."); strings.HasPrefix(e.Path, p.Name+".[") {
				e.Path = p.Name + e.Path[len(p.Name)+1:]
			}
			errs = append(errs, e)
		}
	}
	args.Each(func(key, _ value.Slot) bool {
		if name := value.Text(key); !slices.ContainsFunc(x.params, func(p value.Field) bool { return p.Name == name }) {
			errs = append(errs, schema.FieldError{Path: name, Message: x.unknownArgument()})
		}
		return true
	})
	return given, errs
}

// unknownArgument returns a message about an unknown parameter name that lists the parameters.
func (x *ToolFunction) unknownArgument() string {
	if len(x.params) == 0 {
		return "there is no such argument; the function has none"
	}
	var names []string
	for _, p := range x.params {
		names = append(names, p.Name)
	}
	return "there is no such argument; the arguments are " + strings.Join(names, ", ")
}

// contextParameter returns the name of the ToolContext parameter, or "" if there is none.
func (x *ToolFunction) contextParameter() string {
	if !x.info.Context || len(x.params) == 0 {
		return ""
	}
	return x.params[len(x.params)-1].Name
}

// callerParameters returns the parameters that callers from outside of the program pass.
func (x *ToolFunction) callerParameters() []value.Field {
	if x.contextParameter() != "" {
		return x.params[:len(x.params)-1]
	}
	return x.params
}

// noCall is the ToolContext for a call about which nothing is known.
var noCall = []byte(`{"session_id":"","cwd":"","environment":{},"metadata":{},"call_id":"","caller":"","route":"","chain":[],"render":[]}`)

// Parameters returns the JSON Schema of the function's parameters.
func (x *ToolFunction) Parameters() []byte { return x.schemaOf(x.params) }

// callerSchema returns the JSON Schema of the parameters that callers from outside of the program
// pass.
func (x *ToolFunction) callerSchema() []byte { return x.schemaOf(x.callerParameters()) }

func (x *ToolFunction) schemaOf(params []value.Field) []byte {
	fields := append([]value.Field(nil), params...)
	for i := range fields {
		fields[i].Optional = x.info.Params[i].Default >= 0
	}
	return schema.Object(fields)
}
