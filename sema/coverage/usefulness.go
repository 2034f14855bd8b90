// Package coverage decides which values of a type the patterns of a match cover, and which values
// no pattern matches.
package coverage

import (
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/types"
)

// The algorithm decides the usefulness of patterns as described by Maranget, "Warnings for pattern
// matching" (JFP 17, 2007). A row of patterns is useful if it matches a value that no earlier row
// matches. A match is exhaustive if an additional row of wildcards is not useful. Otherwise the
// value that only this row matches is the witness, which the error shows.

// Pattern is a pattern in the form that the algorithm uses: a wildcard (Constructor is ""), a
// constructor with arguments, or a list of alternatives.
type Pattern struct {
	Constructor  string
	Args         []Pattern
	Alternatives []Pattern
	// Rest marks an array pattern with `..`. Args are the elements before the `..`, and After those
	// after it.
	Rest  bool
	After []Pattern
}

// ctorInfo is a constructor of a type: its name, the types of its arguments, and a function that
// formats it in a witness.
type ctorInfo struct {
	name string
	args []types.Type
	show func(args []string) string
}

// witness is an example of a value that no row matches, as text and as a pattern.
type witness struct {
	text string
	cell Pattern
}

// useful returns a value that row matches and none of rows matches: one witness for each column. It
// returns nil if there is no such value.
func useful(rows [][]Pattern, row []Pattern, ts []types.Type) []witness {
	if len(row) == 0 {
		if len(rows) == 0 {
			return []witness{}
		}
		return nil
	}
	head := row[0]
	if head.Alternatives != nil {
		seen := rows
		for _, alt := range head.Alternatives {
			r := append([]Pattern{alt}, row[1:]...)
			if w := useful(seen, r, ts); w != nil {
				return w
			}
		}
		return nil
	}
	rows = expandAlternatives(rows)
	t := types.Resolve(ts[0])
	if head.Constructor != "" && head.Constructor != "[]" {
		return usefulCtor(rows, row, ts, ctorOf(t, head))
	}
	ctors, finite := constructorsOf(t, rows, head)
	if head.Constructor == "[]" {
		for _, k := range ctors {
			if head.fitsLength(len(k.args)) {
				if w := usefulCtor(rows, row, ts, k); w != nil {
					return w
				}
			}
		}
		return nil
	}
	column := columnOf(rows)
	if absent := missingCtor(column, ctors); !finite || absent != nil {
		return usefulDefault(rows, row, ts, absent)
	}
	for _, k := range ctors {
		matching := column.matchingRows(k.name)
		if strings.HasPrefix(k.name, "[]") {
			matching = rows
		}
		if w := usefulCtor(matching, row, ts, k); w != nil {
			return w
		}
	}
	return nil
}

// missingCtor returns a constructor that is not in the first column of any row, or nil if the first
// column contains all constructors. Only in the latter case useful examines each constructor, so
// that it terminates for recursive types.
func missingCtor(rows *column, ctors []ctorInfo) *ctorInfo {
	for i, k := range ctors {
		if array := strings.HasPrefix(k.name, "[]"); array && !testsLength(rows.rows, k) || !array && !rows.testsConstructor(k.name) {
			return &ctors[i]
		}
	}
	return nil
}

// testsLength reports whether the first column contains an array pattern for the length that k
// represents.
func testsLength(rows [][]Pattern, k ctorInfo) bool {
	for _, r := range rows {
		if r[0].Constructor == "[]" && r[0].fitsLength(len(k.args)) && (k.name != "[]+" || r[0].Rest) {
			return true
		}
	}
	return false
}

// usefulDefault returns the result of useful for values whose first constructor is not in the first
// column of rows. Only the rows that start with a wildcard match such values. absent is one of
// these constructors, which the witness shows, or nil.
func usefulDefault(rows [][]Pattern, row []Pattern, ts []types.Type, absent *ctorInfo) []witness {
	var rest [][]Pattern
	tested := false
	for _, r := range rows {
		if r[0].Constructor == "" {
			rest = append(rest, r[1:])
		} else {
			tested = true
		}
	}
	w := useful(rest, row[1:], ts[1:])
	if w == nil {
		return nil
	}
	if !tested || absent == nil {
		return append([]witness{{text: "_"}}, w...)
	}
	wild := make([]string, len(absent.args))
	for i := range wild {
		wild[i] = "_"
	}
	ctor := absent.name
	if strings.HasPrefix(ctor, "[]") {
		ctor = "[]"
	}
	head := Pattern{Constructor: ctor, Args: make([]Pattern, len(absent.args)), Rest: absent.name == "[]+"}
	return append([]witness{{absent.show(wild), head}}, w...)
}

