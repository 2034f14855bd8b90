package value

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`null`, `null`},
		{` [1, 2.0, -0, 9223372036854775807, -9223372036854775808] `, `[1,2.0,0,9223372036854775807,-9223372036854775808]`},
		{`9223372036854775808`, `9223372036854776000.0`},
		{`1e3`, `1000.0`},
		{`1e-400`, `0.0`},
		{`{"b":1,"a":{"x":[true,false,null]},"b":3}`, `{"b":3,"a":{"x":[true,false,null]}}`},
		{`"é\u00e9\ud83d\ude00\n\/"`, `"éé😀\n/"`},
		{`""`, `""`},
		{`{"":0}`, `{"":0}`},
		{`[[],{}]`, `[[],{}]`},
		{`[1,"a"]`, `[1,"a"]`},
		{`{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"a":10,"j":11}`,
			`{"a":10,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":11}`},
	} {
		s, err := Parse([]byte(c.in))
		if err != nil {
			t.Errorf("Parse(%s): %v", c.in, err)
			continue
		}
		if got := string(AppendJSON(nil, s)); got != c.want {
			t.Errorf("Parse(%s) = %s, want %s", c.in, got, c.want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{``, "unexpected end of the text at offset 0"},
		{`[1,]`, "expected a value at offset 3"},
		{`[1 2]`, "expected `,` or `]` at offset 3"},
		{`{"a" 1}`, "expected `:` at offset 5"},
		{`{a:1}`, "expected a key in quotes at offset 1"},
		{`{"a":1,}`, "expected a key in quotes at offset 7"},
		{`01`, "a number must not begin with 0 at offset 0"},
		{`1.`, "expected a digit at offset 2"},
		{`-`, "expected a digit at offset 1"},
		{`1e999`, "number is out of range at offset 0"},
		{`tru`, "expected a value at offset 0"},
		{`[NaN]`, "JSON has no `NaN` at offset 1"},
		{`{"a": Infinity}`, "JSON has no `Infinity` at offset 6"},
		{`-Infinity`, "JSON has no `-Infinity` at offset 0"},
		{`-I`, "expected a value at offset 0"},
		{`1 1`, "unexpected text after the value at offset 2"},
		{`"abc`, "unexpected end of the text in a string at offset 4"},
		{"\"a\tb\"", "control character in a string at offset 2"},
		{`"\x"`, "unknown escape in a string at offset 1"},
		{`"\u12g4"`, "expected four hexadecimal digits after `\\u` at offset 1"},
		{`"ab\ud800"`, "lone surrogate in a string at offset 3"},
		{`"\udc00\ud800"`, "lone surrogate in a string at offset 1"},
		{"[\"a\xff\"]", "invalid UTF-8 at offset 3"},
		{strings.Repeat("[", MaxDepth+1), "nesting is too deep at offset 10000"},
	} {
		_, err := Parse([]byte(c.in))
		if err == nil || err.Error() != c.want {
			t.Errorf("Parse(%.40s): error = %v, want %s", c.in, err, c.want)
		}
	}
	_, err := Parse([]byte("[1,\n\"é\" x]"))
	var syntax *SyntaxError
	if !errors.As(err, &syntax) {
		t.Fatal(err)
	}
	if line, column := syntax.Place([]byte("[1,\n\"é\" x]")); line != 2 || column != 5 {
		t.Errorf("Place = %d:%d", line, column)
	}
}

func TestParseMessage(t *testing.T) {
	typ, id, payload, err := ParseMessage([]byte(` {"id": {"n" : 1} , "type":"question","text":"a","list":[1]} `))
	if err != nil || typ != "question" || string(id) != `{"n" : 1}` {
		t.Fatal(typ, string(id), err)
	}
	if got := Text(payload); got != `{"id":{"n":1},"text":"a","list":[1]}` {
		t.Error(got)
	}
	_, id, payload, err = ParseMessage([]byte(`{"type":"x"}`))
	if err != nil || id != nil || Text(payload) != `{}` {
		t.Error(id, Text(payload), err)
	}
	for _, in := range []string{`{}`, `{"type":1}`, `[1]`, `"type"`, `{"type":"a","type":2}`} {
		if _, _, _, err := ParseMessage([]byte(in)); err != ErrNoType {
			t.Errorf("Parse(%s): %v", in, err)
		}
	}
	for _, in := range []string{``, `{"type":"a"`, `hello`, `{"type":"a"} x`} {
		var syntax *SyntaxError
		if _, _, _, err := ParseMessage([]byte(in)); !errors.As(err, &syntax) {
			t.Errorf("%s: %v", in, err)
		}
	}
}

// oracle decodes text with encoding/json and encodes it like AppendJSON. ok is false if
// encoding/json refuses the text.
func oracle(data []byte) (s Slot, ok bool) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	s, ok = oracleValue(d)
	if _, err := d.Token(); err != io.EOF {
		return Nil, false
	}
	return s, ok
}

