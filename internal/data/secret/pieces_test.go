package secret

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestLines splits secrets, in every encoding of the table, over the texts of consecutive lines.
// Neither kind of record may contain more of a secret than the beginning of a first piece, and the
// lines of a journal must be restored exactly. Other lines do not interrupt a stream.
func TestLines(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	value := `zz"Stream/Sécret'7 78+8`
	s := one(value)
	for _, w := range append([]writing{{"", func(v string) string { return v }}}, writings...) {
		hidden := w.write(value)
		for range 20 {
			shown, stored := s.Lines(), linesOf(s.ForJournal())
			var records, restored, texts strings.Builder
			for rest := "the key is " + hidden + ", ok"; rest != ""; {
				n := 1 + r.IntN(min(len(rest), 8))
				for n < len(rest) && !utf8.RuneStart(rest[n]) {
					n++
				}
				line, _ := json.Marshal(map[string]any{"type": "partial", "delta": map[string]any{"text": rest[:n]}, "list": []string{"a", "b"}, "n": 1})
				texts.WriteString(rest[:n])
				rest = rest[n:]
				other := []byte(`{"type":"progress","message":"working"}`)
				for _, l := range [][]byte{line, other} {
					forJournal := stored.JSON(l)
					records.WriteString(textOf(t, shown.JSON(l)) + "\n" + textOf(t, forJournal) + "\n")
					restored.WriteString(textOf(t, RestoreJSON(forJournal, values(map[string]string{"KEY": value}))))
				}
			}
			if restored.String() != texts.String() {
				t.Fatalf("%s: restored text = %q, want %q", w.name, restored.String(), texts.String())
			}
			for line := range strings.Lines(records.String()) {
				line = strings.TrimSpace(line)
				for from := 0; from+leastPiece+2 <= len(hidden); from++ {
					if part := hidden[from : from+leastPiece+2]; from > 0 && strings.Contains(line, part) {
						t.Fatalf("%s: a record contains %q of the secret: %q", w.name, part, line)
					}
				}
			}
		}
	}
}

func linesOf(r *Record) *Lines { return r.Lines(r.JSON) }

// textOf returns the text of a piece in a line.
func textOf(t *testing.T, line []byte) string {
	var m struct{ Delta struct{ Text string } }
	if err := json.Unmarshal(line, &m); err != nil {
		t.Fatalf("the line becomes %s: %v", line, err)
	}
	return m.Delta.Text
}

// TestLinesWithoutSecrets checks that lines are unchanged if they contain no secret.
func TestLinesWithoutSecrets(t *testing.T) {
	l := one("sk-123456").Lines()
	for _, line := range []string{`{"type":"partial","text":"so"}`, `{"a":[{"b":"x"},"y",["z"]],"c":{}}`, "plain text", `{"text":"` + "é" + `"}`, `"sk"`} {
		if got := string(l.JSON([]byte(line))); got != line {
			t.Errorf("JSON(%s) = %s", line, got)
		}
	}
}

// TestEveryRecordKnowsEveryForm checks that texts for display and texts that are stored lose a
// secret in every encoding of the table.
func TestEveryRecordKnowsEveryForm(t *testing.T) {
	value := `it's "a" sécret/+?`
	s := one(value)
	for _, w := range writings {
		hidden := w.write(value)
		text := "before " + hidden + " after"
		for name, got := range map[string]string{"displayed": s.Text(text), "journal": s.ForJournal().Text(text), "tape": s.ForTapes().Text(text)} {
			if strings.Contains(got, hidden) {
				t.Errorf("%s text with the form %s = %q", name, w.name, got)
			}
		}
	}
}