// usefulCtor returns the result of useful for values whose first constructor is k.
func usefulCtor(rows [][]Pattern, row []Pattern, ts []types.Type, k ctorInfo) []witness {
	var inner [][]Pattern
	for _, r := range rows {
		if s, ok := specialise(r, k); ok {
			inner = append(inner, s)
		}
	}
	s, ok := specialise(row, k)
	if !ok {
		return nil
	}
	w := useful(inner, s, append(append([]types.Type(nil), k.args...), ts[1:]...))
	if w == nil {
		return nil
	}
	n := len(k.args)
	texts := make([]string, n)
	args := make([]Pattern, n)
	for i := range n {
		texts[i], args[i] = w[i].text, w[i].cell
	}
	ctor := k.name
	if strings.HasPrefix(ctor, "[]") {
		ctor = "[]"
	}
	head := witness{text: k.show(texts), cell: Pattern{Constructor: ctor, Args: args}}
	if k.name == "[]+" {
		head.cell.Rest = true
	}
	return append([]witness{head}, w[n:]...)
}

// specialise returns the row that remains of r for values whose first constructor is k: the
// patterns for the arguments of k, and then the other columns. It returns false if r does not match
// such values.
func specialise(r []Pattern, k ctorInfo) ([]Pattern, bool) {
	head, n := r[0], len(k.args)
	var args []Pattern
	switch {
	case head.Constructor == "":
		args = make([]Pattern, n)
	case head.Constructor == "[]" && strings.HasPrefix(k.name, "[]"):
		if !head.fitsLength(n) || k.name == "[]+" && !head.Rest {
			return nil, false
		}
		args = make([]Pattern, n)
		copy(args, head.Args)
		copy(args[n-len(head.After):], head.After)
	case head.Constructor == k.name:
		args = make([]Pattern, n) // a pattern with a wrong number of arguments has been reported
		copy(args, head.Args)
	default:
		return nil, false
	}
	return append(append([]Pattern(nil), args...), r[1:]...), true
}

func (c Pattern) fitsLength(n int) bool {
	if c.Rest {
		return n >= len(c.Args)+len(c.After)
	}
	return n == len(c.Args)
}

// expandAlternatives replaces each row that has alternatives in the first column with one row for
// each alternative.
func expandAlternatives(rows [][]Pattern) [][]Pattern {
	if !slices.ContainsFunc(rows, func(r []Pattern) bool { return r[0].Alternatives != nil }) {
		return rows
	}
	var out [][]Pattern
	for _, r := range rows {
		if r[0].Alternatives == nil {
			out = append(out, r)
			continue
		}
		var alts [][]Pattern
		for _, a := range r[0].Alternatives {
			alts = append(alts, append([]Pattern{a}, r[1:]...))
		}
		out = append(out, expandAlternatives(alts)...)
	}
	return out
}

// ctorOf returns the constructor of the pattern head for type t.
func ctorOf(t types.Type, head Pattern) ctorInfo {
	all, _ := constructorsOf(t, nil, head)
	for _, k := range all {
		if k.name == head.Constructor {
			return k
		}
	}
	k := ctorInfo{name: head.Constructor, show: func([]string) string { return head.Constructor }}
	for range head.Args {
		k.args = append(k.args, types.Any)
	}
	return k
}

// constructorsOf returns the constructors of type t. complete reports that each value of the type
// has one of these constructors.
func constructorsOf(t types.Type, rows [][]Pattern, head Pattern) (ctors []ctorInfo, complete bool) {
	constant := func(name string) ctorInfo {
		return ctorInfo{name: name, show: func([]string) string { return name }}
	}
	if types.IsAny(t) {
		return anyCtors(t, rows, head)
	}
	switch x := t.(type) {
	case *types.Basic:
		if x == types.Bool {
			return []ctorInfo{constant("true"), constant("false")}, true
		}
	case *types.Union:
		for _, v := range x.Values {
			ctors = append(ctors, constant(strconv.Quote(v)))
		}
		return ctors, true
	case *types.Option:
		return optionCtors(x.Elem), true
	case *types.Result:
		return []ctorInfo{{"Ok", []types.Type{x.Ok}, call("Ok")}, {"Err", []types.Type{x.Err}, call("Err")}}, true
	case *types.Tuple:
		return []ctorInfo{{Tuple(len(x.Elems)), x.Elems, call("")}}, true
	case *types.Array:
		return arrayCtors(x.Elem, rows, head), true
	case *types.Named:
		return namedCtors(x), true
	}
	return nil, false
}

func optionCtors(elem types.Type) []ctorInfo {
	none := ctorInfo{name: "None", show: func([]string) string { return "None" }}
	return []ctorInfo{{"Some", []types.Type{elem}, call("Some")}, none}
}

