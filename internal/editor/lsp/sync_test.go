package lsp

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/editor/lsp/frame"
	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
)

var encodings = []encoding{protocol.PositionEncodingKindUTF8, protocol.PositionEncodingKindUTF16, protocol.PositionEncodingKindUTF32}

// TestEncoding checks that the server uses the first of the client's encodings that it supports.
func TestEncoding(t *testing.T) {
	for _, c := range []struct {
		offered []protocol.PositionEncodingKind
		want    encoding
	}{
		{nil, "utf-16"}, {[]protocol.PositionEncodingKind{"utf-8", "utf-16"}, "utf-8"}, {[]protocol.PositionEncodingKind{"utf-32", "utf-8"}, "utf-32"},
		{[]protocol.PositionEncodingKind{"utf-7", "utf-16"}, "utf-16"}, {[]protocol.PositionEncodingKind{"utf-7"}, "utf-16"},
	} {
		runInBubble(t, Options{}, func(e *editor) {
			result := e.start(t.TempDir(), map[string]any{"general": map[string]any{"positionEncodings": c.offered}})
			if got := result["capabilities"].(map[string]any)["positionEncoding"]; got != string(c.want) {
				t.Errorf("encoding for the offer %v = %v, want %s", c.offered, got, c.want)
			}
		})
	}
}

func TestOffsets(t *testing.T) {
	text := "aé\r\n漢😀b\rc\n"
	for _, c := range []struct {
		enc             encoding
		line, character uint32
		want            string // text before the position
	}{
		{"utf-16", 0, 0, ""}, {"utf-16", 0, 2, "aé"}, {"utf-16", 0, 3, "aé"}, {"utf-16", 0, 1 << 31, "aé"},
		{"utf-16", 1, 1, "aé\r\n漢"}, {"utf-16", 1, 2, "aé\r\n漢"}, {"utf-16", 1, 3, "aé\r\n漢😀"}, {"utf-16", 1, 9, "aé\r\n漢😀b"},
		{"utf-32", 1, 2, "aé\r\n漢😀"}, {"utf-8", 1, 2, "aé\r\n"}, {"utf-8", 1, 3, "aé\r\n漢"}, {"utf-8", 1, 6, "aé\r\n漢"}, {"utf-8", 1, 7, "aé\r\n漢😀"},
		{"utf-8", 2, 1, "aé\r\n漢😀b\rc"}, {"utf-8", 3, 0, text}, {"utf-8", 3, 5, text}, {"utf-8", 4, 0, text}, {"utf-8", 1<<32 - 1, 0, text},
	} {
		if got := newLines([]byte(text), c.enc).offset(protocol.Position{Line: c.line, Character: c.character}); text[:got] != c.want {
			t.Errorf("%s %d:%d: the text before is %q, want %q", c.enc, c.line, c.character, text[:got], c.want)
		}
	}
}

// model is a second implementation of positions. It searches lines of runes character by character.
type model struct {
	text string
	enc  encoding
}

// at returns the offset of a position. It counts from the start of the text.
func (m *model) at(line, character int) int {
	at := 0
	for rest := m.text; line > 0; line-- {
		i := strings.IndexAny(rest, "\r\n")
		if i < 0 {
			return len(m.text)
		}
		if strings.HasPrefix(rest[i:], "\r\n") {
			i++
		}
		at, rest = at+i+1, rest[i+1:]
	}
	for _, r := range m.text[at:] {
		n := 1
		switch m.enc {
		case "utf-8":
			n = utf8.RuneLen(r)
		case "utf-16":
			n = len(utf16.Encode([]rune{r}))
		}
		if r == '\n' || r == '\r' || character < n {
			return at
		}
		character -= n
		at += utf8.RuneLen(r)
	}
	return at
}

