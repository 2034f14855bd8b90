package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

type base struct {
	ID   string `json:"id" doc:"Who it is"`
	Over string
}

type tree struct {
	Value int8  `json:"value"`
	Left  *tree `json:"left"`
}

type everything struct {
	base
	Over     int                `json:"Over" min:"1" max:"9"`
	Kind     string             `json:"kind" enum:"a,b" pattern:"^." min:"1"`
	Level    uint16             `json:"level,omitzero" enum:"1,2"`
	Token    string             `json:"token,omitempty" redact:"true"`
	At       time.Time          `json:"at"`
	Blob     []byte             `json:"blob,omitempty"`
	Raw      json.RawMessage    `json:"raw,omitempty"`
	Any      any                `json:"any,omitempty"`
	Floats   map[string]float64 `json:"floats,omitempty"`
	Pair     [2]bool            `json:"pair,omitempty"`
	Root     *tree              `json:"root"`
	Mail     *string            `json:"mail" format:"email"`
	Quoted   int                `json:"quoted,omitempty,string"`
	Skipped  chan int           `json:"-"`
	hidden   chan int
	Nameless bool
}

func TestSchemaOfGoType(t *testing.T) {
	d := New("x", "Does x", func(_ context.Context, in everything) (int, error) { return in.Over, nil })
	const want = `{"$defs":{"tree":{"additionalProperties":false,"properties":{"left":{"$ref":"#/$defs/tree"},"value":{"maximum":127,"minimum":-128,"type":"integer"}},` +
		`"required":["value"],"type":"object"}},"additionalProperties":false,"properties":{"Nameless":{"type":"boolean"},"Over":{"maximum":9,"minimum":1,"type":"integer"},` +
		`"any":{},"at":{"format":"date-time","type":"string"},"blob":{"contentEncoding":"base64","type":"string"},"floats":{"additionalProperties":{"type":"number"},"type":"object"},` +
		`"id":{"description":"Who it is","type":"string"},"kind":{"enum":["a","b"],"minLength":1,"pattern":"^.","type":"string"},` +
		`"level":{"enum":[1,2],"maximum":65535,"minimum":0,"type":"integer"},"mail":{"format":"email","type":"string"},` +
		`"pair":{"items":{"type":"boolean"},"maxItems":2,"minItems":2,"type":"array"},"quoted":{"type":"string"},"raw":{},"root":{"$ref":"#/$defs/tree"},` +
		`"token":{"type":"string","writeOnly":true}},"required":["Nameless","Over","at","id","kind"],"type":"object"}`
	if string(d.Parameters) != want {
		t.Errorf("schema:\n%s\nwant:\n%s", d.Parameters, want)
	}
	s := opened(t, registered(t, d), Context{}, Hooks{})
	got := s.Call(context.Background(), "x", json.RawMessage(`{"Over":7,"Nameless":true,"at":"2026-01-05T10:00:00Z","id":"i","kind":"a","root":{"value":1,"left":{"value":-128}},"mail":"a@b.c"}`))
	if !got.Success || string(got.Output) != `7` {
		t.Errorf("result = %+v, want output 7", got)
	}
	_ = everything{}.hidden
}

// TestSchemaOfRecursion checks that a type that contains itself is described by a reference to the
// root, and that int64 has its exact limits.
func TestSchemaOfRecursion(t *testing.T) {
	type node struct {
		N    int64            `json:"n"`
		U    uint64           `json:"u,omitempty"`
		Next *json.RawMessage `json:"raw,omitempty"`
	}
	d := New("x", "", func(_ context.Context, in *tree) (*tree, error) { return in, nil })
	if want := `{"additionalProperties":false,"properties":{"left":{"$ref":"#"},"value":{"maximum":127,"minimum":-128,"type":"integer"}},"required":["value"],"type":"object"}`; string(d.Parameters) != want {
		t.Errorf("schema = %s, want %s", d.Parameters, want)
	}
	exact := New("y", "", func(_ context.Context, in node) (node, error) { return in, nil })
	if !strings.Contains(string(exact.Parameters), `{"maximum":9223372036854775807,"minimum":-9223372036854775808,"type":"integer"}`) ||
		!strings.Contains(string(exact.Parameters), `{"maximum":18446744073709551615,"minimum":0,"type":"integer"}`) {
		t.Errorf("schema = %s, want the exact limits of int64 and uint64", exact.Parameters)
	}
	s := opened(t, registered(t, d, exact), Context{}, Hooks{})
	for args, want := range map[string]string{
		`{"n":9223372036854775807,"u":18446744073709551615}`: `{"n":9223372036854775807,"u":18446744073709551615}`,
		`{"n":9223372036854775808}`:                          "bad arguments for y: n: expected at most 9223372036854775807, got 9223372036854775808",
		`{"n":1.0}`:                                          "bad arguments for y: n: expected int64, got number 1.0",
	} {
		r := s.Call(context.Background(), "y", json.RawMessage(args))
		if got := string(r.Output) + r.Error; got != want {
			t.Errorf("arguments %s: result %s, want %s", args, got, want)
		}
	}
}