// anyCtors returns the constructors that patterns distinguish in an Any. These are the lengths of
// an array, or Some and None, which together match every value. An Option<Any> always has Some and
// None.
func anyCtors(t types.Type, rows [][]Pattern, head Pattern) (ctors []ctorInfo, complete bool) {
	if head.Constructor == "[]" {
		return arrayCtors(types.Any, rows, head), false
	}
	some := func(r []Pattern) bool { return r[0].Constructor == "Some" }
	if _, isOption := t.(*types.Option); isOption || head.Constructor == "Some" || slices.ContainsFunc(rows, some) {
		return optionCtors(types.Any), true
	}
	return nil, false
}

func call(name string) func([]string) string {
	return func(args []string) string { return name + "(" + strings.Join(args, ", ") + ")" }
}

func namedCtors(n *types.Named) []ctorInfo {
	m := types.Bindings(n.Decl.Params, n.Args)
	ctor := func(name, shown string, fields []*types.Field, named bool) ctorInfo {
		k := ctorInfo{name: name}
		for _, f := range fields {
			k.args = append(k.args, types.Substitute(f.Type, m))
		}
		k.show = func(args []string) string {
			if len(fields) == 0 && !named {
				return shown
			}
			if !named {
				return call(shown)(args)
			}
			return shown + " { " + namedWitness(fields, args) + " }"
		}
		return k
	}
	if n.Decl.Kind != types.Enum {
		return []ctorInfo{ctor("struct "+n.Decl.Name, n.Decl.Name, n.Decl.Fields, true)}
	}
	var out []ctorInfo
	for _, v := range n.Decl.Variants {
		name := n.Decl.Name + "::" + v.Name
		out = append(out, ctor(name, name, v.Fields, v.Named))
	}
	return out
}

// namedWitness formats the fields of a witness. It replaces fields that match every value with
// `..`.
func namedWitness(fields []*types.Field, args []string) string {
	var parts []string
	for i, f := range fields {
		if args[i] != "_" {
			parts = append(parts, f.Name+": "+args[i])
		}
	}
	if len(parts) < len(fields) {
		parts = append(parts, "..")
	}
	return strings.Join(parts, ", ")
}

// arrayCtors returns one constructor for each length that the patterns distinguish, and one for all
// greater lengths.
func arrayCtors(elem types.Type, rows [][]Pattern, head Pattern) []ctorInfo {
	longest := 0
	look := func(c Pattern) {
		if c.Constructor == "[]" {
			n := len(c.Args) + len(c.After)
			if !c.Rest {
				n++
			}
			longest = max(longest, n)
		}
	}
	look(head)
	for _, r := range rows {
		look(r[0])
	}
	var out []ctorInfo
	for n := 0; n <= longest; n++ {
		k := ctorInfo{name: "[]" + strconv.Itoa(n), show: func(args []string) string { return "[" + strings.Join(args, ", ") + "]" }}
		for range n {
			k.args = append(k.args, elem)
		}
		if n == longest {
			k.name = "[]+"
			k.show = func(args []string) string { return "[" + strings.Join(append(args, ".."), ", ") + "]" }
		}
		out = append(out, k)
	}
	sort.SliceStable(out, func(i, j int) bool { return len(out[i].args) < len(out[j].args) })
	return out
}

// irrefutable returns the pattern c for a position that requires an irrefutable pattern. It
// replaces patterns that destructure an Any with wildcards, because the program checks them at run
// time.
func irrefutable(c Pattern, t types.Type) Pattern {
	t = types.Resolve(t)
	if types.IsAny(t) {
		shape := strings.HasPrefix(c.Constructor, "()") || c.Constructor == "[]" || strings.HasPrefix(c.Constructor, "struct ")
		if !shape {
			return c
		}
		for _, a := range append(append([]Pattern(nil), c.Args...), c.After...) {
			if r := irrefutable(a, types.Any); r.Constructor != "" || r.Alternatives != nil {
				return c
			}
		}
		return Pattern{}
	}
	k := ctorOf(t, c)
	out := c
	out.Args = append([]Pattern(nil), c.Args...)
	for i := range out.Args {
		if i < len(k.args) && c.Constructor == k.name {
			out.Args[i] = irrefutable(out.Args[i], k.args[i])
		}
	}
	return out
}

// Tuple returns the constructor of tuples with n elements. Tuples of different lengths have
// different constructors.
func Tuple(n int) string { return "()" + strconv.Itoa(n) }

// Unmatched returns a value of type t that the pattern p does not match, formatted as a pattern. ok
// is false if p matches all values.
func Unmatched(p Pattern, t types.Type) (value string, ok bool) {
	if w := useful([][]Pattern{{irrefutable(p, t)}}, []Pattern{{}}, []types.Type{t}); w != nil {
		return w[0].text, true
	}
	return "", false
}
