package coverage

import "github.com/concerto-lang/concerto/internal/compile/types"

// column finds rows by the constructor in their first column. The rows contain no
// alternatives. If there are many rows, the column groups them by constructor, so that a match with
// thousands of literals or variants does not compare each arm with all earlier arms.
type column struct {
	rows [][]Pattern
	by   map[string][][]Pattern // rows by constructor; nil while there are few rows
}

// fewRows is the maximum number of rows that are searched without grouping.
const fewRows = 12

func columnOf(rows [][]Pattern) *column {
	c := &column{rows: rows}
	c.sort(rows)
	return c
}

// sort adds new rows to the groups if there are many rows.
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

// Add adds a row that consists of the pattern p.
func (c *column) Add(p Pattern) {
	rows := expandAlternatives([][]Pattern{{p}})
	c.rows = append(c.rows, rows...)
	c.sort(rows)
}

// testsConstructor reports whether the first pattern of a row is the constructor ctor. ctor must
// not be a constructor of arrays.
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

// matchingRows returns the rows whose first pattern may match values with the constructor ctor.
// ctor must not be a constructor of arrays.
func (c *column) matchingRows(ctor string) [][]Pattern {
	if c.by == nil {
		return c.rows
	}
	named, all := c.by[ctor], c.by[""]
	return append(named[:len(named):len(named)], all...)
}

// Arms contains the previous arms of a match that have no guard.
type Arms struct {
	column
	t     types.Type
	ctors map[string]ctorInfo // constructors of the type by name; nil until needed
}

// NewArms returns the empty list of arms for a match on values of type t.
func NewArms(t types.Type) *Arms { return &Arms{t: t} }

// Reaches reports whether a pattern matches a value that no previous arm matches.
func (a *Arms) Reaches(p Pattern) bool { return a.useful(p) != nil }

// useful returns a value that p matches and no previous arm matches, or nil.
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

// ctor returns the constructor of p. It computes the constructors of the type only once.
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

// MostMissing is the maximum number of arms that a fix adds. If more are missing, the fix adds an
// arm `_`.
const MostMissing = 64

// Patterns returns one pattern for each constructor of the type, or nil if there are too many.
// Together the patterns match all values.
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

// AddMissing adds a pattern that no arm matches to missing, and to the arms. It returns false if
// the arms match all values.
func (a *Arms) AddMissing(missing *[]string) bool {
	w := a.useful(Pattern{})
	if w == nil {
		return false
	}
	*missing = append(*missing, w[0].text)
	a.Add(w[0].cell)
	return true
}
