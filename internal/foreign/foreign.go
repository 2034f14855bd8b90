// Package foreign knows what people bring along from other languages: names
// and words that mean nothing here, and what is written instead. It is one table
// (table.go), which the parser and the checker ask by the place where the name
// stands. It knows nothing of what a program declares; whoever asks has looked
// there first.
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
	// Start: before the token that cannot follow, where the word starts a statement
	// elsewhere.
	Start
	// Between: where an operand or a body was expected to end.
	Between
	// Value: a name that is read or called.
	Value
	// Type: a written type.
	Type
	// Member: a method or field, of a value whose type may have what is meant.
	Member
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

// Word is what is written here for a foreign name. Ours is the word itself; for a
// Member the methods of the library that may be meant, the most likely first.
// Hint says it in full where the word alone does not.
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

// Hint is the hint for a name at a place other than Member, "" when the table
// does not have it.
func (p Place) Hint(name string) string { return index()[key{p, "", name}].Say() }

// Find is the Word of a name at a place other than Member, the zero Word when the
// table does not have it.
func (p Place) Find(name string) Word { return index()[key{p, "", name}] }

// Declares says whether a word at a place declares a variable elsewhere.
func (p Place) Declares(name string) bool {
	w := p.Find(name)
	return len(w.Ours) > 0 && w.Ours[0] == "let"
}

// FindMember is the Word of a member of a type, which is named as its methods'
// file is. Letter case and underscores do not count.
func FindMember(typ, name string) Word {
	name = Plain(name)
	if w, ok := index()[key{Member, typ, name}]; ok {
		return w
	}
	return index()[key{Member, "", name}]
}

// Plain is a name in lower case without underscores: `mapErr` and `map_err` are
// the same to people who change languages.
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

// index is the table by place and name, made when a program first has a
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
