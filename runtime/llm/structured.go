package llm

import (
	"bytes"
	"encoding/json"
	"regexp"
	"sync"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// replySchema is the JSON Schema of a reply in the form that providers require, with an object at
// the top. A schema of another type is wrapped in an object with the member "value".
type replySchema struct {
	by      SchemaBy
	name    string
	schema  json.RawMessage
	wrapped bool
}

var notName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9_-]+`) })

// newWanted returns the replySchema of a request, or nil if the request has no schema.
func newWanted(req *Request, c Capabilities) *replySchema {
	if len(req.Schema) == 0 {
		return nil
	}
	w := &replySchema{by: c.Schema, name: notName().ReplaceAllString(req.SchemaName, "_"), schema: req.Schema}
	if len(req.Tools) > 0 {
		w.by = c.SchemaTools
	}
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
	w.schema, _ = jsonwrite.Encode(outer)
	return w
}

// native reports whether the schema is sent as a field of the request.
func (w *replySchema) native() bool { return w != nil && w.by == SchemaNative }

// asTool reports whether the schema is sent as a tool that the model must call.
func (w *replySchema) asTool() bool { return w != nil && w.by == SchemaTool }

// system returns the system prompt. It contains the schema if the provider supports no other way to
// send it.
func (w *replySchema) system(prompt string) string {
	if w == nil || w.by != SchemaPrompted {
		return prompt
	}
	if prompt != "" {
		prompt += "\n\n"
	}
	return prompt + "When you give the answer, give nothing but JSON that fits this JSON Schema:\n" + string(w.schema)
}

// unwrap returns the text of a reply without the wrapping object. If the model ignored the schema
// and the text is not wrapped, it is returned unchanged.
func (w *replySchema) unwrap(t string) string {
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

// answerTool is the description of the tool whose call is the answer.
const answerTool = "Give the answer with this tool."

// strictKeywords contains the keywords of JSON Schema that OpenAI's strict mode supports.
var strictKeywords = map[string]bool{"type": true, "properties": true, "required": true, "additionalProperties": true, "items": true,
	"enum": true, "const": true, "anyOf": true, "description": true, "$ref": true, "$defs": true, "title": true}

// strict reports whether OpenAI's strict mode supports the schema. Each object must require all of
// its members and allow no others, and may use only strictKeywords.
func strict(schema json.RawMessage) bool {
	var o map[string]json.RawMessage
	if json.Unmarshal(schema, &o) != nil || len(o) == 0 {
		return false // `{}` and `true` allow any value
	}
	for k := range o {
		if !strictKeywords[k] {
			return false
		}
	}
	var properties, defs map[string]json.RawMessage
	var required []string
	var any []json.RawMessage
	for k, to := range map[string]interface{}{"properties": &properties, "$defs": &defs, "required": &required, "anyOf": &any} {
		if o[k] != nil && json.Unmarshal(o[k], to) != nil {
			return false
		}
	}
	if o["type"] == nil && o["$ref"] == nil && o["anyOf"] == nil && o["enum"] == nil && o["const"] == nil {
		return false
	}
	if string(o["type"]) == `"object"` && (string(o["additionalProperties"]) != "false" || len(required) != len(properties)) {
		return false
	}
	for _, parts := range []map[string]json.RawMessage{properties, defs} {
		for _, p := range parts {
			if !strict(p) {
				return false
			}
		}
	}
	for _, p := range any {
		if !strict(p) {
			return false
		}
	}
	if string(o["type"]) == `"array"` {
		return strict(o["items"])
	}
	return true
}
