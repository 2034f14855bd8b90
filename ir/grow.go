package ir

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Growth is a program to which parts of further programs are added, for the REPL and for the
// expressions of a debugger. A part that a further program has in common with it is identified by
// name and content, so that unchanged agents, hosts, stores and tools are not added again.
type Growth struct {
	Program *Program
	indices [kinds]map[string]int // index of the last element with a key, by table and key
}

// Grow returns a Growth that begins with the program p.
func Grow(p *Program) *Growth {
	g := &Growth{Program: p}
	for k := range kinds {
		g.indices[k] = map[string]int{}
		for n, key := range keysOf(p, k) {
			g.indices[k][key] = n
		}
	}
	return g
}

// Add adds the closure root of the program other and the parts of other that it reaches. If the
// program already has a function that contains root, other is the program with root inserted, and
// all that the program has is unchanged. Add returns the number of root in the grown program. After
// an error the program is unchanged.
func (g *Growth) Add(other *Program, root int) (n int, err error) {
	base := g.Program
	copied := *base
	out := &copied
	out.Functions, out.Constants, out.Types = slices.Clone(base.Functions), slices.Clone(base.Constants), slices.Clone(base.Types)
	out.Natives, out.Files, out.Methods = slices.Clone(base.Natives), slices.Clone(base.Files), slices.Clone(base.Methods)
	out.Agents, out.Hosts, out.Tools, out.Stores = slices.Clone(base.Agents), slices.Clone(base.Hosts), slices.Clone(base.Tools), slices.Clone(base.Stores)
	x := &grower{base: base, other: other, out: out, root: root, types: map[int]int{}, g: g}
	x.reach()
	if err := x.findUnchanged(); err != nil {
		return 0, err
	}
	if err := x.add(); err != nil {
		return 0, err
	}
	g.Program = out
	for k := range kinds {
		for _, n := range x.reached[k] {
			if k != kindFunction || !x.isNew(n) {
				g.indices[k][x.keys[k][n]] = x.to[k][n]
			}
		}
	}
	return x.to[kindFunction][root], nil
}

// kind identifies one of the tables.
type kind int

const (
	kindFunction kind = iota
	kindAgent
	kindHost
	kindTool
	kindStore
	kinds
)

// roleKinds maps roles of operands to tables.
var roleKinds = map[Role]kind{RoleFunction: kindFunction, RoleAgent: kindAgent, RoleHost: kindHost, RoleTool: kindTool, RoleStore: kindStore}

// keysOf returns the keys of a table's elements: their names, made unique. The lines of the main
// file, which is the first, differ between the inputs of a session.
func keysOf(p *Program, k kind) []string {
	var names []string
	switch k {
	case kindFunction:
		for i := range p.Functions {
			f := &p.Functions[i]
			name := f.Name
			if f.File > 0 && f.File < len(p.Files) {
				name = fmt.Sprintf("%s:%d %s", p.Files[f.File].Name, f.Line, f.Name)
			}
			names = append(names, name)
		}
	case kindAgent:
		for i := range p.Agents {
			names = append(names, p.Agents[i].Name)
		}
	case kindHost:
		for i := range p.Hosts {
			names = append(names, p.Hosts[i].Name)
		}
	case kindTool:
		for i := range p.Tools {
			names = append(names, p.Tools[i].Name)
		}
	case kindStore:
		for i := range p.Stores {
			names = append(names, p.Stores[i].Name)
		}
	}
	count := map[string]int{}
	for i, name := range names {
		count[name]++
		names[i] = fmt.Sprintf("%s #%d", name, count[name])
	}
	return names
}

// grower is the state of one addition.
type grower struct {
	base, other, out *Program
	root             int
	inserted         bool // other is the base program with root inserted
	g                *Growth
	keys             [kinds][]string
	reached          [kinds][]int
	to               [kinds]map[int]int // index in the grown program of each reachable element; -1 if the element must be added
	types            map[int]int        // index in the grown program of each type of other that it needs
	texts            map[string]int
	constants        map[string]int
}

// isNew reports whether function n is root, or a closure in root.
func (x *grower) isNew(n int) bool { return n == x.root || x.contains(x.root, n) }

// contains reports whether function n is a closure in function outer.
func (x *grower) contains(outer, n int) bool {
	f, o := &x.other.Functions[n], &x.other.Functions[outer]
	return f.File == o.File && strings.HasPrefix(f.Name, o.Name+" closure ")
}

