package jsonwrite

import (
	"encoding/json"
	"testing"
)

// FuzzText compares the JSON that is appended to a buffer with the output of encoding/json.
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "a", `"`, `\`, "é", "\n\x01\x7f", "\xff", "<&>\u2028", `{"a": [1, "x y" ], "b" : null}`, "{\"a\":\n[1]}", "null", "1 "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		same := func(what string, got []byte, v any) {
			want, err := Encode(v)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != "["+string(want) {
				t.Errorf("%s for %q appends %s, want [%s", what, s, got, want)
			}
		}
		same("Text", Text([]byte("["), s), s)
		same("Texts", Texts([]byte("["), []string{s, "x", s}), []string{s, "x", s})
		if json.Valid([]byte(s)) {
			same("Raw", Raw([]byte("["), json.RawMessage(s)), json.RawMessage(s))
		}
	})
}

// TestNothing checks that nil is encoded as null and an empty list as []. For a value that has no
// JSON, Append must return an error and the unchanged buffer.
func TestNothing(t *testing.T) {
	if got := string(Texts(Raw(nil, nil), nil)); got != "null[]" {
		t.Error(got)
	}
	if b, err := Append([]byte("x"), make(chan int)); string(b) != "x" || err == nil {
		t.Errorf("Append returns %s, error %v; want the unchanged buffer and an error", b, err)
	}
}
