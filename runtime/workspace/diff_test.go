package workspace

import (
	"bytes"
	"math/rand/v2"

	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// randomText returns a text with lines that resemble those of patches.
func randomText(r *rand.Rand) string {
	words := []string{"", "a", "b", "c", "-- ", "++ b/x", "@@ -1 +1 @@", "diff --git a/x b/x", "\\ No newline at end of file", "\tx", "é", "\r", "index 0..1", "-", "+", " "}
	var b strings.Builder
	for range r.IntN(30) {
		b.WriteString(words[r.IntN(len(words))] + "\n")
	}
	if r.IntN(3) == 0 {
		b.WriteString("without a line break")
	}
	return b.String()
}

// edited returns a text with some lines inserted, removed and replaced.
func edited(r *rand.Rand, text string) string {
	lines := strings.SplitAfter(text, "\n")
	for range 1 + r.IntN(4) {
		i := r.IntN(len(lines) + 1)
		switch insert := strings.SplitAfter(randomText(r), "\n"); r.IntN(3) {
		case 0:
			lines = slices.Insert(lines, i, insert...)
		case 1:
			lines = slices.Delete(lines, i, min(len(lines), i+r.IntN(3)))
		default:
			lines = slices.Replace(lines, i, min(len(lines), i+1), insert...)
		}
	}
	return strings.Join(lines, "")
}

// patched applies the hunks of a file to its old text.
func patched(t *testing.T, old string, f *DiffFile) string {
	t.Helper()
	lines := strings.SplitAfter(old, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	var b strings.Builder
	at := 0
	for _, h := range f.Hunks {
		start := int(h.OldStart) - 1
		if h.OldLines == 0 {
			start++ // the hunk is after that line
		}
		for ; at < start; at++ {
			b.WriteString(lines[at])
		}
		for _, l := range h.Lines {
			text := l.Text
			if l.HasNewline {
				text += "\n"
			}
			if l.Kind != "+" {
				if at >= len(lines) || lines[at] != text || int(*l.Old) != at+1 {
					t.Fatalf("%s: line %d of the old text is not %q", f.Path, at+1, text)
				}
				at++
			}
			if l.Kind != "-" {
				b.WriteString(text)
				if got := int64(strings.Count(strings.TrimSuffix(b.String(), "\n"), "\n")) + 1; l.New == nil || *l.New != got {
					t.Fatalf("%s: %q has number %v, want %d", f.Path, text, l.New, got)
				}
			}
		}
	}
	for ; at < len(lines); at++ {
		b.WriteString(lines[at])
	}
	return b.String()
}

// TestRandomDiffs changes random texts, and checks that the hunks turn the old texts into the new
// ones.
func TestRandomDiffs(t *testing.T) {
	s := newStore(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	const files = 60
	name := func(i int) string { return "f" + strings.Repeat("x", i) }
	old := make([]string, files)
	for i := range old {
		old[i] = randomText(r)
		write(t, filepath.Join(s.place.From, name(i)), old[i])
	}
	runGit(t, s.place.From, "add", "-A")
	commit(t, s.place.From)
	w := opened(t, s, "fix")
	now := slices.Clone(old)
	for i := range now {
		if now[i] = edited(r, old[i]); r.IntN(10) == 0 {
			now[i] = old[i]
		}
		write(t, filepath.Join(w.top, name(i)), now[i])
	}
	d, err := w.Diff(t.Context())
	must(t, err)
	changed := map[string]*DiffFile{}
	for i := range d.Files {
		if d.Files[i].OldPath == nil {
			changed[d.Files[i].Path] = &d.Files[i]
		}
	}
	for i := range now {
		f := changed[name(i)]
		if f == nil {
			f = &DiffFile{Path: name(i)}
		}
		if got := patched(t, old[i], f); got != now[i] {
			t.Errorf("%s: the hunks produce %q from %q, want %q", f.Path, got, old[i], now[i])
		}
	}
}

// FuzzDiff reads arbitrary output of git: it ends, with files or with an error.
func FuzzDiff(f *testing.F) {
	f.Add([]byte(":100644 100644 1 2 M\tx\n1\t1\tx\n\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n"))
	f.Add([]byte(":100644 000000 1 2 R100\t\"a\\tb\"\t\"\\303\\251\"\n0\t0\tx\n"))
	f.Add([]byte(":120000 100644 1 2 T\tx\n-\t-\tx\n\ndiff --git a/x b/x\nBinary files differ\n"))
	f.Fuzz(func(t *testing.T, out []byte) {
		d, room := &Diff{}, 1000
		if err := d.read("", bytes.NewReader(out), &room); err != nil {
			return
		}
		for i := range d.Files {
			for _, h := range d.Files[i].Hunks {
				for _, l := range h.Lines {
					if l.Kind != "+" && l.Old == nil || l.Kind != "-" && l.New == nil {
						t.Fatalf("a line without a number: %+v", l)
					}
				}
			}
		}
	})
}