// TestTypesWithoutSchema checks that Register fails for a type that cannot describe arguments, and
// that the error names the field.
func TestTypesWithoutSchema(t *testing.T) {
	type in struct{ A struct{ C []chan int } }
	type fn struct{ F func() }
	type complexes struct{ Z map[string]complex128 }
	type keys struct{ M map[int]string }
	type iface struct{ E error }
	type badEnum struct {
		N int `enum:"1,two"`
	}
	type badMin struct {
		N int `min:"low"`
	}
	type badRedact struct {
		N int `redact:"yes"`
	}
	for _, c := range []struct {
		d    Definition
		want string
	}{
		{New("x", "", func(context.Context, in) (int, error) { return 0, nil }), "tool 'x': /parameters/properties/A/properties/C/items: field C: type chan int cannot be encoded as JSON"},
		{New("x", "", func(context.Context, fn) (int, error) { return 0, nil }), "tool 'x': /parameters/properties/F: field F: type func() cannot be encoded as JSON"},
		{New("x", "", func(context.Context, complexes) (int, error) { return 0, nil }), "field Z: type complex128 cannot be encoded as JSON"},
		{New("x", "", func(context.Context, keys) (int, error) { return 0, nil }), "field M: a map with keys of type int cannot be encoded as JSON; use string keys"},
		{New("x", "", func(context.Context, iface) (int, error) { return 0, nil }), "field E: type error cannot be encoded as JSON"},
		{New("x", "", func(context.Context, badEnum) (int, error) { return 0, nil }), `field N: enum has "two", which is not a value of type int`},
		{New("x", "", func(context.Context, badMin) (int, error) { return 0, nil }), `field N: min must be a number, not "low"`},
		{New("x", "", func(context.Context, badRedact) (int, error) { return 0, nil }), `field N: redact is "true" or "false", not "yes"`},
		{New("x", "", func(context.Context, int) (int, error) { return 0, nil }), "tool 'x': /parameters: the arguments must be a struct or a map, not int"},
		{New("x", "", func(context.Context, map[bool]int) (int, error) { return 0, nil }), "the arguments: a map with keys of type bool cannot be encoded as JSON; use string keys"},
	} {
		r := &Registry{}
		err := r.Register(c.d)
		var of *DefinitionError
		if !errors.As(err, &of) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error = %v, want %q", err, c.want)
		}
	}
}

// TestNew checks that New converts the output, the error and the Context of a function to those of
// a handler.
func TestNew(t *testing.T) {
	type in struct {
		Any any `json:"any"`
	}
	d := New("x", "", func(ctx context.Context, in in) (any, error) {
		From(ctx).Progress(1, 2, "half")
		switch v := in.Any.(type) {
		case json.Number:
			return fmt.Sprint(v, From(ctx).SessionID), nil
		case nil:
			return func() {}, nil
		case bool:
			return Result{Error: "a result of its own", Metadata: map[string]any{"a": 1}}, nil
		}
		return nil, errors.New("no")
	})
	app := &recorder{}
	s := opened(t, registered(t, d), Context{SessionID: " s"}, app.hooks())
	for args, want := range map[string]string{`{"any":9007199254740993}`: `"9007199254740993 s"`, `{"any":"a"}`: "no", `{"any":true}`: "a result of its own",
		`{"any":null}`: "the output of tool 'x' cannot be encoded as JSON: json: unsupported type: func()", `{}`: "bad arguments for x: any: missing", `{"any":1,"b":2}`: "bad arguments for x: b: unknown"} {
		r := s.Call(context.Background(), "x", json.RawMessage(args))
		if got := string(r.Output) + r.Error; got != want {
			t.Errorf("arguments %s: result %s, want %s", args, got, want)
		}
	}
	if From(context.Background()) != nil {
		t.Error("From found a call in an empty context")
	}
}
