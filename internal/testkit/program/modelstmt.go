package program

import (
	"fmt"
	"slices"
)

// modelStatements lists the statements about copies.
var modelStatements []func(*modeller) func()

func init() {
	modelStatements = []func(*modeller) func(){
		(*modeller).declare, (*modeller).change, (*modeller).assign, (*modeller).alias, (*modeller).change, (*modeller).store, (*modeller).declare,
		(*modeller).assign, (*modeller).alias, (*modeller).change, (*modeller).compare, (*modeller).forEach, (*modeller).forEntries, (*modeller).closure,
		(*modeller).callClosure, (*modeller).storeInItself, (*modeller).matchPayload, (*modeller).branches, (*modeller).swapField, (*modeller).popElement, (*modeller).destructure,
		(*modeller).group, (*modeller).storeUntyped, (*modeller).change, (*modeller).alias, (*modeller).store, (*modeller).callClosure,
		(*modeller).callGetter, (*modeller).callGetter,
		runMachine, runMachine, runMachine,
	}
}

// statement writes a statement. If a fault would leave main, it wraps the statement in a try.
func (m *modeller) statement() func() {
	if m.left--; m.left < 0 {
		return m.declare()
	}
	for {
		if do := modelStatements[m.choose(len(modelStatements))](m); do != nil {
			return do
		}
	}
}

// guard writes a statement that may raise a fault and wraps it in a try.
func (m *modeller) guard(write func() func()) func() {
	if m.loose > 0 && m.choose(3) > 0 {
		return write()
	}
	m.open("try {")
	do := write()
	m.leave()
	m.write("} catch { println(\"caught\"); }")
	return func() {
		if faults(do) {
			fmt.Fprintln(&m.output, "caught")
		}
	}
}

// safeTerm returns a term whose value is another value of the type if evaluating x raises a fault.
func (m *modeller) safeTerm(s *shape, x term) term {
	vars := m.vars
	m.vars = nil
	y := m.literal(s, 0)
	m.vars = vars
	return term{"try { " + x.text + " } catch { " + y.text + " }", func() (v any) {
		if faults(func() { v = x.eval() }) {
			v = y.eval()
		}
		return v
	}}
}

func (m *modeller) declare() func() {
	s := m.anyShape()
	return m.let(s, m.choose(5) > 0, m.safeTerm(s, m.term(s, 2)))
}

func (m *modeller) assign() func() {
	p, ok := m.mutablePlace(anyShape)
	if !ok {
		return nil
	}
	x := m.term(p.shape, 2)
	if x.text == p.text {
		return nil
	}
	return m.guard(func() func() { return m.put(p, x) })
}

// put writes an assignment.
func (m *modeller) put(p place, x term) func() {
	m.write("%s = %s;", p.text, x.text)
	return func() {
		v := x.eval()
		*p.at(true) = v
	}
}

// isContainer reports whether values of a type can be changed in part.
func isContainer(s *shape) bool {
	return s.is == array || s.is == keyed || s.is == tuple || s.is == record
}

// change writes a statement that changes a part of the value at a place.
func (m *modeller) change() func() {
	p, ok := m.mutablePlace(isContainer)
	if !ok {
		return nil
	}
	return m.guard(func() func() { return m.changeAt(p) })
}

func (m *modeller) changeAt(p place) func() {
	switch s := p.shape; s.is {
	case array:
		return m.changeArray(p)
	case keyed:
		return m.changeMap(p)
	case record:
		i := m.choose(len(s.parts))
		x := m.term(s.parts[i], 1)
		word := []string{"put", "boom", "put"}[m.choose(3)]
		m.write("%s.%s_%s(%s);", p.text, word, s.fields[i], x.text)
		return func() {
			v := x.eval()
			(*p.at(false)).(*node).items[i] = v
			if word == "boom" {
				panic(fault{})
			}
		}
	}
	q, _ := m.step(p)
	return m.put(q, m.term(q.shape, 1))
}

