package stdlib

import "testing"

func TestPrelude(t *testing.T) {
	run(t, []call{
		{"__line", `[["a", 1.0, [2], null]]`, `"a 1.0 [2] nil"`, ""},
		{"__line", `[[]]`, `""`, ""},
		{"len", `["héllo"]`, `5`, ""},
		{"len", `[[1, 2]]`, `2`, ""},
		{"len", `[{"a": 1, "b": 2}]`, `2`, ""},
		{"len", `[{"range": [2, 5]}]`, `3`, ""},
		{"len", `[7]`, `fault: len: Int has no length`, ""},
		{"to_string", `[1.0]`, `"1.0"`, ""},
		{"to_string", `["raw \" text"]`, `"raw \" text"`, ""},
		{"to_string", `[null]`, `"nil"`, ""},
		{"typeof", `[{"error": "x"}]`, `"ToolError"`, ""},
		{"typeof", `[null]`, `"Nil"`, ""},
		{"typeof", `[[1]]`, `"Array"`, ""},
		{"typeof", `[{"some": {"some": 1}}]`, `"Int"`, ""},
		{"assert", `[true, "x"]`, `null`, ""},
		{"assert", `[false, ""]`, `fault: assertion failed`, ""},
		{"assert", `[false, "why"]`, `fault: assertion failed: why`, ""},
		{"assert_eq", `[1, 1.0, ""]`, `null`, ""},
		{"assert_eq", `[[1, {"a": 2, "b": 3}], [1, {"b": 3, "a": 2}], ""]`, `null`, ""},
		{"assert_eq", `["1", 1, ""]`, `fault: assertion failed: "1" does not equal 1`, ""},
		{"assert_eq", `[{"error": "no"}, null, "msg"]`, `fault: assertion failed: msg: ToolError "no" does not equal null`, ""},
		{"assert_eq", `[{"a": [1, 2], "b": 1}, {"a": [1, 3], "c": 1}, ""]`, "fault: assertion failed: {\"a\":[1,2],\"b\":1} does not equal {\"a\":[1,3],\"c\":1}\n  at a[1]: 2 does not equal 3\n  at b: only the first has 1\n  at c: only the second has 1", ""},
		{"assert_ne", `[1, 2, ""]`, `null`, ""},
		{"assert_ne", `[[1], [1], ""]`, `fault: assertion failed: both are [1]`, ""},
	})
}
