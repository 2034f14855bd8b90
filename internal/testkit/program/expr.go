package program

import (
	"fmt"
	"strings"
)

// keys lists the keys of maps.
var keys = []string{`"a"`, `"b"`, `"z"`, `"boom"`}

// expr returns an expression of a kind. depth is the maximum nesting depth.
func (g *gen) expr(k *kind, depth int) string {
	if depth <= 0 || g.choose(5) < 3 {
		if vs := g.visible(func(v *variable) bool { return v.kind == k }); len(vs) > 0 && g.choose(8) > 0 {
			return g.read(pick(g, vs))
		}
		if depth <= 0 {
			return g.constant(k)
		}
	}
	switch g.choose(12) {
	case 9:
		return g.constant(k)
	case 10:
		if s, ok := g.call(k, depth); ok {
			return s
		}
	case 11:
		if s, ok := g.closureCall(k, depth); ok {
			return s
		}
	}
	return g.fill(k.values[g.choose(len(k.values))], depth-1)
}

// value returns an expression that can be assigned to a kind: mostly of that kind, sometimes of a
// type that is converted to it.
func (g *gen) value(k *kind, depth int) string {
	if k.also != "" && g.choose(4) == 3 {
		return g.fill(k.also, depth)
	}
	return g.expr(k, depth)
}

// constant returns an expression that cannot fail.
func (g *gen) constant(k *kind) string {
	return g.fill(k.constants[g.choose(len(k.constants))], 0)
}

// read returns the text that reads a variable in the form of the program.
func (g *gen) read(v *variable) string {
	switch g.form {
	case Passed:
		return "same(" + v.name + ")"
	case Bound:
		return "({ let read = " + v.name + "; read })"
	}
	return v.name
}

// fill replaces the placeholders of a template by expressions.
func (g *gen) fill(template string, depth int) string {
	var b strings.Builder
	for i := 0; i < len(template); i++ {
		if template[i] != '%' || i+1 == len(template) {
			b.WriteByte(template[i])
			continue
		}
		c := template[i+1]
		k := g.letters[c]
		switch {
		case k != nil:
			b.WriteString(g.expr(k, depth))
		case c == 'i':
			fmt.Fprint(&b, g.choose(12))
		case c == 'k':
			b.WriteString(g.index(depth))
		case c == 'w':
			b.WriteString(keys[g.choose(len(keys))])
		default:
			b.WriteByte('%')
			continue
		}
		i++
	}
	return b.String()
}

// index returns an index that is mostly in range.
func (g *gen) index(depth int) string {
	if g.choose(6) == 5 {
		return "(" + g.expr(kInt, depth-1) + ")"
	}
	return fmt.Sprint(g.choose(3))
}

// call returns a call of a function with the result k.
func (g *gen) call(k *kind, depth int) (string, bool) {
	var fits []*function
	for _, f := range g.fns {
		if f.result == k {
			fits = append(fits, f)
		}
	}
	if len(fits) == 0 {
		return "", false
	}
	f := pick(g, fits)
	var args []string
	for _, p := range f.params {
		args = append(args, g.value(p.kind, depth-1))
	}
	return f.name + "(" + strings.Join(args, ", ") + ")", true
}

// closureCall returns a call of a closure in a variable. The call may change other variables of the
// statement.
func (g *gen) closureCall(k *kind, depth int) (string, bool) {
	vs := g.visible(func(v *variable) bool { return v.kind == nil && v.result == k })
	if len(vs) == 0 {
		return "", false
	}
	v := pick(g, vs)
	if v.param == nil {
		return v.name + "()", true
	}
	return v.name + "(" + g.expr(v.param, depth-1) + ")", true
}

// place returns an expression that can be assigned to or mutated, and its kind.
func (g *gen) place(fits func(*kind) bool) (string, *kind, bool) {
	type candidate struct {
		v    *variable
		path string
		kind *kind
	}
	var all []candidate
	for _, v := range g.visible(func(v *variable) bool { return v.mutable && v.kind != nil }) {
		if fits(v.kind) {
			all = append(all, candidate{v, "", v.kind})
		}
		for _, p := range v.kind.parts {
			if fits(p.kind) {
				all = append(all, candidate{v, p.path, p.kind})
			}
			for _, q := range p.kind.parts {
				if fits(q.kind) {
					all = append(all, candidate{v, p.path + q.path, q.kind})
				}
			}
		}
	}
	if len(all) == 0 {
		return "", nil, false
	}
	c := pick(g, all)
	return c.v.name + g.fill(c.path, 1), c.kind, true
}
