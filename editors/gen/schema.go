package main

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/manifest"
)

// object is a JSON Schema or a part of one.
type object map[string]any

// schema returns the JSON Schema of Concerto.toml. Editors use it where the language server is not
// installed. It accepts every manifest that the compiler accepts, and describes all keys.
func schema(words) ([]byte, error) {
	root := newTable("The manifest of a Concerto project.")
	for _, s := range manifest.Sections() {
		at := section(root, strings.Split(s.Name, "."), s.Doc)
		for _, k := range s.Keys {
			if k.Name() == "*" { // the user chooses the keys
				at["additionalProperties"] = keySchema(k)
				continue
			}
			value := keySchema(k)
			at["properties"].(object)[k.Name()] = value
			if k.IsShort() {
				at["type"] = []any{"object", value["type"]}
			}
		}
	}
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	root["title"] = "Concerto.toml"
	text, err := json.MarshalIndent(root, "", " ")
	return append(text, '\n'), err
}

// newTable returns the schema of a table without keys.
func newTable(doc string) object {
	return object{"type": "object", "description": doc, "properties": object{}, "additionalProperties": false}
}

func member(table object, name string) (object, bool) {
	o, ok := table["properties"].(object)[name].(object)
	return o, ok
}

// section returns the schema of the table at a path, whose `*` is a name of the user's choice, and
// whose `[]` is an element of an array. It adds what is missing.
func section(table object, path []string, doc string) object {
	if len(path) == 0 {
		table["description"] = doc
		return table
	}
	if path[0] == "*" {
		inner, ok := table["additionalProperties"].(object)
		if ok && inner["properties"] != nil {
			return section(inner, path[1:], doc)
		}
		added := newTable("")
		if ok { // a value or a table, such as the alias or the parameters of a model
			added["type"] = []any{"object", inner["type"]}
		}
		table["additionalProperties"] = added
		return section(added, path[1:], doc)
	}
	name, isArray := strings.CutSuffix(path[0], "[]")
	inner, ok := member(table, name)
	if isArray {
		if items, found := inner["items"].(object); found && items["properties"] != nil {
			return section(items, path[1:], doc)
		}
		items := newTable("")
		table["properties"].(object)[name] = object{"type": "array", "description": doc, "items": items}
		return section(items, path[1:], doc)
	}
	if !ok || inner["properties"] == nil && inner["type"] != "object" {
		inner = newTable("")
		table["properties"].(object)[name] = inner
	}
	if inner["properties"] == nil { // a key with a table as its value
		inner["properties"] = object{}
	}
	return section(inner, path[1:], doc)
}

// link matches a link of Markdown, of which editors show the text.
var link = regexp.MustCompile(`\[([^]]+)\]\([^)]*\)`)

// keySchema returns the schema of a key's value.
func keySchema(k *manifest.Key) object {
	s := typeSchema(k)
	s["description"] = link.ReplaceAllString(k.Doc, "$1")
	if v, err := literal(k.Default); err == nil {
		s["default"] = v
	}
	if v, err := literal(k.Example); err == nil {
		s["examples"] = []any{v}
	}
	return s
}

// literal decodes a value of TOML that is also one of JSON.
func literal(text string) (v any, err error) {
	if !strings.Contains(text, `"`) {
		text = strings.ReplaceAll(text, "_", "") // between the digits of a number
	}
	err = json.Unmarshal([]byte(text), &v)
	return v, err
}

// typeSchema returns the schema of a type of values.
func typeSchema(k *manifest.Key) object {
	strs := object{"type": "array", "items": object{"type": "string"}}
	switch k.Type {
	case manifest.String:
		return object{"type": "string"}
	case manifest.Enum:
		return object{"type": "string", "enum": k.Values}
	case manifest.Strings, manifest.Warnings:
		return strs
	case manifest.Bool:
		return object{"type": "boolean"}
	case manifest.Integer:
		s := object{"type": "integer", "minimum": k.Min}
		if k.Most > 0 {
			s["maximum"] = k.Most
		}
		return s
	case manifest.Number:
		return object{"type": "number", "minimum": k.Least}
	case manifest.Table:
		return object{"type": "object", "additionalProperties": object{"type": "string"}}
	case manifest.Params, manifest.Schema, manifest.Failure:
		return object{"type": "object"}
	case manifest.Replies, manifest.ToolCalls:
		return object{"type": "array", "items": object{"type": "object"}}
	case manifest.Commands:
		return object{"type": "array", "items": strs}
	case manifest.Network:
		return object{"type": []string{"array", "boolean"}, "items": object{"type": "string"}}
	case manifest.Efforts:
		return object{"type": []string{"array", "object"}}
	}
	return object{}
}
