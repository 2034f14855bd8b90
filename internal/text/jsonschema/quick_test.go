package jsonschema

import (
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// FuzzQuickly checks that decodeFast returns the same value as decodeSlow, and that it fails
// exactly if decodeSlow returns an error.
func FuzzQuickly(f *testing.F) {
	for _, text := range []string{
		``, ` `, `null`, `true`, ` false `, `0`, `-1.5e+3`, `1E400`, `1e1001`, `1e-1001`, `""`, `"a\"b\\"`, `"\ud83d\ude00 \ud800 \u0000"`, `"é\n"`, "\"\n\"",
		`[]`, `[[],{}]`, `[ 1 , "]" ,2]`, `[1,]`, `{}`, `{"a":{"b":[true,null]},"c":"}"}`, "{ \"a\" :\t1 ,\r\n\"b\":2}", `{"a":1,"a":2}`, `{"a":{"\u0061":1,"a":1}}`, `{"a":}`, `{"a" 1}`, `1 2`, `{} {}`, `[`, `tru`, `01`, `"a`, `{"":[{"":0}]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !utf8.Valid(text) {
			t.Skip()
		}
		got, ok := decodeFast(text)
		want, err := decodeSlow(text)
		if ok != (err == nil) {
			t.Fatalf("%q: decodeFast succeeds: %v, error of decodeSlow: %v", text, ok, err)
		}
		if diff := cmp.Diff(want, got); ok && diff != "" {
			t.Errorf("%q: result of decodeSlow (-), of decodeFast (+):\n%s", text, diff)
		}
	})
}