// TestRandomEditor sends random edits and compares the server's text with that of the model.
func TestRandomEditor(t *testing.T) {
	parts := []string{"a", "fn main() {", "}", "\n", "\r\n", "\r", "é", "漢", "😀", " ", "let x = 1;", ""}
	for i, enc := range encodings {
		t.Run(string(enc), func(t *testing.T) {
			runInBubble(t, Options{}, func(e *editor) {
				random := rand.New(rand.NewPCG(uint64(i), 7))
				some := func() string {
					var b strings.Builder
					for range random.IntN(4) {
						b.WriteString(parts[random.IntN(len(parts))])
					}
					return b.String()
				}
				e.start(t.TempDir(), map[string]any{"general": map[string]any{"positionEncodings": []encoding{enc}}})
				m := &model{"", enc}
				e.open("untitled:a", "")
				for n := 2; n < 1500; n++ {
					var changes []any
					for range 1 + random.IntN(2) {
						if random.IntN(100) == 0 {
							m.text = some()
							changes = append(changes, map[string]any{"text": m.text})
							continue
						}
						a, b := [2]int{random.IntN(8), random.IntN(12)}, [2]int{random.IntN(8), random.IntN(12)}
						text := some()
						start, end := m.at(a[0], a[1]), m.at(b[0], b[1])
						m.text = m.text[:start] + text + m.text[max(start, end):]
						changes = append(changes, map[string]any{"text": text, "range": map[string]any{
							"start": map[string]int{"line": a[0], "character": a[1]}, "end": map[string]int{"line": b[0], "character": b[1]}}})
					}
					e.notify(protocol.MethodTextDocumentDidChange, map[string]any{"textDocument": map[string]any{"uri": "untitled:a", "version": n}, "contentChanges": changes})
					if n%100 != 0 {
						continue
					}
					var got textResult
					e.request(methodText, map[string]any{"uri": "untitled:a"}, &got)
					sum := sha256.Sum256([]byte(m.text))
					if want := (textResult{int32(n), hex.EncodeToString(sum[:]), len(m.text)}); got != want {
						t.Fatalf("text after %d edits = %+v, want %+v", n, got, want)
					}
				}
			})
		})
	}
}

// TestEditsOfClosedDocumentsAreIgnored checks that edits of documents that are not open are ignored
// and logged.
func TestEditsOfClosedDocumentsAreIgnored(t *testing.T) {
	runInBubble(t, Options{}, func(e *editor) {
		e.start(t.TempDir(), struct{}{})
		e.edit("file:///nowhere.conc", 2, "x")
		e.notify(protocol.MethodTextDocumentDidClose, map[string]any{"textDocument": map[string]any{"uri": "file:///nowhere.conc"}})
		e.expectError(e.request(methodText, map[string]any{"uri": "file:///nowhere.conc"}, nil), codeInvalidParams)
		for _, want := range []string{"ignored an edit of file:///nowhere.conc, which is not open", "ignored the close of file:///nowhere.conc, which is not open"} {
			if !strings.Contains(e.log.String(), want) {
				t.Errorf("the log does not say %q:\n%s", want, e.log.String())
			}
		}
	})
}

// FuzzPositions converts offsets to positions and back. The result is the same offset if it is not
// within a code point or a line end.
func FuzzPositions(f *testing.F) {
	f.Add("aé\r\n漢😀b\rc\n", uint(3))
	f.Fuzz(func(t *testing.T, text string, at uint) {
		text = strings.ToValidUTF8(text, "?")
		for _, enc := range encodings {
			l, m := newLines([]byte(text), enc), &model{text, enc}
			for i := range text {
				p := l.position(i)
				back := l.offset(p)
				if inEnd := strings.HasPrefix(text[max(0, i-1):], "\r\n") && i > 0; back != i && !inEnd {
					t.Fatalf("%q in %s: offset %d has position %v, which has offset %d", text, enc, i, p, back)
				}
			}
			p := protocol.Position{Line: uint32(at % 5), Character: uint32(at / 5 % 9)}
			if got, want := l.offset(p), m.at(int(p.Line), int(p.Character)); got != want {
				t.Fatalf("%q in %s: position %v has offset %d, want %d", text, enc, p, got, want)
			}
		}
	})
}

// FuzzFrames checks that any input is either a message or an error, and that written messages can
// be read again.
func FuzzFrames(f *testing.F) {
	for _, s := range []string{"Content-Length: 2\r\n\r\n{}", "Content-Length: 2\n\n{}", "\r\n", "a: b\r\nContent-Length:1\r\n\r\n1", "Content-Length: 99999999999999999999\r\n\r\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bufioReader(string(b))
		for {
			body, err := frame.Read(r)
			if err != nil {
				break
			}
			if m, bad := readMessage(body); m == nil || bad != nil && m.ID == nil {
				t.Fatalf("encoded message %q: decoded %v, error %v", body, m, bad)
			}
		}
		got, err := frame.Read(bufioReader(string(frame.Encode(b))))
		if err != nil || string(got) != string(b) {
			t.Fatalf("frame of %q is read as %q: %v", b, got, err)
		}
	})
}

func bufioReader(s string) *bufio.Reader { return bufio.NewReader(strings.NewReader(s)) }
