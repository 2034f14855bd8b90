package stdlib

import (
	"testing"

	"github.com/concerto-lang/concerto/internal/data/value"
)

func TestArray(t *testing.T) {
	run(t, []call{
		{"Array.len", `[[1, 2]]`, `2`, ""},
		{"Array.is_empty", `[[]]`, `true`, ""},
		{"Array.first", `[[]]`, `null`, ""},
		{"Array.first", `[["a"]]`, `"a"`, ""},
		{"Array.last", `[[1, 2]]`, `2`, ""},
		{"Array.get", `[[1, 2], 1]`, `2`, ""},
		{"Array.get", `[[1, 2], 2]`, `null`, ""},
		{"Array.get", `[[1, 2], -1]`, `fault: get: the index -1 is negative`, ""},
		{"Array.contains", `[[1, 2], 2]`, `true`, ""},
		{"Array.contains", `[[{"float": "NaN"}], {"float": "NaN"}]`, `false`, ""},
		{"Array.contains", `[[[1], [2]], [2]]`, `true`, ""},
		{"Array.index_of", `[[5, 3, 3], 3]`, `1`, ""},
		{"Array.index_of", `[[5], 6]`, `null`, ""},
		{"Array.index_of", `[[1, 2], 2.0]`, `1`, ""},
		{"Array.push", `[[1], "x"]`, `null`, `[1,"x"]`},
		{"Array.pop", `[[1, 2]]`, `2`, `[1]`},
		{"Array.pop", `[[]]`, `null`, ""},
		{"Array.insert", `[[1, 3], 1, 2]`, `null`, `[1,2,3]`},
		{"Array.insert", `[[], 0, 2]`, `null`, `[2]`},
		{"Array.insert", `[[1], 2, 2]`, `fault: index 2 is out of range: the length is 1`, ""},
		{"Array.insert", `[[1], -1, 2]`, `fault: index -1 is out of range: the length is 1`, ""},
		{"Array.remove", `[[1, 2, 3], 0]`, `1`, `[2,3]`},
		{"Array.remove", `[[1], 1]`, `fault: index 1 is out of range: the length is 1`, ""},
		{"Array.clear", `[[1, 2]]`, `null`, `[]`},
		{"Array.extend", `[[1], [2.5, "x"]]`, `null`, `[1,2.5,"x"]`},
		{"Array.truncate", `[[1, 2, 3], 1]`, `null`, `[1]`},
		{"Array.truncate", `[[1], 9223372036854775807]`, `null`, ""},
		{"Array.truncate", `[[1], -1]`, `fault: truncate: the count -1 is negative`, ""},
		{"Array.swap", `[[1, 2, 3], 0, 2]`, `null`, `[3,2,1]`},
		{"Array.swap", `[[1], 0, 1]`, `fault: index 1 is out of range: the length is 1`, ""},
		{"Array.zip", `[[1, 2, 3], ["a", "b"]]`, `[[1,"a"],[2,"b"]]`, ""},
		{"Array.enumerate", `[["a", "b"]]`, `[[0,"a"],[1,"b"]]`, ""},
		{"Array.reverse", `[[1, 2, 3]]`, `[3,2,1]`, ""},
		{"Array.reverse", `[[1.5, 2.5]]`, `[2.5,1.5]`, ""},
		{"Array.reverse", `[[true, false]]`, `[false,true]`, ""},
		{"Array.reverse", `[["a", [1]]]`, `[[1],"a"]`, ""},
		{"Array.reverse", `[[]]`, `[]`, ""},
		{"Array.unique", `[[5, 3, 5, 1, 3]]`, `[5,3,1]`, ""},
		{"Array.unique", `[["a", "b", "a"]]`, `["a","b"]`, ""},
		{"Array.unique", `[[1, 1.0, "1", [1], [1]]]`, `[1,"1",[1]]`, ""},
		{"Array.unique", `[[{"float": "NaN"}, {"float": "NaN"}]]`, `[null,null]`, ""},
		{"Array.unique", `[[]]`, `[]`, ""},
		{"Array.join", `[["a", 1, [2], null], "-"]`, `"a-1-[2]-nil"`, ""},
		{"Array.join", `[[], "-"]`, `""`, ""},
		{"Array.slice", `[[1, 2, 3], 1, null]`, `[2,3]`, ""},
		{"Array.slice", `[[1, 2, 3], 1, 2]`, `[2]`, ""},
		{"Array.slice", `[[1, 2, 3], 4, null]`, `fault: slice 4..3 is out of range: the length is 3`, ""},
		{"Array.take", `[[1, 2, 3], 2]`, `[1,2]`, ""},
		{"Array.take", `[[1, 2, 3], 9]`, `[1,2,3]`, ""},
		{"Array.take", `[[1], -1]`, `fault: take: the count -1 is negative`, ""},
		{"Array.skip", `[[1, 2, 3], 2]`, `[3]`, ""},
		{"Array.skip", `[[1, 2, 3], 9]`, `[]`, ""},
		{"Array.chunks", `[[1, 2, 3], 2]`, `[[1,2],[3]]`, ""},
		{"Array.chunks", `[[1], 9223372036854775807]`, `[[1]]`, ""},
		{"Array.chunks", `[[1], 0]`, `fault: chunks: the length 0 is not positive`, ""},
		{"Array.windows", `[[1, 2, 3], 2]`, `[[1,2],[2,3]]`, ""},
		{"Array.windows", `[[1, 2, 3], 4]`, `[]`, ""},
		{"Array.sort", `[[3, 1, 2]]`, `[1,2,3]`, ""},
		{"Array.sort", `[[2.5, {"float": "NaN"}, -1.0]]`, `[null,-1.0,2.5]`, ""},
		{"Array.sort", `[["b", "a", "Z"]]`, `["Z","a","b"]`, ""},
		{"Array.sort", `[[2, 1.5]]`, `[1.5,2]`, ""},
		{"Array.sort", `[[]]`, `[]`, ""},
		{"Array.sort", `[[1, "a"]]`, `fault: cannot order Int and String`, ""},
		{"Array.sort", `[[true, false]]`, `fault: cannot order values of type Bool`, ""},
		{"Array.sort", `[[[1], [2]]]`, `fault: cannot order values of type Array`, ""},
		{"Array.min", `[[3, 1, 2]]`, `1`, ""},
		{"Array.min", `[[]]`, `null`, ""},
		{"Array.max", `[["b", "a"]]`, `"b"`, ""},
		{"Array.max", `[[{"float": "NaN"}, 1.0]]`, `1.0`, ""},
		{"Array.sum", `[[5, 3]]`, `8`, ""},
		{"Array.sum", `[[]]`, `0`, ""},
		{"Array.sum", `[[1, 0.5]]`, `1.5`, ""},
		{"Array.sum", `[[9223372036854775807, 1]]`, `fault: integer overflow: sum of an array`, ""},
		{"Array.sum", `[["a"]]`, `fault: sum: expected numbers, got String`, ""},
		{"Array.sum_float", `[[]]`, `0.0`, ""},
		{"Array.sum_float", `[[0.5, 0.25]]`, `0.75`, ""},
		{"Array.product", `[[2, 3]]`, `6`, ""},
		{"Array.product_float", `[[]]`, `1.0`, ""},
		{"__order", `[["b", "a", "b", "a"]]`, `[1,3,0,2]`, ""},
		{"__least", `[[2, 1, 1]]`, `1`, ""},
		{"__greatest", `[[1, 3, 3]]`, `1`, ""},
		{"__greatest", `[[]]`, `null`, ""},
	})
}

