package stdlib

import "testing"

func TestFloat(t *testing.T) {
	run(t, []call{
		{"Float.abs", `[-0.5]`, `0.5`, ""},
		{"Float.min", `[1.5, {"float": "NaN"}]`, `NaN`, ""},
		{"Float.max", `[1.5, 2.5]`, `2.5`, ""},
		{"Float.clamp", `[9.5, 0.0, 1.0]`, `1.0`, ""},
		{"Float.clamp", `[9.5, {"float": "NaN"}, 1.0]`, `fault: clamp: the lower bound NaN is above the upper bound 1.0`, ""},
		{"Float.pow", `[2.0, 0.5]`, `1.4142135623730951`, ""},
		{"Float.sqrt", `[-1.0]`, `NaN`, ""},
		{"Float.floor", `[-3.2]`, `-4.0`, ""},
		{"Float.ceil", `[3.2]`, `4.0`, ""},
		{"Float.round", `[-2.5]`, `-3.0`, ""},
		{"Float.trunc", `[-3.7]`, `-3.0`, ""},
		{"Float.to_int", `[-3.7]`, `-3`, ""},
		{"Float.to_int", `[-9223372036854775808.0]`, `-9223372036854775808`, ""},
		{"Float.to_int", `[9223372036854775808.0]`, `fault: to_int: 9223372036854776000.0 does not fit an Int`, ""},
		{"Float.to_int", `[{"float": "NaN"}]`, `fault: to_int: NaN does not fit an Int`, ""},
		{"Float.is_nan", `[{"float": "NaN"}]`, `true`, ""},
		{"Float.is_finite", `[{"float": "-inf"}]`, `false`, ""},
		{"Float.is_finite", `[1.0]`, `true`, ""},
		{"Float.to_string", `[0.1]`, `"0.1"`, ""},
		{"Float.to_fixed", `[3.14159, 2]`, `"3.14"`, ""},
		{"Float.to_fixed", `[2.5, 0]`, `"2"`, ""},
		{"Float.to_fixed", `[{"float": "inf"}, 2]`, `"inf"`, ""},
		{"Float.to_fixed", `[1.0, 101]`, `fault: to_fixed: 101 digits: must be 0 to 100`, ""},
		{"Bool.to_string", `[true]`, `"true"`, ""},
	})
}
