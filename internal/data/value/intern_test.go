package value

import (
	"fmt"
	"testing"
)

// TestInternCache checks that a repeated text is the same String. While texts do not repeat,
// Strings are created without lookup, with the right text.
func TestInternCache(t *testing.T) {
	r := new(InternCache)
	a := r.StringOf([]byte("alpha"))
	for i := range 300 {
		r.StringOf(fmt.Appendf(nil, "k%d", i%3))
	}
	if b := r.StringOf([]byte("alpha")); b != a || b.AsString() != "alpha" || b.Str().Hash() != String("alpha").Str().Hash() {
		t.Errorf("alpha again is %s, or another String", Text(b))
	}
	for i := range 3 * internMisses {
		text := fmt.Sprint("text ", i)
		if s := r.StringOf([]byte(text)); s.AsString() != text || s.Str().Hash() != String(text).Str().Hash() {
			t.Fatalf("%q: got %s", text, Text(s))
		}
	}
	if r.rest == 0 {
		t.Error("the cache is still searched although texts do not repeat")
	}
	for range internRest {
		r.StringOf([]byte("beta"))
	}
	if x, y := r.StringOf([]byte("beta")), r.StringOf([]byte("beta")); x != y {
		t.Error("it does not look again after its rest")
	}
	for _, text := range []string{"", "x", "é", "a text that is longer than what a String holds itself"} {
		if s := r.StringOf([]byte(text)); s.AsString() != text {
			t.Errorf("%q: got %s", text, Text(s))
		}
	}
}
