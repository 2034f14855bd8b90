// Package foreign knows names and words of other languages that mean nothing in
// Concerto, and what is written instead. It is one table (table.go). The parser
// and the checker look up a name there by the place where it stands, after they
// have found no declaration of that name.
package foreign

import (
	"strings"
	"sync"
)

// Place is where a name stands.
type Place uint8

// The places.
const (
	// Declaration: at the start of a declaration.
	Declaration Place = iota
	// Start: before a token that cannot follow a name, where the word would start
	// a statement in another language.
	Start
	// Between: where an operand or a body was expected to end.
	Between
	// Value: a name that is read or called.
	Value
	// Type: a written type.
	Type
	// Member: a method or field, of a value whose type may have what is meant.
	Member
	// Function: a function of a type, with the type's name before it.
	Function
	// Trait: a trait that is implemented or bounds a parameter.
	Trait
	// Path: what stands before `::`.
	Path
	// Decorator: behind an `@`.
	Decorator
	// Manifest: a key of Concerto.toml.
	Manifest
	// Agent, Host and Server: fields of these declarations.
	Agent
	Host
	Server
)

// Word is what is written in Concerto for a foreign name. Ours is the word
// itself; for a Member, the methods of the library that may be meant, the most
// likely first. Hint is the whole hint when the word alone does not say enough.
type Word struct {
	Ours []string
	Hint string
}

// Say is the hint: the Word's own, or the word that replaces it.
func (w Word) Say() string {
	if w.Hint != "" || len(w.Ours) == 0 {
		return w.Hint
	}
	return "did you mean `" + w.Ours[0] + "`?"
}

// Hint is the hint for a name at a place other than Member; "" when the table
// does not have the name.
func (p Place) Hint(name string) string { return index()[key{p, "", name}].Say() }

// Find is the Word of a name at a place other than Member; the zero Word when
// the table does not have it.
func (p Place) Find(name string) Word { return index()[key{p, "", name}] }

// Declares says whether a word at a place declares a variable elsewhere.
func (p Place) Declares(name string) bool {
	w := p.Find(name)
	return len(w.Ours) > 0 && w.Ours[0] == "let"
}

// FindMember is the Word of a member of a type. typ is the name of the file in
// the library that has the type's methods. Letter case and underscores of name
// do not count.
func FindMember(typ, name string) Word {
	name = Plain(name)
	if w, ok := index()[key{Member, typ, name}]; ok {
		return w
	}
	return index()[key{Member, "", name}]
}

// Plain is a name in lower case without underscores: people who change languages
// do not distinguish `mapErr` and `map_err`.
func Plain(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// Words are all Words of a place.
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

// index is the table by place and name. It is made when a program has its first
// mistake.
var index = sync.OnceValue(func() map[key]Word {
	m := make(map[key]Word, 2*len(table))
	for _, r := range table {
		for name := range strings.FieldsSeq(r.names) {
			m[key{r.place, r.on, name}] = r.word()
		}
	}
	return m
})

// row is a row of the table: names that mean one thing, separated by blanks.
type row struct {
	place Place
	names string
	ours  string
	hint  string
	on    string // of a Member: the one type that it holds for; "" for all
}

func (r row) word() Word { return Word{strings.Fields(r.ours), r.hint} }
