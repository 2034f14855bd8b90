package schema

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/concerto-lang/concerto/internal/data/value"
)

var (
	intT    = &value.Type{Kind: value.TypeInt}
	floatT  = &value.Type{Kind: value.TypeFloat}
	stringT = &value.Type{Kind: value.TypeString}
	boolT   = &value.Type{Kind: value.TypeBool}
	nilT    = &value.Type{Kind: value.TypeNil}
	levelT  = &value.Type{Kind: value.TypeUnion, Values: []string{"low", "high"}}
	itemT   = &value.Type{Kind: value.TypeSchema, Name: "Item", Doc: "A thing to buy.", Fields: []value.Field{
		{Name: "name", Type: stringT, Doc: "What it is called."}, {Name: "price", Type: floatT}, {Name: "note", Type: stringT, Optional: true},
		{Name: "level", Type: levelT, HasDefault: true, Default: value.String("low")}}}
	orderT = &value.Type{Kind: value.TypeSchema, Name: "Order", Fields: []value.Field{
		{Name: "items", Type: array(itemT)}, {Name: "tags", Type: mapOf(stringT, intT)}, {Name: "pair", Type: tuple(intT, boolT)},
		{Name: "maybe", Type: option(intT)}}}
	shapeT = &value.Type{Kind: value.TypeEnum, Name: "Shape", Variants: []value.Variant{{Name: "Empty"},
		{Name: "Circle", Fields: []value.Field{{Name: "0", Type: floatT}}},
		{Name: "Box", Fields: []value.Field{{Name: "0", Type: intT}, {Name: "1", Type: intT}}},
		{Name: "Named", Named: true, Fields: []value.Field{{Name: "label", Type: stringT}}}}}
	dayT  = &value.Type{Kind: value.TypeEnum, Name: "Day", Variants: []value.Variant{{Name: "Sat"}, {Name: "Sun"}}}
	treeT = &value.Type{Kind: value.TypeSchema, Name: "Tree"}
	// otherTree is the type Tree of another module.
	otherTree = &value.Type{Kind: value.TypeSchema, Name: "Tree"}
	wrapT     = &value.Type{Kind: value.TypeSchema, Name: "Wrap", Fields: []value.Field{{Name: "tree", Type: treeT}, {Name: "other", Type: treeT, Doc: "Another."}}}
)

func array(t *value.Type) *value.Type {
	return &value.Type{Kind: value.TypeArray, Args: []*value.Type{t}}
}
func option(t *value.Type) *value.Type {
	return &value.Type{Kind: value.TypeOption, Args: []*value.Type{t}}
}
func mapOf(k, v *value.Type) *value.Type {
	return &value.Type{Kind: value.TypeMap, Args: []*value.Type{k, v}}
}
func tuple(ts ...*value.Type) *value.Type { return &value.Type{Kind: value.TypeTuple, Args: ts} }

func init() {
	treeT.Fields = []value.Field{{Name: "value", Type: intT}, {Name: "children", Type: array(treeT)}}
	otherTree.Fields = []value.Field{{Name: "next", Type: option(otherTree)}}
	shapeT.Seal()
	dayT.Seal()
}