// reach finds the elements that root reaches, and those that the methods of the program reach,
// because code finds methods by name.
func (x *grower) reach() {
	for k := range kinds {
		x.keys[k], x.to[k] = keysOf(x.other, k), map[int]int{}
	}
	for n := range x.other.Functions {
		if _, found := x.g.indices[kindFunction][x.keys[kindFunction][n]]; found && x.contains(n, x.root) {
			x.inserted = true
		}
	}
	x.mark(kindFunction, x.root)
	for _, m := range x.other.Methods {
		x.mark(kindFunction, m.Function)
	}
	for done := [kinds]int{}; ; {
		still := false
		for k := range kinds {
			for ; done[k] < len(x.reached[k]); done[k]++ {
				still = true
				x.markReferenced(k, x.reached[k][done[k]])
			}
		}
		if !still {
			return
		}
	}
}

func (x *grower) mark(k kind, n int) {
	if _, is := x.to[k][n]; is || n < 0 {
		return
	}
	at, found := x.g.indices[k][x.keys[k][n]]
	if !found || k == kindFunction && x.isNew(n) {
		at = -1
	}
	x.to[k][n] = at
	if at < 0 || !x.inserted {
		x.reached[k] = append(x.reached[k], n)
	}
}

// markReferenced marks the elements to which element n refers.
func (x *grower) markReferenced(k kind, n int) {
	visit := func(to kind, n int) int {
		x.mark(to, n)
		return n
	}
	switch k {
	case kindFunction:
		f := &x.other.Functions[n]
		x.refer(f, &f.Block)
		for i := range f.Listens {
			x.mark(kindHost, f.Listens[i].Host)
			for j := range f.Listens[i].Handlers {
				x.refer(f, &f.Listens[i].Handlers[j].Block)
			}
		}
	case kindAgent:
		mapAgent(x.other.Agents[n], visit)
	case kindHost:
		mapHost(x.other.Hosts[n], visit)
	case kindTool:
		mapTool(x.other.Tools[n], visit, func(n int) int { return n })
	}
}

func (x *grower) refer(f *Function, b *Block) {
	for i := range b.Code {
		info := Describe(b.Code[i].Op)
		if info == nil {
			continue
		}
		for _, o := range info.Operands {
			if k, is := roleKinds[o.Role]; is {
				x.mark(k, int(b.Code[i].Get(o.Field)))
			}
		}
	}
	for i := range b.Inlined {
		x.mark(kindFunction, b.Inlined[i].Function)
	}
}

// mapAgent returns an agent whose references are replaced by the results of to.
func mapAgent(a Agent, to func(kind, int) int) Agent {
	a.Tools, a.Knowledge = replaced(a.Tools, kindTool, to), replaced(a.Knowledge, kindStore, to)
	if a.Memory >= 0 {
		a.Memory = to(kindStore, a.Memory)
	}
	a.OnToolError, a.Decorator, a.Streamed = maybe(a.OnToolError, to), maybe(a.Decorator, to), maybe(a.Streamed, to)
	return a
}

func mapHost(h Host, to func(kind, int) int) Host {
	h.Tools, h.Decorator = replaced(h.Tools, kindTool, to), maybe(h.Decorator, to)
	return h
}

func mapTool(t Tool, to func(kind, int) int, typ func(int) int) Tool {
	if t.State >= 0 {
		t.State = typ(t.State)
	}
	if t.Init >= 0 {
		t.Init = to(kindFunction, t.Init)
	}
	t.List, t.Call = maybe(t.List, to), maybe(t.Call, to)
	t.Methods = slices.Clone(t.Methods)
	for i := range t.Methods {
		m := &t.Methods[i]
		m.Function, m.Result = to(kindFunction, m.Function), typ(m.Result)
		m.Params = slices.Clone(m.Params)
		for j := range m.Params {
			m.Params[j].Type = typ(m.Params[j].Type)
			if m.Params[j].Default >= 0 {
				m.Params[j].Default = to(kindFunction, m.Params[j].Default)
			}
		}
	}
	return t
}

func storeRefers(s Store, typ func(int) int) Store {
	if s.File != "" && s.Kind == "hashmap" {
		s.Key, s.Value = typ(s.Key), typ(s.Value)
	}
	if s.Kind == "queue" {
		s.Value = typ(s.Value)
	}
	return s
}

func replaced(all []int, k kind, to func(kind, int) int) []int {
	all = slices.Clone(all)
	for i := range all {
		all[i] = to(k, all[i])
	}
	return all
}

