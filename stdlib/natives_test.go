package stdlib

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/value"
	"github.com/concerto-lang/concerto/vm"
)

// A call is one row of a table: a native, its arguments as JSON (see args), and
// what it gives: JSON of the result, or "fault: …" or "ParseError: …". after is
// the receiver afterwards, "" when it must be unchanged.
type call struct {
	native string
	args   string
	want   string
	after  string
}

var natives = Natives()

// args reads arguments: a JSON array. Within it {"range": [lo, hi]},
// {"ok": v}, {"err": v}, {"some": v}, {"tuple": […]}, {"float": "NaN"} and
// {"error": msg} (a ToolError) stand for values that JSON does not have.
func args(t testing.TB, text string) []value.Slot {
	t.Helper()
	v, err := value.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %s", text, err)
	}
	var out []value.Slot
	for i := range v.Array().Len {
		out = append(out, special(v.Array().At(i)))
	}
	return out
}

func special(s value.Slot) value.Slot {
	switch s.Kind() {
	case value.KindArray:
		out := value.NewArray()
		for i := range s.Array().Len {
			out.Push(special(s.Array().At(i)))
		}
		return out.Slot()
	case value.KindMap:
		if s.Map().Len() != 1 {
			return s
		}
		made := s
		s.Map().Each(func(k, v value.Slot) bool {
			switch k.AsString() {
			case "range":
				made = value.NewRange(v.Array().At(0).AsInt(), v.Array().At(1).AsInt())
			case "ok":
				made = value.Ok(special(v))
			case "err":
				made = value.Err(special(v))
			case "some":
				made = value.Some(special(v))
			case "tuple":
				made = value.Tuple(special(v).Array().Slots()...)
			case "float":
				made = value.Float(map[string]float64{"NaN": math.NaN(), "inf": math.Inf(1), "-inf": math.Inf(-1)}[v.AsString()])
			case "error":
				made = value.NewError("ToolError", v.AsString())
			}
			return true
		})
		return made
	}
	return s
}

// written gives a result as the tables write it: like JSON, with NaN, inf and
// Results told apart.
func written(s value.Slot) string {
	if f := s; f.Kind() == value.KindFloat {
		return value.Text(s)
	}
	return string(value.AppendJSON(nil, s))
}

func run(t *testing.T, calls []call) {
	t.Helper()
	for _, c := range calls {
		t.Run(c.native+c.args, func(t *testing.T) {
			f := natives[c.native]
			if f == nil {
				t.Fatalf("no native %s", c.native)
			}
			window := args(t, c.args)
			before := written(window[0])
			got, err := f.Invoke(c.native, window)
			if text := outcome(got, err); text != c.want {
				t.Errorf("got %s, want %s", text, c.want)
			}
			after := c.after
			if after == "" {
				after = before
			}
			if text := written(window[0]); text != after {
				t.Errorf("receiver is %s afterwards, want %s", text, after)
			}
		})
	}
}

func outcome(got value.Slot, err error) string {
	var fault *value.Fault
	var program *value.Error
	switch {
	case err == nil:
		return written(got)
	case errors.As(err, &fault):
		return "fault: " + fault.Message
	case errors.As(err, &program):
		return program.Kind + ": " + program.Message
	}
	return "error: " + err.Error()
}

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
		{"assert_ne", `[1, 2, ""]`, `null`, ""},
		{"assert_ne", `[[1], [1], ""]`, `fault: assertion failed: both are [1]`, ""},
	})
}