func TestDecode(t *testing.T) {
	for _, c := range []struct {
		t    *value.Type
		in   string
		want string // value as JSON, or the errors
	}{
		{intT, `3`, `3`}, {floatT, `3`, `3.0`}, {floatT, `1.5`, `1.5`}, {intT, `3.0`, `expected Int, got 3.0`},
		{value.AnyType, `{"a":[1,null]}`, `{"a":[1,null]}`}, {nilT, `null`, `null`},
		{boolT, `"true"`, `expected Bool, got "true"`}, {stringT, `null`, `expected String, got null`},
		{levelT, `"high"`, `"high"`}, {levelT, `"middle"`, `expected one of "low" | "high", got "middle"`},
		{array(floatT), `[1,2.5]`, `[1.0,2.5]`}, {array(intT), `[1,2]`, `[1,2]`}, {array(intT), `[1,"x",2.5]`, `[1]: expected Int, got "x"; [2]: expected Int, got 2.5`},
		{array(intT), `{}`, `expected Array<Int>, got an object`}, {array(intT), `[]`, `[]`},
		{array(option(intT)), `[1,null]`, `[1,null]`}, {option(option(intT)), `null`, `null`},
		{mapOf(stringT, floatT), `{"a":1}`, `{"a":1.0}`}, {mapOf(intT, stringT), `{"1":"x"}`, `{"1":"x"}`},
		{mapOf(intT, stringT), `{"k":"x"}`, `k: expected Int, got "k"`}, {mapOf(stringT, intT), `{"a b":"x"}`, `["a b"]: expected Int, got "x"`},
		{tuple(intT, boolT), `[1,true]`, `[1,true]`}, {tuple(intT, boolT), `[1]`, `expected (Int, Bool), got an array of 1 element`},
		{itemT, `{"name":"a","price":2,"extra":1}`, `{"name":"a","price":2.0,"level":"low"}`},
		{itemT, `{"name":"a","price":2,"note":null,"level":null}`, `{"name":"a","price":2.0,"level":"low"}`},
		{itemT, `{"name":null}`, `name: expected String, got null; price: missing, expected Float`},
		{orderT, `{"items":[{"name":"a","price":1},{"name":"b","price":"x"}],"tags":{"t":1.5},"pair":[1,2],"maybe":"m"}`,
			`items[1].price: expected Float, got "x"; tags.t: expected Int, got 1.5; pair[1]: expected Bool, got 2; maybe: expected Int, got "m"`},
		{orderT, `{"items":[],"tags":{},"pair":[1,true]}`, `{"items":[],"tags":{},"pair":[1,true],"maybe":null}`},
		{shapeT, `"Empty"`, `"Empty"`}, {shapeT, `{"variant":"Circle","data":1}`, `{"variant":"Circle","data":1.0}`},
		{shapeT, `{"variant":"Box","data":[1,2]}`, `{"variant":"Box","data":[1,2]}`}, {shapeT, `{"variant":"Named","data":{"label":"x"}}`, `{"variant":"Named","data":{"label":"x"}}`},
		{shapeT, `{"variant":"Box","data":[1]}`, `data: expected an array of 2 elements, got an array of 1 element`}, {shapeT, `"Circle"`, `expected a variant of Shape (Empty, Circle, Box, Named), got "Circle"`},
		{shapeT, `{"variant":"Named","data":{}}`, `data.label: missing, expected String`}, {shapeT, `4`, `expected a variant of Shape (Empty, Circle, Box, Named), got 4`},
		{&value.Type{Kind: value.TypeResult, Args: []*value.Type{intT, stringT}}, `{"ok":1}`, `{"ok":1}`},
		{&value.Type{Kind: value.TypeResult, Args: []*value.Type{intT, stringT}}, `{"err":1}`, `err: expected String, got 1`},
		{treeT, `{"value":1,"children":[{"value":2,"children":[]}]}`, `{"value":1,"children":[{"value":2,"children":[]}]}`},
		{intT, `{`, `not valid JSON: unexpected end of the text at offset 1`},
		{&value.Type{Kind: value.TypeAgent}, `1`, `expected Agent, got 1`},
		{stringT, `[` + strings.Repeat(" ", 3) + `]`, `expected String, got an array`},
		{mapOf(stringT, intT), `{"a1":"x","_b":"x","1a":"x","":"x"}`, `a1: expected Int, got "x"; _b: expected Int, got "x"; ["1a"]: expected Int, got "x"; [""]: expected Int, got "x"`},
		{intT, `"` + strings.Repeat("a", 40) + `"`, `expected Int, got "` + strings.Repeat("a", 40) + `"`},
		{intT, `"` + strings.Repeat("a", 41) + `"`, `expected Int, got "` + strings.Repeat("a", 40) + `"…`},
		{intT, `"` + strings.Repeat("😀", 40) + `"`, `expected Int, got "` + strings.Repeat("😀", 40) + `"`},
		{intT, `"` + strings.Repeat("😀", 41) + `"`, `expected Int, got "` + strings.Repeat("😀", 40) + `"…`},
		{option(option(intT)), `1`, `1`}, {&value.Type{Kind: value.TypeOption}, `[1]`, `[1]`}, {&value.Type{Kind: value.TypeArray}, `["a"]`, `["a"]`},
		{mapOf(boolT, intT), `{"true":1,"false":2}`, `{"true":1,"false":2}`}, {mapOf(boolT, intT), `{"yes":1}`, `yes: expected Bool, got "yes"`},
		{mapOf(intT, intT), `{"1":1,"x":2,"y":3}`, `x: expected Int, got "x"; y: expected Int, got "y"`},
		{shapeT, `{"variant":"Named","data":1}`, `data: expected an object, got 1`}, {shapeT, `{"variant":"Box","data":1}`, `data: expected an array of 2 elements, got 1`},
		{shapeT, `{"variant":"Circle"}`, `data: expected Float, got null`}, {shapeT, `{"variant":"Empty"}`, `"Empty"`},
		{tuple(intT, boolT), `1`, `expected (Int, Bool), got 1`}, {&value.Type{Kind: value.TypeResult}, `{"err":1}`, `{"err":1}`},
		{resultOf(intT, stringT), `{"ok":1,"err":"x"}`, `expected Result<Int, String>, got an object`},
		{resultOf(intT, stringT), `{"neither":1}`, `expected Result<Int, String>, got an object`},
	} {
		s, errs := Decode([]byte(c.in), c.t)
		got := Join(errs)
		if len(errs) == 0 {
			got = string(value.AppendJSON(nil, s))
		}
		if got != c.want {
			t.Errorf("Decode(%s) as %s = %s, want %s", c.in, c.t, got, c.want)
		}
	}
}

