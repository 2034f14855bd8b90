package screen

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/term/terminal"
)

// TestBody checks for several sizes of the terminal that a prompt is within the screen, that it
// shows its question and its choices, and that each line of the body is shown or counted as hidden.
func TestBody(t *testing.T) {
	for _, rows := range []int{0, 1, 5, 30, 500} {
		for _, width := range []int{100, 80, 40, 10} {
			for _, most := range []int{3, 8, 24, 60} {
				var hidden int
				p := prompt{Prompt: Prompt{Text: "Coder asks to run a command", After: "[a]llow [d]eny", Label: "> ", Cut: &hidden}}
				for i := range rows {
					p.body.rows = append(p.body.rows, Row{Lead: fmt.Sprintf("%4d ", i+1), Text: strings.Repeat("word ", i%30)})
				}
				lines, _ := p.lines(width, most, time.Time{}, 0)
				all := p.body.wrapped(width)
				shown := 0
				for _, l := range lines {
					if terminal.Width(l) > width {
						t.Fatalf("%d rows, %d columns: the line %q is too wide", rows, width, l)
					}
					if shown < len(all) && l == all[shown] {
						shown++
					}
				}
				text := strings.Join(lines, " ")
				if !strings.HasPrefix(strings.ReplaceAll(text, " ", ""), "Coderasks") || !strings.Contains(text, "[d]eny") || shown+hidden != len(all) {
					t.Errorf("%d rows, %d columns, %d lines: %d shown, %d hidden of %d:\n%s", rows, width, most, shown, hidden, len(all), strings.Join(lines, "\n"))
				}
				if hidden > 0 && width >= 40 && !strings.Contains(text, fmt.Sprintf("… %d more lines; v shows everything", hidden)) {
					t.Errorf("%d rows, %d columns: the hidden lines are not announced:\n%s", rows, width, strings.Join(lines, "\n"))
				}
				if room := len(lines) - most; room > 0 && most > 8 {
					t.Errorf("%d rows, %d columns: %d lines of at most %d", rows, width, len(lines), most)
				}
			}
		}
	}
}

// TestPages checks that each line of a body can be reached with each kind of key, and none beyond.
func TestPages(t *testing.T) {
	p := prompt{page: &page{}}
	for i := range 100 {
		p.body.rows = append(p.body.rows, Row{Text: fmt.Sprint("line ", i)})
	}
	for _, keys := range [][2]string{{" ", "b"}, {"j", "k"}, {"d", "u"}, {"\x1b[6~", "\x1b[5~"}, {"\x1b[B", "\x1b[A"}, {"G", "g"}} {
		seen := map[string]bool{}
		for _, key := range keys {
			for range 120 {
				for _, l := range p.pageLines(60, 12) {
					seen[l] = true
				}
				if !p.page.move(key) {
					t.Fatalf("%q ends the view", key)
				}
			}
			lines := p.pageLines(60, 12)
			if want := map[string]string{keys[0]: "line 99", keys[1]: "line 0"}[key]; lines[0] != want && lines[len(lines)-2] != want || len(lines) != 12 {
				t.Errorf("after %q: %q", key, lines)
			}
		}
		if n := len(seen); keys[0] != "G" && n < 100 {
			t.Errorf("%q: %d lines were shown", keys, n)
		}
	}
	if p.page.move("q") {
		t.Error("q does not end the view")
	}
	if key, rest := nextKey([]byte("\x1b[6~q")); key != "\x1b[6~" || string(rest) != "q" {
		t.Errorf("keys %q, %q", key, rest)
	}
}
