package dap

import (
	"strings"

	"github.com/google/go-dap"

	"github.com/concerto-lang/concerto/internal/compile/literal"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// container is something with children that an editor can inspect.
type container interface {
	// count returns the number of children, and reports whether editors access them by index.
	count() (n int, indexed bool)
	children(from, to int) []child
}

// child is a child of a container.
type child struct {
	name, path string // path is the expression that evaluates to the child
	value      value.Slot
	typ        types.Type
	text       string    // text to show if there is no value
	inside     container // children if the child is not a value
}

// register assigns a variables reference to a container and returns it.
func (f *references) register(h container) int {
	f.held = append(f.held, h)
	return len(f.held)
}

// valueChildren is the container of a value's fields or elements.
type valueChildren struct {
	value value.Slot
	typ   types.Type
	path  string
}

func (x valueChildren) count() (int, bool) { return literal.Count(x.value), literal.Indexed(x.value) }

func (x valueChildren) children(from, to int) (out []child) {
	for _, p := range literal.Parts(x.value, x.typ, from, to) {
		path := ""
		if x.path != "" && p.Path != "" {
			path = x.path + p.Path
		}
		out = append(out, child{name: p.Name, path: path, value: p.Value, typ: p.Type})
	}
	return out
}

// childList is a container whose children are already computed.
type childList []child

func (g childList) count() (int, bool)            { return len(g), false }
func (g childList) children(from, to int) []child { return g[from:to] }

// locals is the container of a frame's or closure's variables. The variables are read when the
// editor requests them.
type locals struct {
	run      *Run
	frame    *frameRef
	captured bool
}

func (l locals) all() childList {
	own, captured := l.run.localsOf(l.frame)
	if l.captured {
		return captured
	}
	return own
}

func (l locals) count() (int, bool) { return l.all().count() }

func (l locals) children(from, to int) []child {
	all := l.all()
	return all.children(min(from, len(all)), min(to, len(all)))
}

// variable converts a child to a DAP variable.
func (d *debuggee) variable(c child) dap.Variable {
	x := dap.Variable{Name: c.name, Value: c.text, EvaluateName: c.path}
	h := c.inside
	if c.text == "" {
		v := literal.Flat(c.value)
		x.Value, x.Type = literal.Text(c.value, c.typ), literal.TypeText(v, c.typ)
		if literal.Count(v) > 0 {
			h = valueChildren{v, c.typ, c.path}
		}
	}
	if h != nil {
		n, numbered := h.count()
		x.VariablesReference = d.refs.register(h)
		if numbered {
			x.IndexedVariables = n
		} else {
			x.NamedVariables = n
		}
	}
	return x
}

func (s *session) variables(r *dap.VariablesRequest) {
	s.withStopped(r, func(*stopState) {
		n := r.Arguments.VariablesReference
		x := &dap.VariablesResponse{Response: newResponse(r)}
		x.Body.Variables = []dap.Variable{}
		if n < 1 || n > len(s.run.debuggee.refs.held) {
			s.replyError(r, "unknown variables reference %d: references are valid until the program continues", n)
			return
		}
		h := s.run.debuggee.refs.held[n-1]
		all, numbered := h.count()
		if f := r.Arguments.Filter; f == "" || (f == "indexed") == numbered {
			from, to := page(all, r.Arguments.Start, r.Arguments.Count)
			for _, c := range h.children(from, to) {
				x.Body.Variables = append(x.Body.Variables, s.run.debuggee.variable(c))
			}
		}
		s.send(x)
	})
}

func (s *session) scopes(r *dap.ScopesRequest) {
	ctx := s.ctx
	s.withFrame(r, r.Arguments.FrameId, func(f *frameRef) {
		x := &dap.ScopesResponse{Response: newResponse(r)}
		x.Body.Scopes = []dap.Scope{}
		s.run.debuggee.refs.inspected = f
		add := func(name, hint string, all container, always, expensive bool) {
			n, _ := all.count()
			if n == 0 && !always {
				return
			}
			x.Body.Scopes = append(x.Body.Scopes, dap.Scope{Name: name, PresentationHint: hint, VariablesReference: s.run.debuggee.refs.register(all), NamedVariables: n, Expensive: expensive})
		}
		add("Locals", "locals", locals{s.run, f, false}, true, false)
		add("Captured", "", locals{s.run, f, true}, false, false)
		add("Module", "", s.run.moduleConstants(ctx, f), false, false)
		for _, d := range s.run.debuggee.sharedScopes() {
			add(d.name, "", d.all, false, true)
		}
		s.send(x)
	})
}

// localsOf returns the local variables of a frame and the variables that its closure captures.
func (r *Run) localsOf(f *frameRef) (locals, captured childList) {
	varTypes := r.typesIn(f)
	for _, v := range f.Locals {
		if strings.HasPrefix(v.Name, "__") {
			continue
		}
		c := child{name: v.Name, path: v.Name, value: v.Value, typ: varTypes[v.Name]}
		if v.Captured {
			captured = append(captured, c)
		} else {
			locals = append(locals, c)
		}
	}
	return locals, captured
}

// typesIn returns the types of a frame's variables, as determined by the checker.
func (r *Run) typesIn(f *frameRef) map[string]types.Type {
	found := map[string]types.Type{}
	if len(f.Locals) == 0 {
		return found
	}
	look := func(names string) error {
		c, err := r.compile(f, names+" nil")
		if err != nil {
			return err
		}
		for _, x := range c.captures {
			found[x.Name] = x.Type
		}
		return nil
	}
	var all strings.Builder
	for _, v := range f.Locals {
		all.WriteString(v.Name + "; ")
	}
	if look(all.String()) == nil {
		return found
	}
	// some variables are not in scope, such as the variable of a `for` at the head of the loop
	for _, v := range f.Locals {
		_ = look(v.Name + ";") // a variable that is not found is shown by its value only
	}
	return found
}
