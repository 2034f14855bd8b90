package value

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDiff(t *testing.T) {
	point := &Type{Kind: TypeStruct, Name: "P", Fields: []Field{{Name: "x"}, {Name: "y"}}}
	shape := &Type{Kind: TypeEnum, Name: "S", Variants: []Variant{
		{Name: "Box", Named: true, Fields: []Field{{Name: "w"}, {Name: "h"}}}, {Name: "Dot", Fields: []Field{{Name: "0"}}}}}
	parsed := func(text string) Slot {
		v, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	long := strings.Repeat("a", 200)
	for _, c := range []struct {
		name string
		a, b Slot
		want []Difference
	}{
		{"equal", parsed(`{"a":[1,{"b":2}]}`), parsed(`{"a":[1.0,{"b":2}]}`), nil},
		{"scalars", Int(1), Int(2), []Difference{{"", "1", "2"}}},
		{"kinds", Int(1), String("1"), []Difference{{"", "1", `"1"`}}},
		{"nested", parsed(`{"a":[1,{"b":2,"c d":3}],"x":1}`), parsed(`{"a":[1,{"b":5,"c d":4}],"y":1}`),
			[]Difference{{".a[1].b", "2", "5"}, {`.a[1]["c d"]`, "3", "4"}, {".x", "1", ""}, {".y", "", "1"}}},
		{"lengths", parsed(`[1,2]`), parsed(`[1,3,4,[]]`), []Difference{{"[1]", "2", "3"}, {"[2]", "", "4"}, {"[3]", "", "[]"}}},
		{"structs", point.Struct(Int(1), Int(2)), point.Struct(Int(1), Float(3)), []Difference{{".y", "2", "3.0"}}},
		{"tuples", Tuple(Int(1), String("a")), Tuple(Int(1), String("b")), []Difference{{".1", `"a"`, `"b"`}}},
		{"variants", shape.Enum(0, Int(1), Int(2)), shape.Enum(1, Int(1)),
			[]Difference{{"", `{"variant":"Box","data":{"w":1,"h":2}}`, `{"variant":"Dot","data":1}`}}},
		{"variant", shape.Enum(0, Int(1), Int(2)), shape.Enum(0, Int(1), Int(3)), []Difference{{".Box.h", "2", "3"}}},
		{"results", Ok(Int(1)), Ok(Int(2)), []Difference{{".Ok.0", "1", "2"}}},
		{"some", Some(Nil), Nil, []Difference{{"", "Some(null)", "(null)"}}},
		{"texts", String(long + "é" + long), String(long + "è" + long), []Difference{{" from character 200 on",
			"…\"" + long[:40] + "é" + long[:38] + "\"…", "…\"" + long[:40] + "è" + long[:38] + "\"…"}}},
		{"long", parsed(`["` + strings.Repeat("ä", 200) + `"]`), Nil, []Difference{{"", `["` + strings.Repeat("ä", 119) + "…", "null"}}},
	} {
		if d := cmp.Diff(c.want, DiffIn(nil, c.a, c.b, 10)); d != "" {
			t.Errorf("%s: differences differ (-want +got):\n%s", c.name, d)
		}
	}
	if got := DiffIn(nil, parsed(`[1,2,3,4]`), parsed(`[5,6,7,8]`), 2); len(got) != 2 {
		t.Errorf("Diff with the limit 2 returned %d differences", len(got))
	}
}