func TestInt(t *testing.T) {
	run(t, []call{
		{"Int.abs", `[-42]`, `42`, ""},
		{"Int.abs", `[-9223372036854775808]`, `fault: integer overflow: abs of -9223372036854775808`, ""},
		{"Int.clamp", `[150, 0, 100]`, `100`, ""},
		{"Int.clamp", `[-5, 0, 100]`, `0`, ""},
		{"Int.clamp", `[1, 2, 0]`, `fault: clamp: the lower bound 2 is above the upper bound 0`, ""},
		{"Int.pow", `[2, 10]`, `1024`, ""},
		{"Int.pow", `[-2, 63]`, `-9223372036854775808`, ""},
		{"Int.pow", `[2, 62]`, `4611686018427387904`, ""},
		{"Int.pow", `[2, 63]`, `fault: integer overflow: 2 to the power of 63`, ""},
		{"Int.pow", `[10, 30]`, `fault: integer overflow: 10 to the power of 30`, ""},
		{"Int.pow", `[0, 0]`, `1`, ""},
		{"Int.pow", `[1, 9223372036854775807]`, `1`, ""},
		{"Int.pow", `[-1, 9223372036854775807]`, `-1`, ""},
		{"Int.pow", `[2, -1]`, `fault: 2 to the power of -1: the exponent must not be negative`, ""},
		{"Int.to_float", `[3]`, `3.0`, ""},
		{"Int.to_string", `[-7]`, `"-7"`, ""},
		{"Int.to_hex", `[-255]`, `"-ff"`, ""},
		{"Int.checked_add", `[9223372036854775807, 1]`, `null`, ""},
		{"Int.checked_add", `[-9223372036854775808, -1]`, `null`, ""},
		{"Int.checked_add", `[9223372036854775807, -9223372036854775808]`, `-1`, ""},
		{"Int.checked_add", `[5, 0]`, `5`, ""},
		{"Int.checked_sub", `[-9223372036854775808, 1]`, `null`, ""},
		{"Int.checked_sub", `[0, -9223372036854775808]`, `null`, ""},
		{"Int.checked_sub", `[5, 7]`, `-2`, ""},
		{"Int.checked_mul", `[-1, -9223372036854775808]`, `null`, ""},
		{"Int.checked_mul", `[1, -9223372036854775808]`, `-9223372036854775808`, ""},
		{"Int.checked_mul", `[-2, 4611686018427387904]`, `-9223372036854775808`, ""},
		{"Int.checked_mul", `[4294967296, 2147483648]`, `null`, ""},
		{"Int.checked_mul", `[-3, 7]`, `-21`, ""},
		{"Int.wrapping_add", `[9223372036854775807, 1]`, `-9223372036854775808`, ""},
		{"Int.wrapping_sub", `[-9223372036854775808, 1]`, `9223372036854775807`, ""},
		{"Int.wrapping_mul", `[9223372036854775807, 2]`, `-2`, ""},
		{"Int.bit_and", `[12, 10]`, `8`, ""},
		{"Int.bit_or", `[12, 10]`, `14`, ""},
		{"Int.bit_xor", `[12, 10]`, `6`, ""},
		{"Int.bit_not", `[0]`, `-1`, ""},
		{"Int.shl", `[1, 63]`, `-9223372036854775808`, ""},
		{"Int.shl", `[1, 64]`, `fault: shift by 64: must be 0 to 63`, ""},
		{"Int.shr", `[-8, 1]`, `-4`, ""},
		{"Int.shr", `[1, -1]`, `fault: shift by -1: must be 0 to 63`, ""},
		{"Int.abs", `["x"]`, `fault: Int.abs: expected an Int, got String`, ""},
	})
}

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

