package stdlib

import (
	"errors"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/value"
)

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
		{"String.slice", `["日本語", 2, 1]`, `fault: slice 2..1 begins after its end`, ""},
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
		{"String.split_whitespace", `[" a\t\nbé\u00a0 c"]`, `["a","bé","c"]`, ""},
		{"String.split_whitespace", `["日本 "]`, `["日本"]`, ""},
		{"String.split_whitespace", `[" "]`, `[]`, ""},
		{"String.is_digit", `["042"]`, `true`, ""},
		{"String.is_digit", `["4²"]`, `false`, ""},
		{"String.is_digit", `[""]`, `false`, ""},
		{"String.is_alphabetic", `["né日"]`, `true`, ""},
		{"String.is_alphabetic", `["a1"]`, `false`, ""},
		{"String.is_alphanumeric", `["né1"]`, `true`, ""},
		{"String.is_alphanumeric", `["a_1"]`, `false`, ""},
		{"String.is_whitespace", `[" \n\u00a0"]`, `true`, ""},
		{"String.is_whitespace", `[""]`, `false`, ""},
		{"string.from_code_points", `[[97, 128512]]`, `"a😀"`, ""},
		{"string.from_code_points", `[[]]`, `""`, ""},
		{"string.from_code_points", `[[55296]]`, `null`, ""},
		{"string.from_code_points", `[[97, -1]]`, `null`, ""},
		{"string.from_code_points", `[[1114112]]`, `null`, ""},
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

func TestParseErrorContainsTheInput(t *testing.T) {
	long := strings.Repeat("é", 100)
	_, err := natives["String.parse_int"].Invoke("String.parse_int", []value.Slot{value.String(long), value.Int(10)})
	var e *value.Error
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	if want := `"` + strings.Repeat("é", 60) + `…" is not a whole number`; e.Message != want {
		t.Errorf("message = %s", e.Message)
	}
	if v, _ := value.FieldByName(e.Slot(), "input"); v.AsString() != long {
		t.Errorf("input = %s", v.AsString())
	}
}

// TestReplaceAtEveryLength checks that replacing text and changing case have the results of
// package strings. The texts have lengths around the limit between the two implementations.
func TestReplaceAtEveryLength(t *testing.T) {
	var texts []string
	for _, part := range []string{"a", "aB", "Zz{@[`", "xé", "ß I", "aaa"} {
		for n := range 2 * shortText / len(part) {
			texts = append(texts, strings.Repeat(part, n))
		}
	}
	for _, s := range texts {
		for _, c := range []struct {
			name string
			want string
			args []string
		}{
			{"String.to_upper", strings.ToUpper(s), nil},
			{"String.to_lower", strings.ToLower(s), nil},
			{"String.replace", strings.ReplaceAll(s, "a", ""), []string{"a", ""}},
			{"String.replace", strings.ReplaceAll(s, "aa", "b"), []string{"aa", "b"}},
			{"String.replace", strings.ReplaceAll(s, "a", "a longer text"), []string{"a", "a longer text"}},
			{"String.replace", strings.ReplaceAll(s, "a", "a"), []string{"a", "a"}},
			{"String.replace", strings.ReplaceAll(s, "", "-"), []string{"", "-"}},
			{"String.replace", strings.ReplaceAll(s, "B", strings.Repeat("y", shortText+1)), []string{"B", strings.Repeat("y", shortText+1)}},
			{"String.replace_first", strings.Replace(s, "a", "é", 1), []string{"a", "é"}},
			{"String.replace_first", strings.Replace(s, "x", "", 1), []string{"x", ""}},
		} {
			args := []value.Slot{value.String(s)}
			for _, a := range c.args {
				args = append(args, value.String(a))
			}
			got, err := natives[c.name].Invoke(c.name, args)
			if err != nil || got.Kind() != value.KindString || got.AsString() != c.want {
				t.Fatalf("%s(%q, %q) = %s (error %v), want %q", c.name, s, c.args, value.Text(got), err, c.want)
			}
		}
	}
}
