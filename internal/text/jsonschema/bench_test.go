package jsonschema

import "testing"

const query = `{"type":"object","properties":{"sql":{"type":"string","writeOnly":true},"limit":{"type":"integer","minimum":1}},"required":["sql"],"additionalProperties":false}`

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, errs := Compile([]byte(query)); errs != nil {
			b.Fatal(errs)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	s, _ := Compile([]byte(query))
	for b.Loop() {
		v, err := Decode([]byte(`{"sql":"select 1","limit":6}`))
		if err != nil || s.Check(v) != nil {
			b.Fatal(err)
		}
	}
}
