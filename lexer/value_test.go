package lexer

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestIntValue(t *testing.T) {
	for text, want := range map[string]uint64{
		"0": 0, "007": 7, "1_000": 1000, "0xFf": 255, "0b1010": 10, "0o17": 15, "0x_f": 15, "0x1": 1, "0b1": 1, "0o7": 7, "00": 0,
		"9223372036854775808": 1 << 63, "18446744073709551615": math.MaxUint64, "0xffffffffffffffff": math.MaxUint64,
	} {
		if got, over := IntValue(text); got != want || over {
			t.Errorf("IntValue(%s) = %d, overflow %v", text, got, over)
		}
	}
	for _, text := range []string{"18446744073709551616", "0x10000000000000000", "99999999999999999999999"} {
		if got, over := IntValue(text); got != 0 || !over {
			t.Errorf("IntValue(%s) = %d, overflow %v", text, got, over)
		}
	}
	for _, text := range []string{"12abc", "0x", "0b2"} {
		if got, over := IntValue(text); got != 0 || over {
			t.Errorf("IntValue(%s) = %d, overflow %v", text, got, over)
		}
	}
}

func TestFloatValue(t *testing.T) {
	for text, want := range map[string]float64{
		"1.5": 1.5, "2e10": 2e10, "1_000.5": 1000.5, "2E-3": 0.002, "1e999": math.Inf(1), "1.5x": 0,
	} {
		if got := FloatValue(text); got != want {
			t.Errorf("FloatValue(%s) = %v", text, got)
		}
	}
}

func TestStrings(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"plain":               {`"a"`, []string{"a"}},
		"escapes":             {`"\\\"\'\n\r\t\0\$\u{1F600}\u{e9}"`, []string{"\\\"'\n\r\t\x00$😀é"}},
		"unknown escape":      {`"a\qb\u{}c"`, []string{`a\qb\u{}c`}},
		"single":              {`'a "b" ${c} \' \n'`, []string{"a \"b\" ${c} ' \n"}},
		"raw":                 {`r"\n${a}"`, []string{`\n${a}`}},
		"raw with hashes":     {`r##"a"#b"##`, []string{`a"#b`}},
		"interpolation":       {`"a\n${b}c${d}"`, []string{"a\n", "c", ""}},
		"over lines":          {"\"a\n  b\"", []string{"a\n  b"}},
		"CRLF":                {"\"a\r\n  b\rc\"", []string{"a\n  b\rc"}},
		"raw CRLF":            {"r\"a\r\nb\"", []string{"a\nb"}},
		"triple on a line":    {`"""a "b" c"""`, []string{`a "b" c`}},
		"triple":              {"\"\"\"\n  a\n    b\n\n  \"\"\"", []string{"a\n  b\n"}},
		"triple CRLF":         {"\"\"\"\r\n  a\r\n  b\r\n  \"\"\"", []string{"a\nb"}},
		"triple, less indent": {"\"\"\"\n a\n  b\n  \"\"\"", []string{"a\nb"}},
		"triple, no indent":   {"\"\"\"\n  a\n\"\"\"", []string{"  a"}},
		"triple, text before the end": {
			"\"\"\"\n  a\n  b\"\"\"", []string{"  a\n  b"}},
		"triple, escapes are no layout": {"\"\"\"\n  a\\n  b\n  \"\"\"", []string{"a\n  b"}},
		"triple, empty":                 {"\"\"\"\n\"\"\"", []string{""}},
		"triple, only indentation":      {"\"\"\"\n  \"\"\"", []string{""}},
		"triple, interpolation":         {"\"\"\"\n  a ${b}\n    ${c} d\n  \"\"\"", []string{"a ", "\n  ", " d"}},
		"triple, ends in a hole":        {"\"\"\"\n  ${a}\n  ${b}\"\"\"", []string{"  ", "\n  ", ""}},
		"triple, hole before the end":   {"\"\"\"\n  ${a}\n  \"\"\"", []string{"", ""}},
		"one escape":                    {`"\n"`, []string{"\n"}},
		"by number":                     {`"\u{a}\u{10FFFF}\u{00e9}"`, []string{"\n\U0010FFFFé"}},
		"no such numbers":               {`"\u{110000}\u{d800}\u{1234567}"`, []string{`\u{110000}\u{d800}\u{1234567}`}},
		"triple, nothing":               {`""""""`, []string{""}},
		"triple, tabs":                  {"\"\"\"\n\t\ta\n\t\"\"\"", []string{"\ta"}},
	} {
		t.Run(name, func(t *testing.T) {
			all, _, _ := lex(t, c.text)
			var toks []Token
			for _, tok := range all {
				if tok.Kind >= String && tok.Kind <= StringTail {
					toks = append(toks, tok)
				}
			}
			got := Strings(c.text, toks...)
			if toks[0].Kind == String {
				got = []string{StringValue(c.text)}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("decoded strings differ (-want +got):\n%s", d)
			}
		})
	}
}
