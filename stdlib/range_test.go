package stdlib

import "testing"

func TestRange(t *testing.T) {
	run(t, []call{
		{"Range.contains", `[{"range": [0, 5]}, 4]`, `true`, ""},
		{"Range.contains", `[{"range": [0, 5]}, 5]`, `false`, ""},
		{"Range.len", `[{"range": [4, 4]}]`, `0`, ""},
		{"Range.len", `[{"range": [5, 1]}]`, `0`, ""},
		{"Range.len", `[{"range": [-9223372036854775808, 9223372036854775807]}]`,
			`fault: integer overflow: length of -9223372036854775808..9223372036854775807`, ""},
		{"Range.step", `[{"range": [0, 10]}, 3]`, `[0,3,6,9]`, ""},
		{"Range.step", `[{"range": [0, 9]}, 3]`, `[0,3,6]`, ""},
		{"Range.step", `[{"range": [0, 2]}, 9223372036854775807]`, `[0]`, ""},
		{"Range.step", `[{"range": [0, 2]}, 0]`, `fault: step: 0 is not positive`, ""},
		{"Range.step", `[{"range": [-9223372036854775808, 9223372036854775807]}, 9223372036854775807]`,
			`[-9223372036854775808,-1,9223372036854775806]`, ""},
		{"Range.to_array", `[{"range": [-1, 2]}]`, `[-1,0,1]`, ""},
		{"Range.to_array", `[{"range": [0, 9223372036854775807]}]`,
			`fault: an array of the 9223372036854775807 numbers of 0..9223372036854775807 would be too large`, ""},
		{"Range.reverse", `[{"range": [0, 3]}]`, `[2,1,0]`, ""},
	})
}
