package protocol

import "encoding/json"

// Schema returns the JSON Schema (2020-12) for a message's data or an RPC's result. The schema
// allows additional fields.
func Schema(v any) json.RawMessage {
	text, err := json.MarshalIndent(schemaOf(shapeOf(v)), "", "  ")
	if err != nil {
		panic("protocol: a schema is no JSON: " + err.Error())
	}
	return text
}

// schema is a JSON Schema.
type schema struct {
	Description string             `json:"description,omitempty"`
	Type        string             `json:"type,omitempty"`
	Properties  map[string]*schema `json:"properties,omitempty"`
	Required    []string           `json:"required,omitempty"`
	Items       *schema            `json:"items,omitempty"`
	Values      *schema            `json:"additionalProperties,omitempty"`
	Enum        []string           `json:"enum,omitempty"`
	Pattern     string             `json:"pattern,omitempty"`
	Format      string             `json:"format,omitempty"`
	MaxLength   int64              `json:"maxLength,omitempty"`
	MaxItems    int64              `json:"maxItems,omitempty"`
	Minimum     *int64             `json:"minimum,omitempty"`
	Maximum     *int64             `json:"maximum,omitempty"`
}

var schemaTypes = [...]string{anything: "", text: "string", integer: "integer", number: "number", boolean: "boolean", array: "array", object: "object"}

func schemaOf(s *shape) *schema {
	out := &schema{Type: schemaTypes[s.kind], Enum: s.enum, Pattern: forms[s.form].pattern, MaxItems: s.items, MaxLength: s.chars}
	if s.kind == text && s.bytes > 0 {
		out.MaxLength = s.bytes // maxLength counts characters, of which a text has at most as many as bytes
	}
	if s.form == "time" {
		out.Format = "date-time"
	}
	if s.bounded {
		out.Minimum, out.Maximum = &s.from, &s.to
	}
	switch {
	case s.kind == array:
		out.Items = schemaOf(s.each)
	case s.each != nil:
		out.Values = schemaOf(s.each)
	}
	for _, f := range s.fields {
		if out.Properties == nil {
			out.Properties = map[string]*schema{}
		}
		p := schemaOf(f.shape)
		p.Description = f.doc
		out.Properties[f.name] = p
		if f.required {
			out.Required = append(out.Required, f.name)
		}
	}
	return out
}
