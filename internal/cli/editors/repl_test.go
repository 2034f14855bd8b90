package editors

import (
	"testing"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/editor/repl"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/term/screen"
)

// painted returns line with the colour sequences that a session's terminal shows.
func painted(t *testing.T, line string) string {
	t.Helper()
	a := &console.Console{Dir: t.TempDir()}
	s := replSource(a, "")
	p, err := a.Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	var text string
	err = p.Interactive(t.Context(), engine.Options{}, func(m *engine.Machine) error {
		session, err := repl.New(s, m)
		d := &drawn{session: session, color: true}
		text = screen.Painted(line, d.Paint(line))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestReplColours checks that keywords, strings and function names of the input are coloured.
func TestReplColours(t *testing.T) {
	c := painted(t, `let s = "a"; s.len()`)
	if want := "\x1b[35mlet\x1b[0m s = \x1b[32m\"a\"\x1b[0m; s.\x1b[34mlen\x1b[0m()"; c != want {
		t.Errorf("painted line = %q, want %q", c, want)
	}
}
