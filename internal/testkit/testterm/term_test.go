package testterm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTerm(t *testing.T) {
	for _, c := range []struct {
		written string
		want    State
	}{
		{"one\r\ntwo", State{Rows: []string{"one", "two"}, X: 3, Y: 1}},
		{"12345678", State{Rows: []string{"12345678"}, X: 7}},
		{"123456789", State{Rows: []string{"12345678", "9"}, X: 1, Y: 1}},
		{"1234567日", State{Rows: []string{"1234567", "日"}, X: 2, Y: 1}},
		{"e\u0301日\u0301x", State{Rows: []string{"e\u0301日\u0301x"}, X: 4}},
		{"a\nb\nc\nd", State{Above: []string{"a"}, Rows: []string{" b", "  c", "   d"}, X: 4, Y: 2}},
		{"a\r\nb\r\nc\x1b[2A\rX\x1b[K\x1b[J", State{Rows: []string{"X"}, X: 1}},
		{"ab\r\ncd\x1b[A\rX\x1b[1CY", State{Rows: []string{"XbY", "cd"}, X: 3}},
		{"\x1b[32m●\x1b[0m \x1b[31m", State{Rows: []string{"●"}, X: 2, Style: "31"}},
		{"\x1b[?25l\x1b[2J\x1b7", State{Rows: []string{}, Hidden: true, Odd: []string{`"\x1b[2J"`, `"\x1b7"`}}},
	} {
		term := New(8, 3)
		for i := range len(c.written) { // write one byte at a time
			_, _ = term.Write([]byte{c.written[i]})
		}
		c.want.Bytes = len(c.written)
		if d := cmp.Diff(c.want, term.State()); d != "" {
			t.Errorf("state after %q: %s", c.written, d)
		}
	}
	term := New(8, 3)
	_, _ = term.Write([]byte("12345678\r\nb\r\nc"))
	term.Resize(4, 2)
	if d := cmp.Diff(State{Above: []string{"1234"}, Rows: []string{"b", "c"}, X: 1, Y: 1, Bytes: 14}, term.State()); d != "" {
		t.Error(d)
	}
}

// TestSecondScreen checks that lines scrolled off the second screen are lost and that the first
// screen is restored.
func TestSecondScreen(t *testing.T) {
	term := New(10, 2)
	for _, text := range []string{"first\r\n", "\x1b[?1049h", "a\r\nb\r\nc\r\nd"} {
		if _, err := term.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if got := term.State().Text(); got != "c\nd" {
		t.Errorf("the second screen shows %q", got)
	}
	if _, err := term.Write([]byte("\x1b[?1049l")); err != nil {
		t.Fatal(err)
	}
	if got := term.State().Text(); got != "first" {
		t.Errorf("the first screen shows %q", got)
	}
}
