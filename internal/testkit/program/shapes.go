package program

import (
	"fmt"
	"strings"
)

// declareShapes chooses the types of the program: structs and enums composed of earlier types,
// arrays, maps, tuples and Options of these types, and a tree.
func (m *modeller) declareShapes() {
	m.int, m.string = &shape{name: "Int", is: whole}, &shape{name: "String", is: text}
	m.shapes = []*shape{m.int, m.string}
	m.arrayOf(m.int)
	for i := range 3 + m.choose(3) {
		switch m.choose(6) {
		case 0, 1:
			m.struct_(fmt.Sprintf("S%d", i))
		case 2:
			m.enum(fmt.Sprintf("E%d", i), m.anyShape(), m.anyShape())
		case 3:
			m.arrayOf(m.anyShape())
		case 4:
			m.mapOf(m.anyShape())
		default:
			m.tupleOf(m.anyShape(), m.anyShape())
		}
	}
	m.tree()
	m.struct_("S")
	m.enum("E", m.anyShape(), m.anyShape())
	m.arrayOf(m.anyShape())
	m.mapOf(m.shapes[len(m.shapes)-1])
	m.tupleOf(m.int, m.shapes[len(m.shapes)-1])
	m.generic(m.anyShape())
	for _, s := range []*shape{m.anyShape(), m.anyShape()} {
		if s.is != perhaps {
			m.optionOf(s)
		}
	}
}

// anyShape returns a type of the program. It prefers later types, which have more parts.
func (m *modeller) anyShape() *shape { return pick(m.gen, m.shapes) }

// matchingShapes returns the matching types.
func (m *modeller) matchingShapes(fits func(*shape) bool) []*shape {
	var out []*shape
	for _, s := range m.shapes {
		if fits(s) {
			out = append(out, s)
		}
	}
	return out
}

// add returns the existing type of that name, or adds s.
func (m *modeller) add(s *shape) *shape {
	for _, old := range m.shapes {
		if old.name == s.name {
			return old
		}
	}
	m.shapes = append(m.shapes, s)
	return s
}

func (m *modeller) arrayOf(s *shape) *shape {
	return m.add(&shape{name: "Array<" + s.name + ">", is: array, parts: []*shape{s}})
}

func (m *modeller) mapOf(s *shape) *shape {
	return m.add(&shape{name: "Map<String, " + s.name + ">", is: keyed, parts: []*shape{s}})
}

func (m *modeller) tupleOf(a, b *shape) *shape {
	return m.add(&shape{name: "(" + a.name + ", " + b.name + ")", is: tuple, parts: []*shape{a, b}})
}

func (m *modeller) optionOf(s *shape) *shape {
	return m.add(&shape{name: "Option<" + s.name + ">", is: perhaps, parts: []*shape{s}})
}

// struct_ declares a struct with methods that change one of its fields.
func (m *modeller) struct_(name string) {
	s := &shape{name: name, is: record}
	for i := range 1 + m.choose(3) {
		s.fields, s.parts = append(s.fields, fmt.Sprintf("f%d", i)), append(s.parts, m.anyShape())
	}
	m.declareStruct(s)
	m.add(s)
}

func (m *modeller) declareStruct(s *shape) {
	var fields []string
	for i, f := range s.fields {
		fields = append(fields, f+": "+s.parts[i].name)
	}
	m.write("struct %s { %s }", s.name, strings.Join(fields, ", "))
	m.methods(s.name, "", s)
}

// methods writes three methods for each field. One returns the field, one changes the field and
// returns the old value, and one changes the field and fails.
func (m *modeller) methods(name, params string, s *shape) {
	m.write("impl%s %s {", params, name)
	for i, f := range s.fields {
		t := s.parts[i].name
		if params != "" && i == 0 {
			t = "T"
		}
		m.write("    fn get_%s(self) -> %s { self.%s }", f, t, f)
		m.write("    fn put_%s(mut self, x: %s) -> %s { let old = self.%s; self.%s = x; old }", f, t, t, f, f)
		m.write("    fn boom_%s(mut self, x: %s) { self.%s = x; throw \"boom\"; }", f, t, f)
	}
	m.write("}")
}

// generic declares a generic struct with one instantiation.
func (m *modeller) generic(of *shape) {
	s := &shape{name: "Box<" + of.name + ">", is: record, fields: []string{"held", "n"}, parts: []*shape{of, m.int}}
	m.write("struct Box<T> { held: T, n: Int }")
	m.methods("Box<T>", "<T>", s)
	m.add(s)
}

// tree declares a recursive struct.
func (m *modeller) tree() {
	s := &shape{name: "N", is: record, fields: []string{"kids", "v"}}
	kids := m.arrayOf(s)
	s.parts = []*shape{kids, m.int}
	m.add(s)
	m.declareStruct(s)
	m.write("impl N { fn size(self) -> Int { 1 + self.kids.map(|k| k.size()).sum() } }")
}

func treeSize(v any) int {
	n := 1
	for _, k := range v.(*node).items[0].(*node).items {
		n += treeSize(k)
	}
	return n
}

// enum declares an enum. one and two are the types of two payloads.
func (m *modeller) enum(name string, one, two *shape) *shape {
	s := &shape{name: name, is: choice, variants: []variant{
		{name: "Leaf"},
		{name: "One", parts: []*shape{one}},
		{name: "Two", parts: []*shape{two, m.int}},
		{name: "Rec", fields: []string{"x", "y"}, parts: []*shape{m.anyShape(), one}},
	}}
	m.write("enum %s { Leaf, One(%s), Two(%s, Int), Rec { x: %s, y: %s } }", name, one.name, two.name, s.variants[3].parts[0].name, one.name)
	return m.add(s)
}
