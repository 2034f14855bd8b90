package schema

import (
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/value"
)

func TestAnswer(t *testing.T) {
	level := &value.Type{Kind: value.TypeEnum, Name: "Level", Variants: []value.Variant{{Name: "Low"}, {Name: "High"}}}
	level.Seal()
	union := levelT
	decision := &value.Type{Kind: value.TypeSchema, Name: "Decision", Fields: []value.Field{
		{Name: "allow", Type: boolT},
		{Name: "why", Type: option(stringT), Optional: true},
		{Name: "level", Type: level},
	}}
	decision.Seal()
	for _, c := range []struct {
		t                  *value.Type
		text, want, misfit string
	}{
		{boolT, " true ", "true", ""},
		{boolT, "Yes", "true", ""},
		{boolT, " n", "false", ""},
		{boolT, "maybe", "", `expected Bool, got "maybe"`},
		{boolT, `1`, "", "expected Bool, got 1"},
		{option(boolT), "no", "false", ""},
		{option(boolT), "null", "null", ""},
		{intT, "42", "42", ""},
		{intT, "4.5", "", "expected Int, got 4.5"},
		{floatT, "2", "2.0", ""},
		{stringT, " true ", `" true "`, ""},
		{union, "low", `"low"`, ""},
		{union, " Hi", `"high"`, ""},
		{&value.Type{Kind: value.TypeUnion, Values: []string{"main", "maintain"}}, "main", `"main"`, ""},
		{&value.Type{Kind: value.TypeUnion, Values: []string{"main", "maintain"}}, "mai", "", `expected one of "main" | "maintain", got "mai"`},
		{union, "medium", "", `expected one of "low" | "high", got "medium"`},
		{union, "", "", `expected one of "low" | "high", got ""`},
		{level, "High", `"High"`, ""},
		{level, " High\n", `"High"`, ""},
		{level, "Mid", "", `expected a variant of Level (Low, High), got "Mid"`},
		{level, "h", `"High"`, ""},
		{option(stringT), "text", `"text"`, ""},
		{option(stringT), "null", "null", ""},
		{option(intT), "null", "null", ""},
		{decision, `{"allow": true, "level": "Low"}`, `{"allow":true,"level":"Low"}`, ""},
		{decision, `{"allow": tru}`, "", "not valid JSON: expected a value at offset 10"},
		{decision, `{"allow": 1, "level": "Low"}`, "", "allow: expected Bool, got 1"},
		{decision, "yes", "", `expected Decision, got "yes"`},
		{value.AnyType, "word", `"word"`, ""},
		{value.AnyType, "[1]", "[1]", ""},
		{intT, "", "", `expected Int, got ""`},
	} {
		v, errs := ReadAnswer(c.text, c.t)
		if got := Join(errs); got != c.misfit {
			t.Errorf("ReadAnswer of type %s from %q: error %q, want %q", c.t, c.text, got, c.misfit)
		} else if got := string(value.AppendJSON(nil, v)); c.misfit == "" && got != c.want {
			t.Errorf("ReadAnswer of type %s from %q = %s, want %s", c.t, c.text, got, c.want)
		}
	}
	for _, c := range []struct {
		t          *value.Type
		text, want string
	}{
		{boolT, " maybe", `expected yes or no, got "maybe"`},
		{option(boolT), "maybe", `expected yes or no, or null, got "maybe"`},
		{union, "medium", `expected low or high, got "medium"`},
		{level, "Mid", `expected Low or High, got "Mid"`},
		{option(level), "Mid", `expected Low or High, or null, got "Mid"`},
		{intT, "x", ""}, {decision, "x", ""}, {shapeT, "x", ""}, {option(intT), "x", ""},
	} {
		if got := RefusedWord(c.text, c.t); got != c.want {
			t.Errorf("RefusedWord of type %s for %q = %q, want %q", c.t, c.text, got, c.want)
		}
	}
	for _, c := range []struct {
		t    *value.Type
		want string
	}{
		{stringT, ""}, {value.AnyType, ""}, {boolT, "true or false"}, {intT, "a whole number"}, {floatT, "a number"},
		{union, "low or high"}, {level, "Low or High"}, {option(boolT), "true or false, or null"}, {option(stringT), ""},
		{decision, `JSON: {"allow": Bool, "why"?: String, "level": "Low" | "High"}`},
		{array(intT), "JSON: [Int, …]"},
		{tuple(intT, union), `JSON: [Int, "low" | "high"]`},
		{mapOf(stringT, boolT), `JSON: {"…": Bool, …}`},
		{shapeT, "JSON: Shape"}, {nilT, "null"}, {&value.Type{Kind: value.TypeUnion, Values: []string{"one"}}, "one"},
		{&value.Type{Kind: value.TypeUnion, Values: []string{"a", "b", "c"}}, "a, b or c"}, {array(option(intT)), "JSON: [Int or null, …]"},
		{array(array(itemT)), `JSON: [[{"name": String, "price": Float, "note"?: String, "level"?: "low" | "high"}, …], …]`},
		{array(array(array(itemT))), "JSON: [[[Item, …], …], …]"}, {wrapT, `JSON: {"tree": {"value": Int, "children": [Tree, …]}, "other": {"value": Int, "children": [Tree, …]}}`},
	} {
		if got := AnswerFormat(c.t); got != c.want {
			t.Errorf("AnswerFormat(%s) = %q, want %q", c.t, got, c.want)
		}
		if got, want := ShownFormat(c.want), strings.Replace(c.want, "true or false", "yes or no", 1); got != want {
			t.Errorf("ShownFormat(%q) = %q, want %q", c.want, got, want)
		}
	}
}
