package program

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Copies generates from a seed a program about copies of nested values. It returns the program and
// the expected output.
//
// The program creates nested values: structs, arrays, maps, tuples, enums and Options, values of a
// generic struct, and a tree. It binds, passes, returns, captures and compares the values. It
// changes them through any of their names, at any depth. The expected output comes from a model
// that copies a value whenever the value gets another name.
func Copies(seed uint64) (program, want string) {
	r := rand.New(rand.NewPCG(seed, 1))
	m := &modeller{gen: &gen{Subject: &Subject{}, choose: func(n int) int { return r.IntN(n) }, left: 80}}
	m.out.WriteString("fn same<T>(x: T) -> T { x }\n")
	m.declareShapes()
	declareMachines(m)
	for i := range 2 + m.choose(3) {
		m.function(fmt.Sprintf("t%d", i))
	}
	m.open("fn main() {")
	body := m.main()
	m.close("}")
	body()
	return m.out.String(), m.output.String()
}

// main first declares some containers, so that later statements can change them.
func (m *modeller) main() (run func()) {
	var made []func()
	for range 4 + m.choose(3) {
		s := m.anyChangeable()
		made = append(made, m.let(s, true, m.safeTerm(s, m.literal(s, 2))))
	}
	body := m.block(10+m.choose(8), true)
	var runs []func()
	for range 5 {
		runs = append(runs, runMachine(m))
	}
	for _, v := range m.vars {
		made = append(made, m.show(v))
	}
	n := len(made) - len(m.vars)
	return func() {
		for _, f := range made[:n] {
			f()
		}
		body()
		for _, f := range append(runs, made[n:]...) {
			f()
		}
	}
}

// modeller generates a program together with its expected output. Each generated part comes with a
// function that performs the same operation on the model's values.
type modeller struct {
	*gen
	int, string *shape
	shapes      []*shape
	vars        []*local
	calls       []*callable
	nested      int
	loops       int
	loose       int // number of bodies of functions and closures that a fault may leave
	driven      []*machine
	output      strings.Builder
}

// local is a variable and its value.
type local struct {
	name    string
	shape   *shape
	mutable bool
	holds   any
}

// callable is a function, or a closure in a variable, with one parameter and a result of the same
// type.
type callable struct {
	name  string
	shape *shape
	// call owns its argument and returns a value owned by the caller.
	call func(x any) any
	// closure is set if the call may change outer variables.
	closure bool
}

// term is an expression. eval returns its value, which has no other owner.
type term struct {
	text string
	eval func() any
}

// block writes statements and then prints all variables declared in it.
func (m *modeller) block(n int, show bool) (run func()) {
	vars, calls := len(m.vars), len(m.calls)
	m.nested++
	var all []func()
	for range n {
		all = append(all, m.statement())
	}
	if show {
		for _, v := range m.vars[vars:] {
			all = append(all, m.show(v))
		}
	}
	m.nested--
	m.vars, m.calls = m.vars[:vars], m.calls[:calls]
	return func() {
		for _, f := range all {
			f()
		}
	}
}

// function writes a function that changes its parameter.
func (m *modeller) function(name string) {
	p := &local{name: "x", shape: m.anyChangeable(), mutable: true}
	m.open("fn %s(mut x: %s) -> %s {", name, p.shape.name, p.shape.name)
	m.vars = []*local{p}
	m.loose++
	body := m.block(1+m.choose(2), false)
	m.loose--
	m.write("x")
	m.close("}")
	m.vars = nil
	m.calls = append(m.calls, &callable{name: name, shape: p.shape, call: func(x any) any {
		p.holds = x
		body()
		return clone(p.holds)
	}})
}

// anyChangeable returns a type whose values can be changed in part.
func (m *modeller) anyChangeable() *shape {
	return pick(m.gen, m.matchingShapes(func(s *shape) bool { return s.is == array || s.is == keyed || s.is == tuple || s.is == record }))
}

// print adds a line to the expected output.
func (m *modeller) print(name string, v any) { fmt.Fprintln(&m.output, name, format(v)) }

func (m *modeller) show(v *local) func() {
	m.write("println(%q, %s);", v.name, v.name)
	return func() { m.print(v.name, v.holds) }
}

// find returns a matching variable, or nil.
func (m *modeller) find(fits func(*local) bool) *local {
	var all []*local
	for _, v := range m.vars {
		if fits(v) {
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return pick(m.gen, all)
}

// let declares a variable initialised with a term.
func (m *modeller) let(s *shape, mutable bool, t term) func() {
	v := &local{name: m.freshName("v"), shape: s, mutable: mutable}
	mut := ""
	if mutable {
		mut = "mut "
	}
	m.write("let %s%s: %s = %s;", mut, v.name, s.name, t.text)
	m.vars = append(m.vars, v)
	return func() { v.holds = t.eval() }
}

// place is a path into a variable. at returns a pointer to the value at the path and raises a fault
// if there is none. If made is set, at may add a missing key to a map.
type place struct {
	text  string
	shape *shape
	at    func(made bool) *any
	safe  bool // the path always leads to a value
}

// place writes a path into a variable that leads to a matching type. ok is false if there is no
// such path.
func (m *modeller) place(v *local, fits func(*shape) bool) (p place, ok bool) {
	p = place{v.name, v.shape, func(bool) *any { return &v.holds }, true}
	var found []place
	for range 4 {
		if fits(p.shape) {
			found = append(found, p)
		}
		next, more := m.step(p)
		if !more {
			break
		}
		p = next
	}
	if len(found) == 0 {
		return p, false
	}
	return pick(m.gen, found), true
}

// step extends a place by one step.
func (m *modeller) step(p place) (place, bool) {
	at := p.at
	switch p.shape.is {
	case array:
		i := []int{0, 0, 1, 0, 2}[m.choose(5)]
		return place{fmt.Sprintf("%s[%d]", p.text, i), p.shape.parts[0], func(bool) *any {
			n := (*at(false)).(*node)
			if i >= len(n.items) {
				panic(fault{})
			}
			return &n.items[i]
		}, false}, true
	case keyed:
		k := m.key()
		return place{fmt.Sprintf("%s[%q]", p.text, k), p.shape.parts[0], func(made bool) *any {
			n := (*at(false)).(*node)
			for i := range n.keys {
				if n.keys[i] == k {
					return &n.items[i]
				}
			}
			if !made {
				panic(fault{})
			}
			n.set(k, nil)
			return &n.items[len(n.items)-1]
		}, false}, true
	case tuple, record:
		i := m.choose(len(p.shape.parts))
		name := fmt.Sprint(i)
		if p.shape.is == record {
			name = p.shape.fields[i]
		}
		return place{p.text + "." + name, p.shape.parts[i], func(bool) *any { return &(*at(false)).(*node).items[i] }, p.safe}, true
	}
	return place{}, false
}

func (m *modeller) key() string { return []string{"a", "a", "b", "z"}[m.choose(4)] }

// mutablePlace returns a path into a variable that may be changed.
func (m *modeller) mutablePlace(fits func(*shape) bool) (place, bool) {
	for range 6 {
		if v := m.find(func(v *local) bool { return v.mutable }); v != nil {
			if p, ok := m.place(v, fits); ok {
				return p, true
			}
		}
	}
	return place{}, false
}

func anyShape(*shape) bool { return true }
