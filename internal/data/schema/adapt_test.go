package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// TestAdapt checks the forms in which providers enforce schemas. The order of members is that of
// the type, because a model writes them in this order.
func TestAdapt(t *testing.T) {
	many := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"m%d":{"type":"string"}`, i))
		}
		return `{"type":"object","properties":{` + strings.Join(all, ",") + `}}`
	}
	const object = `{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer","default":1}},"required":["z"],"additionalProperties":false}`
	for _, c := range []struct {
		rules        *schema.Rules
		schema, want string // want "": it cannot be enforced
	}{
		{schema.Claude, `{"type":"object","properties":{"n":{"type":"integer","minimum":1,"description":"Count"}}}`,
			`{"type":"object","properties":{"n":{"type":"integer","description":"Count (minimum: 1)"}},"additionalProperties":false}`},
		{schema.Claude, object, `{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer","description":"(default: 1)"}},"required":["z"],"additionalProperties":false}`},
		{schema.OpenAI, object, `{"type":"object","properties":{"z":{"type":"string"},"a":{"anyOf":[{"type":"integer","description":"(default: 1)"},{"type":"null"}]}},"required":["z","a"],"additionalProperties":false}`},
		{schema.Gemini, object, `{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer","description":"(default: 1)"}},"required":["z"],"additionalProperties":false}`},
		{schema.Claude, `{"type":"string","pattern":"a+","maxLength":3}`, `{"type":"string","description":"(pattern: \"a+\", maxLength: 3)"}`},
		{schema.Claude, `{"oneOf":[{"type":"string"},{"type":"null"}]}`, `{"anyOf":[{"type":"string"},{"type":"null"}]}`},
		{schema.Claude, `{"type":"array","items":{"type":"string","format":"date"},"minItems":2}`, `{"type":"array","items":{"type":"string","description":"(format: \"date\")"},"description":"(minItems: 2)"}`},
		{schema.Gemini, `{"type":"array","items":{"const":"x"},"minItems":2}`, `{"type":"array","items":{"enum":["x"]},"minItems":2}`},
		{schema.Gemini, `{"type":"array","prefixItems":[{"const":1},{"type":"integer"}],"minItems":2,"maxItems":2}`, `{"type":"array","prefixItems":[{"enum":[1]},{"type":"integer"}],"minItems":2,"maxItems":2}`},
		{schema.Gemini, `{"type":"object","properties":{"t":{"$ref":"#","description":"Next"}}}`, `{"type":"object","properties":{"t":{"$ref":"#"}}}`},
		{schema.Gemini, `{}`, `{}`},
		{schema.Claude, `{"$ref":"#/$defs/A","$defs":{"A":{"type":"array","items":{"$ref":"#/$defs/B"}},"B":{"enum":["x"]}}}`,
			`{"$ref":"#/$defs/A","$defs":{"A":{"type":"array","items":{"$ref":"#/$defs/B"}},"B":{"enum":["x"]}}}`},
		{schema.Claude, `{"$ref":"#/$defs/A","$defs":{"A":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/B"}]},"B":{"type":"array","items":{"$ref":"#/$defs/A"}}}}`, ""},
		{schema.Claude, `{"type":"object","properties":{"next":{"anyOf":[{"$ref":"#"},{"type":"null"}]}},"required":["next"]}`, ""},
		{schema.Claude, `{"type":"object","additionalProperties":{"type":"integer"},"description":"Ages"}`,
			`{"type":"array","items":{"type":"object","properties":{"key":{"type":"string"},"value":{"type":"integer"}},"required":["key","value"],"additionalProperties":false},"description":"Ages"}`},
		{schema.OpenAI, `{"type":"object","additionalProperties":{"type":"integer"}}`, `{"type":"object","additionalProperties":{"type":"integer"}}`},
		{schema.Claude, `{"type":"object","additionalProperties":{}}`, ""},
		{schema.Claude, `{"type":"object"}`, ""},
		{schema.Claude, `{"type":"array"}`, ""},
		{schema.Claude, `{}`, ""},
		{schema.Claude, `true`, ""},
		{schema.Claude, `{"type":"array","items":{}}`, ""},
		{schema.Claude, many(24), "fits"},
		{schema.Claude, many(25), ""},
		{schema.Claude, `{"anyOf":[` + strings.TrimSuffix(strings.Repeat(`{"type":["string","null"]},`, 15), ",") + `]}`, "fits"},
		{schema.Claude, `{"anyOf":[` + strings.TrimSuffix(strings.Repeat(`{"type":["string","null"]},`, 16), ",") + `]}`, ""},
	} {
		out, ok := c.rules.Adapt(json.RawMessage(c.schema))
		if ok != (c.want != "") || ok && c.want != "fits" && string(out) != c.want {
			t.Errorf("%s: %s, %v, want %s", c.schema, out, ok, c.want)
		}
		if how, step := c.rules.Refuses(json.RawMessage(c.schema)); (how == "") != ok || (step == "") != ok {
			t.Errorf("%s: Refuses returns %q, %q, but Adapt %v", c.schema, how, step, ok)
		}
	}
}

// TestEntries reads a map in the form in which Adapt requests it, also inside of other values.
func TestEntries(t *testing.T) {
	integer, text := &value.Type{Kind: value.TypeInt}, &value.Type{Kind: value.TypeString}
	of := func(k, v *value.Type) *value.Type {
		return &value.Type{Kind: value.TypeMap, Args: []*value.Type{k, v}}
	}
	for _, c := range []struct {
		typ            *value.Type
		text, want, no string
	}{
		{typ: of(text, integer), text: `[{"key":"b","value":1},{"value":2,"key":"a"}]`, want: `{"b":1,"a":2}`},
		{typ: of(text, integer), text: `[]`, want: `{}`},
		{typ: of(text, integer), text: `{"b":1}`, want: `{"b":1}`},
		{typ: of(integer, of(text, text)), text: `[{"key":"7","value":[{"key":"x","value":"y"}]}]`, want: `{"7":{"x":"y"}}`},
		{typ: of(text, integer), text: `[{"key":"b","value":"x"}]`, no: `b: expected Int, got "x"`},
		{typ: of(text, integer), text: `[{"key":"b","value":1},{"key":"b","value":2}]`, no: `[1]: the key "b" occurs twice`},
		{typ: of(text, integer), text: `[{"key":"b"}]`, no: `expected Map<String, Int>, got an array`},
		{typ: of(text, integer), text: `[1]`, no: `expected Map<String, Int>, got an array`},
	} {
		r := schema.Read([]byte(c.text), c.typ)
		got := schema.Join(r.Errors)
		if got == "" {
			got = string(value.AppendJSON(nil, r.Value))
		}
		if want := c.want + c.no; got != want && !strings.HasPrefix(got, c.no+" of") {
			t.Errorf("%s: %s, want %s", c.text, got, want)
		}
	}
}

// TestWrapRecursive wraps a type that refers to itself and is no object.
func TestWrapRecursive(t *testing.T) {
	tree := &value.Type{Kind: value.TypeEnum, Name: "Tree"}
	tree.Variants = []value.Variant{{Name: "Leaf"}, {Name: "Node", Fields: []value.Field{{Name: "0", Type: tree}}}}
	tree.Seal()
	out, wrapped := schema.AsObject(schema.Text(tree))
	const want = `{"type":"object","properties":{"value":{"$defs":{"Value":{"anyOf":[{"type":"string","enum":["Leaf"]},{"type":"object","properties":{"variant":{"const":"Node"},"data":{"$ref":"#/$defs/Value"}},"required":["variant","data"],"additionalProperties":false}]}},"$ref":"#/$defs/Value"}},"required":["value"],"additionalProperties":false,"$defs":{"Value":{"anyOf":[{"type":"string","enum":["Leaf"]},{"type":"object","properties":{"variant":{"const":"Node"},"data":{"$ref":"#/$defs/Value"}},"required":["variant","data"],"additionalProperties":false}]}}}`
	if diff := cmp.Diff(want, string(out)); diff != "" || !wrapped {
		t.Error(diff)
	}
}
