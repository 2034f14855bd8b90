package repair

import (
	"math/rand/v2"
	"testing"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// TestComposeEdits checks that composed edits produce the same text as the two lists one after the
// other. The composed edits must be in the order of the text and must not touch each other.
func TestComposeEdits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func(size int, letters string) (edits []diag.Edit) {
		at := source.Pos(0)
		for range r.IntN(4) {
			start := at + source.Pos(r.IntN(size-int(at)+1))
			end := start + source.Pos(r.IntN(size-int(start)+1)/2)
			edits = append(edits, diag.Replace(span(start, end), letters[:r.IntN(len(letters)+1)]))
			at = end
		}
		return edits
	}
	for range 5000 {
		f := source.NewFile("x", []byte("0123456789"))
		first := random(len(f.Text), "abc")
		between := source.NewFile("x", Apply(f, first))
		second := random(len(between.Text), "xyz")
		want, edits := string(Apply(between, second)), Compose(first, second)
		if got := string(Apply(f, edits)); got != want {
			t.Fatalf("%v followed by %v produces %q from %q; the composed edits produce %q", first, second, want, between.Text, got)
		}
		for i, e := range edits {
			if i > 0 && e.Span.Start <= edits[i-1].Span.End {
				t.Fatalf("the composed edits %v touch each other", edits)
			}
		}
	}
}
