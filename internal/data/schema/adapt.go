package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// Rules describe the part of JSON Schema that a provider of models enforces. A reply is checked
// against its type afterwards, so that a looser schema is harmless.
type Rules struct {
	// Keywords are supported in addition to common. Others become a part of the description.
	Keywords []string
	// Closed means that objects allow no other members, so that a map is an array of its entries.
	Closed bool
	// RequiresAll means that objects require all members, so that optional ones may be null.
	RequiresAll bool
	// BareRefs means that `$ref` has no other members beside it.
	BareRefs bool
	// MaxOptional and MaxUnions limit the optional members and the unions of a closed schema.
	MaxOptional, MaxUnions int
}

// common are the keywords that all providers support.
var common = []string{"type", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "$ref", "$defs", "description", "title"}

// The rules of providers.
var (
	// https://platform.claude.com/docs/en/build-with-claude/structured-outputs, and
	// lib/transform-json-schema.js of npm @anthropic-ai/sdk 1.14.0
	Claude = &Rules{Keywords: []string{"const", "allOf"}, Closed: true, MaxOptional: 24, MaxUnions: 16}
	// responseJsonSchema in dist/genai.d.ts of npm @google/genai 2.32.0
	Gemini = &Rules{Keywords: []string{"prefixItems", "minItems", "maxItems", "minimum", "maximum", "format"}, BareRefs: true}
	// the strict mode: https://developers.openai.com/api/docs/guides/structured-outputs
	OpenAI = &Rules{Keywords: []string{"const"}, RequiresAll: true}
)

// Adapt returns a schema in the form that the provider enforces, with its members in the same
// order. ok is false if the provider refuses the schema.
func (r *Rules) Adapt(schema json.RawMessage) (out json.RawMessage, ok bool) {
	a, s, err := r.adapt(schema)
	if err != nil {
		return nil, false
	}
	how, _ := a.refusal()
	return value.AppendJSON(nil, s), how == ""
}

// Refuses returns how the provider refuses a schema: the end of a sentence about the schema and the
// step that helps, or "". Only closed rules refuse a schema.
func (r *Rules) Refuses(schema json.RawMessage) (how, step string) {
	a, _, err := r.adapt(schema)
	if err != nil {
		return "is not valid JSON", "correct it"
	}
	return a.refusal()
}

func (r *Rules) adapt(schema json.RawMessage) (a *adapted, out value.Slot, err error) {
	s, err := value.Parse(schema)
	if err != nil {
		return nil, value.Nil, err
	}
	a = &adapted{Rules: r, refs: map[string][]string{}}
	return a, a.part(s, ""), nil
}

// adapted is a schema that is being adapted.
type adapted struct {
	*Rules
	optional, unions int
	open, hasTuple   bool                // a part allows any value or any members; an array has no type of elements
	refs             map[string][]string // the definitions to which each definition refers; "" is the schema itself
}

func (a *adapted) refusal() (how, step string) {
	switch {
	case !a.Closed:
	case a.refersToItself():
		return "refers to itself", "use a list whose elements have the number of their parent"
	case a.hasTuple:
		return "contains a tuple", "use a schema with names instead of the tuple"
	case a.open:
		return "contains Any", "use a schema instead of `Any`"
	case a.optional > a.MaxOptional:
		return fmt.Sprintf("has %d optional fields, and at most %d are enforced", a.optional, a.MaxOptional), "make some fields required"
	case a.unions > a.MaxUnions:
		return fmt.Sprintf("has %d options and enums, and at most %d are enforced", a.unions, a.MaxUnions), "use fewer options"
	}
	return "", ""
}

// part adapts a part of a schema, in the definition with the name def.
func (a *adapted) part(s value.Slot, def string) value.Slot {
	from := s.Map()
	if from == nil || from.Len() == 0 {
		a.open = true // true, or {}
		return s
	}
	if a.Closed && isMap(from) {
		from = entries(from)
	}
	o := a.supported(from)
	if ref, ok := o.GetString("$ref"); ok {
		name, _ := strings.CutPrefix(value.Text(ref), "#")
		a.refs[def] = append(a.refs[def], strings.TrimPrefix(name, "/$defs/"))
		if a.BareRefs {
			o.Delete(value.String("description"))
		}
	}
	if types, _ := o.GetString("type"); types.Array() != nil {
		a.unions++
	}
	properties := a.members(o, "properties", func(string) string { return def })
	a.members(o, "$defs", func(name string) string { return name })
	switch kind, _ := o.GetString("type"); value.Text(kind) {
	case "object":
		a.object(o, properties)
	case "array":
		if items, ok := o.GetString("items"); ok {
			o.SetString("items", a.part(items, def))
		} else {
			a.hasTuple = true
		}
	}
	for _, name := range []string{"anyOf", "allOf", "prefixItems"} {
		all, _ := o.GetString(name)
		if all.Array() == nil {
			continue
		}
		if name == "anyOf" {
			a.unions++
		}
		out := value.NewArray()
		for i := range all.Array().Len {
			out.Push(a.part(all.Array().At(i), def))
		}
		o.SetString(name, out.Slot())
	}
	return o.Slot()
}