// TestBorrowedElements checks that a native function marks an element as shared if it returns the
// element of a container or adds it to one. A change of the value outside the container then does
// not change the container.
func TestBorrowedElements(t *testing.T) {
	for _, name := range []string{"Array.first", "Array.last", "Array.reverse", "Array.enumerate", "Array.unique"} {
		inner := value.ArrayOf(value.Int(1))
		outer := value.ArrayOf(inner)
		if _, err := natives[name].Invoke(name, []value.Slot{outer}); err != nil {
			t.Fatal(err)
		}
		if !value.IsShared(inner) {
			t.Errorf("%s does not mark its result as shared", name)
		}
	}
	m := value.NewMap(0)
	for _, name := range []string{"Map.get", "Map.get_or", "Map.values", "Map.entries"} {
		inner := value.ArrayOf(value.Int(1))
		m.SetString("k", inner)
		if _, err := natives[name].Invoke(name, []value.Slot{m.Slot(), value.String("k"), value.Nil}); err != nil {
			t.Fatal(err)
		}
		if !value.IsShared(inner) {
			t.Errorf("%s does not mark its result as shared", name)
		}
	}
	inner := value.ArrayOf(value.Int(1))
	if _, err := natives["Array.push"].Invoke("Array.push", []value.Slot{value.ArrayOf(), inner}); err != nil {
		t.Fatal(err)
	}
	if !value.IsShared(inner) {
		t.Error("Array.push does not mark the added element as shared")
	}
}
