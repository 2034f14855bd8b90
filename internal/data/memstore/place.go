package memstore

import (
	"encoding/json"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// Place is the location of a store in a file. A HashMap, Ledger or Memory with a Place contains no
// entries, because they are in the file, and every operation on them is an effect. The watchers of
// a hashmap are not in the file.
type Place struct {
	File string // path as the program wrote it
	Kind string // "hashmap", "ledger" or "memory"
	Name string // name of the declared store
	// Scope is the JSON array of the names that lead to a scope; "" outside of all scopes.
	Scope string
	// Key and Value are the types of a hashmap's keys and values.
	Key, Value *value.Type

	names []string // names of the scopes
}

// In returns the place of the scope with this name inside p.
func (p *Place) In(name string) *Place {
	in := *p
	in.names = append(slices.Clone(p.names), name)
	text, err := json.Marshal(in.names)
	if err != nil {
		panic(err) // strings can always be encoded
	}
	in.Scope = string(text)
	return &in
}
