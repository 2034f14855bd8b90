package coverage

import "github.com/concerto-lang/concerto/internal/compile/types"

// column is the first column of some rows, none of which has alternatives there,
// sorted by constructor when there are many: a match of thousands of literals or
// variants must not hold each arm against all before it.
type column struct {
	rows [][]Pattern
	by   map[string][][]Pattern // nil as long as there are few
}

// fewRows are looked through one by one.
const fewRows = 12

func columnOf(rows [][]Pattern) *column {
	c := &column{rows: rows}
	c.sort(rows)
	return c
}

// sort puts further rows with their like, if there are many.
func (c *column) sort(rows [][]Pattern) {
	if len(c.rows) <= fewRows {
		return
	}
	if c.by == nil {
		c.by, rows = map[string][][]Pattern{}, c.rows
	}
	for _, r := range rows {
		c.by[r[0].Constructor] = append(c.by[r[0].Constructor], r)
	}
}

// Add adds a row with only a pattern.
func (c *column) Add(p Pattern) {
	rows := spread([][]Pattern{{p}})
	c.rows = append(c.rows, rows...)
	c.sort(rows)
}

// looks reports whether a row tests for a constructor, which is not that of an array.
func (c *column) looks(ctor string) bool {
	if c.by != nil {
		return len(c.by[ctor]) > 0
	}
	for _, r := range c.rows {
		if r[0].Constructor == ctor {
			return true
		}
	}
	return false
}

// taking returns the rows that match values of a constructor, alone or among others. An array's
// constructors are not allowed here.
func (c *column) taking(ctor string) [][]Pattern {
	if c.by == nil {
		return c.rows
	}
	named, all := c.by[ctor], c.by[""]
	return append(named[:len(named):len(named)], all...)
}

// Arms are those of a match so far that have no guard.
type Arms struct {
	column
	t     types.Type
	ctors map[string]ctorInfo // of the type, once needed
}

// NewArms returns no arms yet, of a match of a type's values.
func NewArms(t types.Type) *Arms { return &Arms{t: t} }

// Reaches reports whether a pattern takes a value that no arm so far does.
func (a *Arms) Reaches(p Pattern) bool { return a.useful(p) != nil }

// useful returns a value that a pattern takes and no arm so far; nil without one.
func (a *Arms) useful(p Pattern) []witness {
	if p.Alternatives != nil {
		for _, alt := range p.Alternatives {
			if w := a.useful(alt); w != nil {
				return w
			}
		}
		return nil
	}
	ts := []types.Type{a.t}
	if p.Constructor == "" || p.Constructor == "[]" {
		return useful(a.rows, []Pattern{p}, ts)
	}
	return usefulCtor(a.taking(p.Constructor), []Pattern{p}, ts, a.ctor(p))
}

// ctor is ctorOf, by a table.
func (a *Arms) ctor(p Pattern) ctorInfo {
	if a.ctors == nil {
		a.ctors = map[string]ctorInfo{}
		all, _ := constructorsOf(a.t, nil, Pattern{})
		for _, k := range all {
			a.ctors[k.name] = k
		}
	}
	if k, ok := a.ctors[p.Constructor]; ok {
		return k
	}
	return ctorOf(types.Any, p)
}

// MostMissing bounds how many arms a fix adds; what is left then is `_`.
const MostMissing = 64

// Patterns are patterns of all that the type's values are made by, nil when these are too many.
func (a *Arms) Patterns() (patterns []string) {
	all, complete := constructorsOf(a.t, nil, Pattern{})
	if !complete || len(all) > MostMissing {
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

// More notes a case that no arm takes, and reports whether there is one.
func (a *Arms) More(missing *[]string) bool {
	w := a.useful(Pattern{})
	if w == nil {
		return false
	}
	*missing = append(*missing, w[0].text)
	a.Add(w[0].cell)
	return true
}
