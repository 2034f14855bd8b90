package format

import (
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/golden"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// TestStyle compares the formatted text of each source with the golden archives.
func TestStyle(t *testing.T) {
	golden.Run(t, "testdata/style/*.txtar", func(t *testing.T, a *golden.Archive) {
		text := a.Input("main.conc")
		out, list := Source(source.NewFile("main.conc", []byte(text)), 0)
		for _, d := range list.Sorted() {
			t.Errorf("%s at %d: %s", d.Info.Code, d.Span.Start, d.Message)
		}
		a.Check("want.conc", string(out))
		hold(t, text)
	})
}
