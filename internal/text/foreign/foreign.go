// Package foreign is a table of names and words of other languages that have no meaning in
// Concerto, with their replacements (table.go). The parser and the checker look up a name there, by
// its place, after they have found no declaration of that name.
package foreign

import (
	"strings"
	"sync"
)

// Place is the syntactic place of a name.
type Place uint8

// The places.
const (
	// Declaration is the start of a declaration.
	Declaration Place = iota
	// Start is before a token that cannot follow a name, where the word would start a statement in
	// another language.
	Start
	// Between is where an operand or a body was expected to end.
	Between
	// Value is a name that is read or called.
	Value
	// Type is a written type.
	Type
	// Member is a method or field of a value whose type may have the intended one.
	Member
	// Function is a function of a type, with the type's name before it.
	Function
	// Trait is a trait that is implemented or that bounds a parameter.
	Trait
	// Path is the part before `::`.
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

// Word is the replacement of a foreign name. Ours is the word itself; for a Member, the methods of
// the library that may be meant, the most likely first. Hint is the whole hint if the word alone is
// not enough.
type Word struct {
	Ours []string
	Hint string
}

// HintText returns the hint: the Word's own, or one with the replacement.
func (w Word) HintText() string {
	if w.Hint != "" || len(w.Ours) == 0 {
		return w.Hint
	}
	return "did you mean `" + w.Ours[0] + "`?"
}

// Hint returns the hint for a name at a place other than Member, or "" if the table does not
// contain the name.
func (p Place) Hint(name string) string { return index()[key{p, "", name}].HintText() }

// Find returns the Word of a name at a place other than Member, or the zero Word if the table does
// not contain it.
func (p Place) Find(name string) Word { return index()[key{p, "", name}] }

// Declares reports whether a word at this place declares a variable in another language.
func (p Place) Declares(name string) bool {
	w := p.Find(name)
	return len(w.Ours) > 0 && w.Ours[0] == "let"
}

// FindMember returns the Word of a member of a type. typ is the name of the library's file that
// contains the type's methods. Letter case and underscores of name do not count.
func FindMember(typ, name string) Word {
	name = Plain(name)
	if w, ok := index()[key{Member, typ, name}]; ok {
		return w
	}
	return index()[key{Member, "", name}]
}

// Plain returns a name in lower case without underscores, because people who change languages do
// not distinguish `mapErr` and `map_err`.
func Plain(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// Words returns all Words of a place.
func (p Place) Words() (all []Word) {
	for _, r := range table {
		if r.place == p {
			all = append(all, r.word())
		}
	}
	return all
}

type key struct {
	place    Place
	on, name string
}

// index returns the table by place and name. It is built at the first error of a program.
var index = sync.OnceValue(func() map[key]Word {
	m := make(map[key]Word, 2*len(table))
	for _, r := range table {
		for name := range strings.FieldsSeq(r.names) {
			m[key{r.place, r.on, name}] = r.word()
		}
	}
	return m
})

// row is a row of the table: names with the same meaning, separated by spaces.
type row struct {
	place Place
	names string
	ours  string
	hint  string
	on    string // for a Member: the only type to which it applies; "" for all
}

func (r row) word() Word { return Word{strings.Fields(r.ours), r.hint} }
