package stdlib

import "testing"

func TestMath(t *testing.T) {
	run(t, []call{
		{"math.abs", `[-42]`, `42`, ""},
		{"math.abs", `[-2.5]`, `2.5`, ""},
		{"math.abs", `["x"]`, `fault: math.abs: expected a Float, got String`, ""},
		{"math.min", `[3, 7]`, `3`, ""},
		{"math.max", `[1, 2.5]`, `2.5`, ""},
		{"math.clamp", `[50, 0, 100]`, `50`, ""},
		{"math.round", `[-3.7]`, `-4`, ""},
		{"math.round", `[2.5]`, `3`, ""},
		{"math.floor", `[-3.2]`, `-4`, ""},
		{"math.ceil", `[-3.7]`, `-3`, ""},
		{"math.ceil", `[1e300]`, `fault: ceil: 1e+300 does not fit an Int`, ""},
		{"math.pow", `[-2, 3]`, `-8`, ""},
		{"math.pow", `[2.0, 3.0]`, `8.0`, ""},
		{"math.sqrt", `[16.0]`, `4.0`, ""},
		{"math.ln", `[1.0]`, `0.0`, ""},
		{"math.atan2", `[0.0, -1.0]`, `3.141592653589793`, ""},
		{"math.hypot", `[3.0, 4.0]`, `5.0`, ""},
		{"math.gcd", `[12, -18]`, `6`, ""},
		{"math.gcd", `[0, 0]`, `0`, ""},
		{"math.gcd", `[-9223372036854775808, 0]`, `fault: integer overflow: gcd of -9223372036854775808 and 0`, ""},
	})
}
