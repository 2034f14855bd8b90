package host

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// object builds one JSON object, its members in the order given.
type object struct{ b []byte }

// newObject begins an object with its type.
func newObject(typ string) *object {
	return &object{value.AppendString([]byte(`{"type":`), typ)}
}

// text adds a string member.
func (o *object) text(name, s string) {
	o.key(name)
	o.b = value.AppendString(o.b, s)
}

// raw adds a member that is JSON already.
func (o *object) raw(name string, v []byte) {
	o.key(name)
	o.b = append(o.b, v...)
}

// key begins a member; names are plain words.
func (o *object) key(name string) {
	o.b = append(o.b, ',', '"')
	o.b = append(append(o.b, name...), '"', ':')
}

// end returns the whole object.
func (o *object) end() []byte { return append(o.b, '}') }

// member is a member of an object.
type member struct {
	name  string
	value json.RawMessage
}

// members returns those of a JSON object, in their order.
func members(object []byte) ([]member, error) {
	bad := func(err error) error { return fmt.Errorf("not a JSON object: %w", err) }
	d := json.NewDecoder(bytes.NewReader(object))
	open, err := d.Token()
	if err != nil || open != json.Delim('{') {
		return nil, bad(fmt.Errorf("%v begins it: %w", open, err))
	}
	var all []member
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, bad(err)
		}
		m := member{name: name.(string)}
		if err := d.Decode(&m.value); err != nil {
			return nil, bad(err)
		}
		all = append(all, m)
	}
	return all, nil
}

// membersOf returns the members of an object in their order; none when it is no object.
func membersOf(text []byte) []member {
	all, err := members(text)
	if err != nil {
		return nil
	}
	return all
}

// encode returns v as JSON. A json.RawMessage in it keeps its bytes.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("jsonobject: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// beginsObject reports whether a text begins as an object.
func beginsObject(text []byte) bool {
	rest := bytes.TrimLeft(text, blanks)
	return len(rest) > 0 && rest[0] == '{'
}

// blanks are the bytes that a line may begin with and mean nothing.
const blanks = " \t\r\v\f"
