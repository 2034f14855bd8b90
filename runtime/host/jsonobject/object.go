// Package jsonobject builds and parses the JSON objects of host messages and preserves the order of
// members; its API promises nothing.
package jsonobject

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/jsonread"
)

// Object builds a JSON object whose members have the order in which they are added.
type Object struct {
	Bytes []byte // encoded object so far, without the closing brace
}

// New begins an object whose first member is the type.
func New(typ string) *Object {
	return &Object{value.AppendString([]byte(`{"type":`), typ)}
}

// Text adds a string member.
func (o *Object) Text(name, s string) {
	o.Key(name)
	o.Bytes = value.AppendString(o.Bytes, s)
}

// Raw adds a member whose value v is JSON.
func (o *Object) Raw(name string, v []byte) {
	o.Key(name)
	o.Bytes = append(o.Bytes, v...)
}

// Key begins a member with the given name, which must need no escaping.
func (o *Object) Key(name string) {
	o.Bytes = append(o.Bytes, ',', '"')
	o.Bytes = append(append(o.Bytes, name...), '"', ':')
}

// End returns the complete object.
func (o *Object) End() []byte { return append(o.Bytes, '}') }

// Member is a member of an object.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Members returns the members of a JSON object in order.
func Members(object []byte) ([]Member, error) {
	var all []Member
	if jsonread.Members(object, func(name, value []byte) bool {
		all = append(all, Member{string(name), bytes.Clone(value)})
		return true
	}) {
		return all, nil
	}
	all = nil
	bad := func(err error) error { return fmt.Errorf("not a JSON object: %w", err) }
	d := json.NewDecoder(bytes.NewReader(object))
	open, err := d.Token()
	if err != nil || open != json.Delim('{') {
		return nil, bad(fmt.Errorf("%v begins it: %w", open, err))
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, bad(err)
		}
		m := Member{Name: name.(string)}
		if err := d.Decode(&m.Value); err != nil {
			return nil, bad(err)
		}
		all = append(all, m)
	}
	return all, nil
}

// MembersOf returns the members of a JSON object in order, or nil if text is not an object.
func MembersOf(text []byte) []Member {
	all, err := Members(text)
	if err != nil {
		return nil
	}
	return all
}

// Begins reports whether a text begins with "{" after blanks.
func Begins(text []byte) bool {
	rest := bytes.TrimLeft(text, Blanks)
	return len(rest) > 0 && rest[0] == '{'
}

// Blanks are the bytes that may precede the content of a line.
const Blanks = " \t\r\v\f"
