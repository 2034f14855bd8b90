package sema

import (
	"maps"
	"slices"

	"github.com/concerto-lang/concerto/internal/text/suggest"
)

// knownNames are the names among which the one is looked for that was meant by one that nothing declares. They are
// gathered once: a program with many mistakes asks often.
type knownNames struct {
	// settled says that all declarations outside of blocks stand.
	settled bool
	modules map[*module]*namesOf
	library *namesOf
	builtin *suggest.Set // types

	compared int // names, with those that nothing declares
}

// mostCompared is how many names are compared with those that nothing declares, before no more nearest ones are
// looked for: a thousand mistakes in a module of six thousand names are far from it. It takes some tenths of a second.
const mostCompared = 10_000_000

// maySuggest says whether the nearest of so many names may be looked for.
func (c *checker) maySuggest(names int) bool {
	if c.known.compared += names; c.known.compared <= mostCompared {
		return true
	}
	c.now.whole = true // bodies that are checked before decide it
	return false
}

// namesOf are those that are declared in one place.
type namesOf struct{ all, values, types suggest.Set }

// namesIn are the names that a module declares or imports, with those of what is around it.
func (c *checker) namesIn(m *module) *namesOf {
	if n := c.known.modules[m]; n != nil {
		return n
	}
	var values, types []string
	for name, e := range m.names {
		if e.obj != nil || e.imported != nil {
			values = append(values, name)
		}
		if e.typ != nil || e.alias != nil || e.imported != nil {
			types = append(types, name)
		}
	}
	n := &namesOf{values: suggest.Of(values), types: suggest.Of(types)}
	if m.around != nil {
		around := c.namesIn(m.around)
		n.values, n.types = n.values.And(around.values), n.types.And(around.types)
	} else if c.known.settled {
		if c.known.modules == nil {
			c.known.modules = map[*module]*namesOf{}
		}
		c.known.modules[m] = n
	}
	return n
}

// typeNames are the types that can be named where a type stands.
func (c *checker) typeNames(ts *typeScope) suggest.Set {
	if !c.maySuggest(len(ts.m.home().names)) {
		return suggest.Set{}
	}
	var params []string
	for s := ts; s != nil; s = s.parent {
		for _, p := range s.params {
			params = append(params, p.Name)
		}
	}
	if c.known.builtin == nil {
		names := slices.AppendSeq(slices.Collect(maps.Keys(basics)), maps.Keys(constructors))
		if c.cfg.Library != nil {
			names = append(names, c.cfg.Library.Names()...)
		}
		builtin := suggest.Of(names)
		c.known.builtin = &builtin
	}
	return suggest.Of(params).And(c.namesIn(ts.m).types).And(*c.known.builtin)
}
