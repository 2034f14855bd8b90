package program

import "fmt"

// Machines are structs with a state: a value of an enum whose payloads methods copy, change and
// store again. Errors leave the methods in between. In some programs all callers lose the machine
// with the error; in others they read it afterwards.

// machine is a type of machines, or of structs that contain several of them.
type machine struct {
	shape *shape
	state *shape
	// text and at return the machine within `self`.
	text string
	at   func(self *node) *node
	// steps are the models of the methods step0, step1 and so on.
	steps   []func(self *node)
	exposed bool // callers may read a machine after an error
}

// declareMachines declares types of machines with their methods, and functions that run them.
func declareMachines(m *modeller) {
	containers := m.matchingShapes(isContainer)
	state := m.enum("St", pick(m.gen, containers), pick(m.gen, containers))
	one := &shape{name: "M", is: record, fields: []string{"s", "log", "k"}, parts: []*shape{state, m.arrayOf(m.int), m.anyShape()}}
	m.declareStruct(one)
	m.add(one)
	all := &shape{name: "W", is: record, fields: []string{"n", "ms"}, parts: []*shape{m.int, m.arrayOf(one)}}
	m.declareStruct(all)
	m.add(all)
	exposed := m.choose(3) == 0
	m.driven = []*machine{
		{shape: one, state: state, text: "self", at: func(self *node) *node { return self }, exposed: exposed},
		{shape: all, state: state, text: "self.ms[i]", exposed: exposed, at: func(self *node) *node {
			ms := self.items[1].(*node)
			if len(ms.items) < 2 {
				panic(fault{})
			}
			return ms.items[1].(*node)
		}},
	}
	for _, k := range m.driven {
		m.open("impl %s {", k.shape.name)
		for i := range 1 + m.choose(2) {
			k.writeStep(m, i)
		}
		m.close("}")
		m.open("fn drive_%s(mut v: %s) -> %s {", k.shape.name, k.shape.name, k.shape.name)
		for i := range k.steps {
			m.write("v.step%d(1);", i)
			m.write("println(\"driven\", v);")
		}
		m.write("v")
		m.close("}")
	}
}

// writeStep writes a method that matches the machine's state, and methods that it calls.
func (k *machine) writeStep(m *modeller, i int) {
	state := k.state
	self := &local{name: "self", shape: k.shape}
	var bodies [2]func(at *node, payload []any)
	called := m.choose(3) > 0
	if called {
		m.open("fn one%d(mut self, i: Int, p: %s) {", i, state.variants[1].parts[0].name)
		bodies[0] = k.writeChange(m, self, 1, "")
		m.close("}")
	}
	m.open("fn step%d(mut self, i: Int) {", i)
	m.open("match %s.s {", k.text)
	if called {
		m.write("St::One(p) => self.one%d(i, p),", i)
	} else {
		m.open("St::One(p) => {")
		bodies[0] = k.writeChange(m, self, 1, "")
		m.close("}")
	}
	m.open("St::Two(p, n) => {")
	bodies[1] = k.writeChange(m, self, 2, ", n + 1")
	m.close("}")
	m.vars = nil
	fresh := m.literal(state.variants[1].parts[0], 1)
	m.write("_ => { %s.s = St::One(%s); }", k.text, fresh.text)
	m.close("}")
	m.close("}")
	k.steps = append(k.steps, func(n *node) {
		self.holds = n
		at := k.at(n)
		s := at.items[0].(*node)
		switch s.variant {
		case 1, 2:
			bodies[s.variant-1](at, s.items)
		default:
			at.items[0] = &node{shape: state, variant: 1, items: []any{fresh.eval()}}
		}
	})
}

// changeWriter writes the code that changes the payload of a machine's state.
type changeWriter struct {
	*modeller
	k   *machine
	at  *node
	all []func() (left bool) // models of the statements; they report whether the method returns
}

func (w *changeWriter) do(f func()) { w.all = append(w.all, func() bool { f(); return false }) }

func (w *changeWriter) log() *node { return w.at.items[1].(*node) }

// mayReturn sometimes writes an early return.
func (w *changeWriter) mayReturn() {
	if w.choose(5) > 0 {
		return
	}
	w.write("if %s.log.len() %% 4 == 3 { %s.log.push(7); return; }", w.k.text, w.k.text)
	w.all = append(w.all, func() bool {
		if len(w.log().items)%4 != 3 {
			return false
		}
		w.log().items = append(w.log().items, 7)
		return true
	})
}

// mayFail sometimes writes a throw.
func (w *changeWriter) mayFail() {
	if w.choose(3) > 0 {
		return
	}
	w.write("if %s.log.len() %% 3 == 2 { throw \"stop\"; }", w.k.text)
	w.do(func() {
		if len(w.log().items)%3 == 2 {
			panic(fault{})
		}
	})
}

