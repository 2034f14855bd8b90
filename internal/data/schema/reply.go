package schema

import (
	"bytes"
	"encoding/json"
	"maps"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// AsObject returns a JSON Schema with an object at the top, as models' providers and vendors'
// agents require. A schema of another type is wrapped in an object with the member "value".
func AsObject(schema json.RawMessage) (object json.RawMessage, wrapped bool) {
	var top struct {
		Type json.RawMessage `json:"type"`
		Defs json.RawMessage `json:"$defs"`
	}
	if json.Unmarshal(schema, &top) == nil && string(top.Type) == `"object"` {
		return schema, false
	}
	if bytes.Contains(schema, []byte(`"$ref":"#"`)) { // which would be the wrapper
		return wrapRecursive(schema)
	}
	return jsonwrite.MustEncode(struct {
		Type       string                     `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
		Additional bool                       `json:"additionalProperties"`
		Defs       json.RawMessage            `json:"$defs,omitempty"`
	}{"object", map[string]json.RawMessage{"value": schema}, []string{"value"}, false, top.Defs}), true
}

// wrapRecursive is AsObject for a schema that refers to itself. The schema becomes a definition.
func wrapRecursive(schema json.RawMessage) (json.RawMessage, bool) {
	var root, defs map[string]json.RawMessage
	if json.Unmarshal(schema, &root) != nil || root["$defs"] != nil && json.Unmarshal(root["$defs"], &defs) != nil {
		return schema, false // it is no schema, which the provider reports
	}
	delete(root, "$defs")
	name := "Value"
	for defs[name] != nil {
		name += "_"
	}
	all := map[string]json.RawMessage{name: jsonwrite.MustEncode(root)}
	maps.Copy(all, defs)
	text := jsonwrite.MustEncode(map[string]any{"$ref": "#/$defs/" + name, "$defs": all})
	return AsObject(bytes.ReplaceAll(text, []byte(`"$ref":"#"`), []byte(`"$ref":"#/$defs/`+name+`"`)))
}

// Unwrap returns the text of a reply without the object of AsObject. If the model ignored the
// schema and the text is not wrapped, it is returned unchanged.
func Unwrap(text string) string {
	var o struct {
		Value json.RawMessage `json:"value"`
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	if d.Decode(&o) != nil || len(o.Value) == 0 || d.More() {
		return text
	}
	return string(o.Value)
}

// strictKeywords contains the keywords of JSON Schema that OpenAI's strict mode supports.
var strictKeywords = map[string]bool{"type": true, "properties": true, "required": true, "additionalProperties": true, "items": true,
	"enum": true, "const": true, "anyOf": true, "description": true, "$ref": true, "$defs": true, "title": true}

// IsStrict reports whether OpenAI's strict mode supports the schema. Each object must require all
// of its members and allow no others, and may use only strictKeywords.
func IsStrict(schema json.RawMessage) bool {
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
	var anyOf []json.RawMessage
	for k, to := range map[string]any{"properties": &properties, "$defs": &defs, "required": &required, "anyOf": &anyOf} {
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
			if !IsStrict(p) {
				return false
			}
		}
	}
	for _, p := range anyOf {
		if !IsStrict(p) {
			return false
		}
	}
	if string(o["type"]) == `"array"` {
		return IsStrict(o["items"])
	}
	return true
}