func TestString(t *testing.T) {
	run(t, []call{
		{"String.len", `["héllo, 世界😀"]`, `10`, ""},
		{"String.len", `[""]`, `0`, ""},
		{"String.is_empty", `[""]`, `true`, ""},
		{"String.contains", `["abc", ""]`, `true`, ""},
		{"String.starts_with", `["abc", "ab"]`, `true`, ""},
		{"String.ends_with", `["abc", "ab"]`, `false`, ""},
		{"String.index_of", `["日本語日", "日"]`, `0`, ""},
		{"String.index_of", `["日本語日", "語"]`, `2`, ""},
		{"String.index_of", `["abc", "x"]`, `null`, ""},
		{"String.last_index_of", `["日本語日", "日"]`, `3`, ""},
		{"String.char_at", `["日本", 1]`, `"本"`, ""},
		{"String.char_at", `["日本", 2]`, `null`, ""},
		{"String.char_at", `["日本", -1]`, `fault: char_at: the index -1 is negative`, ""},
		{"String.slice", `["日本語", 1, null]`, `"本語"`, ""},
		{"String.slice", `["日本語", 1, 2]`, `"本"`, ""},
		{"String.slice", `["日本語", 3, 3]`, `""`, ""},
		{"String.slice", `["日本語", 2, 1]`, `fault: slice 2..1 is out of range: the length is 3`, ""},
		{"String.slice", `["abc", -1, null]`, `fault: slice -1..3 is out of range: the length is 3`, ""},
		{"String.substring", `["abc", 0, 4]`, `fault: slice 0..4 is out of range: the length is 3`, ""},
		{"String.split", `["a,b,", ","]`, `["a","b",""]`, ""},
		{"String.split", `["", ","]`, `[""]`, ""},
		{"String.split", `["hé", ""]`, `["h","é"]`, ""},
		{"String.split_once", `["k=v=w", "="]`, `["k","v=w"]`, ""},
		{"String.split_once", `["kv", "="]`, `null`, ""},
		{"String.lines", `["a\r\nb\n\nc"]`, `["a","b","","c"]`, ""},
		{"String.lines", `["a\n"]`, `["a"]`, ""},
		{"String.lines", `[""]`, `[]`, ""},
		{"String.chars", `["e\u0301😀"]`, `["e","́","😀"]`, ""},
		{"String.bytes", `["é"]`, `[195,169]`, ""},
		{"String.bytes", `[""]`, `[]`, ""},
		{"String.code_points", `["a😀"]`, `[97,128512]`, ""},
		{"String.trim", `["\u00a0 x\t\n"]`, `"x"`, ""},
		{"String.trim_start", `["  x "]`, `"x "`, ""},
		{"String.trim_end", `["  x "]`, `"  x"`, ""},
		{"String.trim_prefix", `["aab", "a"]`, `"ab"`, ""},
		{"String.trim_suffix", `["abb", "b"]`, `"ab"`, ""},
		{"String.replace", `["aXbX", "X", "--"]`, `"a--b--"`, ""},
		{"String.replace", `["ab", "", "-"]`, `"-a-b-"`, ""},
		{"String.replace_first", `["aXbX", "X", ""]`, `"abX"`, ""},
		{"String.to_upper", `["straße é"]`, `"STRAßE É"`, ""},
		{"String.to_lower", `["ÀB"]`, `"àb"`, ""},
		{"String.capitalize", `["éa B"]`, `"Éa B"`, ""},
		{"String.capitalize", `[""]`, `""`, ""},
		{"String.repeat", `["ab", 3]`, `"ababab"`, ""},
		{"String.repeat", `["ab", 0]`, `""`, ""},
		{"String.repeat", `["ab", -1]`, `fault: repeat: the count -1 is negative`, ""},
		{"String.repeat", `["ab", 9223372036854775807]`, `fault: repeat: the result would be longer than 1 GiB`, ""},
		{"String.repeat", `["", 9223372036854775807]`, `""`, ""},
		{"String.reverse", `["a日😀"]`, `"😀日a"`, ""},
		{"String.pad_left", `["7", 3, "0"]`, `"007"`, ""},
		{"String.pad_left", `["7", 6, "日本"]`, `"日本日本日7"`, ""},
		{"String.pad_left", `["long", 2, " "]`, `"long"`, ""},
		{"String.pad_left", `["x", 3, ""]`, `fault: pad: the filling is empty`, ""},
		{"String.pad_right", `["日", 3, "."]`, `"日.."`, ""},
		{"String.pad_right", `["x", 9223372036854775807, "."]`, `fault: pad: the result would be longer than 1 GiB`, ""},
		{"String.count", `["aaaa", "aa"]`, `2`, ""},
		{"String.count", `["abc", ""]`, `4`, ""},
		{"String.parse_int", `["-42", 10]`, `-42`, ""},
		{"String.parse_int", `["+7", 10]`, `7`, ""},
		{"String.parse_int", `["ff", 16]`, `255`, ""},
		{"String.parse_int", `["", 10]`, `ParseError: "" is not a whole number`, ""},
		{"String.parse_int", `["1_000", 10]`, `ParseError: "1_000" is not a whole number`, ""},
		{"String.parse_int", `[" 4", 10]`, `ParseError: " 4" is not a whole number`, ""},
		{"String.parse_int", `["9223372036854775808", 10]`, `ParseError: "9223372036854775808" does not fit an Int`, ""},
		{"String.parse_int", `["12", 2]`, `ParseError: "12" is not a whole number in base 2`, ""},
		{"String.parse_int", `["1", 37]`, `fault: parse_int: the radix 37 must be 2 to 36`, ""},
		{"String.parse_float", `["-2.5e3"]`, `-2500.0`, ""},
		{"String.parse_float", `["7"]`, `7.0`, ""},
		{"String.parse_float", `["inf"]`, `inf`, ""},
		{"String.parse_float", `["infinity"]`, `ParseError: "infinity" is not a number`, ""},
		{"String.parse_float", `["0x1p3"]`, `ParseError: "0x1p3" is not a number`, ""},
		{"String.parse_float", `["1e400"]`, `ParseError: "1e400" does not fit a Float`, ""},
		{"String.parse_float", `["--1"]`, `ParseError: "--1" is not a number`, ""},
		{"String.matches", `["abc123", "^[a-z]+\\d+$"]`, `true`, ""},
		{"String.matches", `["abc", "\\d"]`, `false`, ""},
		{"String.matches", `["abc", "("]`, "ParseError: \"(\" is not a regular expression: missing closing ): `(`", ""},
		{"String.compare", `["Z", "a"]`, `-1`, ""},
		{"String.compare", `["é", "é"]`, `0`, ""},
	})
}

