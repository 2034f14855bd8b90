package stdlib

import "testing"

func TestResult(t *testing.T) {
	run(t, []call{
		{"Result.is_ok", `[{"ok": 1}]`, `true`, ""},
		{"Result.is_err", `[{"ok": 1}]`, `false`, ""},
		{"Result.is_ok", `[1]`, `fault: expected a Result, got Int`, ""},
		{"Result.unwrap", `[{"ok": [1]}]`, `[1]`, ""},
		{"Result.unwrap", `[{"err": {"error": "disk full"}}]`, `fault: unwrap of Err: disk full`, ""},
		{"Result.expect", `[{"err": "e"}, "wanted"]`, `fault: wanted: e`, ""},
		{"Result.unwrap_err", `[{"err": "e"}]`, `"e"`, ""},
		{"Result.unwrap_err", `[{"ok": [1]}]`, `fault: unwrap_err of Ok: [1]`, ""},
		{"Result.unwrap_or", `[{"err": "e"}, 5]`, `5`, ""},
		{"Result.unwrap_or", `[{"ok": 4}, 5]`, `4`, ""},
		{"Result.ok", `[{"ok": 4}]`, `4`, ""},
		{"Result.ok", `[{"err": 4}]`, `null`, ""},
		{"Result.err", `[{"err": 4}]`, `4`, ""},
		{"Result.err", `[{"ok": 4}]`, `null`, ""},
		{"__with_context", `["e", "c"]`, `"c: e"`, ""},
		{"__with_context", `[4, "c"]`, `4`, ""},
		{"__with_context", `[{"error": "e"}, "c"]`, `{"message":"c: e","kind":"ToolError","tool":""}`, ""},
	})
}
