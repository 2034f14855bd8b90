package program

import (
	"fmt"
	"strings"
)

// term writes an expression of a type.
func (m *modeller) term(s *shape, depth int) term {
	if m.choose(3) > 0 || depth == 0 {
		if t, ok := m.read(s); ok {
			return t
		}
	}
	if depth > 0 {
		if t, ok := m.compound(s, depth-1); ok {
			return t
		}
	}
	return m.literal(s, depth)
}

// read returns a variable, or a part of one.
func (m *modeller) read(s *shape) (term, bool) {
	if v := m.find(func(v *local) bool { return v.shape == s }); v != nil && m.choose(3) > 0 {
		return term{v.name, func() any { return clone(v.holds) }}, true
	}
	for range 4 {
		if v := m.find(func(*local) bool { return true }); v != nil {
			if p, ok := m.place(v, func(x *shape) bool { return x == s }); ok {
				return term{p.text, func() any { return clone(*p.at(false)) }}, true
			}
		}
	}
	return term{}, false
}

// literal returns a value composed of other values. depth is the maximum nesting depth.
func (m *modeller) literal(s *shape, depth int) term {
	switch s.is {
	case whole:
		n := m.choose(12)
		return term{fmt.Sprint(n), func() any { return n }}
	case text:
		k := fmt.Sprintf("k%d", m.choose(5))
		return term{fmt.Sprintf("%q", k), func() any { return k }}
	case perhaps:
		if m.choose(3) == 0 {
			return term{"None", func() any { return nil }}
		}
		x := m.term(s.parts[0], depth-1)
		return term{"Some(" + x.text + ")", x.eval}
	case choice:
		return m.variantTerm(s, depth)
	}
	return m.compose(s, m.parts(s, depth))
}

// parts returns the terms for a literal of a container.
func (m *modeller) parts(s *shape, depth int) (out []term) {
	of := s.parts
	if s.is == array || s.is == keyed {
		n := 1 + m.choose(3)
		if depth <= 0 {
			n = 1
		}
		if depth < -3 {
			n = 0
		}
		of = nil
		for range n {
			of = append(of, s.parts[0])
		}
	}
	for _, p := range of {
		out = append(out, m.deeper(p, depth))
	}
	return out
}

// deeper returns a part of a literal. It prefers a variable.
func (m *modeller) deeper(s *shape, depth int) term {
	if depth > 0 {
		return m.term(s, depth-1)
	}
	if t, ok := m.read(s); ok && m.choose(2) == 0 {
		return t
	}
	return m.literal(s, depth-1)
}

// compose returns a container of some terms.
func (m *modeller) compose(s *shape, parts []term) term {
	var texts, keys []string
	for i, p := range parts {
		head := ""
		switch s.is {
		case keyed:
			keys = append(keys, []string{"a", "b", "z"}[i])
			head = fmt.Sprintf("%q: ", keys[i])
		case record:
			head = s.fields[i] + ": "
		}
		texts = append(texts, head+p.text)
	}
	inner := strings.Join(texts, ", ")
	out := term{eval: func() any {
		n := &node{shape: s, keys: append([]string(nil), keys...)}
		for _, p := range parts {
			n.items = append(n.items, p.eval())
		}
		return n
	}}
	switch s.is {
	case array:
		out.text = m.withType(s, "["+inner+"]", len(parts) == 0)
	case keyed:
		out.text = m.withType(s, "{ "+inner+" }", true)
	case tuple:
		out.text = "(" + inner + ")"
	case record:
		name, _, _ := strings.Cut(s.name, "<")
		out.text = name + " { " + inner + " }"
	}
	return out
}

// withType adds a type annotation to a literal if needed is set.
func (m *modeller) withType(s *shape, literal string, needed bool) string {
	if !needed {
		return literal
	}
	return "({ let new: " + s.name + " = " + literal + "; new })"
}

func (m *modeller) variantTerm(s *shape, depth int) term {
	w := m.choose(len(s.variants))
	if depth < -3 {
		w = 0
	}
	v := &s.variants[w]
	var parts []term
	var texts []string
	for i, p := range v.parts {
		t := m.deeper(p, depth)
		parts = append(parts, t)
		if v.fields != nil {
			texts = append(texts, v.fields[i]+": "+t.text)
		} else {
			texts = append(texts, t.text)
		}
	}
	name := s.name + "::" + v.name
	switch {
	case len(parts) == 0:
	case v.fields != nil:
		name += " { " + strings.Join(texts, ", ") + " }"
	default:
		name += "(" + strings.Join(texts, ", ") + ")"
	}
	return term{name, func() any {
		n := &node{shape: s, variant: w}
		for _, p := range parts {
			n.items = append(n.items, p.eval())
		}
		return n
	}}
}

// compound returns an expression that passes a value through a construct.
func (m *modeller) compound(s *shape, depth int) (term, bool) {
	switch m.choose(9) {
	case 0:
		x := m.term(s, depth)
		return term{"same(" + x.text + ")", x.eval}, true
	case 1:
		return m.callTerm(s, depth)
	case 2:
		x, y, c := m.term(s, depth), m.term(s, depth), m.term(m.int, 0)
		return term{"(if (" + c.text + ") > 4 { " + x.text + " } else { " + y.text + " })", func() any {
			if c.eval().(int) > 4 {
				return x.eval()
			}
			return y.eval()
		}}, true
	case 3:
		return m.changedCopy(s, depth)
	case 4:
		return m.fieldOf(s, depth)
	case 5:
		return m.payload(s, depth)
	case 6:
		x := m.term(s, depth)
		return term{"({ let held = " + x.text + "; let give = || held; give() })", x.eval}, true
	case 7:
		return m.optionContent(s, depth)
	default:
		return m.sortSpecific(s, depth)
	}
}

