// Package foreign contains a table of names and words from other languages that have no meaning in
// Concerto, with their replacements (table.go). If the parser and the checker find no declaration
// of a name, they look the name up in the table, together with the place where the name appears.
package foreign

import (
	"slices"
	"strings"
	"sync"
)

// Place is the syntactic position of a name.
type Place uint8

// The positions of a name.
const (
	// Declaration is the start of a declaration.
	Declaration Place = iota
	// Start is the position of a name before a token that cannot follow it. In another language the
	// name could begin a statement there.
	Start
	// Between is a position where the end of an operand or of a body was expected.
	Between
	// Value is a name that is read or called.
	Value
	// Type is a name in a type annotation.
	Type
	// Member is the name of a method or field. The value's type may have the intended member under
	// another name.
	Member
	// Function is a function of a type, after the name of the type.
	Function
	// Trait is a trait that a type implements or that bounds a type parameter.
	Trait
	// Path is the name before `::`.
	Path
	// Decorator is a name after an `@`.
	Decorator
	// Manifest is a key of Concerto.toml.
	Manifest
	// Agent, Host and Server are fields of these declarations.
	Agent
	Host
	Server
)

// Word describes the replacement of a foreign name. Ours contains the replacement itself. For a
// Member, it contains the methods of the library that may be meant, the most likely first. Hint is
// the complete hint if the replacement alone is not sufficient.
type Word struct {
	Ours []string
	Hint string
}

// HintText returns Hint, or a hint that names the replacement if Hint is empty.
func (w Word) HintText() string {
	if w.Hint != "" || len(w.Ours) == 0 {
		return w.Hint
	}
	return "did you mean `" + w.Ours[0] + "`?"
}

// Hint returns the hint for a name at a position other than Member. It returns "" if the table does
// not contain the name.
func (p Place) Hint(name string) string { return index()[key{p, "", name}].HintText() }

// Find returns the Word for a name at a position other than Member. It returns the zero Word if the
// table does not contain the name.
func (p Place) Find(name string) Word { return index()[key{p, "", name}] }

// Names returns the names for which ours, a single word, is written at this position. It does not
// build the index, so it is for the parser of programs without errors.
func (p Place) Names(ours string) (names []string) {
	for _, r := range table {
		if r.place == p && r.ours == ours {
			names = append(names, strings.Fields(r.names)...)
		}
	}
	return names
}

// Declares reports whether a word at this position declares a variable in another language.
func (p Place) Declares(name string) bool {
	return slices.Contains(p.Names("let"), name)
}

// FindMember returns the Word for a member of a type. typ is the name of the library file that
// contains the methods of the type. Letter case and underscores in name are ignored.
func FindMember(typ, name string) Word {
	name = Plain(name)
	if w, ok := index()[key{Member, typ, name}]; ok {
		return w
	}
	return index()[key{Member, "", name}]
}

// Plain returns a name in lower case without underscores. It is used because people who come from
// other languages mix up `mapErr` and `map_err`.
func Plain(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// Row is a row of the table: names with the same meaning. On is the only type to which a row of
// Members applies, or "".
type Row struct {
	Place Place
	On    string
	Names []string
	Word
}

// Rows returns the table, for tests.
func Rows() (all []Row) {
	for _, r := range table {
		all = append(all, Row{r.place, r.on, strings.Fields(r.names), r.word()})
	}
	return all
}

// String returns the name of the place.
func (p Place) String() string {
	return [...]string{"Declaration", "Start", "Between", "Value", "Type", "Member", "Function", "Trait", "Path", "Decorator", "Manifest", "Agent", "Host", "Server"}[p]
}

type key struct {
	place    Place
	on, name string
}

// index returns the table indexed by position and name. It is built when a program's first error is
// reported.
var index = sync.OnceValue(func() map[key]Word {
	m := make(map[key]Word, 2*len(table))
	for _, r := range table {
		for name := range strings.FieldsSeq(r.names) {
			m[key{r.place, r.on, name}] = r.word()
		}
	}
	return m
})

// row is a row of the table. It contains names with the same meaning, separated by spaces.
type row struct {
	place Place
	names string
	ours  string
	hint  string
	on    string // for a Member: the only type to which the row applies; "" for all types
}

func (r row) word() Word { return Word{strings.Fields(r.ours), r.hint} }
