package value

import (
	"fmt"
	"testing"
)

// TestInternCache checks that a repeated text returns the same String. If texts do not repeat, the
// cache must create correct Strings without lookups.
func TestInternCache(t *testing.T) {
	r := new(InternCache)
	a := r.StringOf([]byte("alpha"))
	for i := range 300 {
		r.StringOf(fmt.Appendf(nil, "k%d", i%3))
	}
	if b := r.StringOf([]byte("alpha")); b != a || b.AsString() != "alpha" || b.Str().Hash() != String("alpha").Str().Hash() {
		t.Errorf("second String for alpha = %s, want the first String", Text(b))
	}
	for i := range 3 * internMisses {
		text := fmt.Sprint("text ", i)
		if s := r.StringOf([]byte(text)); s.AsString() != text || s.Str().Hash() != String(text).Str().Hash() {
			t.Fatalf("String for %q = %s", text, Text(s))
		}
	}
	if r.rest == 0 {
		t.Error("the cache still searches although no text was repeated")
	}
	for range internRest {
		r.StringOf([]byte("beta"))
	}
	if x, y := r.StringOf([]byte("beta")), r.StringOf([]byte("beta")); x != y {
		t.Error("the cache does not search again after the period without lookups")
	}
	for _, text := range []string{"", "x", "é", "a text that is longer than what a String holds itself"} {
		if s := r.StringOf([]byte(text)); s.AsString() != text {
			t.Errorf("String for %q = %s", text, Text(s))
		}
	}
}
