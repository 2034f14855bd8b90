package client

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/concerto-lang/concerto/internal/text/jsonread"
	"github.com/concerto-lang/concerto/relay/protocol"
)

const maxQuestions = 20

// shape contains the parts of a JSON Schema that questionsOf supports. Package schema writes
// schemas in this form.
type shape struct {
	Type        json.RawMessage            `json:"type"`
	Description string                     `json:"description"`
	Enum        []json.RawMessage          `json:"enum"`
	Items       *shape                     `json:"items"`
	Properties  map[string]json.RawMessage `json:"properties"`
	Required    []string                   `json:"required"`
	Default     json.RawMessage            `json:"default"`
}

func (s *shape) is(typ string) bool { return string(s.Type) == `"`+typ+`"` }

// questionsOf returns the questions that ask for a value of a schema. A nil schema means any
// text. For an object it returns one question for each member.
func questionsOf(schema json.RawMessage, prompt string) []protocol.Question {
	q := protocol.Question{ID: protocol.WholeAnswer, Question: prompt, Kind: protocol.KindText, Required: true}
	if schema == nil {
		return []protocol.Question{q}
	}
	var s shape
	if json.Unmarshal(schema, &s) != nil {
		s = shape{} // the schema true allows any value
	}
	refers := bytes.Contains(schema, []byte(`"$ref"`))
	if names := members(schema); s.is("object") && !refers && len(names) > 0 && len(names) <= maxQuestions && !slices.Contains(names, protocol.WholeAnswer) {
		return form(&s, names)
	}
	q.Kind, q.Options, q.Schema = kindOf(&s, schema)
	return []protocol.Question{q}
}

// form returns one question for each member in names.
func form(s *shape, names []string) []protocol.Question {
	var out []protocol.Question
	for _, name := range names {
		var member shape
		text := s.Properties[name]
		if json.Unmarshal(text, &member) != nil {
			member = shape{}
		}
		q := protocol.Question{ID: name, Question: name, Required: slices.Contains(s.Required, name), Default: member.Default}
		if member.Description != "" {
			q.Question, q.Header = member.Description, name
		}
		q.Kind, q.Options, q.Schema = kindOf(&member, text)
		out = append(out, q)
	}
	return out
}

// kindOf returns the kind of question for a value of a schema. rest is the schema to send with the
// question, or nil.
func kindOf(s *shape, schema json.RawMessage) (kind string, options []protocol.Option, rest json.RawMessage) {
	switch {
	case s.is("boolean") && s.Enum == nil:
		return protocol.KindConfirm, nil, nil
	case s.is("string") && s.Enum == nil:
		return protocol.KindText, nil, nil
	case s.is("string") && s.Enum != nil:
		return protocol.KindChoice, choices(s.Enum), nil
	case s.is("array") && s.Items != nil && s.Items.is("string") && s.Items.Enum != nil:
		return protocol.KindMulti, choices(s.Items.Enum), nil
	}
	return protocol.KindJSON, nil, schema
}

func choices(values []json.RawMessage) (out []protocol.Option) {
	for _, v := range values {
		o := protocol.Option{Value: v}
		if json.Unmarshal(v, &o.Label) != nil {
			o.Label = string(v)
		}
		out = append(out, o)
	}
	return out
}

// members returns the names of a schema's properties, in their order in the schema.
func members(schema json.RawMessage) (names []string) {
	var s struct {
		Properties json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil || s.Properties == nil {
		return nil
	}
	all, err := jsonread.List(s.Properties)
	if err != nil {
		return nil
	}
	for _, m := range all {
		names = append(names, m.Name)
	}
	return names
}
