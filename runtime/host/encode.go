package host

import (
	"bytes"
	"encoding/json"
)

// jsonString gives s as JSON, with '<', '>' and '&' as they are.
func jsonString(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic("host: a string does not encode: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// object builds one JSON object, its members in the order given.
type object struct{ b []byte }

func newObject(typ string) *object {
	return &object{append([]byte(`{"type":`), jsonString(typ)...)}
}

// text adds a string member.
func (o *object) text(name, s string) { o.raw(name, jsonString(s)) }

// raw adds a member that is JSON already.
func (o *object) raw(name string, v []byte) {
	o.b = append(o.b, ',', '"')
	o.b = append(append(o.b, name...), '"', ':')
	o.b = append(o.b, v...)
}

// end gives the whole object.
func (o *object) end() []byte { return append(o.b, '}') }
