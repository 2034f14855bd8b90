package jsonschema

import (
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

func compiled(t *testing.T, text string) *Schema {
	t.Helper()
	s, errs := Compile([]byte(text))
	if len(errs) > 0 {
		t.Fatalf("compile schema %s: %v", text, errs)
	}
	return s
}

func problemText(t *testing.T, schema, value string) string {
	t.Helper()
	v, err := Decode([]byte(value))
	if err != nil {
		t.Fatalf("decode value %s: %v", value, err)
	}
	return FormatProblems(compiled(t, schema).Check(v), 20)
}

// TestProblems checks that each violation is reported with the path of the invalid part.
func TestProblems(t *testing.T) {
	for _, c := range []struct{ schema, value, want string }{
		{`{"properties":{"sql":{"type":"string"},"limit":{"type":"integer"}},"required":["sql"]}`, `{"limit":"six"}`, `limit: expected integer, got "six"; sql: missing`},
		{`{"type":"object"}`, `[1]`, `expected object, got an array`},
		{`{"properties":{"a":{"type":["string","null"]}}}`, `{"a":1}`, `a: expected string or null, got 1`},
		{`{"items":{"type":"integer"}}`, `[1,"x",2.5,3.0,1e2,9007199254740993]`, `[1]: expected integer, got "x"; [2]: expected integer, got 2.5`},
		{`{"items":{"minimum":0}}`, `[0,0,-1,0,0,0,0,0,0,0,-2]`, `[2]: expected at least 0, got -1; [10]: expected at least 0, got -2`},
		{`{"maximum":9007199254740992}`, `9007199254740993`, `expected at most 9007199254740992, got 9007199254740993`},
		{`{"exclusiveMinimum":1,"exclusiveMaximum":2}`, `1`, `expected more than 1, got 1`},
		{`{"multipleOf":0.1}`, `0.35`, `expected a multiple of 0.1, got 0.35`},
		{`{"multipleOf":0.1}`, `0.3`, ``},
		{`{"minLength":2}`, `"ü"`, `expected at least 2 characters, got 1`},
		{`{"pattern":"^a"}`, `"b"`, `expected a match of ^a, got "b"`},
		{`{"format":"date-time"}`, `"yesterday"`, `expected date-time, got "yesterday"`},
		{`{"format":"uuid"}`, `"123e4567-e89b-12d3-a456-426614174000"`, ``},
		{`{"enum":["a","b",3]}`, `"c"`, `expected "a", "b" or 3, got "c"`},
		{`{"const":{"a":[1]}}`, `{"a":[1.0]}`, ``},
		{`{"uniqueItems":true}`, `[1,"1",{"a":1},1.0]`, `items 0 and 3 are equal`},
		{`{"contains":{"type":"null"},"maxContains":1}`, `[null,null]`, `expected at most 1 matching item, got 2`},
		{`{"properties":{"limit":{}},"additionalProperties":false}`, `{"limt":1,"zz z":2}`, `["zz z"]: unknown; limt: unknown (did you mean limit?)`},
		{`{"propertyNames":{"maxLength":2}}`, `{"abc":1}`, `abc: not allowed as a name: expected at most 2 characters, got 3`},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, `b: missing (a needs it)`},
		{`{"anyOf":[{"type":"string"},{"type":"integer"}]}`, `true`, `expected string or integer, got true`},
		{`{"anyOf":[{"type":"string"},{"type":"object","required":["x"]}]}`, `{}`, `x: missing`},
		{`{"anyOf":[{"required":["y"]},{"required":["x"]}]}`, `{}`, `fits none of 2 alternatives, got an object`},
		{`{"oneOf":[{"type":"number"},{"type":"integer"}]}`, `1`, `fits 2 of 2 alternatives, must fit one`},
		{`{"not":{"type":"null"}}`, `null`, `not allowed`},
		{`{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}`, `{}`, `c: missing`},
		{`{"$defs":{"t":{"properties":{"next":{"$ref":"#/$defs/t"}},"required":["v"]}},"$ref":"#/$defs/t"}`, `{"v":1,"next":{"next":{"v":1}}}`, `next.v: missing`},
		{`{"allOf":[{"properties":{"a":{}}}],"unevaluatedProperties":false}`, `{"a":1,"b":2}`, `b: unknown`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}],"additionalItems":false}`, `["a",1]`, `[1]: not allowed`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a":{"type":"string"}},"properties":{"x":{"$ref":"#/definitions/a","maxLength":1}}}`, `{"x":"long"}`, ``},
		{`{"minimum":1e400}`, `1e401`, ``},
		{`false`, `1`, `not allowed`},
	} {
		if got := problemText(t, c.schema, c.value); got != c.want {
			t.Errorf("value %s, schema %s:\n got %s\nwant %s", c.value, c.schema, got, c.want)
		}
	}
}

