package stdlib

import "testing"

func TestOption(t *testing.T) {
	run(t, []call{
		{"Option.is_some", `[null]`, `false`, ""},
		{"Option.is_some", `[{"some": null}]`, `true`, ""},
		{"Option.is_none", `[null]`, `true`, ""},
		{"Option.unwrap", `[7]`, `7`, ""},
		{"Option.unwrap", `[null]`, `fault: unwrap of None`, ""},
		{"Option.expect", `[null, "a 100% need"]`, `fault: a 100% need`, ""},
		{"Option.expect", `["x", "no"]`, `"x"`, ""},
		{"Option.unwrap_or", `[null, 4]`, `4`, ""},
		{"Option.unwrap_or", `[3, 4]`, `3`, ""},
		{"Option.or", `[null, 4]`, `4`, ""},
		{"Option.or", `[3, 4]`, `3`, ""},
	})
}
