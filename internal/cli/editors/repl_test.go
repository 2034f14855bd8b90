package editors

import (
	"testing"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/editor/repl"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/term/screen"
)

// painted is a line as a session's terminal shows it.
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

// TestReplColours: what is typed has the colours of what it is.
func TestReplColours(t *testing.T) {
	c := painted(t, `let s = "a"; s.len()`)
	if want := "\x1b[35mlet\x1b[0m s = \x1b[32m\"a\"\x1b[0m; s.\x1b[34mlen\x1b[0m()"; c != want {
		t.Errorf("%q, want %q", c, want)
	}
}
