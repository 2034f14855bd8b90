package jcs

import (
	"bytes"
	"strings"
	"testing"
)

// TestCanonical checks the examples of RFC 8785, sections 3.2.2 to 3.2.4 and appendix B, and
// integers.
func TestCanonical(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
		   "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}`,
			"{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}"},
		{`{"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\ud83d\ude00": 5, "\u0080": 6, "\u00f6": 7}`,
			"{\"\\r\":2,\"1\":4,\"\u0080\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\ufb33\":3}"},
		{`[-0, 0.0, -0.0, 5e-324, 1.7976931348623157e308, 999999999999999900000.0, 1e21, 0.000001, 9.999999999999997e-7]`,
			`[0,0,0,5e-324,1.7976931348623157e+308,999999999999999900000,1e+21,0.000001,9.999999999999997e-7]`},
		{`[9007199254740993, -12345678901234567890123]`, `[9007199254740993,-12345678901234567890123]`},
		{`"\b\t\f</script>\u007f"`, "\"\\b\\t\\f</script>\u007f\""},
		{` [ ] `, `[]`}, {`{}`, `{}`},
		{`{"\uffff":1,"\ud83d\ude00":2,"\ue000":3,"a":4,"ab":5,"":6,"é":7}`, "{\"\":6,\"a\":4,\"ab\":5,\"é\":7,\"😀\":2,\"\":3,\"￿\":1}"},
	} {
		got, err := Canonical([]byte(c.in))
		if err != nil || string(got) != c.want {
			t.Errorf("Canonical(%s): error %v\ngot  %s\nwant %s", c.in, err, got, c.want)
		}
	}
}

func TestNoCanonicalForm(t *testing.T) {
	for in, want := range map[string]string{"": "EOF", "[1": "EOF", "1 2": "more than one value", "[1e999]": "number 1e999", `{"a":[1e999]}`: "range"} {
		if got, err := Canonical([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Canonical(%s) = %s, error %v; want an error", in, got, err)
		}
	}
}

// TestIsCanonical checks that isCanonical recognizes canonical texts, and rejects all others.
func TestIsCanonical(t *testing.T) {
	for text, want := range map[string]bool{
		`{"a":1,"b":[null,true,false,-7,0,"x"],"c":{}}`: true, `""`: true, `[]`: true, `"\u0000\u001f\n\"\\ü😀\u000b"`: true, `123456789012345678901234567890`: true,
		`{"":1,"a":2}`: true, `{"a":1,"ä":2}`: true, `"` + "\u007f\u2028" + `"`: true,
		``: false, ` 1`: false, `1 `: false, `[1, 2]`: false, `{"b":1,"a":2}`: false, `{"a":1,"a":2}`: false, `"\/"`: false, `"\u0041"`: false, `"\u001F"`: false, `"\u000a"`: false,
		`-0`: false, `01`: false, `-`: false, `1.5`: false, `1e2`: false, `nul`: false, `[1`: false, `{"a"`: false, `{"a":}`: false, `[,]`: false, `"a`: false, "\"\n\"": false, "\"\xff\"": false,
		`{"\n":1}`: false, `{"` + "\ufb33" + `":1,"😀":2}`: false, `1 2`: false, `"\`: false, `"\u00`: false,
	} {
		if isCanonical([]byte(text)) != want {
			t.Errorf("isCanonical(%s) = %v", text, !want)
		}
	}
	if isCanonical([]byte(strings.Repeat("[", 1000) + strings.Repeat("]", 1000))) {
		t.Error("isCanonical returns true for a deeply nested text")
	}
}

// TestAppendSorted checks that appendSorted handles ordinary texts, and leaves unusual ones to
// encodeCanonical. TestCanonical and FuzzIsCanonical compare the two.
func TestAppendSorted(t *testing.T) {
	for text, want := range map[string]string{
		` { "b" : [ 1 , {"d":2,"c":3} ] , "a" : "x\n" , "ab":null} `: `{"a":"x\n","ab":null,"b":[1,{"c":3,"d":2}]}`,
		`{"id":7,"b":{"id":8}}`: `{"b":{"id":8}}`,
		`{"id":7}`:              `{}`,
		`{"z":1,"id":7,"y":[]}`: `{"y":[],"z":1}`,
		`[{"id":7}]`:            `[{"id":7}]`,
		`[]`:                    `[]`,
	} {
		if got, ok := appendSorted([]byte("x"), []byte(text), "id"); !ok || string(got) != "x"+want {
			t.Errorf("appendSorted(%s) without id = %s, %v, want x%s", text, got, ok, want)
		}
	}
	for _, text := range []string{`{"b":1,"b":2}`, `1.5`, `{"\n":1}`, `"\u0041"`, `{`, `{"a":1,}`, `[1 2]`, ``, `{} 1`, `{"a" 1}`, "\"\xff\""} {
		if got, ok := appendSorted(nil, []byte(text), ""); ok {
			t.Errorf("appendSorted(%s) = %s, want false", text, got)
		}
	}
}

// FuzzIsCanonical compares isCanonical and appendSorted with encodeCanonical.
func FuzzIsCanonical(f *testing.F) {
	for _, text := range []string{`{"b":{"d":1,"c":[]},"a":"x"}`, `{"id":1,"a":2,"a":3}`, `{"a":1,"b":["\u0001",-3]}`, `{"😀":1,"` + "\ufb33" + `":2}`, `[1.5,1e3]`, `"\ud83d\ude00"`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, omit := range []string{"", "a", "b"} {
			if sorted, ok := appendSorted(nil, text, omit); ok {
				if want, err := encodeCanonical(text, omit); err != nil || !bytes.Equal(sorted, want) {
					t.Errorf("appendSorted(%q) without %q = %q, but the canonical form is %q (error %v)", text, omit, sorted, want, err)
				}
			}
		}
		out, err := encodeCanonical(text, "")
		if isCanonical(text) && (err != nil || !bytes.Equal(out, text)) {
			t.Errorf("isCanonical(%q) = true, but the canonical form is %q (error %v)", text, out, err)
		}
		if err == nil && !bytes.Equal(out, text) {
			second, err := Canonical(out)
			if err != nil || !bytes.Equal(second, out) {
				t.Errorf("the canonical form of %q is %q, whose canonical form is %q (error %v)", text, out, second, err)
			}
		}
	})
}