func (m *modeller) changeArray(p place) func() {
	at := func() *node { return (*p.at(false)).(*node) }
	i := m.choose(3)
	switch m.choose(7) {
	case 0:
		m.write("%s.pop();", p.text)
		return func() {
			if n := at(); len(n.items) > 0 {
				n.items = n.items[:len(n.items)-1]
			}
		}
	case 1:
		m.write("%s.remove(%d);", p.text, i)
		return func() {
			n := at()
			if i >= len(n.items) {
				panic(fault{})
			}
			n.items = slices.Delete(n.items, i, i+1)
		}
	case 2:
		m.write("%s.swap(0, %d);", p.text, i)
		return func() {
			n := at()
			if i >= len(n.items) {
				panic(fault{})
			}
			n.items[0], n.items[i] = n.items[i], n.items[0]
		}
	case 3:
		x := m.term(p.shape, 1)
		m.write("%s.extend(%s);", p.text, x.text)
		m.write("%s.truncate(6);", p.text)
		return func() {
			v := x.eval().(*node)
			n := at()
			n.items = append(n.items, v.items...)
			n.items = n.items[:min(6, len(n.items))]
		}
	case 4:
		x := m.term(p.shape.parts[0], 1)
		m.write("%s.insert(0, %s);", p.text, x.text)
		return func() {
			v := x.eval()
			n := at()
			n.items = slices.Insert(n.items, 0, v)
		}
	}
	x := m.term(p.shape.parts[0], 1)
	m.write("%s.push(%s);", p.text, x.text)
	return func() {
		v := x.eval()
		n := at()
		n.items = append(n.items, v)
	}
}

func (m *modeller) changeMap(p place) func() {
	at := func() *node { return (*p.at(false)).(*node) }
	k := m.key()
	switch m.choose(5) {
	case 0:
		m.write("%s.delete(%q);", p.text, k)
		return func() { at().remove(k) }
	case 1:
		m.write("%s.clear();", p.text)
		return func() { n := at(); n.keys, n.items = nil, nil }
	case 2:
		x := m.term(p.shape, 1)
		m.write("%s.merge(%s);", p.text, x.text)
		return func() {
			v := x.eval().(*node)
			n := at()
			for i, k := range v.keys {
				n.set(k, v.items[i])
			}
		}
	}
	x := m.term(p.shape.parts[0], 1)
	m.write("%s.set(%q, %s);", p.text, k, x.text)
	return func() {
		v := x.eval()
		at().set(k, v)
	}
}

// alias binds the value at a place to a new name, changes one of the two, and prints both.
func (m *modeller) alias() func() {
	p, ok := m.mutablePlace(isContainer)
	if !ok {
		return nil
	}
	v := &local{name: m.freshName("v"), shape: p.shape, mutable: true}
	return m.guard(func() func() {
		m.write("let mut %s = %s;", v.name, p.text)
		changed := place{v.name, v.shape, func(bool) *any { return &v.holds }, true}
		if m.choose(2) == 0 {
			changed = p
		}
		do := m.changeAt(changed)
		m.write("println(%q, (%s, %s));", v.name, v.name, p.text)
		return func() {
			v.holds = clone(*p.at(false))
			do()
			m.print(v.name, &node{shape: &shape{is: tuple}, items: []any{v.holds, *p.at(false)}})
		}
	})
}

// store assigns a variable to a place, changes the variable, and prints both.
func (m *modeller) store() func() {
	v := m.find(func(v *local) bool { return v.mutable && isContainer(v.shape) })
	if v == nil {
		return nil
	}
	p, ok := m.mutablePlace(func(s *shape) bool { return s == v.shape })
	if !ok {
		return nil
	}
	return m.guard(func() func() {
		put := m.put(p, term{v.name, func() any { return clone(v.holds) }})
		do := m.changeAt(place{v.name, v.shape, func(bool) *any { return &v.holds }, true})
		m.write("println(%q, (%s, %s));", v.name, v.name, p.text)
		return func() {
			put()
			do()
			m.print(v.name, &node{shape: &shape{is: tuple}, items: []any{v.holds, *p.at(false)}})
		}
	})
}

// storeInItself stores a tree in itself.
func (m *modeller) storeInItself() func() {
	v := m.find(func(v *local) bool { return v.mutable && v.shape.name == "N" })
	if v == nil {
		return nil
	}
	m.write("if %s.size() < 7 { %s.kids.push(%s); }", v.name, v.name, v.name)
	m.write("println(%q, %s);", v.name, v.name)
	return func() {
		if treeSize(v.holds) < 7 {
			copy := clone(v.holds)
			kids := v.holds.(*node).items[0].(*node)
			kids.items = append(kids.items, copy)
		}
		m.print(v.name, v.holds)
	}
}

func (m *modeller) compare() func() {
	s := m.anyShape()
	x, y := m.safeTerm(s, m.term(s, 1)), m.safeTerm(s, m.term(s, 1))
	a, b := m.freshName("a"), m.freshName("b")
	m.write("let %s: %s = %s;", a, s.name, x.text)
	m.write("let %s: %s = %s;", b, s.name, y.text)
	m.write("println(%q, %s == %s);", a, a, b)
	return func() {
		p, q := x.eval(), y.eval()
		m.print(a, same(p, q))
	}
}