// mayRead sometimes prints the state.
func (w *changeWriter) mayRead() {
	if w.choose(6) == 0 {
		w.write("println(\"state\", %s.s);", w.k.text)
		w.do(func() { w.print("state", w.at.items[0]) })
	}
}

// pair prints two values.
func (w *changeWriter) pair(name, text string, values func() []any) {
	w.write("println(%q, (%s));", name, text)
	w.do(func() { w.print(name, &node{shape: &shape{is: tuple}, items: values()}) })
}

// writeChange writes the code that changes a payload in variable p and stores it again. more is the
// rest of the new payload. The code may return early, fail, read the state, or not store the
// payload.
func (k *machine) writeChange(m *modeller, self *local, variant int, more string) func(at *node, payload []any) {
	inner := k.state.variants[variant].parts[0]
	got := &local{name: "p", shape: inner}
	own := &local{name: m.freshName("q"), shape: inner, mutable: true}
	m.vars = []*local{own}
	for _, v := range []*local{got, self} {
		if m.choose(4) == 0 {
			m.vars = append(m.vars, v)
		}
	}
	w := &changeWriter{modeller: m, k: k}
	w.mayReturn()
	m.write("let mut %s = p;", own.name)
	w.do(func() { own.holds = clone(got.holds) })
	m.write("%s.log.push(%s.log.len());", k.text, k.text)
	w.do(func() { w.log().items = append(w.log().items, len(w.log().items)) })
	w.mayFail()
	w.mayRead()
	w.do(changeOwn(m, own))
	w.mayFail()
	w.mayReturn()
	if m.choose(5) == 0 {
		w.pair("both", "p, "+own.name, func() []any { return []any{got.holds, own.holds} })
	}
	w.mayRead()
	if m.choose(6) > 0 {
		m.write("%s.s = St::%s(%s%s);", k.text, k.state.variants[variant].name, own.name, more)
		w.do(func() {
			s := &node{shape: k.state, variant: variant, items: []any{clone(own.holds)}}
			if more != "" {
				s.items = append(s.items, w.at.items[0].(*node).items[1].(int)+1)
			}
			w.at.items[0] = s
		})
		if m.choose(3) == 0 {
			w.do(changeOwn(m, own))
			w.pair("stored", own.name+", "+k.text, func() []any { return []any{own.holds, w.at} })
		}
	}
	m.vars = nil
	return func(n *node, payload []any) {
		w.at, got.holds = n, clone(payload[0])
		for _, f := range w.all {
			if f() {
				return
			}
		}
	}
}

// changeOwn writes a change of a variable.
func changeOwn(m *modeller, v *local) func() {
	vars := m.vars
	if m.choose(2) == 0 {
		m.vars = nil // the new value consists of literals
	}
	m.loose++
	do := m.changeAt(place{v.name, v.shape, func(bool) *any { return &v.holds }, true})
	m.loose--
	m.vars = vars
	return do
}

// runMachine writes a statement that runs a machine.
func runMachine(m *modeller) func() {
	k := pick(m.gen, m.driven)
	v := m.find(func(v *local) bool { return v.shape == k.shape && v.mutable })
	if v == nil {
		s := k.shape
		return m.let(s, true, m.safeTerm(s, m.literal(s, 2)))
	}
	name := k.shape.name
	step := m.choose(len(k.steps))
	w := m.freshName("w")
	var body func()
	m.open("try {")
	switch c := m.choose(4); {
	case c < 2 && k.exposed:
		m.write("%s.step%d(1);", v.name, step)
		body = func() { k.steps[step](v.holds.(*node)) }
	case c == 2:
		m.write("let mut %s = %s;", w, v.name)
		m.write("%s.step%d(1);", w, step)
		m.write("%s.step0(1);", w)
		m.write("println(%q, %s);", w, w)
		body = func() {
			n := clone(v.holds).(*node)
			k.steps[step](n)
			k.steps[0](n)
			m.print(w, n)
		}
	default:
		m.write("%s = drive_%s(%s);", v.name, name, v.name)
		body = func() {
			n := clone(v.holds).(*node)
			for _, step := range k.steps {
				step(n)
				m.print("driven", n)
			}
			v.holds = n
		}
	}
	m.leave()
	m.write("} catch { println(\"caught\"); }")
	m.write("println(%q, %s);", v.name, v.name)
	return func() {
		if faults(body) {
			fmt.Fprintln(&m.output, "caught")
		}
		m.print(v.name, v.holds)
	}
}