func oracleValue(d *json.Decoder) (Slot, bool) {
	tok, err := d.Token()
	if err != nil {
		return Nil, false
	}
	switch v := tok.(type) {
	case nil:
		return Nil, true
	case bool:
		return Bool(v), true
	case string:
		return String(v), true
	case json.Number:
		if !strings.ContainsAny(v.String(), ".eE") {
			if n, err := v.Int64(); err == nil {
				return Int(n), true
			}
		}
		f, err := v.Float64()
		return Float(f), err == nil || !math.IsInf(f, 0)
	case json.Delim:
		if v == '[' {
			a := NewArray()
			for d.More() {
				s, ok := oracleValue(d)
				if !ok {
					return Nil, false
				}
				a.Push(s)
			}
			_, err := d.Token()
			return a.Slot(), err == nil
		}
		m := NewMap(0)
		for d.More() {
			k, ok := oracleValue(d)
			if !ok {
				return Nil, false
			}
			s, ok := oracleValue(d)
			if !ok {
				return Nil, false
			}
			m.Set(k, s)
		}
		_, err := d.Token()
		return m.Slot(), err == nil
	}
	return Nil, false
}

// FuzzParse compares Parse with encoding/json. Both must accept the same texts, except for invalid
// UTF-8 and lone surrogates, and decode the same values. Encoding and decoding a value again must
// not change it.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5,"x\n\u00e9\ud83d\ude00",null,true],"a":{}}`, `[-0,1e5,9223372036854775808]`,
		"\"\xff\"", `{"type":"q","id":1}`, `[[[`, `"0123456789abcdef\""`, `{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"a":0}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := Parse(data)
		if err != nil {
			if m := err.(*SyntaxError); json.Valid(data) && !m.UTF8 && !strings.HasPrefix(m.Message, "lone surrogate") &&
				m.Message != "number is out of range" {
				t.Fatalf("Parse refused %q, which encoding/json accepts: %v", data, err)
			}
			return
		}
		if !json.Valid(data) {
			t.Fatalf("Parse accepted %q, which is not valid", data)
		}
		want, ok := oracle(data)
		if !ok {
			t.Fatalf("encoding/json refuses %q, which Parse accepts", data)
		}
		a, b := AppendJSON(nil, got), AppendJSON(nil, want)
		if !bytes.Equal(a, b) {
			t.Fatalf("Parse(%q) = %s, want %s", data, a, b)
		}
		reparsed, err := Parse(a)
		if err != nil || !Equal(got, reparsed) {
			t.Fatalf("%s changed by encoding and decoding: %v", a, err)
		}
		if typ, _, payload, err := ParseMessage(data); err == nil {
			v, ok := got.Map().GetString("type")
			if !ok || v.AsString() != typ || payload.Map().Len() != got.Map().Len()-1 {
				t.Fatalf("ParseMessage(%q) = type %q, payload %s", data, typ, Text(payload))
			}
		}
	})
}
