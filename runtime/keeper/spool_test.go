package keeper

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/concerto-lang/concerto/internal/process/disk"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// TestSpool compares a spool with a list of lines: after any sequence of appends, reads and
// discards, the output from any line on is that of the list. Some lines are longer than the memory
// of the spool, and some contain a secret.
func TestSpool(t *testing.T) {
	randtest.RacedElsewhere(t)
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "spool")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		var hide redactor
		if rapid.Bool().Draw(t, "secret") {
			hide.addSecrets([]Secret{{"KEY", "a-secret-value"}})
		}
		s, err := newSpool(disk.At(dir), "worker.1", &hide)
		if err != nil {
			t.Fatal(err)
		}
		defer s.f.Close()
		var lines []string
		discarded := 0
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch step := rapid.IntRange(0, 10).Draw(t, "step"); {
			case step < 6:
				size := rapid.SampledFrom([]int{0, 10, 1000, maxRecent / 3, maxRecent + 1}).Draw(t, "size")
				text := ""
				for range rapid.IntRange(1, 3).Draw(t, "lines") {
					line := fmt.Sprintf("%d a-secret-value %s\n", len(lines), strings.Repeat("x", size))
					lines, text = append(lines, line), text+line
				}
				if err := s.appendText([]byte(text)); err != nil {
					t.Fatal(err)
				}
			case step < 9:
				from := rapid.IntRange(discarded, len(lines)).Draw(t, "from")
				if got, want := readSpool(t, s, int64(from)), strings.Join(lines[from:], ""); got != want {
					t.Fatalf("output after %d of %d lines: %d bytes, want %d", from, len(lines), len(got), len(want))
				}
			case step == 9:
				s.direct = !s.direct
			default:
				if s.discard() {
					discarded = len(lines)
				}
			}
			if s.lines != int64(len(lines)) || s.bytes != int64(len(strings.Join(lines, ""))) {
				t.Fatalf("%d lines and %d bytes, want %d lines", s.lines, s.bytes, len(lines))
			}
		}
		if err := s.flush(); err != nil {
			t.Fatal(err)
		}
		file, err := os.ReadFile(filepath.Join(dir, "worker.1", outFile))
		if err != nil || int64(len(file)) != s.size || hide.hasSecrets() && strings.Contains(string(file), "a-secret-value") {
			t.Fatalf("the file has %d bytes, want %d, without the secret (error %v)", len(file), s.size, err)
		}
	})
}

// readSpool returns the output after the given number of lines.
func readSpool(t *rapid.T, s *spool, lines int64) string {
	at, before, err := s.seekLine(lines)
	if err != nil || before.lines != lines {
		t.Fatalf("seekLine(%d) = %+v, error %v", lines, before, err)
	}
	var out strings.Builder
	for at.at < s.size {
		raw, text, err := s.readAt(at.at)
		if err != nil || len(raw) == 0 {
			t.Fatalf("readAt(%d) = %d bytes, error %v", at.at, len(raw), err)
		}
		out.Write(text)
		at.at += int64(len(raw))
	}
	return out.String()
}