// popElement removes the last element of an array.
func (m *modeller) popElement() func() {
	p, ok := m.mutablePlace(func(s *shape) bool { return s.is == array && s.parts[0].is != perhaps })
	if !ok {
		return nil
	}
	return m.guard(func() func() {
		v := m.freshName("v")
		m.write("let %s = %s.pop();", v, p.text)
		m.write("println(%q, %s);", v, v)
		return func() {
			n := (*p.at(false)).(*node)
			var x any
			if k := len(n.items) - 1; k >= 0 {
				x, n.items = n.items[k], n.items[:k]
			}
			m.print(v, x)
		}
	})
}

// swapField replaces the value of a field, then changes the old value.
func (m *modeller) swapField() func() {
	p, ok := m.mutablePlace(func(s *shape) bool { return s.is == record })
	if !ok {
		return nil
	}
	i := m.choose(len(p.shape.parts))
	x := m.term(p.shape.parts[i], 1)
	old := &local{name: m.freshName("v"), shape: p.shape.parts[i], mutable: true}
	return m.guard(func() func() {
		m.write("let mut %s = %s.put_%s(%s);", old.name, p.text, p.shape.fields[i], x.text)
		do := func() {}
		if isContainer(old.shape) {
			do = m.changeAt(place{old.name, old.shape, func(bool) *any { return &old.holds }, true})
		}
		m.write("println(%q, %s);", old.name, old.name)
		return func() {
			v := x.eval()
			n := (*p.at(false)).(*node)
			old.holds, n.items[i] = n.items[i], v
			do()
			m.print(old.name, old.holds)
		}
	})
}

// storeUntyped stores a copy as Any.
func (m *modeller) storeUntyped() func() {
	v := m.find(func(v *local) bool { return v.mutable && isContainer(v.shape) })
	if v == nil {
		return nil
	}
	name := m.freshName("v")
	m.write("let %s: Any = %s;", name, v.name)
	var copy any
	save := func() { copy = clone(v.holds) }
	do := m.guard(func() func() { return m.changeAt(place{v.name, v.shape, func(bool) *any { return &v.holds }, true}) })
	m.write("println(%q, %s);", name, name)
	return func() {
		save()
		before := copy
		do()
		m.print(name, before)
	}
}

// callGetter calls a method that returns a container still stored elsewhere, changes the result,
// and prints both.
func (m *modeller) callGetter() func() {
	p, ok := m.mutablePlace(func(s *shape) bool { return (s.is == array || s.is == keyed) && isContainer(s.parts[0]) })
	if !ok {
		return nil
	}
	call, which := m.getterCall(p.shape)
	y := m.term(p.shape.parts[0], 1)
	v := &local{name: m.freshName("v"), shape: p.shape.parts[0], mutable: true}
	return m.guard(func() func() {
		m.write("let mut %s = %s.%s ?? %s;", v.name, p.text, call, y.text)
		do := m.changeAt(place{v.name, v.shape, func(bool) *any { return &v.holds }, true})
		m.write("println(%q, (%s, %s));", v.name, v.name, p.text)
		return func() {
			n := (*p.at(false)).(*node)
			if i := which(n); i >= 0 && i < len(n.items) {
				v.holds = clone(n.items[i])
			} else {
				v.holds = y.eval()
			}
			do()
			m.print(v.name, &node{shape: &shape{is: tuple}, items: []any{v.holds, *p.at(false)}})
		}
	})
}

// getterCall returns a call that returns one of a container's values, and the value's index.
func (m *modeller) getterCall(s *shape) (call string, which func(n *node) int) {
	if s.is == keyed {
		if k := m.key(); m.choose(2) == 0 {
			return fmt.Sprintf("get(%q)", k), func(n *node) int { return slices.Index(n.keys, k) }
		}
		return "values().first()", func(*node) int { return 0 }
	}
	i := m.choose(3)
	switch m.choose(5) {
	case 0:
		return fmt.Sprintf("get(%d)", i), func(*node) int { return i }
	case 1:
		return "last()", func(n *node) int { return len(n.items) - 1 }
	case 2:
		return "reverse().last()", func(*node) int { return 0 }
	case 3:
		return fmt.Sprintf("take(%d).last()", i), func(n *node) int { return min(i, len(n.items)) - 1 }
	}
	return "first()", func(*node) int { return 0 }
}
