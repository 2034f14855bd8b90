package stdlib

import "testing"

func TestMap(t *testing.T) {
	run(t, []call{
		{"Map.len", `[{"a": 1, "b": 2}]`, `2`, ""},
		{"Map.is_empty", `[{}]`, `true`, ""},
		{"Map.get", `[{"a": 1, "b": 2}, "b"]`, `2`, ""},
		{"Map.get", `[{"a": 1, "b": 2}, "c"]`, `null`, ""},
		{"Map.get", `[{"a": 1, "b": 2}, 1.5]`, `fault: a map's key must be a String, an Int or a Bool, not Float`, ""},
		{"Map.get_or", `[{"a": 1, "b": 2}, "c", 9]`, `9`, ""},
		{"Map.has", `[{"a": null, "b": 2}, "a"]`, `true`, ""},
		{"Map.set", `[{"a": 1, "b": 2}, "a", 3]`, `null`, `{"a":3,"b":2}`},
		{"Map.set", `[{}, [1], 3]`, `fault: a map's key must be a String, an Int or a Bool, not Array`, ""},
		{"Map.insert", `[{}, "x", 1]`, `null`, `{"x":1}`},
		{"Map.delete", `[{"a": 1, "b": 2}, "a"]`, `true`, `{"b":2}`},
		{"Map.delete", `[{"a": 1, "b": 2}, "c"]`, `false`, ""},
		{"Map.remove", `[{"a": 1, "b": 2}, "a"]`, `1`, `{"b":2}`},
		{"Map.remove", `[{}, "a"]`, `null`, ""},
		{"Map.clear", `[{"a": 1, "b": 2}]`, `null`, `{}`},
		{"Map.merge", `[{"a": 1, "b": 2}, {"b": 3, "c": 4}]`, `null`, `{"a":1,"b":3,"c":4}`},
		{"Map.keys", `[{"b": 1, "a": 2}]`, `["b","a"]`, ""},
		{"Map.values", `[{"b": 1, "a": 2}]`, `[1,2]`, ""},
		{"Map.entries", `[{"b": 1, "a": 2}]`, `[["b",1],["a",2]]`, ""},
		{"Map.to_array", `[{}]`, `[]`, ""},
		{"Map.to_string", `[{"b": 1, "a": [2]}]`, `"{\"b\":1,\"a\":[2]}"`, ""},
	})
}
