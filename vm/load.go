package vm

import (
	"fmt"
	"unsafe"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// function is a loaded function. Its first field is the part of a function that package value uses,
// so that the second word of a closure can point to a value.Function or to a function of package
// vm.
type function struct {
	value.Function
	number    int // index in the program; for a stub, the index of the function that it calls
	entry     int // number of the first instruction
	registers int
	info      *ir.Function
	listens   []listen
}

type native struct {
	name string
	call Native
}

// loader builds an image. No other code modifies an image's tables and code.
type loader struct {
	*image
	config   *Config
	debugger Debugger // nil if the code needs no stop points
	stepped  bool     // the journal is a Stepper
}

// load builds the tables and the code of the program.
func (m *loader) load() error {
	p := m.program
	m.constants = make([]value.Slot, max(len(p.Constants), 1))
	for i, c := range p.Constants {
		m.constants[i] = constantOf(c)
	}
	if err := m.loadTypes(); err != nil {
		return err
	}
	if err := m.loadNatives(); err != nil {
		return err
	}
	if err := m.loadHosts(); err != nil {
		return err
	}
	return m.loadCode()
}

func constantOf(c ir.Const) (v value.Slot) {
	switch {
	case c.Int != nil:
		v = value.Int(*c.Int)
	case c.Float != nil:
		v = value.Float(*c.Float)
	case c.String != nil:
		v = value.String(*c.String)
	}
	return v
}

func (m *loader) loadNatives() error {
	m.natives = make([]native, len(m.program.Natives))
	for i, name := range m.program.Natives {
		call := m.find(name)
		if call == nil {
			return fmt.Errorf("the program needs the library function %s, which this version does not have", name)
		}
		m.natives[i] = native{name, call}
	}
	return nil
}

// find returns the function of the library with this name, or nil if there is none.
func (m *loader) find(name string) Native {
	if m.config.Natives == nil {
		return nil
	}
	return m.config.Natives(name)
}

// effect returns the number of the native that performs an effect. ok is false if no native has
// this name.
func (m *loader) effect(name string) (n int32, ok bool) {
	for i := len(m.program.Natives); i < len(m.natives); i++ {
		if m.natives[i].name == name {
			return int32(i), true
		}
	}
	call := m.find(name)
	if call == nil {
		return 0, false
	}
	m.natives = append(m.natives, native{name, call})
	return int32(len(m.natives) - 1), true
}

// declare creates the values of the declared agents, hosts, stores and tools that do not exist yet.
// The state of tools is computed when the run starts.
func (m *VM) declare() {
	p := m.image.program
	for i := len(m.declared.stores); i < len(p.Stores); i++ {
		m.declared.stores = append(m.declared.stores, m.image.newStore(p.Stores[i]))
	}
	for i := len(m.declared.agents); i < len(p.Agents); i++ {
		a, memory := &p.Agents[i], value.Nil
		if a.Memory >= 0 && a.Memory < len(m.declared.stores) {
			memory = m.declared.stores[a.Memory]
		}
		m.declared.agents = append(m.declared.agents, value.NewParty(value.KindAgent, &value.Type{Kind: value.TypeAgent, Name: a.Name}, i, memory))
	}
	for i := len(m.declared.hosts); i < len(p.Hosts); i++ {
		m.declared.hosts = append(m.declared.hosts, value.NewParty(value.KindHost, &value.Type{Kind: value.TypeHost, Name: p.Hosts[i].Name}, i, value.Nil))
	}
	for i := len(m.declared.tools); i < len(m.image.toolDecls); i++ {
		d := m.image.toolDecls[i]
		m.declared.tools = append(m.declared.tools, &Tool{decl: d, self: value.New(value.KindTool, 0, d.typ, make([]value.Slot, len(d.typ.Fields))...)})
	}
}

// loadCode stores the code of all functions in one slice of instructions. Instruction 0 represents
// the call of every bottom frame, and instruction 1 is its return address.
func (m *loader) loadCode() error {
	p := m.program
	m.functions = make([]function, len(p.Functions))
	m.closures = make([]value.Slot, len(p.Functions))
	m.code = []ins{{op: opTrap}, {op: opFrameEnd}}
	if m.debugger != nil {
		m.makeRoom()
	}
	m.origin = []int32{0, 0}
	m.blocks = []block{{start: 0}}
	for i := range p.Functions {
		f := &m.functions[i]
		f.info, f.number = &p.Functions[i], i
		f.Name, f.Params, f.registers = f.info.Name, len(f.info.Params), f.info.Registers
	}
	for i := range m.functions {
		if err := m.loadFunction(&m.functions[i]); err != nil {
			return fmt.Errorf("load function %s: %w", m.functions[i].Name, err)
		}
	}
	if err := m.loadMethods(); err != nil {
		return err
	}
	if err := m.loadTools(); err != nil {
		return err
	}
	if !m.config.Count.Points && !m.config.Count.Instructions && m.config.Profile == nil {
		fuseLoops(m.code)
	}
	m.resolveCalls(0)
	m.placeStopPoints(0)
	return nil
}

// resolveCalls sets the entry of the called function in each call from instruction from on.
func (m *loader) resolveCalls(from int) {
	for i := from; i < len(m.code); i++ {
		if in := &m.code[i]; ir.Op(in.op) == ir.OpCall || in.op == opSubIntKCall {
			in.imm = int32(m.functions[in.imm].entry)
		}
	}
}

// loadFunction appends the blocks of a function and of its handlers to the code.
func (m *loader) loadFunction(f *function) error {
	f.entry = len(m.code)
	if f.registers > headroom {
		m.emitIns(ins{op: opEnter, imm: int32(f.registers)}, 0)
	}
	if err := m.loadBlock(f, nil, &f.info.Block); err != nil {
		return err
	}
	f.listens = make([]listen, len(f.info.Listens))
	for i := range f.info.Listens {
		l := &f.listens[i]
		l.info = &f.info.Listens[i]
		l.handlers = make([]handler, len(l.info.Handlers))
		for j := range l.handlers {
			h := &l.handlers[j]
			h.info = &l.info.Handlers[j]
			if h.info.Schema >= 0 {
				h.schema = m.types[h.info.Schema]
			}
			h.entry = len(m.code)
			if err := m.loadBlock(f, h, &h.info.Block); err != nil {
				return fmt.Errorf("handler %q: %w", h.info.Type, err)
			}
		}
	}
	return nil
}

func (m *loader) emitIns(in ins, origin int) {
	m.code = append(m.code, in)
	m.origin = append(m.origin, int32(origin))
}

// loadBlock appends the instructions of one block, followed by a trap. It fuses instructions where
// possible and makes jumps relative.
func (m *loader) loadBlock(f *function, h *handler, b *ir.Block) error {
	start := len(m.code)
	if h == nil {
		start = f.entry // includes opEnter
	}
	at := make([]int, len(b.Code)+1) // at[i] is the new position of instruction i
	fusing := fusable(b)
	covered := m.coverBlock(f, h, b)
	sampled := m.samplePoints(b)
	inside := fusing
	if covered != nil || sampled != nil || m.config.Count.Instructions {
		fusing = make([]bool, len(fusing))
	}
	stepped, debugged := m.steps(f, b), m.stopPoints(f, b)
	for i := range fusing {
		fusing[i] = fusing[i] && !stepped[i] && debugged[i] == stopNone
	}
	for i := 0; i < len(b.Code); {
		at[i] = len(m.code)
		for _, point := range covered[i] {
			m.emitIns(ins{op: opCover, imm: point}, i)
		}
		m.emitSamples(i, sampled[i], stepped[i])
		m.emitStopPoint(h, debugged[i], i)
		if m.config.Count.Instructions {
			m.count(b, i, inside)
		}
		if in, n := fuse(b.Code, i, fusing); n > 0 {
			for k := 1; k < n; k++ {
				at[i+k] = len(m.code)
			}
			m.emitIns(in, i)
			i += n
			continue
		}
		in, err := m.loadIns(f, b.Code[i])
		if err != nil {
			return fmt.Errorf("instruction %d, %s: %w", i, b.Code[i].Op, err)
		}
		if byReciprocal(b.Code[i]) && !m.grows() {
			m.loadReciprocal(&in)
		}
		m.emitIns(in, i)
		i++
	}
	at[len(b.Code)] = len(m.code)
	m.emitIns(ins{op: opTrap}, max(len(b.Code)-1, 0))
	for pc := at[0]; pc < at[len(b.Code)]; pc++ {
		if in := &m.code[pc]; jumps(in.op) {
			if in.imm < 0 || int(in.imm) > len(b.Code) {
				return fmt.Errorf("jump target %d is out of bounds", in.imm)
			}
			in.imm = int32(at[in.imm] - (pc + 1))
		}
	}
	for _, x := range b.Inlined {
		if x.Function < 0 || x.Function >= len(m.functions) {
			return fmt.Errorf("inlined function %d is out of bounds", x.Function)
		}
	}
	loaded := block{start: start, fn: f, ir: b, info: b.Positions, inlined: b.Inlined}
	for _, r := range b.Regions {
		if r.From < 0 || r.To > len(b.Code) || r.Target < 0 || r.Target > len(b.Code) {
			return fmt.Errorf("region %v is out of bounds", r)
		}
		loaded.regions = append(loaded.regions, region{at[r.From], at[r.To], at[r.Target], uint8(r.Register)})
	}
	m.blocks = append(m.blocks, loaded)
	return nil
}

// jumps reports whether the imm of an operation is a jump target.
func jumps(op uint8) bool {
	if op >= opTrap {
		return op == opSkipPresent
	}
	return ir.Shapes[op].Target
}

// loadIns converts an IR instruction. The targets of jumps and the entries of called functions are
// resolved later.
func (m *loader) loadIns(f *function, i ir.Instr) (ins, error) {
	in := ins{uint8(i.Op), i.A, i.B, i.C, i.Imm}
	info := ir.Describe(i.Op)
	if info == nil {
		return in, fmt.Errorf("no such operation")
	}
	for _, o := range info.Operands {
		if n, ok := m.program.Indexed(o.Role, f.info); ok && uint(i.Get(o.Field)) >= uint(n) {
			return in, fmt.Errorf("index %d is out of bounds", i.Get(o.Field))
		}
	}
	switch i.Op {
	case ir.OpCall:
		if m.program.Functions[i.Imm].Captures > 0 {
			return in, fmt.Errorf("function %d has captures", i.Imm)
		}
	case ir.OpPerform:
		name := m.constants[i.Imm]
		n, ok := m.effect(name.AsString())
		if name.Str() == nil || !ok {
			return in, fmt.Errorf("no effect %s", value.Text(name))
		}
		in.imm = n
	case ir.OpCheck:
		in.c = uint8(unconverted(m.types[i.Imm]))
	case ir.OpOwn, ir.OpOwnField, ir.OpOwnElem:
		if m.config.AlwaysCopy {
			in.op = map[ir.Op]uint8{ir.OpOwn: opOwnAlways, ir.OpOwnField: opOwnFieldAlways, ir.OpOwnElem: opOwnElemAlways}[i.Op]
		}
	}
	return in, nil
}

func doFrameEnd(t *task, in *ins) status { return finished }

func doEnter(t *task, in *ins) status {
	if !t.need(0, int(in.imm)) {
		return t.tooDeep()
	}
	return running
}

func opLoadTool(t *task, in *ins) status {
	*t.slot(in.a) = t.m.declared.tools[in.imm].self
	return running
}

func opLoadFunction(t *task, in *ins) status {
	*t.slot(in.a) = t.m.image.closureOf(int(in.imm))
	return running
}

func opLoadAgent(t *task, in *ins) status { return t.loadFrom(t.m.declared.agents, in) }
func opLoadHost(t *task, in *ins) status  { return t.loadFrom(t.m.declared.hosts, in) }
func opLoadStore(t *task, in *ins) status { return t.loadFrom(t.m.declared.stores, in) }
func opLoadType(t *task, in *ins) status  { return t.loadFrom(t.m.image.typeDescs, in) }

func (t *task) loadFrom(table []value.Slot, in *ins) status {
	*t.slot(in.a) = table[in.imm]
	return running
}

// closureOf returns a function without captures as a value.
func (m *image) closureOf(n int) value.Slot {
	c := &m.closures[n]
	if c.IsNil() {
		*c = value.NewClosure(&m.functions[n].Function)
	}
	return *c
}

// functionOf returns the function that a closure runs.
func functionOf(c value.Slot) *function { return (*function)(unsafe.Pointer(c.Function())) }

// image is a loaded program. The loader builds it, and all runs of the program share it. A run
// changes three parts of it, none of which affects the run's behaviour. It creates a closure on
// first use, because most closures are never used. String constants cache properties of their text.
// Counters and coverage accumulate over the runs. Because of these changes, two runs of an image
// must not execute at the same time.
type image struct {
	program *ir.Program

	// Code.
	code        []ins
	origin      []int32 // code[pc] comes from instruction origin[pc] of its block
	blocks      []block // in the order of their first instructions
	functions   []function
	closures    []value.Slot // closures of functions without captures, created on first use
	natives     []native     // the program's natives, then those that perform its effects
	constants   []value.Slot
	reciprocals map[int32]int32 // index in constants, by divisor
	tallies
	mapped *positionMap // created on first use
	debug  debugging    // used with Observer.Debugger

	// Declarations.
	types     []*value.Type
	typeDescs []value.Slot
	methods   map[string][]method
	toolDecls []*toolDecl
	hostDecls []Host
	pipelines []*pipeline
	called    []ToolFunction // functions that Args can turn into tools
}

// tallies are the counters that all runs of an image share.
type tallies struct {
	counters []counter // used with Config.Count
	cover    *cover    // used with Config.Cover
}

// load returns the image of a program.
func load(config *Config) (*image, error) {
	l := loader{image: &image{program: config.Program}, config: config}
	if config.Observer != nil {
		l.debugger = config.Observer.Debugger()
	}
	if config.Durable != nil {
		_, l.stepped = config.Durable.Journal().(Stepper)
	}
	if config.Count.Points {
		l.cover = &cover{index: map[Point]int32{}}
	}
	return l.image, l.load()
}
