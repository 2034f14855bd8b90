package sema

import (
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// hides warns of a declaration that takes a name of the library's: the library's
// own cannot be used from there on, and messages that mention it seem to mean
// this one.
func (c *checker) hides(m *module, name string, at source.Span) {
	if m.info.Library {
		return
	}
	what := ""
	if _, ok := constructors[name]; ok {
		what = "type"
	} else if e := c.universe(m, name); e != nil {
		switch {
		case e.builtin != nil || e.typ != nil || e.alias != nil:
			what = "type"
		case e.obj != nil:
			what = "function"
		}
	}
	if what == "" {
		return
	}
	instead := name + "_"
	if what == "type" {
		instead = "My" + name
	}
	c.report(m, diag.HidesLibrary.At(at, "`%s` hides the library's %s of that name", name, what).
		Hint("choose another name, such as `%s`", instead))
}

// hidesFunctions is hides for the variables that a `let` has just bound: it
// warns only where the library's is a function, which someone could want to
// call.
func (b *body) hidesFunctions(bound []*Local) {
	if b.info.Library {
		return
	}
	for _, l := range bound {
		if strings.HasPrefix(l.Name, "_") || b.c.declared(b.m, l.Name) != nil {
			continue
		}
		if e := b.c.universe(b.m, l.Name); e != nil && e.obj != nil {
			b.c.hides(b.m, l.Name, l.At)
		}
	}
}