// TestConvert checks that a value of the right type is returned unchanged and marked as shared, and
// that the data does not change.
func TestConvert(t *testing.T) {
	item := itemT.Struct(value.String("a"), value.Float(1), value.Nil, value.String("low"))
	if got, errs := Convert(item, itemT); len(errs) > 0 || got != item || !value.IsShared(item) {
		t.Error("Convert of a schema value to its own type returned another value")
	}
	if got, errs := Convert(value.Some(value.Some(value.Nil)), option(intT)); len(errs) > 0 || !got.IsNil() {
		t.Error(value.Text(got), errs)
	}
	if _, errs := Convert(item, orderT); Join(errs) != "expected Order, got a value of type Item" {
		t.Error(Join(errs))
	}
	e := value.NewError("ToolError", "m")
	if got, errs := Convert(e, &value.Type{Kind: value.TypeError}); len(errs) > 0 || got != e {
		t.Error(errs)
	}
	if _, errs := Convert(e, value.ErrorType("HostError")); Join(errs) != "expected HostError, got a value of type ToolError" {
		t.Error(Join(errs))
	}
	for _, c := range []struct{ t, s string }{{"Array<Int>", "[1,2]"}, {"Array<Float>", "[1.5]"}, {"Array<Bool>", "[true]"}, {"Array<Any>", `[1,"a"]`}} {
		typ := map[string]*value.Type{"Array<Int>": array(intT), "Array<Float>": array(floatT), "Array<Bool>": array(boolT), "Array<Any>": array(value.AnyType)}[c.t]
		s, _ := value.Parse([]byte(c.s))
		if got, errs := Convert(s, typ); len(errs) > 0 || got != s || !value.IsShared(s) {
			t.Errorf("Convert(%s) to its own type %s returned another value", c.s, c.t)
		}
	}
	if got, errs := Convert(value.Tuple(value.Int(1), value.Bool(true)), tuple(floatT, boolT)); len(errs) > 0 || value.Text(got) != "[1.0,true]" {
		t.Error(value.Text(got), errs)
	}
	if got, errs := Convert(value.Err(value.Int(1)), resultOf(stringT, floatT)); len(errs) > 0 || value.Text(got) != `{"err":1.0}` {
		t.Error(value.Text(got), errs)
	}
	if got, errs := Convert(shapeT.Enum(0), dayT); Join(errs) != "expected a variant of Day (Sat, Sun), got a value of type Shape" {
		t.Error(value.Text(got), errs)
	}
	data, _ := value.Parse([]byte(`{"items":[{"name":"a","price":1}],"tags":{},"pair":[1,true]}`))
	if _, errs := Convert(data, orderT); len(errs) > 0 {
		t.Fatal(errs)
	}
	if got := value.Text(data); got != `{"items":[{"name":"a","price":1}],"tags":{},"pair":[1,true]}` {
		t.Error(got)
	}
}