// TestDateTime checks that date-time and time have the form of RFC 3339, with its leap seconds.
func TestDateTime(t *testing.T) {
	for text, want := range map[string]bool{
		"1998-12-31T23:59:60Z": true, "1998-12-31t15:59:60.123-08:00": true, "2017-01-01T05:44:60+05:45": true,
		"1998-12-31T22:59:60Z": false, "1998-12-31T23:58:60Z": false, "1998-12-31T23:59:61Z": false, "1998-12-31T23:59:60+01:00": false,
		"2026-02-29T10:00:00Z": false, "2026-03-01T10:00:00z": true, "2026-03-01T10:00:00+23:59": true,
		"2026-03-01T10:00:00+0100": false, "2026-03-01T10:00:00+24:00": false, "2026-03-01 10:00:00Z": false,
		"2026-03-01T10:00:00": false, "2026-03-01T1:00:00Z": false, "2026-03-01T10:00:00,5Z": false, "2026-03-01T24:00:00Z": false,
	} {
		if got := isFormat("date-time", text); got != want {
			t.Errorf("date-time %q is %t, want %t", text, got, want)
		}
	}
	for text, want := range map[string]bool{"23:59:60Z": true, "00:59:60+01:00": true, "22:59:60Z": false, "10:00:00+01": false} {
		if got := isFormat("time", text); got != want {
			t.Errorf("time %q is %t, want %t", text, got, want)
		}
	}
}

// TestLongProblems checks the limits on the number of problems in a message and on the length of
// quoted values.
func TestLongProblems(t *testing.T) {
	got := problemText(t, `{"items":{"type":"integer"}}`, `[`+strings.Repeat(`"x",`, 24)+`"`+strings.Repeat("ä", 100)+`"]`)
	if n := strings.Count(got, "expected"); n != 20 || !strings.HasSuffix(got, "; and 5 more") {
		t.Errorf("the message lists %d problems, want 20: %s", n, got)
	}
	if got := problemText(t, `{"type":"integer"}`, `"`+strings.Repeat("ä", 100)+`"`); len(got) > 100 || !strings.HasSuffix(got, `ä…"`) {
		t.Error(got)
	}
}

// TestDecodeRefuses checks that Decode rejects texts that other parsers could read differently.
func TestDecodeRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":{"b":1,"b":2}}`: "a.b: given twice", `[1e1001]`: "[0]: the number 1e1001 is out of range", "\"\xff\"": "not UTF-8", `1 2`: "more than one JSON value",
		`[1`: "unexpected EOF", ``: "unexpected EOF", `{"a" 1}`: "invalid character '1' after object key", `{"n":1e-99999999999999999999}`: "n: the number",
		`[` + strings.Repeat("9", 10_001) + `]`: "[0]: the number 999", `nul`: "unexpected EOF",
	} {
		if _, err := Decode([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Decode(%.40s) returns error %v, want %s", text, err, want)
		}
	}
}

// TestSchemaErrors checks that all errors of a schema are reported with their positions.
func TestSchemaErrors(t *testing.T) {
	for _, c := range []struct{ schema, want string }{
		{`{"type":"strin","properties":{"a":{"minimum":"1"},"b/c":[]},"required":"a"}`,
			`/properties/a/minimum: must be a number, not "1"|/properties/b~1c: a schema must be an object, true or false, not an array|/required: must be a list of names, not "a"|/type: "strin" is no type; did you mean "string"?`},
		{`[]`, `a schema must be an object, true or false, not an array`},
		{`{`, `not a JSON value: unexpected EOF`},
		{`{"$ref":"https://example.com/a.json"}`, `/$ref: "https://example.com/a.json" is another document: a schema may refer only to itself`},
		{`{"$ref":"#/$defs/x"}`, `/$ref: "#/$defs/x" is not there`},
		{`{"$schema":"http://json-schema.org/draft-04/schema#"}`, `/$schema: "http://json-schema.org/draft-04/schema#" is not known; draft 2020-12 (https://json-schema.org/draft/2020-12/schema) and draft-07 (http://json-schema.org/draft-07/schema#) are`},
		{`{"properties":{"a":{"pattern":"(?=x)"}}}`, "/properties/a/pattern: \"(?=x)\" cannot be matched: invalid or unsupported Perl syntax: `(?=` (the syntax is RE2's: without lookaround and back references)"},
		{`{"allOf":[{"$ref":"#"}]}`, `: refers to itself for the same value, without end`},
		{`{"$defs":{"unused":{"type":7}}}`, `/$defs/unused/type: 7 is no type`},
		{`{"writeOnly":"yes"}`, `/writeOnly: must be true or false, not "yes"`},
		{`{"multipleOf":0,"minLength":-1}`, `/minLength: must be an integer of 0 or more, not -1|/multipleOf: must be more than 0, not 0`},
		{`{"allOf":[]}`, `/allOf: must be a list of schemas, not an array`},
	} {
		_, errs := Compile([]byte(c.schema))
		var got []string
		for _, m := range errs {
			got = append(got, m.Error())
		}
		if text := strings.Join(got, "|"); text != c.want && !(strings.HasPrefix(c.want, ": ") && strings.HasSuffix(text, c.want[2:])) {
			t.Errorf("errors of schema %s:\n got %s\nwant %s", c.schema, text, c.want)
		}
	}
}

