package hostcheck

import (
	"encoding/json"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/stdlib"
)

// field is a member of a message in the library's schema.
type field struct {
	name, typ string
	optional  bool
}

func fieldsOf(row *hostmsg.Message) []field {
	var out []field
	for _, text := range stdlib.MessageFields(row.Schema) {
		name, typ, _ := strings.Cut(text, ": ")
		name, optional := strings.CutSuffix(name, "?")
		out = append(out, field{name, typ, optional})
	}
	return out
}

// shape describes the members of a message type for a hint.
func shape(row *hostmsg.Message) string {
	if row.Schema == "" {
		return strings.Join(row.Members, ", ")
	}
	return strings.Join(stdlib.MessageFields(row.Schema), ", ")
}

// misshapen describes the first member that is missing in a message or has a wrong type, or returns
// "". A handler with this schema would not receive the message.
func misshapen(row *hostmsg.Message, line []byte) string {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(line, &members); err != nil {
		return "an object"
	}
	if _, chunk := members["chunk"]; chunk && row.Unhandled == hostmsg.Gathered {
		members["text"] = members["chunk"]
	}
	if row.Role == hostmsg.Fails && !fitsType("String", members["message"]) {
		return row.Type + " with a string as message"
	}
	for _, f := range fieldsOf(row) {
		v, there := members[f.name]
		if !there || string(v) == "null" {
			if f.optional {
				continue
			}
			return row.Type + " with " + f.name
		}
		if !hasType(f, v) {
			return f.name + " of " + row.Type + " as " + f.typ
		}
	}
	return ""
}

// hasType reports whether a value has a field's type. For an id, a number is valid too.
func hasType(f field, v json.RawMessage) bool {
	if f.name == "id" {
		return fitsType("String", v) || fitsType("Int", v)
	}
	return fitsType(f.typ, v)
}

func fitsType(typ string, v json.RawMessage) bool {
	if inner, ok := strings.CutPrefix(typ, "Array<"); ok {
		var all []json.RawMessage
		if json.Unmarshal(v, &all) != nil {
			return false
		}
		for _, x := range all {
			if !fitsType(strings.TrimSuffix(inner, ">"), x) {
				return false
			}
		}
		return true
	}
	var into any
	switch {
	case typ == "String":
		into = new(string)
	case typ == "Int":
		into = new(int64)
	case typ == "Float":
		into = new(float64)
	case typ == "Bool":
		into = new(bool)
	case strings.HasPrefix(typ, "Map<"):
		into = new(map[string]json.RawMessage)
	default:
		return true // any value is valid for Any or for another schema
	}
	return json.Unmarshal(v, into) == nil
}
