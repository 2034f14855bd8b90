package sema

import "github.com/concerto-lang/concerto/internal/compile/types"

// column is the first column of some rows, none of which has alternatives there,
// sorted by constructor when there are many: a match of thousands of literals or
// variants must not hold each arm against all before it.
type column struct {
	rows [][]cell
	by   map[string][][]cell // nil as long as there are few
}

// fewRows are looked through one by one.
const fewRows = 12

func columnOf(rows [][]cell) *column {
	c := &column{rows: rows}
	c.sort(rows)
	return c
}

// sort puts further rows with their like, if there are many.
func (c *column) sort(rows [][]cell) {
	if len(c.rows) <= fewRows {
		return
	}
	if c.by == nil {
		c.by, rows = map[string][][]cell{}, c.rows
	}
	for _, r := range rows {
		c.by[r[0].ctor] = append(c.by[r[0].ctor], r)
	}
}

// add takes in a row with a pattern alone.
func (c *column) add(p cell) {
	rows := spread([][]cell{{p}})
	c.rows = append(c.rows, rows...)
	c.sort(rows)
}

// looks says whether a row looks for a constructor, which is no array's.
func (c *column) looks(ctor string) bool {
	if c.by != nil {
		return len(c.by[ctor]) > 0
	}
	for _, r := range c.rows {
		if r[0].ctor == ctor {
			return true
		}
	}
	return false
}

// taking gives the rows that match values of a constructor, alone or among
// others. An array's constructors are not asked for here.
func (c *column) taking(ctor string) [][]cell {
	if c.by == nil {
		return c.rows
	}
	named, all := c.by[ctor], c.by[""]
	return append(named[:len(named):len(named)], all...)
}

// arms are those of a match so far that have no guard.
type arms struct {
	column
	t     types.Type
	ctors map[string]ctorInfo // of the type, once needed
}

// newArms returns no arms yet, of a match of a type's values.
func newArms(t types.Type) *arms { return &arms{t: t} }

// reaches reports whether a pattern takes a value that no arm so far does.
func (a *arms) reaches(p cell) bool { return a.useful(p) != nil }

// useful gives a value that a pattern takes and no arm so far; nil without one.
func (a *arms) useful(p cell) []witness {
	if p.alts != nil {
		for _, alt := range p.alts {
			if w := a.useful(alt); w != nil {
				return w
			}
		}
		return nil
	}
	ts := []types.Type{a.t}
	if p.ctor == "" || p.ctor == "[]" {
		return useful(a.rows, []cell{p}, ts)
	}
	return usefulCtor(a.taking(p.ctor), []cell{p}, ts, a.ctor(p))
}

// ctor is ctorOf, by a table.
func (a *arms) ctor(p cell) ctorInfo {
	if a.ctors == nil {
		a.ctors = map[string]ctorInfo{}
		all, _ := constructorsOf(a.t, nil, cell{})
		for _, k := range all {
			a.ctors[k.name] = k
		}
	}
	if k, ok := a.ctors[p.ctor]; ok {
		return k
	}
	return ctorOf(types.Any, p)
}

// mostArms bounds how many arms a fix adds; what is left then is `_`.
const mostArms = 64

// patterns are patterns of all that the type's values are made by, nil when these are too many.
func (a *arms) patterns() (patterns []string) {
	all, complete := constructorsOf(a.t, nil, cell{})
	if !complete || len(all) > mostArms {
		return nil
	}
	for _, k := range all {
		wild := make([]string, len(k.args))
		for i := range wild {
			wild[i] = "_"
		}
		patterns = append(patterns, k.show(wild))
	}
	return patterns
}

// more notes a case that no arm takes, and says whether there is one.
func (a *arms) more(missing *[]string) bool {
	w := a.useful(cell{})
	if w == nil {
		return false
	}
	*missing = append(*missing, w[0].text)
	a.add(w[0].cell)
	return true
}