// supported returns a part of a schema whose unsupported keywords are in the description.
func (a *adapted) supported(from *value.Map) *value.Map {
	o := value.NewMap(from.Len())
	var more []string
	from.Each(func(k, v value.Slot) bool {
		name := value.Text(k)
		_, hasAny := from.GetString("anyOf")
		switch isSupported := slices.Contains(common, name) || slices.Contains(a.Keywords, name); {
		case isSupported:
			o.Set(k, v)
		case name == "oneOf" && !hasAny:
			o.SetString("anyOf", v)
		case name == "const":
			one := value.NewArray()
			one.Push(v)
			o.SetString("enum", one.Slot())
		default:
			more = append(more, name+": "+string(value.AppendJSON(nil, v)))
		}
		return true
	})
	if len(more) > 0 {
		text, ok := o.GetString("description")
		if !ok {
			text = value.String("")
		}
		o.SetString("description", value.String(strings.TrimSpace(text.AsString()+" ("+strings.Join(more, ", ")+")")))
	}
	return o
}

// members adapts the schemas in a member of a schema, and returns their number. def returns the
// definition that contains the one with a name.
func (a *adapted) members(o *value.Map, member string, def func(name string) string) int {
	all, _ := o.GetString(member)
	if all.Map() == nil {
		return 0
	}
	out := value.NewMap(all.Map().Len())
	all.Map().Each(func(k, v value.Slot) bool {
		out.Set(k, a.part(v, def(value.Text(k))))
		return true
	})
	o.SetString(member, out.Slot())
	return out.Len()
}

// object adapts the schema of an object with a number of properties.
func (a *adapted) object(o *value.Map, properties int) {
	var required []string
	if names, _ := o.GetString("required"); names.Array() != nil { // without it, all are optional
		for i := range names.Array().Len {
			required = append(required, value.Text(names.Array().At(i)))
		}
	}
	a.optional += max(properties-len(required), 0)
	all, _ := o.GetString("properties")
	if x, ok := o.GetString("additionalProperties"); ok && string(value.AppendJSON(nil, x)) != "false" || all.Map() == nil {
		a.open = true
	}
	if a.Closed {
		o.SetString("additionalProperties", value.Bool(false))
	}
	if !a.RequiresAll || all.Map() == nil {
		return
	}
	names, members := value.NewArray(), value.NewMap(properties)
	all.Map().Each(func(k, v value.Slot) bool {
		names.Push(k)
		if !slices.Contains(required, value.Text(k)) {
			v = orNull(v)
		}
		members.Set(k, v)
		return true
	})
	o.SetString("properties", members.Slot())
	o.SetString("required", names.Slot())
}

// orNull returns a schema that also allows null.
func orNull(s value.Slot) value.Slot {
	null := value.NewMap(1)
	null.SetString("type", value.String("null"))
	both, out := value.NewArray(), value.NewMap(1)
	both.Push(s)
	both.Push(null.Slot())
	out.SetString("anyOf", both.Slot())
	return out.Slot()
}

// isMap reports whether a schema is that of an object with any names.
func isMap(o *value.Map) bool {
	kind, _ := o.GetString("type")
	values, _ := o.GetString("additionalProperties")
	_, hasMembers := o.GetString("properties")
	return value.Text(kind) == "object" && values.Map() != nil && !hasMembers
}

// entries returns the schema of an array with the entries of a map, which readers of replies accept
// for the map.
func entries(o *value.Map) *value.Map {
	const entry = `{"type":"object","properties":{"key":{"type":"string"},"value":null},"required":["key","value"],"additionalProperties":false}`
	item, err := value.Parse([]byte(entry))
	if err != nil {
		panic(err)
	}
	values, _ := o.GetString("additionalProperties")
	properties, _ := item.Map().GetString("properties")
	properties.Map().SetString("value", values)
	out := value.NewMap(3)
	out.SetString("type", value.String("array"))
	out.SetString("items", item)
	if text, ok := o.GetString("description"); ok {
		out.SetString("description", text)
	}
	return out
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
	for name := range a.refs {
		if visit(name, nil) {
			return true
		}
	}
	return false
}
