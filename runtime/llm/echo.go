package llm

import (
	"encoding/json"
	"strings"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// echo returns the reply of a scripted connection that has no script.
func echo(req *Request) *scriptedReply {
	if len(req.Schema) == 0 {
		return &scriptedReply{Text: "scripted reply to: " + req.Prompt()}
	}
	var root sampleSchema
	if json.Unmarshal(req.Schema, &root) != nil {
		return &scriptedReply{Text: "{}"}
	}
	return &scriptedReply{JSON: root.sample(&root, 0)}
}

// sampleSchema contains the keywords of JSON Schema that a sample needs.
type sampleSchema struct {
	Type       json.RawMessage          `json:"type"`
	Enum       []json.RawMessage        `json:"enum"`
	Const      json.RawMessage          `json:"const"`
	Default    json.RawMessage          `json:"default"`
	Properties map[string]*sampleSchema `json:"properties"`
	Required   []string                 `json:"required"`
	Prefix     []*sampleSchema          `json:"prefixItems"`
	AnyOf      []*sampleSchema          `json:"anyOf"`
	OneOf      []*sampleSchema          `json:"oneOf"`
	Ref        string                   `json:"$ref"`
	Defs       map[string]*sampleSchema `json:"$defs"`
}

// maxSample is the maximum nesting of a sample, because a schema may refer to itself.
const maxSample = 32

// sample returns a small value that is valid for the schema. It prefers the const or default, the
// first value of an enum and the first alternative. It contains only required members, empty
// strings and arrays, and zeros.
func (s *sampleSchema) sample(root *sampleSchema, depth int) json.RawMessage {
	switch {
	case s == nil || depth > maxSample:
		return json.RawMessage("null")
	case s.Const != nil:
		return s.Const
	case s.Default != nil:
		return s.Default
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Ref != "":
		return root.Defs[strings.TrimPrefix(s.Ref, "#/$defs/")].sample(root, depth+1)
	case len(s.AnyOf) > 0:
		return s.AnyOf[0].sample(root, depth+1)
	case len(s.OneOf) > 0:
		return s.OneOf[0].sample(root, depth+1)
	}
	switch s.typeName() {
	case "string":
		return json.RawMessage(`""`)
	case "integer":
		return json.RawMessage("0")
	case "number":
		return json.RawMessage("0.0")
	case "boolean":
		return json.RawMessage("false")
	case "array":
		parts := make([]string, len(s.Prefix))
		for i, p := range s.Prefix {
			parts[i] = string(p.sample(root, depth+1))
		}
		return json.RawMessage("[" + strings.Join(parts, ",") + "]")
	case "object":
		parts := make([]string, len(s.Required))
		for i, name := range s.Required {
			key, _ := jsonwrite.Encode(name)
			parts[i] = string(key) + ":" + string(s.Properties[name].sample(root, depth+1))
		}
		return json.RawMessage("{" + strings.Join(parts, ",") + "}")
	}
	return json.RawMessage("null")
}

// typeName returns the type in the schema, or the first of several types.
func (s *sampleSchema) typeName() string {
	var one string
	if json.Unmarshal(s.Type, &one) == nil {
		return one
	}
	var many []string
	if json.Unmarshal(s.Type, &many) == nil && len(many) > 0 {
		return many[0]
	}
	return ""
}
