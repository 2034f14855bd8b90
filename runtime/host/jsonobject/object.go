// Package jsonobject builds and parses the JSON objects of host messages and preserves the order of
// members.
package jsonobject

import (
	"bytes"

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

// Members returns copies of the members of a JSON object in order.
func Members(object []byte) ([]jsonread.Member, error) {
	all, err := jsonread.List(object)
	for i := range all {
		all[i].Value = bytes.Clone(all[i].Value)
	}
	return all, err
}

// MembersOf returns the members of a JSON object in order, or nil if text is not an object.
func MembersOf(text []byte) []jsonread.Member {
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
