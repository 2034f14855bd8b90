package stdlib

import (
	"errors"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/value"
)

var (
	intType    = &value.Type{Kind: value.TypeInt}
	stringType = &value.Type{Kind: value.TypeString}
	pointType  = &value.Type{Kind: value.TypeSchema, Name: "Point", Fields: []value.Field{
		{Name: "x", Type: intType}, {Name: "y", Type: intType},
		{Name: "note", Type: &value.Type{Kind: value.TypeOption, Args: []*value.Type{stringType}}, Optional: true},
	}}
	moodType = &value.Type{Kind: value.TypeUnion, Values: []string{"good", "bad"}}
)

func TestShape(t *testing.T) {
	for _, c := range []struct {
		native string
		x      value.Slot
		typ    *value.Type
		want   string
	}{
		{"shape.parse", value.String(`{"x": 1, "y": 2, "more": 3}`), pointType, `{"x":1,"y":2}`},
		{"shape.parse", args(t, `[{"x": 1, "y": 2}]`)[0], pointType, `{"x":1,"y":2}`},
		{"shape.parse", value.String(`{"x": "1", "y": 2.5}`), pointType,
			`SchemaError: x: expected Int, got "1"; y: expected Int, got 2.5`},
		{"shape.parse", value.Int(4), intType, `4`},
		{"shape.read", value.String("Here you are:\n```json\n{\"x\": 1, \"y\": 2,}\n```"), pointType, `[{"x":1,"y":2},["left out a comma","took it out of a code fence"]]`},
		{"shape.read", value.String("I would rather not."), pointType, `SchemaError: no JSON in the text`},
		{"shape.read", value.String(" good\n"), moodType, `["good",[]]`},
		{"shape.read", value.String(`"bad"`), moodType, `["bad",[]]`},
		{"shape.read", value.String("42"), stringType, `["42",[]]`},
		{"shape.convert", args(t, `[{"x": 1, "y": 2, "note": "n"}]`)[0], pointType, `{"x":1,"y":2,"note":"n"}`},
		{"json.parse_as", value.String(`[1]`), &value.Type{Kind: value.TypeArray, Args: []*value.Type{intType}}, `[1]`},
	} {
		got, err := natives[c.native].Invoke(c.native, []value.Slot{c.x, value.NewTypeDesc(c.typ)})
		if text := outcome(got, err); text != c.want {
			t.Errorf("%s(%s) as %s = %s, want %s", c.native, written(c.x), c.typ, text, c.want)
		}
	}
}

// TestShapeError checks that the error contains the name of the schema and the text.
func TestShapeError(t *testing.T) {
	_, err := natives["shape.read"].Invoke("shape.read", []value.Slot{value.String("{}"), value.NewTypeDesc(pointType)})
	var e *value.Error
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	s := e.Slot()
	schema, _ := value.FieldByName(s, "schema")
	raw, _ := value.FieldByName(s, "raw_response")
	if schema.AsString() != "Point" || raw.AsString() != "{}" {
		t.Errorf("schema = %s, raw_response = %s", value.Text(schema), value.Text(raw))
	}
}

// TestParseAs checks that a text that is not JSON, and JSON that does not fit the type, result in
// different errors.
func TestParseAs(t *testing.T) {
	for text, line := range map[string]int64{"{\n": 2, "{}": 0} {
		_, err := natives["json.parse_as"].Invoke("json.parse_as", []value.Slot{value.String(text), value.NewTypeDesc(pointType)})
		var e *value.Error
		if !errors.As(err, &e) || e.Kind != "JsonError" {
			t.Fatalf("parse_as(%q) returned %v", text, err)
		}
		if v, _ := value.FieldByName(e.Slot(), "line"); v.AsInt() != line {
			t.Errorf("error of parse_as(%q) is in line %d, want %d", text, v.AsInt(), line)
		}
	}
}

func TestShapeNameAndText(t *testing.T) {
	got, err := natives["shape.name"].Invoke("shape.name", []value.Slot{value.NewTypeDesc(pointType)})
	if err != nil || got.AsString() != "Point" {
		t.Errorf("parse_as returned %s, %v", value.Text(got), err)
	}
	got, err = natives["shape.json_schema"].Invoke("shape.json_schema", []value.Slot{value.NewTypeDesc(intType)})
	if err != nil || got.AsString() != `{"type":"integer"}` {
		t.Errorf("parse_as returned %s, %v", value.Text(got), err)
	}
}
