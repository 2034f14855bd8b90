package host

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

// tricky contains texts whose encoding in pieces could differ from the encoding of the whole text.
var tricky = map[string]string{
	"characters of each length": "aé…😀",
	"line ends":                 "a\r\nb\n\rc\r\r\n",
	"what is escaped":           "\"\\\x00\t\x1f",
	"a broken character":        "é\xff\xe2\x80",
	"parts of characters alone": "\x80\x81\x82\x83\x84",
}

// TestLongPrompts checks that the encoding of a long prompt in pieces equals the encoding of the
// whole prompt, wherever the pieces end.
func TestLongPrompts(t *testing.T) {
	randtest.InOneGoroutine(t)
	for name, part := range tricky {
		for shift := range len(part) {
			text := strings.Repeat("x", shift) + strings.Repeat(part, longText/len(part)+1)
			r := &effect.ExchangeOpen{Prompt: text, Context: []byte("{\"a\":\n1}"), Schema: []byte(`{}`), Session: "s"}
			want := append(value.AppendString([]byte(`{"type":"prompt","text":`), text), `,"context":{"a": 1},"schema":{},"session":"s"}`+"\n"...)
			plain := lineBreaks.Replace(text+"\nContext: {\"a\":\n1}\nSchema: {}") + "\n"
			for format, want := range map[string][]byte{"json": want, "text": []byte(plain)} {
				l := (&Config{InputFormat: format}).promptLine(r, false)
				if len(l.long) != 1 || len(l.short) > 100 {
					t.Fatalf("%s: the line has %d long parts and %d short bytes, want 1 and at most 100", name, len(l.long), len(l.short))
				}
				if got := l.concat(); !bytes.Equal(got, want) || len(got) != l.size() {
					t.Fatalf("%s, shifted by %d, as %s: the line differs: %d bytes, size() = %d, want %d bytes", name, shift, format, len(got), l.size(), len(want))
				}
			}
		}
	}
}

// TestLongAmongOthers queues long and short lines, before and after the writer has begun. The order
// and the offsets of the lines must be correct.
func TestLongAmongOthers(t *testing.T) {
	long := func(c string) line {
		o := longObject{Object: *jsonobject.New("x")}
		o.textMember("text", strings.Repeat(c, longText))
		return o.toLine()
	}
	all := []line{{short: []byte("one\n")}, long("2"), {short: []byte("three\n")}, {short: []byte("four\n")}, long("5"), long("6"), {short: []byte("seven\n")}}
	for begun := range len(all) {
		synctest.Test(t, func(t *testing.T) {
			h := &memHost{toHost: make(chan string), inClosed: make(chan struct{}), term: make(chan struct{}), dead: make(chan struct{}), out: newMemPipe()}
			o := newOutbox(&memConn{h: h})
			var want bytes.Buffer
			for i, l := range all {
				if i == begun {
					go o.writeLoop()
					synctest.Wait()
				}
				if at, ok := o.enqueueLine(l, true); !ok || at != int64(want.Len()) {
					t.Errorf("offset of line %d = %d (accepted %v), want %d", i, at, ok, want.Len())
				}
				want.Write(l.concat())
			}
			o.closeQueue()
			var got strings.Builder
			for got.Len() < want.Len() {
				s := h.readLine()
				if s == "" {
					break
				}
				got.WriteString(s)
			}
			synctest.Wait()
			if wanted := strings.ReplaceAll(want.String(), "\n", ""); got.String() != wanted {
				t.Errorf("the host received other lines: %d bytes, want %d", got.Len(), len(wanted))
			}
			if n := o.bytesConsumed(); n != int64(want.Len()) {
				t.Errorf("%d bytes were written, want %d", n, want.Len())
			}
		})
	}
}

// TestLongIsFull checks that the bytes of a long text count towards the limit of the outbox.
func TestLongIsFull(t *testing.T) {
	o := newOutbox(&memConn{})
	o.enqueueLine(line{long: []longPart{newLongPart(0, strings.Repeat("x", outboxLimit), jsonwrite.Plain.AppendEscaped)}}, false)
	if _, ok := o.enqueueLine(line{short: []byte("x\n")}, false); ok || !o.isFull() {
		t.Error("the outbox has room after a text of outboxLimit bytes")
	}
}

// TestLongPromptNeedsNoCopy checks that writing a long prompt does not allocate memory for a copy,
// even while the host does not read.
func TestLongPromptNeedsNoCopy(t *testing.T) {
	randtest.Measures(t)
	text := strings.Repeat("x\"", 20<<20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	l := (&Config{InputFormat: "json"}).promptLine(&effect.ExchangeOpen{Prompt: text}, false)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	o := newOutbox(&fileConn{w: w})
	o.enqueueLine(l, true)
	o.closeQueue()
	go o.writeLoop()
	n, err := io.Copy(io.Discard, r)
	runtime.ReadMemStats(&after)
	if err != nil || n != int64(len(text)*3/2+len(`{"type":"prompt","text":""}`)+1) {
		t.Errorf("the pipe received %d bytes (error %v), want the whole prompt", n, err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 {
		t.Errorf("%d bytes were allocated for a prompt of %d bytes, want at most 1 MiB", used, len(text))
	}
}

// fileConn is a connection with only the methods that an outbox needs. It writes to a file.
type fileConn struct {
	Conn
	w *os.File
}

func (c *fileConn) Write(b []byte) (int, error) { return c.w.Write(b) }
func (c *fileConn) TryWrite([]byte) int         { return 0 }
func (c *fileConn) CloseWrite()                 { _ = c.w.Close() }
func (c *fileConn) Unread() int                 { return 0 }

// TestVendorGetsLongPrompts checks that an adapter receives a long prompt as one line.
func TestVendorGetsLongPrompts(t *testing.T) {
	text := strings.Repeat("é", longText)
	l := (&Config{Transport: "acp"}).promptLine(&effect.ExchangeOpen{Prompt: text}, false)
	var o struct{ Type, Text string }
	if err := json.Unmarshal(l.concat(), &o); err != nil || o.Type != "prompt" || o.Text != text {
		t.Errorf("got type %q and a text of %d bytes (error %v), want the whole prompt", o.Type, len(o.Text), err)
	}
}