func TestText(t *testing.T) {
	for _, c := range []struct {
		t    *value.Type
		want string
	}{
		{itemT, `{"type":"object","properties":{"name":{"type":"string","description":"What it is called."},"price":{"type":"number"},` +
			`"note":{"type":"string"},"level":{"type":"string","enum":["low","high"],"default":"low"}},"required":["name","price"],` +
			`"additionalProperties":false,"description":"A thing to buy."}`},
		{mapOf(stringT, array(option(intT))), `{"type":"object","additionalProperties":{"type":"array","items":{"anyOf":[{"type":"integer"},{"type":"null"}]}}}`},
		{tuple(intT, value.AnyType), `{"type":"array","prefixItems":[{"type":"integer"},{}],"minItems":2,"maxItems":2}`},
		{dayT, `{"type":"string","enum":["Sat","Sun"]}`},
		{treeT, `{"type":"object","properties":{"value":{"type":"integer"},"children":{"type":"array","items":{"$ref":"#"}}},"required":["value","children"],"additionalProperties":false}`},
		{wrapT, `{"type":"object","properties":{"tree":{"$ref":"#/$defs/Tree"},"other":{"$ref":"#/$defs/Tree","description":"Another."}},` +
			`"required":["tree","other"],"additionalProperties":false,"$defs":{"Tree":{"type":"object","properties":{"value":{"type":"integer"},` +
			`"children":{"type":"array","items":{"$ref":"#/$defs/Tree"}}},"required":["value","children"],"additionalProperties":false}}}`},
		{orderT, `{"type":"object","properties":{"items":{"type":"array","items":{"type":"object","properties":{` +
			`"name":{"type":"string","description":"What it is called."},"price":{"type":"number"},"note":{"type":"string"},` +
			`"level":{"type":"string","enum":["low","high"],"default":"low"}},"required":["name","price"],"additionalProperties":false,` +
			`"description":"A thing to buy."}},"tags":{"type":"object","additionalProperties":{"type":"integer"}},` +
			`"pair":{"type":"array","prefixItems":[{"type":"integer"},{"type":"boolean"}],"minItems":2,"maxItems":2},"maybe":{"type":"integer"}},` +
			`"required":["items","tags","pair"],"additionalProperties":false}`},
		{&value.Type{Kind: value.TypeSchema, Name: "Loose", Fields: []value.Field{{Name: "any", Type: value.AnyType, HasDefault: true, Default: value.Int(1)}}},
			`{"type":"object","properties":{"any":{"default":1}},"required":[],"additionalProperties":false}`},
		{tuple(wrapT, otherTree), `{"type":"array","prefixItems":[{"type":"object","properties":{"tree":{"$ref":"#/$defs/Tree"},"other":{"$ref":"#/$defs/Tree","description":"Another."}},` +
			`"required":["tree","other"],"additionalProperties":false},{"$ref":"#/$defs/Tree2"}],"minItems":2,"maxItems":2,"$defs":{"Tree":{"type":"object","properties":{"value":{"type":"integer"},` +
			`"children":{"type":"array","items":{"$ref":"#/$defs/Tree"}}},"required":["value","children"],"additionalProperties":false},` +
			`"Tree2":{"type":"object","properties":{"next":{"$ref":"#/$defs/Tree2"}},"required":[],"additionalProperties":false}}}`},
	} {
		if diff := cmp.Diff(c.want, string(Text(c.t))); diff != "" {
			t.Errorf("Text(%s) differs: %s", c.t, diff)
		}
	}
	if got := string(Object(nil)); got != `{"type":"object","properties":{},"required":[],"additionalProperties":false}` {
		t.Error(got)
	}
}

