package schema

import (
	"testing"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// TestReadRepairsModelText checks that Read repairs texts with only one possible meaning, and
// reports the repairs.
func TestReadRepairsModelText(t *testing.T) {
	twins := &value.Type{Kind: value.TypeUnion, Values: []string{"on", "ON"}}
	for _, c := range []struct {
		t             *value.Type
		in            string
		want, repairs string // want is the value as JSON, or the errors
		hits          int
	}{
		{intT, `"42"`, `42`, `read "42" as 42`, 0}, {intT, `" 7 "`, `7`, `read " 7 " as 7`, 0}, {intT, `"+7"`, `expected Int, got "+7"`, ``, 0},
		{intT, `3.0`, `3`, `read 3.0 as a whole number`, 0}, {intT, `3.5`, `expected Int, got 3.5`, ``, 0},
		{intT, `9007199254740991.0`, `9007199254740991`, `read 9007199254740991.0 as a whole number`, 0},
		{intT, `9007199254740992.0`, `expected Int, got 9007199254740992.0`, ``, 0}, {intT, `true`, `expected Int, got true`, ``, 0},
		{floatT, `"1.5"`, `1.5`, `read "1.5" as 1.5`, 0}, {floatT, `"1.5 m"`, `expected Float, got "1.5 m"`, ``, 0}, {floatT, `"1e999"`, `expected Float, got "1e999"`, ``, 0},
		{boolT, `"Yes"`, `true`, `read "Yes" as true`, 0}, {boolT, `"FALSE"`, `false`, `read "FALSE" as false`, 0}, {boolT, `"maybe"`, `expected Bool, got "maybe"`, ``, 0},
		{levelT, `" HIGH"`, `"high"`, `read " HIGH" as "high"`, 0}, {levelT, `3`, `expected one of "low" | "high", got 3`, ``, 0},
		{twins, `"On"`, `expected one of "on" | "ON", got "On"`, ``, 0}, {twins, `"on"`, `"on"`, ``, 0},
		{dayT, `"sun "`, `"Sun"`, `read "sun " as Sun`, 0}, {shapeT, `"box"`, `expected a variant of Shape (Empty, Circle, Box, Named), got "box"`, ``, 0},
		{shapeT, `{"variant":"circle","data":"1"}`, `{"variant":"Circle","data":1.0}`, `read "circle" as Circle; data: read "1" as 1.0`, 0},
		{itemT, `{"name":"a","price":"2","more":1}`, `{"name":"a","price":2.0,"level":"low"}`, `more: left out, there is no such member; price: read "2" as 2.0`, 2},
		{array(itemT), `[{"name":"a"}]`, `[0].price: missing, expected Float`, ``, 1},
		{stringT, `1`, `expected String, got 1`, ``, 0}, {nilT, `"null"`, `expected Nil, got "null"`, ``, 0},
		{intT, `[`, `not valid JSON: unexpected end of the text at offset 1`, ``, 0},
	} {
		r := Read([]byte(c.in), c.t)
		got := Join(r.Errors)
		if len(r.Errors) == 0 {
			got = string(value.AppendJSON(nil, r.Value))
		}
		if got != c.want || Join(r.Repairs) != c.repairs || r.Hits != c.hits {
			t.Errorf("Read(%s) as %s = %s, repairs %s, %d hits; want %s, %s, %d", c.in, c.t, got, Join(r.Repairs), r.Hits, c.want, c.repairs, c.hits)
		}
	}
	if r := ReadText("12", intT); len(r.Errors) > 0 || r.Value != value.Int(12) {
		t.Error(r)
	}
	if _, errs := Decode([]byte(`"sun"`), dayT); len(errs) == 0 {
		t.Error("Decode accepted a text that only Read may repair")
	}
}
