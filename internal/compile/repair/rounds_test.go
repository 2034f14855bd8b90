package repair

import (
	"testing"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// TestRoundsTerminate checks the three reasons to stop: no fixes are left, a round produces an
// earlier text again, or a round would add syntax errors.
func TestRoundsTerminate(t *testing.T) {
	flip := map[string]string{"fn a() {}": "fn b() {}", "fn b() {}": "fn a() {}"}
	for name, c := range map[string]struct {
		text  string
		check func(f *source.File) []*diag.Diagnostic
		want  string
		fixes int
	}{
		"nothing": {"fn a() {}", func(*source.File) []*diag.Diagnostic { return nil }, "fn a() {}", 0},
		"one after the other": {"aaa", func(f *source.File) []*diag.Diagnostic {
			for i, c := range f.Text {
				if c == 'a' {
					return []*diag.Diagnostic{found(f, diag.Replace(span(source.Pos(i), source.Pos(i+1)), "b"))}
				}
			}
			return nil
		}, "bbb", 3},
		"in a circle": {"fn a() {}", func(f *source.File) []*diag.Diagnostic {
			return []*diag.Diagnostic{found(f, diag.Replace(span(0, source.Pos(len(f.Text))), flip[string(f.Text)]))}
		}, "fn b() {}", 1},
		"worse": {"fn a() {}", func(f *source.File) []*diag.Diagnostic {
			return []*diag.Diagnostic{found(f, diag.Remove(span(4, 5)))}
		}, "fn a() {}", 0},
	} {
		var r Rounds
		text, fixes := c.text, 0
		for more := true; more; {
			more = false
			for _, x := range r.Round(c.check(source.NewFile("x.conc", []byte(text)))) {
				text, more = string(x.Text()), true
			}
		}
		for _, x := range r.Files() {
			fixes += x.Fixes
		}
		if text != c.want || fixes != c.fixes {
			t.Errorf("%s: the text is %q after %d fixes", name, text, fixes)
		}
	}
}
