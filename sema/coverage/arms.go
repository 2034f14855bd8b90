package coverage

import "github.com/concerto-lang/concerto/internal/compile/types"

// column is the first column of some rows, without alternatives. If there are many rows, they are
// grouped by constructor, so that a match of thousands of literals or variants does not compare
// each arm with all earlier ones.
type column struct {
	rows [][]Pattern
	by   map[string][][]Pattern // nil while there are few rows
}

// fewRows is the number of rows up to which the rows are searched one by one.
const fewRows = 12

func columnOf(rows [][]Pattern) *column {
	c := &column{rows: rows}
	c.sort(rows)
	return c
}

// sort groups the new rows by constructor if there are many.
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
	rows := expandAlternatives([][]Pattern{{p}})
	c.rows = append(c.rows, rows...)
	c.sort(rows)
}

// testsConstructor reports whether a row tests for a constructor, which must not be that of an
// array.
func (c *column) testsConstructor(ctor string) bool {
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

// matchingRows returns the rows that match values of a constructor, alone or among others. An
// array's constructors are not allowed here.
func (c *column) matchingRows(ctor string) [][]Pattern {
	if c.by == nil {
		return c.rows
	}
	named, all := c.by[ctor], c.by[""]
	return append(named[:len(named):len(named)], all...)
}

// Arms are the arms of a match so far that have no guard.
type Arms struct {
	column
	t     types.Type
	ctors map[string]ctorInfo // of the type; nil until needed
}

// NewArms returns an empty list of arms of a match of values of a type.
func NewArms(t types.Type) *Arms { return &Arms{t: t} }

// Reaches reports whether a pattern matches a value that no previous arm matches.
func (a *Arms) Reaches(p Pattern) bool { return a.useful(p) != nil }

// useful returns a value that a pattern matches and no previous arm, or nil.
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
	return usefulCtor(a.matchingRows(p.Constructor), []Pattern{p}, ts, a.ctor(p))
}

// ctor is ctorOf with a cache.
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

// MostMissing is the maximum number of arms that a fix adds; `_` covers the rest.
const MostMissing = 64

// Patterns returns patterns that together match all values of the type, or nil if there are too
// many.
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

// AddMissing adds a case that no arm matches, and reports whether there is one.
func (a *Arms) AddMissing(missing *[]string) bool {
	w := a.useful(Pattern{})
	if w == nil {
		return false
	}
	*missing = append(*missing, w[0].text)
	a.Add(w[0].cell)
	return true
}
