package llm

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// Anthropic's form of schemas (https://platform.claude.com/docs/en/build-with-claude/structured-outputs,
// and lib/transform-json-schema.js of npm @anthropic-ai/sdk 1.14.0). A reply is checked against the
// type afterwards, so that a looser schema is harmless.

// enforced are the keywords that the model enforces. Others become a part of the description.
var enforced = map[string]bool{"type": true, "properties": true, "required": true, "additionalProperties": true, "items": true, "enum": true, "const": true,
	"anyOf": true, "allOf": true, "$ref": true, "$defs": true, "description": true, "title": true}

// Limits of a schema that the model enforces: optional members, and unions.
const (
	maxOptional = 24
	maxUnions   = 16
)

// adapted is a schema that is being adapted.
type adapted struct {
	optional, unions int
	open             bool                // a part allows any value, or any members
	refs             map[string][]string // the definitions to which each definition refers; "" is the schema itself
}

// adaptSchema returns a schema in the form that Claude enforces. ok is false if it cannot be
// enforced: it refers to itself, allows any value, is a map, or is too large.
func adaptSchema(schema json.RawMessage) (out json.RawMessage, ok bool) {
	a := &adapted{refs: map[string][]string{}}
	out = a.part(schema, "")
	if a.open || a.optional > maxOptional || a.unions > maxUnions || a.refersToItself() {
		return nil, false
	}
	return out, true
}

// part adapts a part of a schema, in the definition with the name def.
func (a *adapted) part(schema json.RawMessage, def string) json.RawMessage {
	var o map[string]json.RawMessage
	if json.Unmarshal(schema, &o) != nil || len(o) == 0 {
		a.open = true // true, or {}
		return schema
	}
	if o["oneOf"] != nil && o["anyOf"] == nil {
		o["anyOf"] = o["oneOf"]
		delete(o, "oneOf")
	}
	a.describe(o)
	var ref string
	if json.Unmarshal(o["$ref"], &ref) == nil {
		a.refs[def] = append(a.refs[def], strings.TrimPrefix(ref, "#/$defs/"))
	}
	var types []string
	if json.Unmarshal(o["type"], &types) == nil {
		a.unions++
	}
	members := func(name string, of func(string) string) (n int) {
		var all map[string]json.RawMessage
		if json.Unmarshal(o[name], &all) != nil {
			return 0
		}
		for k, v := range all {
			all[k] = a.part(v, of(k))
		}
		o[name] = jsonwrite.MustEncode(all)
		return len(all)
	}
	properties := members("properties", func(string) string { return def })
	members("$defs", func(k string) string { return k })
	if string(o["type"]) == `"object"` {
		var required []string
		_ = json.Unmarshal(o["required"], &required) // without the member, all are optional
		a.optional += max(properties-len(required), 0)
		if x := o["additionalProperties"]; x != nil && string(x) != "false" || o["properties"] == nil {
			a.open = true
		}
		o["additionalProperties"] = json.RawMessage("false")
	}
	if o["items"] != nil {
		o["items"] = a.part(o["items"], def)
	} else if string(o["type"]) == `"array"` {
		a.open = true
	}
	for _, name := range []string{"anyOf", "allOf"} {
		var all []json.RawMessage
		if json.Unmarshal(o[name], &all) != nil {
			continue
		}
		if name == "anyOf" {
			a.unions++
		}
		for i := range all {
			all[i] = a.part(all[i], def)
		}
		o[name] = jsonwrite.MustEncode(all)
	}
	return jsonwrite.MustEncode(o)
}

// describe moves the keywords that the model does not enforce into the description.
func (a *adapted) describe(o map[string]json.RawMessage) {
	var more []string
	for _, k := range slices.Sorted(maps.Keys(o)) {
		if !enforced[k] {
			more = append(more, k+": "+string(o[k]))
			delete(o, k)
		}
	}
	if len(more) == 0 {
		return
	}
	var text string
	_ = json.Unmarshal(o["description"], &text) // missing in many parts
	o["description"] = jsonwrite.MustEncode(strings.TrimSpace(text + " (" + strings.Join(more, ", ") + ")"))
}

// refersToItself reports whether a definition contains itself.
func (a *adapted) refersToItself() bool {
	done := map[string]bool{}
	var visit func(name string, path []string) bool
	visit = func(name string, path []string) bool {
		if slices.Contains(path, name) {
			return true
		}
		if done[name] {
			return false
		}
		done[name] = true
		return slices.ContainsFunc(a.refs[name], func(to string) bool { return visit(to, append(path, name)) })
	}
	return slices.ContainsFunc(slices.Sorted(maps.Keys(a.refs)), func(name string) bool { return visit(name, nil) })
}