func maybe(n *int, to func(kind, int) int) *int {
	if n == nil {
		return nil
	}
	at := to(kindFunction, *n)
	return &at
}

// findUnchanged determines the unchanged elements. It first assumes that all elements are
// unchanged, and repeats the comparison until it finds no more differences.
func (x *grower) findUnchanged() error {
	for changed := true; changed; {
		changed = false
		for k := range kinds {
			for _, n := range x.reached[k] {
				at := x.to[k][n]
				if at < 0 {
					continue
				}
				same, err := x.same(k, n, at)
				if err != nil {
					return err
				}
				if !same {
					x.to[k][n], changed = -1, true
				}
			}
		}
	}
	return nil
}

func (x *grower) number(k kind, n int) int { return x.to[k][n] }

// same reports whether element n of other equals element at of the base program.
func (x *grower) same(k kind, n, at int) (bool, error) {
	if k != kindFunction {
		return reflect.DeepEqual(x.translated(k, n), entityOf(x.base, k, at)), nil
	}
	f, err := x.function(&x.other.Functions[n])
	if err != nil {
		return false, err
	}
	return reflect.DeepEqual(bare(f), bare(x.base.Functions[at])), nil
}

func entityOf(p *Program, k kind, n int) any {
	switch k {
	case kindAgent:
		return p.Agents[n]
	case kindHost:
		return p.Hosts[n]
	case kindTool:
		return p.Tools[n]
	}
	return p.Stores[n]
}

// translated returns a declaration with the numbers of the grown program.
func (x *grower) translated(k kind, n int) any {
	switch k {
	case kindAgent:
		return mapAgent(x.other.Agents[n], x.number)
	case kindHost:
		return mapHost(x.other.Hosts[n], x.number)
	case kindTool:
		return mapTool(x.other.Tools[n], x.number, x.typ)
	}
	return storeRefers(x.other.Stores[n], x.typ)
}

// bare returns a function without its source positions.
func bare(f Function) Function {
	f.File, f.Line, f.Start = 0, 0, nil
	f.Block = bareBlock(f.Block)
	f.Listens = slices.Clone(f.Listens)
	for i := range f.Listens {
		l := &f.Listens[i]
		l.Handlers = slices.Clone(l.Handlers)
		for j := range l.Handlers {
			h := &l.Handlers[j]
			h.Start, h.Block = nil, bareBlock(h.Block)
		}
	}
	return f
}

func bareBlock(b Block) Block {
	b.Positions, b.Locals = nil, nil
	if len(b.Regions) == 0 {
		b.Regions = nil
	}
	if len(b.Inlined) == 0 {
		b.Inlined = nil
	}
	return b
}

// add appends the elements that are not unchanged.
func (x *grower) add() error {
	room := [kinds]int{len(x.out.Functions), len(x.out.Agents), len(x.out.Hosts), len(x.out.Tools), len(x.out.Stores)}
	fresh := [kinds][]int{}
	for k := range kinds {
		for _, n := range x.reached[k] {
			if x.to[k][n] < 0 {
				x.to[k][n] = room[k]
				room[k]++
				fresh[k] = append(fresh[k], n)
			}
		}
	}
	for _, n := range fresh[kindFunction] {
		f, err := x.function(&x.other.Functions[n])
		if err != nil {
			return fmt.Errorf("%s: %w", x.other.Functions[n].Name, err)
		}
		x.out.Functions = append(x.out.Functions, f)
	}
	for _, n := range fresh[kindAgent] {
		x.out.Agents = append(x.out.Agents, x.translated(kindAgent, n).(Agent))
	}
	for _, n := range fresh[kindHost] {
		x.out.Hosts = append(x.out.Hosts, x.translated(kindHost, n).(Host))
	}
	for _, n := range fresh[kindTool] {
		x.out.Tools = append(x.out.Tools, x.translated(kindTool, n).(Tool))
	}
	for _, n := range fresh[kindStore] {
		x.out.Stores = append(x.out.Stores, x.translated(kindStore, n).(Store))
	}
	for _, m := range x.other.Methods {
		moved := Method{m.Name, x.typ(m.Type), x.to[kindFunction][m.Function]}
		at := slices.IndexFunc(x.out.Methods, func(o Method) bool { return o.Name == moved.Name && o.Type == moved.Type })
		if at < 0 || x.out.Methods[at].Function != moved.Function {
			x.out.Methods = append(x.out.Methods, moved)
		}
	}
	return nil
}