// TestRedact checks that Redact finds secrets through every kind of subschema, that Restore reverts
// Redact, and that messages do not quote secrets.
func TestRedact(t *testing.T) {
	tag := func(text []byte) string { return string(text[len(text)-3 : len(text)-1]) }
	for _, c := range []struct{ schema, value, want string }{
		{`{"properties":{"token":{"writeOnly":true},"a":{}}}`, `{"token":"s3cr3t","a":1}`, `{"a":1,"token":"[redacted:3t]"}`},
		{`{"$defs":{"s":{"x-redact":true}},"properties":{"l":{"items":{"$ref":"#/$defs/s"}}}}`, `{"l":["one","two"]}`, `{"l":["[redacted:ne]","[redacted:wo]"]}`},
		{`{"anyOf":[{"type":"string"},{"properties":{"k":{"writeOnly":true}}}]}`, `{"k":"abc"}`, `{"k":"[redacted:bc]"}`},
		{`{"if":{"required":["zz"]},"then":{"patternProperties":{"^k":{"writeOnly":true}}}}`, `{"key":"abc"}`, `{"key":"[redacted:bc]"}`},
		{`{"additionalProperties":{"writeOnly":true},"properties":{"a":{}}}`, `{"a":"abc","b":"xyz"}`, `{"a":"abc","b":"[redacted:yz]"}`},
		{`{"properties":{"o":{"writeOnly":true,"properties":{"p":{"type":"string"}}}}}`, `{"o":{"p":{"q":[1]}}}`, `{"o":"[redacted:]}]"}`},
		{`{"prefixItems":[{}],"items":{"writeOnly":true}}`, `["abc","xyz"]`, `["abc","[redacted:yz]"]`},
		{`{"dependentSchemas":{"a":{"properties":{"b":{"writeOnly":true}}}}}`, `{"b":"xyz"}`, `{"b":"[redacted:yz]"}`},
		{`{"$dynamicAnchor":"n","properties":{"k":{"writeOnly":true},"next":{"$dynamicRef":"#n"}}}`, `{"next":{"next":{"k":"xyz"}}}`, `{"next":{"next":{"k":"[redacted:yz]"}}}`},
	} {
		s := compiled(t, c.schema)
		v, err := Decode([]byte(c.value))
		if err != nil {
			t.Fatal(err)
		}
		shown := s.Redact(v, tag)
		if got := string(jsonwrite.MustEncode(shown)); got != c.want {
			t.Errorf("Redact(%s) with schema %s:\n got %s\nwant %s", c.value, c.schema, got, c.want)
		}
		back, problems := s.Restore(shown, v, tag)
		if !equal(back, v) || problems != nil {
			t.Errorf("Restore returns for %s the value %s and the problems %v", c.value, jsonwrite.MustEncode(back), problems)
		}
	}
	s := compiled(t, `{"properties":{"a":{"writeOnly":true,"type":"integer","properties":{}},"b":{"writeOnly":true,"properties":{"c":{"type":"null"}}}}}`)
	v, _ := Decode([]byte(`{"a":"hush","b":{"c":"hush"}}`))
	if got := FormatProblems(s.Check(v), 20); got != "a: expected integer, got a secret; b.c: expected null, got a secret" {
		t.Error(got)
	}
	edited, _ := Decode([]byte(`{"a":"[redacted:zz]","x":"[redacted:sh]"}`))
	back, problems := s.Restore(edited, v, tag)
	if FormatProblems(problems, 20) != "a: [redacted:zz] matches no value of the original arguments" || string(jsonwrite.MustEncode(back)) != `{"a":null,"x":"[redacted:sh]"}` {
		t.Error(problems, string(jsonwrite.MustEncode(back)))
	}
}
