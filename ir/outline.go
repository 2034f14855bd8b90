package ir

// Declaration is an entry of a program's outline. The outline lists the declarations of the
// program's own files as they are written, and what their code names. `concerto graph` shows it.
// The optimiser does not change it, and the VM does not use it. It contains only the functions that
// lead to a declaration of another kind, and main.
type Declaration struct {
	Kind DeclKind
	// Name is the name of a function, pipeline or stage. The other kinds have their names in their
	// tables.
	Name string
	// Index is the index of an agent, host, tool or store in its table, of a function in Functions,
	// and of a stage's pipeline in the outline. For a pipeline it is 0.
	Index  int
	Public bool
	File   int
	At     Place // position of the name
	Uses   []Use
}

// DeclKind is the kind of a Declaration.
type DeclKind string

// The kinds of declarations. The stages of a pipeline follow it in their order. The functions of a
// tool belong to the tool.
const (
	DeclFunction DeclKind = "function"
	DeclPipeline DeclKind = "pipeline"
	DeclStage    DeclKind = "stage"
	DeclAgent    DeclKind = "agent"
	DeclHost     DeclKind = "host"
	DeclTool     DeclKind = "tool"
	DeclStore    DeclKind = "store"
)

// Place is a position in a file.
type Place struct{ Line, Column int }

// UseKind is the kind of a Use.
type UseKind string

// The kinds of uses.
const (
	UseNames  UseKind = ""       // the code names Target
	UseListen UseKind = "listen" // a listen on Target
	UseEmit   UseKind = "emit"   // an emit on Channel
	UseAwait  UseKind = "await"  // an awaited emit on Channel
	UseOffer  UseKind = "offer"  // the expression adds the tool Target to the agent or host By
	UseMemory UseKind = "memory" // the expression adds the memory Target to the agent By
)

// Use is a place in the code of a declaration that names another declaration or a channel. A
// declaration has one Use for equal ones, except for listens: the first in the text.
type Use struct {
	Kind UseKind
	// Target is the index in the outline of the declaration that the code names. It is -1 for a
	// listen on a host that only the run determines, and for emits.
	Target int
	// By is the index in the outline of the agent or host whose builder adds Target.
	By int
	// Method is the method that the expression calls on a host or a store; "" if it calls none
	// directly.
	Method string
	// Channel is the channel of an emit, or nil if it is no constant.
	Channel *string
	At      Place
	// Handlers contains the handlers of a listen, in the order of the text.
	Handlers []NamedHandler
}

// NamedHandler is a written handler of a listen. Function is the index in the outline of the
// function that it names, or -1. A function that leads to no other declaration is not in the
// outline unless a handler names it.
type NamedHandler struct {
	Type     string
	Function int
	At       Place
}

// HasOutline reports whether the format of the program has an outline. Files of earlier versions
// have none.
func (p *Program) HasOutline() bool {
	_, minor, ok := splitVersion(p.Version)
	return ok && minor >= outlineMinor
}

// outlineMinor is the minor version that added the outline.
const outlineMinor = 17

func (c *codec) declaration(d *Declaration) {
	c.object(func() {
		textual(c, c.str, "kind", &d.Kind)
		c.optStr("name", &d.Name)
		c.optInt("index", &d.Index)
		c.flag("public", &d.Public)
		c.optInt("file", &d.File)
		c.place("at", &d.At)
		list(c, "uses", &d.Uses, false, c.use)
	})
}

func (c *codec) use(u *Use) {
	if !c.writing {
		u.Target, u.By = -1, -1
	}
	c.object(func() {
		textual(c, c.optStr, "kind", &u.Kind)
		c.index("target", &u.Target)
		c.index("by", &u.By)
		c.optStr("method", &u.Method)
		pointer(c, "channel", &u.Channel, c.str)
		c.place("at", &u.At)
		list(c, "handlers", &u.Handlers, false, c.namedHandler)
	})
}

func (c *codec) namedHandler(h *NamedHandler) {
	if !c.writing {
		h.Function = -1
	}
	c.object(func() {
		c.str("type", &h.Type)
		c.index("function", &h.Function)
		c.place("at", &h.At)
	})
}

// index writes or reads an index that is omitted if it is -1.
func (c *codec) index(name string, p *int) {
	if !c.writing || *p != -1 {
		c.int(name, p)
	}
}

// place writes or reads a position as "line:column".
func (c *codec) place(name string, p *Place) {
	if c.member(name) {
		at := &Position{Line: p.Line, Column: p.Column}
		c.start(&at)
		if !c.writing {
			p.Line, p.Column = at.Line, at.Column
		}
		c.done()
	}
}

// outline checks the outline. The order of the entries, and that names are unique, are not checked.
func (v *verifier) outline() {
	p := v.p
	all := p.Outline
	sizes := map[DeclKind]int{
		DeclFunction: len(p.Functions), DeclPipeline: 1, DeclStage: len(all), DeclAgent: len(p.Agents), DeclHost: len(p.Hosts),
		DeclTool: len(p.Tools), DeclStore: len(p.Stores),
	}
	is := func(n int, kinds ...DeclKind) bool {
		if !in(n, len(all)) {
			return false
		}
		for _, k := range kinds {
			if all[n].Kind == k {
				return true
			}
		}
		return len(kinds) == 0
	}
	for i := range all {
		d := &all[i]
		size, known := sizes[d.Kind]
		v.check(known, "declaration %d: unknown kind %q", i, d.Kind)
		v.check(in(d.Index, size) && (d.Kind != DeclStage || is(d.Index, DeclPipeline)), "declaration %d: there is no %s %d", i, d.Kind, d.Index)
		v.check(in(d.File, len(p.Files)), "declaration %d: there is no file %d", i, d.File)
		for _, u := range d.Uses {
			ok := false
			switch u.Kind {
			case UseNames:
				ok = is(u.Target)
			case UseListen:
				ok = u.Target == -1 || is(u.Target, DeclHost)
			case UseEmit, UseAwait:
				ok = u.Target == -1
			case UseOffer:
				ok = is(u.Target, DeclTool) && is(u.By, DeclAgent, DeclHost)
			case UseMemory:
				ok = is(u.Target, DeclStore) && is(u.By, DeclAgent)
			}
			v.check(ok, "declaration %d: it cannot use declaration %d in the way %q", i, u.Target, u.Kind)
			for _, h := range u.Handlers {
				v.check(h.Function == -1 || is(h.Function, DeclFunction, DeclTool), "declaration %d: no function %d handles %q", i, h.Function, h.Type)
			}
		}
	}
}
