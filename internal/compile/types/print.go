package types

import (
	"strconv"
	"strings"
)

func (b *Basic) String() string   { return b.name }
func (a *Array) String() string   { return "Array<" + a.Elem.String() + ">" }
func (m *Map) String() string     { return "Map<" + m.Key.String() + ", " + m.Value.String() + ">" }
func (t *Tuple) String() string   { return "(" + list(t.Elems) + ")" }
func (o *Option) String() string  { return "Option<" + o.Elem.String() + ">" }
func (r *Result) String() string  { return "Result<" + r.Ok.String() + ", " + r.Err.String() + ">" }
func (t *Task) String() string    { return "Task<" + t.Elem.String() + ">" }
func (h *HashMap) String() string { return "HashMap<" + h.Key.String() + ", " + h.Value.String() + ">" }
func (q *Queue) String() string   { return "Queue<" + q.Elem.String() + ">" }
func (p *Param) String() string   { return p.Name }
func (d *Declared) String() string {
	if d.Kind == nil {
		return d.Name
	}
	return d.Kind.name
}

func (f *Func) String() string {
	s := "fn(" + list(f.Params) + ")"
	if Resolve(f.Result) != Nil {
		s += " -> " + f.Result.String()
	}
	return s
}

func (u *Union) String() string {
	parts := make([]string, len(u.Values))
	for i, v := range u.Values {
		parts[i] = strconv.Quote(v)
	}
	return strings.Join(parts, " | ")
}

func (n *Named) String() string {
	if len(n.Args) == 0 {
		return n.Decl.Name
	}
	return n.Decl.Name + "<" + list(n.Args) + ">"
}

func (v *Var) String() string {
	if v.Bound != nil {
		return v.Bound.String()
	}
	return "_"
}

func list(ts []Type) string {
	parts := make([]string, len(ts))
	for i, t := range ts {
		parts[i] = t.String()
	}
	return strings.Join(parts, ", ")
}
