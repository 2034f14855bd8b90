package program

import "fmt"

// forEach writes a loop over an array that its body may change, with a copy of each element.
func (m *modeller) forEach() func() {
	return m.writeLoop(func(s *shape) bool { return s.is == array }, func(p place, name string) (string, func(n *node, i int, e *local)) {
		if m.choose(2) == 0 {
			return fmt.Sprintf("for (at, %s) in %s.enumerate()", name, p.text), func(n *node, i int, e *local) { e.holds = n.items[i] }
		}
		return fmt.Sprintf("for %s in %s", name, p.text), func(n *node, i int, e *local) { e.holds = n.items[i] }
	})
}

// forEntries writes a loop over a map.
func (m *modeller) forEntries() func() {
	return m.writeLoop(func(s *shape) bool { return s.is == keyed }, func(p place, name string) (string, func(n *node, i int, e *local)) {
		return fmt.Sprintf("for (_, %s) in %s", name, p.text), func(n *node, i int, e *local) { e.holds = n.items[i] }
	})
}

// writeLoop writes a loop over the value that a place has at the start.
func (m *modeller) writeLoop(fits func(*shape) bool, head func(p place, name string) (string, func(n *node, i int, e *local))) func() {
	if m.loops == 2 || m.nested > 4 {
		return nil
	}
	p, ok := m.mutablePlace(fits)
	if !ok {
		return nil
	}
	return m.guard(func() func() {
		e := &local{name: m.freshName("e"), shape: p.shape.parts[0]}
		text, bind := head(p, e.name)
		m.loops++
		m.open("%s {", text)
		own := &local{name: m.freshName("v"), shape: e.shape, mutable: true}
		m.write("let mut %s = %s;", own.name, e.name)
		vars := len(m.vars)
		m.vars = append(m.vars, e, own)
		body := m.block(1+m.choose(2), false)
		m.vars = m.vars[:vars]
		m.write("println(%q, (%s, %s));", e.name, e.name, own.name)
		m.close("}")
		m.loops--
		return func() {
			n := clone(*p.at(false)).(*node)
			for i := range n.items {
				bind(n, i, e)
				own.holds = clone(e.holds)
				body()
				m.print(e.name, &node{shape: &shape{is: tuple}, items: []any{e.holds, own.holds}})
			}
		}
	})
}

func (m *modeller) branches() func() {
	if m.nested > 4 {
		return nil
	}
	return m.guard(func() func() {
		c := m.term(m.int, 1)
		m.open("if (%s) > 4 {", c.text)
		then := m.block(1+m.choose(2), true)
		m.leave()
		m.open("} else {")
		other := m.block(1+m.choose(2), true)
		m.close("}")
		return func() {
			if c.eval().(int) > 4 {
				then()
			} else {
				other()
			}
		}
	})
}

// group writes several statements in one try, so that a fault skips the rest.
func (m *modeller) group() func() {
	if m.nested > 4 {
		return nil
	}
	m.open("try {")
	m.loose++
	body := m.block(2+m.choose(2), true)
	m.loose--
	m.leave()
	m.write("} catch { println(\"caught\"); }")
	return func() {
		if faults(body) {
			fmt.Fprintln(&m.output, "caught")
		}
	}
}

// closure declares a closure that changes outer variables and its parameter's copy.
func (m *modeller) closure() func() {
	if m.nested > 3 || m.loops > 0 {
		return nil
	}
	p := &local{name: m.freshName("p"), shape: m.anyChangeable(), mutable: true}
	name, arg := m.freshName("c"), m.freshName("a")
	m.open("let %s = |%s: %s| -> %s {", name, arg, p.shape.name, p.shape.name)
	m.write("let mut %s = %s;", p.name, arg)
	vars := len(m.vars)
	m.vars = append(m.vars, p)
	m.loose++
	body := m.block(1+m.choose(2), false)
	m.loose--
	m.vars = m.vars[:vars]
	m.write("%s", p.name)
	m.close("};")
	m.calls = append(m.calls, &callable{name, p.shape, func(x any) any {
		p.holds = x
		body()
		return clone(p.holds)
	}, true})
	return func() {}
}

// callClosure calls a closure, and changes its result.
func (m *modeller) callClosure() func() {
	for _, c := range m.calls {
		if !c.closure || m.choose(2) == 0 {
			continue
		}
		x := m.term(c.shape, 1)
		return m.guard(func() func() {
			v := &local{name: m.freshName("v"), shape: c.shape, mutable: true}
			m.write("let mut %s = %s(%s);", v.name, c.name, x.text)
			do := m.changeAt(place{v.name, v.shape, func(bool) *any { return &v.holds }, true})
			m.write("println(%q, (%s, %s));", v.name, v.name, x.text)
			return func() {
				v.holds = c.call(x.eval())
				do()
				m.print(v.name, &node{shape: &shape{is: tuple}, items: []any{v.holds, x.eval()}})
			}
		})
	}
	return nil
}

// matchPayload matches an enum or an Option, changes the payload, and perhaps stores it back.
func (m *modeller) matchPayload() func() {
	p, ok := m.mutablePlace(func(s *shape) bool {
		return s.is == choice && isContainer(s.variants[1].parts[0]) || s.is == perhaps && isContainer(s.parts[0])
	})
	if !ok {
		return nil
	}
	return m.guard(func() func() {
		some, parts := "Some", p.shape.parts
		if p.shape.is == choice {
			some, parts = p.shape.name+"::One", p.shape.variants[1].parts
		}
		inner := parts[0]
		got := &local{name: m.freshName("h"), shape: inner}
		own := &local{name: m.freshName("v"), shape: inner, mutable: true}
		m.open("if let %s(%s) = %s {", some, got.name, p.text)
		m.write("let mut %s = %s;", own.name, got.name)
		do := m.changeAt(place{own.name, inner, func(bool) *any { return &own.holds }, true})
		back := m.choose(2) == 0
		if back {
			m.write("%s = %s(%s);", p.text, some, own.name)
		}
		m.write("println(%q, (%s, %s, %s));", got.name, got.name, own.name, p.text)
		m.close("}")
		return func() { m.rebind(p, got, own, do, back) }
	})
}

func (m *modeller) rebind(p place, got, own *local, do func(), back bool) {
	v := clone(*p.at(false))
	if p.shape.is == choice {
		n := v.(*node)
		if n.variant != 1 {
			return
		}
		v = n.items[0]
	} else if v == nil {
		return
	}
	got.holds, own.holds = v, clone(v)
	do()
	if back {
		var x any = clone(own.holds)
		if p.shape.is == choice {
			x = &node{shape: p.shape, variant: 1, items: []any{x}}
		}
		*p.at(true) = x
	}
	m.print(got.name, &node{shape: &shape{is: tuple}, items: []any{got.holds, own.holds, *p.at(false)}})
}

// destructure destructures a tuple and changes a part.
func (m *modeller) destructure() func() {
	p, ok := m.mutablePlace(func(s *shape) bool { return s.is == tuple && isContainer(s.parts[1]) })
	if !ok {
		return nil
	}
	return m.guard(func() func() {
		v := &local{name: m.freshName("v"), shape: p.shape.parts[1], mutable: true}
		m.write("let mut (_, %s) = %s;", v.name, p.text)
		do := m.changeAt(place{v.name, v.shape, func(bool) *any { return &v.holds }, true})
		m.write("println(%q, (%s, %s));", v.name, v.name, p.text)
		return func() {
			v.holds = clone((*p.at(false)).(*node).items[1])
			do()
			m.print(v.name, &node{shape: &shape{is: tuple}, items: []any{v.holds, *p.at(false)}})
		}
	})
}
