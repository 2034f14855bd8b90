package jsonschema

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	peer "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// generator generates random schemas, and values that have a chance of being valid.
type generator struct{ r *rand.Rand }

func (g *generator) pick(list ...any) any { return list[g.r.IntN(len(list))] }

func (g *generator) value(depth int) any {
	kinds := 9
	if depth == 0 {
		kinds = 7
	}
	switch g.r.IntN(kinds) {
	case 0:
		return nil
	case 1:
		return g.pick(true, false)
	case 2, 3:
		return g.pick(0, 1, 2, -1, 2.5, 10)
	case 4, 5, 6:
		return g.pick("", "a", "ab", "abc", "b")
	case 7:
		list := []any{}
		for range g.r.IntN(4) {
			list = append(list, g.value(depth-1))
		}
		return list
	}
	o := map[string]any{}
	for range g.r.IntN(4) {
		o[g.pick("a", "b", "c", "ab").(string)] = g.value(depth - 1)
	}
	return o
}

func (g *generator) list(depth int) []any {
	var list []any
	for range 1 + g.r.IntN(3) {
		list = append(list, g.schema(depth-1))
	}
	return list
}

func (g *generator) named(depth int, names ...any) map[string]any {
	o := map[string]any{}
	for range 1 + g.r.IntN(2) {
		o[g.pick(names...).(string)] = g.schema(depth - 1)
	}
	return o
}

// schema generates a schema with a few keywords.
func (g *generator) schema(depth int) any {
	if depth == 0 || g.r.IntN(12) == 0 {
		return g.pick(true, false, map[string]any{}, map[string]any{"type": g.pick("string", "integer", "object", "array")})
	}
	o := map[string]any{}
	for range 1 + g.r.IntN(3) {
		k := g.pick("type", "enum", "const", "minimum", "exclusiveMaximum", "multipleOf", "minLength", "pattern", "items", "prefixItems", "contains",
			"maxContains", "minItems", "uniqueItems", "properties", "patternProperties", "additionalProperties", "required", "propertyNames", "maxProperties",
			"dependentRequired", "dependentSchemas", "allOf", "anyOf", "oneOf", "not", "if", "unevaluatedProperties", "unevaluatedItems", "$ref").(string)
		switch k {
		case "type":
			o[k] = g.pick("string", "integer", "number", "object", "array", "null", "boolean", []any{"string", "array"}, []any{"object", "null"})
		case "enum":
			o[k] = []any{g.value(1), g.value(1), g.value(0)}
		case "const":
			o[k] = g.value(1)
		case "minimum", "exclusiveMaximum":
			o[k] = g.pick(0, 1, 2.5)
		case "multipleOf":
			o[k] = g.pick(1, 2, 2.5)
		case "minLength", "minItems", "maxProperties", "maxContains":
			o[k] = g.pick(0, 1, 2)
		case "pattern":
			o[k] = g.pick("^a", "b$", "^$")
		case "uniqueItems":
			o[k] = true
		case "prefixItems", "allOf", "anyOf", "oneOf":
			o[k] = g.list(depth)
		case "properties":
			o[k] = g.named(depth, "a", "b", "c")
		case "patternProperties":
			o[k] = g.named(depth, "^a", "b")
		case "required":
			o[k] = []any{g.pick("a", "b")}
		case "dependentRequired":
			o[k] = map[string]any{"a": []any{g.pick("b", "c")}}
		case "dependentSchemas":
			o[k] = g.named(depth, "a", "b")
		case "if":
			o[k], o["then"], o["else"] = g.schema(depth-1), g.schema(depth-1), g.schema(depth-1)
		case "$ref":
			o[k] = "#/$defs/d"
		default:
			o[k] = g.schema(depth - 1)
		}
	}
	return o
}

// TestAgreesWithPeer checks that another implementation considers the same values valid for the
// same schemas.
func TestAgreesWithPeer(t *testing.T) {
	var fit, not atomic.Int32
	schema := func(seed uint64) (*generator, map[string]any) {
		g := &generator{rand.New(rand.NewPCG(seed, 0))}
		for {
			if doc, ok := g.schema(3).(map[string]any); ok {
				return g, doc
			}
		}
	}
	show := func(seed uint64) string {
		_, doc := schema(seed)
		return string(jsonwrite.MustEncode(doc))
	}
	randtest.Run(t, "internal/text/jsonschema", 400, show, func(t *testing.T, seed uint64) {
		g, doc := schema(seed)
		doc["$defs"] = map[string]any{"d": map[string]any{"type": g.pick("string", "object", "integer"), "properties": map[string]any{"a": map[string]any{"$ref": "#/$defs/d"}}}}
		text := jsonwrite.MustEncode(doc)
		ours, errs := Compile(text)
		if errs != nil {
			t.Fatalf("compile schema %s: %v", text, errs)
		}
		theirs := compilePeer(t, text)
		for range 30 {
			v := jsonwrite.MustEncode(g.value(3))
			decoded, err := Decode(v)
			if err != nil {
				t.Fatal(err)
			}
			problems, want := ours.Check(decoded), theirs.Validate(decoded)
			if (len(problems) == 0) != (want == nil) {
				t.Fatalf("value %s, schema %s: got problems %v, the other implementation reports %v", v, text, problems, want)
			}
			if want == nil {
				fit.Add(1)
			} else {
				not.Add(1)
			}
		}
	})
	if f, n := fit.Load(), not.Load(); f+n > 1000 && min(f, n) < 100 {
		t.Errorf("%d values are valid and %d are not: the test needs at least 100 of each", f, n)
	}
}

func compilePeer(t *testing.T, text []byte) *peer.Schema {
	t.Helper()
	c := peer.NewCompiler()
	doc, err := peer.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = c.AddResource("test:///schema", doc)
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("test:///schema")
	if err != nil {
		t.Fatal(fmt.Errorf("compile %s with the other implementation: %w", text, err))
	}
	return s
}