// callTerm returns a call of a function. Closures may change other variables, so they are called
// only in separate statements.
func (m *modeller) callTerm(s *shape, depth int) (term, bool) {
	for _, c := range m.calls {
		if c.shape == s && !c.closure && m.choose(2) == 0 {
			x := m.term(s, depth)
			return term{c.name + "(" + x.text + ")", func() any { return c.call(x.eval()) }}, true
		}
	}
	return term{}, false
}

// changedCopy returns a copy of a value with one part changed. For a struct it uses the update
// syntax, otherwise a block.
func (m *modeller) changedCopy(s *shape, depth int) (term, bool) {
	if len(s.parts) == 0 || s.is == perhaps || s.is == choice {
		return term{}, false
	}
	x := m.term(s, depth)
	if s.is == record && m.choose(2) == 0 {
		i := m.choose(len(s.parts))
		y := m.term(s.parts[i], depth)
		name, _, _ := strings.Cut(s.name, "<")
		return term{fmt.Sprintf("%s { %s: %s, ..%s }", name, s.fields[i], y.text, x.text), func() any {
			part := y.eval()
			n := x.eval().(*node)
			n.items[i] = part
			return n
		}}, true
	}
	v := &local{name: m.freshName("c"), shape: s, mutable: true}
	p, _ := m.step(place{v.name, s, func(bool) *any { return &v.holds }, true})
	y := m.term(p.shape, depth)
	return term{fmt.Sprintf("({ let mut %s = %s; %s = %s; %s })", v.name, x.text, p.text, y.text, v.name), func() any {
		v.holds = x.eval()
		part := y.eval()
		*p.at(true) = part
		return clone(v.holds)
	}}, true
}

// fieldOf reads a field of a struct through its method.
func (m *modeller) fieldOf(s *shape, depth int) (term, bool) {
	for _, r := range m.matchingShapes(func(r *shape) bool { return r.is == record }) {
		for i, p := range r.parts {
			if p == s && m.choose(2) == 0 {
				x := m.term(r, depth)
				return term{x.text + ".get_" + r.fields[i] + "()", func() any { return x.eval().(*node).items[i] }}, true
			}
		}
	}
	return term{}, false
}

// payload reads a value out of an enum.
func (m *modeller) payload(s *shape, depth int) (term, bool) {
	for _, e := range m.matchingShapes(func(e *shape) bool { return e.is == choice }) {
		one := 1
		if e.variants[one].parts[0] != s {
			one = 2
		}
		if e.variants[one].parts[0] != s || m.choose(2) == 0 {
			continue
		}
		x, y := m.term(e, depth), m.term(s, depth)
		rest := ""
		if one == 2 {
			rest = ", _"
		}
		return term{fmt.Sprintf("(match (%s) { %s::%s(got%s) => got, _ => %s })", x.text, e.name, e.variants[one].name, rest, y.text), func() any {
			if n := x.eval().(*node); n.variant == one {
				return n.items[0]
			}
			return y.eval()
		}}, true
	}
	return term{}, false
}

// optionContent returns the content of an Option, or another value.
func (m *modeller) optionContent(s *shape, depth int) (term, bool) {
	for _, o := range m.matchingShapes(func(o *shape) bool { return o.is == perhaps }) {
		if o.parts[0] == s {
			x, y := m.term(o, depth), m.term(s, depth)
			return term{"(" + x.text + " ?? " + y.text + ")", func() any {
				if v := x.eval(); v != nil {
					return v
				}
				return y.eval()
			}}, true
		}
	}
	return term{}, false
}

// sortSpecific returns an expression that only one sort of types supports.
func (m *modeller) sortSpecific(s *shape, depth int) (term, bool) {
	switch s.is {
	case array:
		x := m.term(s, depth)
		switch m.choose(3) {
		case 0:
			return term{x.text + ".reverse()", func() any {
				n := x.eval().(*node)
				for i, j := 0, len(n.items)-1; i < j; i, j = i+1, j-1 {
					n.items[i], n.items[j] = n.items[j], n.items[i]
				}
				return n
			}}, true
		case 1:
			return term{x.text + ".take(2)", func() any {
				n := x.eval().(*node)
				n.items = n.items[:min(2, len(n.items))]
				return n
			}}, true
		}
		y := m.term(s, depth)
		return term{"(" + x.text + " + " + y.text + ").take(5)", func() any {
			n := x.eval().(*node)
			n.items = append(n.items, y.eval().(*node).items...)
			n.items = n.items[:min(5, len(n.items))]
			return n
		}}, true
	case perhaps:
		if a := m.arrayWith(s.parts[0]); a != nil {
			x := m.term(a, depth)
			return term{x.text + ".first()", func() any {
				if n := x.eval().(*node); len(n.items) > 0 {
					return n.items[0]
				}
				return nil
			}}, true
		}
	case tuple:
		x := m.term(s, depth)
		return term{"({ let (left, right) = " + x.text + "; (left, right) })", x.eval}, true
	}
	return term{}, false
}

// arrayWith returns the program's type of arrays of s, or nil.
func (m *modeller) arrayWith(s *shape) *shape {
	for _, a := range m.shapes {
		if a.is == array && a.parts[0] == s {
			return a
		}
	}
	return nil
}