// TestOutputAgainstOracle checks that the output schema of a type accepts its encoded values,
// including nil in fields of Option types.
func TestOutputAgainstOracle(t *testing.T) {
	pair := &value.Type{Kind: value.TypeStruct, Name: "Pair", Fields: []value.Field{{Name: "a", Type: option(intT)}, {Name: "b", Type: option(itemT), Doc: "The other."}}}
	for _, c := range []struct {
		t  *value.Type
		in string
	}{
		{itemT, `{"name":"a","price":1}`}, {itemT, `{"name":"a","price":1,"note":"n"}`}, {pair, `{}`}, {pair, `{"a":1,"b":{"name":"a","price":1}}`},
		{treeT, `{"value":1,"children":[{"value":2,"children":[]}]}`}, {mapOf(stringT, array(option(intT))), `{"a":[1,null]}`}, {shapeT, `"Empty"`},
	} {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Output(c.t)))
		if err != nil {
			t.Fatalf("%s: %v", c.t, err)
		}
		compiler := jsonschema.NewCompiler()
		if err := compiler.AddResource("mem:s", doc); err != nil {
			t.Fatal(err)
		}
		s, err := compiler.Compile("mem:s")
		if err != nil {
			t.Fatalf("%s: %v", c.t, err)
		}
		v, errs := Decode([]byte(c.in), c.t)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		written := value.AppendJSON(nil, v)
		var back any
		if err := json.Unmarshal(written, &back); err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(back); err != nil {
			t.Errorf("the output schema does not accept %s of type %s: %v", written, c.t, err)
		}
	}
}

// TestTextAgainstOracle checks that the schema of a type accepts what Decode accepts, and refuses
// what Decode refuses.
func TestTextAgainstOracle(t *testing.T) {
	for _, typ := range []*value.Type{intT, floatT, levelT, itemT, orderT, shapeT, dayT, treeT, wrapT, array(option(intT)), tuple(intT, boolT),
		{Kind: value.TypeResult, Args: []*value.Type{intT, stringT}}} {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Text(typ)))
		if err != nil {
			t.Fatalf("%s: %v", typ, err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("mem:s", doc); err != nil {
			t.Fatal(err)
		}
		s, err := c.Compile("mem:s")
		if err != nil {
			t.Fatalf("%s: %v", typ, err)
		}
		for _, in := range []string{`1`, `1.5`, `"low"`, `"Sat"`, `"Empty"`, `{"variant":"Circle","data":1}`, `{"variant":"Box","data":[1,2]}`, `{"variant":"Box","data":[1]}`,
			`{"variant":"Named","data":{"label":"x"}}`, `[1,null]`, `[1,true]`, `[1]`, `null`, `{"ok":1}`, `{"err":"x"}`, `{"err":1}`,
			`{"name":"a","price":1}`, `{"name":"a"}`, `{"name":"a","price":1,"level":"no"}`,
			`{"items":[{"name":"a","price":1}],"tags":{"a":1},"pair":[1,true]}`, `{"items":[{"name":"a"}],"tags":{"a":1},"pair":[1,true]}`,
			`{"value":1,"children":[{"value":2,"children":[]}]}`, `{"value":1,"children":[{"value":"2","children":[]}]}`,
			`{"tree":{"value":1,"children":[]},"other":{"value":1,"children":[]}}`} {
			var v any
			if err := json.Unmarshal([]byte(in), &v); err != nil {
				t.Fatal(err)
			}
			_, errs := Decode([]byte(in), typ)
			if accepts := s.Validate(v) == nil; accepts != (len(errs) == 0) {
				t.Errorf("%s as %s: accepted by the schema: %v; errors of Decode: %q", in, typ, accepts, Join(errs))
			}
		}
	}
}
