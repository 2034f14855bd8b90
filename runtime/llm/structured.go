package llm

import (
	"bytes"
	"encoding/json"
	"regexp"
)

// wanted is the reply's JSON Schema in the form that providers take: they want
// an object at the top, so any other schema is wrapped into one with the
// member "value".
type wanted struct {
	name    string
	schema  json.RawMessage
	wrapped bool
}

var notName = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// want prepares a request's schema; nil when it asks for none.
func want(req *Request) *wanted {
	if len(req.Schema) == 0 {
		return nil
	}
	w := &wanted{name: notName.ReplaceAllString(req.SchemaName, "_"), schema: req.Schema}
	if len(w.name) > 64 {
		w.name = w.name[:64]
	}
	if w.name == "" {
		w.name = "reply"
	}
	var top struct {
		Type json.RawMessage `json:"type"`
		Defs json.RawMessage `json:"$defs"`
	}
	if json.Unmarshal(req.Schema, &top) == nil && string(top.Type) == `"object"` {
		return w
	}
	w.wrapped = true
	outer := struct {
		Type       string                     `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
		Additional bool                       `json:"additionalProperties"`
		Defs       json.RawMessage            `json:"$defs,omitempty"`
	}{"object", map[string]json.RawMessage{"value": req.Schema}, []string{"value"}, false, top.Defs}
	w.schema, _ = encode(outer)
	return w
}

// text is a reply's text with the wrapping taken off. What is not wrapped, as
// by a model that ignored the schema, stays as it is.
func (w *wanted) text(t string) string {
	if w == nil || !w.wrapped {
		return t
	}
	var o struct {
		Value json.RawMessage `json:"value"`
	}
	d := json.NewDecoder(bytes.NewReader([]byte(t)))
	d.DisallowUnknownFields()
	if d.Decode(&o) != nil || len(o.Value) == 0 || d.More() {
		return t
	}
	return string(o.Value)
}