func TestParseErrorKeepsTheInput(t *testing.T) {
	long := strings.Repeat("é", 100)
	_, err := natives["String.parse_int"].Invoke("String.parse_int", []value.Slot{value.String(long), value.Int(10)})
	var e *value.Error
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	if want := `"` + strings.Repeat("é", 60) + `…" is not a whole number`; e.Message != want {
		t.Errorf("message %s", e.Message)
	}
	if v, _ := value.FieldByName(e.Slot(), "input"); v.AsString() != long {
		t.Errorf("input %s", v.AsString())
	}
}

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

// TestLent: what stays in its container is marked, so that changing the copy
// leaves the container alone.
func TestLent(t *testing.T) {
	inner := value.ArrayOf(value.Int(1))
	outer := value.ArrayOf(inner, inner)
	for _, name := range []string{"Array.first", "Array.last", "Array.reverse", "Array.enumerate", "Array.unique"} {
		inner = value.ArrayOf(value.Int(1))
		outer = value.ArrayOf(inner)
		if _, err := natives[name].Invoke(name, []value.Slot{outer}); err != nil {
			t.Fatal(err)
		}
		if !value.Shared(inner) {
			t.Errorf("%s does not mark what it gives", name)
		}
	}
	m := value.NewMap(0)
	for _, name := range []string{"Map.get", "Map.get_or", "Map.values", "Map.entries"} {
		inner = value.ArrayOf(value.Int(1))
		m.SetString("k", inner)
		if _, err := natives[name].Invoke(name, []value.Slot{m.Slot(), value.String("k"), value.Nil}); err != nil {
			t.Fatal(err)
		}
		if !value.Shared(inner) {
			t.Errorf("%s does not mark what it gives", name)
		}
	}
	inner = value.ArrayOf(value.Int(1))
	if _, err := natives["Array.push"].Invoke("Array.push", []value.Slot{value.ArrayOf(), inner}); err != nil {
		t.Fatal(err)
	}
	if !value.Shared(inner) {
		t.Error("Array.push does not mark what it keeps")
	}
}

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

func TestErrorContext(t *testing.T) {
	e := value.NewError("HostError", "no disk", value.ErrorField{Name: "host", Value: value.String("W")})
	got, err := natives["Error.context"].Invoke("Error.context", []value.Slot{e, value.String("step 1")})
	if err != nil {
		t.Fatal(err)
	}
	if value.Message(got) != "step 1: no disk" || value.ErrorKind(got) != "HostError" || !value.Equal(value.Source(got), e) {
		t.Errorf("%s, %s, source %s", value.Message(got), value.ErrorKind(got), value.Text(value.Source(got)))
	}
	if value.Message(e) != "no disk" {
		t.Error("the error itself has changed")
	}
	own := &value.Type{Kind: value.TypeStruct, Name: "Own", Fields: []value.Field{{Name: "code"}, {Name: "message"}}}
	got, err = natives["Error.context"].Invoke("Error.context",
		[]value.Slot{own.Struct(value.Int(7), value.String("m")), value.String("c")})
	if err != nil || written(got) != `{"code":7,"message":"c: m"}` {
		t.Errorf("%s, %v", written(got), err)
	}
}

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

