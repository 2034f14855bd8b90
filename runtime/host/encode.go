package host

import "github.com/concerto-lang/concerto/internal/data/value"

// object builds one JSON object, its members in the order given.
type object struct{ b []byte }

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

// end gives the whole object.
func (o *object) end() []byte { return append(o.b, '}') }