func TestJSON(t *testing.T) {
	run(t, []call{
		{"json.parse", `[" {\"a\": [1, 2.0, null]} "]`, `{"a":[1,2.0,null]}`, ""},
		{"json.stringify", `[{"a": [1, 2.0, "x"]}]`, `"{\"a\":[1,2.0,\"x\"]}"`, ""},
		{"json.stringify_pretty", `[{"a": [1], "e": {}}, 2]`, `"{\n  \"a\": [\n    1\n  ],\n  \"e\": {}\n}"`, ""},
		{"json.stringify_pretty", `[1, 17]`, `fault: stringify_pretty: the indent 17 must be 0 to 16`, ""},
		{"json.is_valid", `["[1,]"]`, `false`, ""},
		{"json.is_valid", `["1"]`, `true`, ""},
	})
	_, err := natives["json.parse"].Invoke("json.parse", []value.Slot{value.String("{\n  \"é\": 1,\n  \"b\": }\n")})
	var e *value.Error
	if !errors.As(err, &e) || e.Kind != "JsonError" {
		t.Fatal(err)
	}
	s := e.Slot()
	for name, want := range map[string]int64{"offset": 20, "line": 3, "column": 8} {
		if v, _ := value.FieldByName(s, name); v.AsInt() != want {
			t.Errorf("%s is %d, want %d", name, v.AsInt(), want)
		}
	}
	if !strings.HasSuffix(e.Message, ", line 3, column 8") {
		t.Errorf("message %s", e.Message)
	}
}

// TestTime compares with Go's own calendar: around the leap days, the ends of
// centuries, and before 1970.
func TestTime(t *testing.T) {
	if got := rfc3339(1772357400250); got != "2026-03-01T09:30:00.250Z" {
		t.Error(got)
	}
	for year := 0; year < 3000; year++ {
		for _, day := range []int{0, 58, 59, 60, 364, 365} {
			at := time.Date(year, 1, 1, 23, 59, 58, 7e6, time.UTC).AddDate(0, 0, day)
			if want, got := at.Format("2006-01-02T15:04:05.000Z"), rfc3339(at.UnixMilli()); got != want {
				t.Fatalf("%d: got %s, want %s", at.UnixMilli(), got, want)
			}
		}
	}
}

func TestAgent(t *testing.T) {
	run(t, []call{
		{"agent.tool_args", `["{\"a\": 2, \"b\": 1}"]`, `{"a":2,"b":1}`, ""},
		{"agent.tool_args", `["  "]`, `{}`, ""},
		{"agent.tool_args", `["null"]`, `{}`, ""},
		{"agent.tool_args", `["[1]"]`, `ToolError: the arguments must be a JSON object, not Array`, ""},
		{"agent.tool_text", `["raw"]`, `"raw"`, ""},
		{"agent.tool_text", `[null]`, `"null"`, ""},
		{"agent.tool_text", `[[1, "x"]]`, `"[1,\"x\"]"`, ""},
		{"host.tool_call", `[{"id": "t", "tool": "look", "args": {"a": 1, "b": 2}}]`, `["look",{"a":1,"b":2}]`, ""},
		{"host.tool_call", `[{"id": "t", "tool": "look"}]`, `["look",{}]`, ""},
		{"host.tool_call", `[{"id": "t", "tool": 5}]`, "ToolError: tool_call: `tool` must be a string, not Int", ""},
		{"host.tool_call", `[{"tool": "x", "args": [1]}]`, "ToolError: tool_call: `args` must be an object, not Array", ""},
	})
	_, err := natives["agent.tool_args"].Invoke("agent.tool_args", []value.Slot{value.String("{")})
	if got := outcome(value.Nil, err); !strings.HasPrefix(got, "ToolError: the arguments are not JSON: ") {
		t.Error(got)
	}
}

func BenchmarkNatives(b *testing.B) {
	numbers := make([]int64, 1000)
	words := make([]string, 1000)
	for i := range numbers {
		numbers[i] = int64(i * 7919 % 1000)
		words[i] = string(rune('a'+i%26)) + string(rune('a'+i*7%26))
	}
	text := strings.Repeat("the quick brown fox ", 50)
	for _, c := range []struct {
		native string
		window []value.Slot
	}{
		{"Array.sort", []value.Slot{value.IntArray(numbers)}},
		{"Array.sort", []value.Slot{value.StringArray(words)}},
		{"Array.unique", []value.Slot{value.StringArray(words)}},
		{"Array.join", []value.Slot{value.StringArray(words), value.String(",")}},
		{"Array.enumerate", []value.Slot{value.IntArray(numbers)}},
		{"String.split", []value.Slot{value.String(text), value.String(" ")}},
		{"String.replace", []value.Slot{value.String(text), value.String("fox"), value.String("cat")}},
		{"String.contains", []value.Slot{value.String(text), value.String("cat")}},
		{"Map.get", []value.Slot{value.NewMap(0).Slot(), value.String("k")}},
	} {
		b.Run(c.native+"/"+value.TypeName(c.window[0]), func(b *testing.B) {
			var f vm.Native = natives[c.native]
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.Invoke(c.native, c.window); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
