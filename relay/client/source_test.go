package client

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/google/go-cmp/cmp"
)

// lines returns the lines of the queued events and the number of events that they represent. It
// marks the events as written.
func lines(q *queue) (text string, events int64) {
	var b strings.Builder
	var w encoder
	for _, c := range q.take() {
		b.Write(w.encode(c))
		events += c.events
		q.written = append(q.written, c)
	}
	return b.String(), events
}

// TestOutput checks that consecutive text on one stream becomes one event that contains only
// complete characters. An invalid byte is replaced once. No text is lost at the end.
func TestOutput(t *testing.T) {
	var q queue
	for _, p := range []struct{ stream, text string }{
		{Stdout, "a"}, {Stdout, "gr\xc3"}, {Stderr, "no\xff"}, {Stdout, "\xb6sse\n"}, {Stdout, "\xe2\x82"},
	} {
		q.print(p.stream, p.text)
	}
	q.finish()
	got, events := lines(&q)
	out := func(stream, text string) string {
		return `{"event":"run.output","data":{"stream":"` + stream + `","text":"` + text + "\"}}\n"
	}
	want := out(Stdout, "agr") + out(Stderr, "no\ufffd") + out(Stdout, `össe\n`) + out(Stdout, "\ufffd")
	if d := cmp.Diff(want, got); d != "" || events != 4 {
		t.Errorf("got %d events, want 4; lines (-want +got):\n%s", events, d)
	}
	q.print(Stdout, strings.Repeat("ä", maxText))
	got, events = lines(&q)
	if events != 2 || len(got) > 2*maxText+200 || strings.Contains(got, "\ufffd") {
		t.Errorf("got %d events with %d bytes, want 2 events without replacement characters", events, len(got))
	}
}

// TestQueueLimit checks the limit on the events for a hostd that is not connected. The loss must be
// reported, and the last event must be sent in any case.
func TestQueueLimit(t *testing.T) {
	var q queue
	line := encodeEvent(protocol.RunEmit, protocol.Emit{Channel: "c", Payload: json.RawMessage(`"` + strings.Repeat("x", 60<<10) + `"`)})
	n := protocol.SourceRetained/len(line) + 5
	for range n {
		q.add(line)
	}
	if q.size > protocol.SourceRetained {
		t.Errorf("the queue retains %d bytes, more than protocol.SourceRetained", q.size)
	}
	q.addAlways([]byte("end\n"))
	text, events := lines(&q)
	retained := strings.Count(text, `"run.emit"`)
	if events != int64(n)+1 || !strings.HasSuffix(text, fmt.Sprintf(`{"event":"run.gap","data":{"reason":"source_lag"},"lost":%d}`+"\nend\n", n-retained)) {
		t.Errorf("the lines represent %d events, want one more than %d; %d were retained; end: …%s", events, n, retained, text[len(text)-100:])
	}
}

// TestResend checks that a queue resends exactly the events that hostd does not have, even if they
// begin in the middle of a chunk. A gap is sent only once.
func TestResend(t *testing.T) {
	for acked := range int64(11) {
		var q queue
		for i := range 4 {
			q.add(fmt.Appendf(nil, "%d\n", i+1))
		}
		q.lost = 3 // the events 5 to 7 are lost
		for i := 7; i < 10; i++ {
			q.add(fmt.Appendf(nil, "%d\n", i+1))
		}
		lines(&q)
		q.resend(acked)
		text, events := lines(&q)
		var want strings.Builder
		for i := range int64(10) {
			switch {
			case i == 4 && acked < 7:
				want.WriteString(`{"event":"run.gap","data":{"reason":"source_lag"},"lost":3}` + "\n")
			case (i < 4 || i > 6) && i >= acked:
				fmt.Fprintf(&want, "%d\n", i+1)
			}
		}
		if d := cmp.Diff(want.String(), text); d != "" {
			t.Errorf("resend after %d acknowledged events: %d events; lines (-want +got):\n%s", acked, events, d)
		}
	}
}

// TestQuestionWithoutHostd checks Ask without a hostd. Without a local handler Ask must return no
// answer. With one it must wait, because that handler can still answer.
func TestQuestionWithoutHostd(t *testing.T) {
	s := New(Options{Socket: filepath.Join(t.TempDir(), "none")})
	if s.Absent() == nil {
		t.Error("Absent returns nil although there is no hostd")
	}
	q := &effect.AwaitEmit{Channel: "c"}
	if a, err := s.Ask(context.Background(), "", q, true); a != nil || err != nil {
		t.Errorf("Ask without a local handler returns %v, error %v; want nil", a, err)
	}
	ctx, stop := context.WithCancel(context.Background())
	time.AfterFunc(time.Millisecond, stop)
	if a, err := s.Ask(ctx, "", q, false); a != nil || err != context.Canceled {
		t.Errorf("Ask with a local handler returns %v, error %v; want context.Canceled", a, err)
	}
	s.End(0)
	var none *Source
	none.Wrote(Stdout, "x")
	none.End(0)
}

// TestAwaitHostd checks that Await waits for a hostd whose socket exists, even if hostd does not
// answer the first attempt. The wait must be limited.
func TestAwaitHostd(t *testing.T) {
	dir, err := os.MkdirTemp("", "await") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	listen := func(name string) (string, net.Listener) {
		l, err := net.Listen("unix", filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return filepath.Join(dir, name), l
	}

	s := New(Options{Socket: filepath.Join(dir, "none")})
	if err := s.Await(t.Context(), time.Hour); err != nil {
		t.Errorf("Await for a missing socket returns %v, want nil", err)
	}
	s.End(0)

	silent, _ := listen("silent")
	s = New(Options{Socket: silent})
	if err := s.Await(t.Context(), time.Millisecond); err == nil {
		t.Error("Await for a hostd that does not answer returns nil, want an error")
	}
	ctx, stop := context.WithCancel(t.Context())
	s = New(Options{Socket: silent})
	stop()
	if err := s.Await(ctx, time.Hour); err != context.Canceled {
		t.Errorf("Await with a cancelled context returns %v, want context.Canceled", err)
	}

	late, l := listen("late")
	go func() {
		for n := 0; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil && n > 0 { // hostd does not answer the first attempt
				_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\n"+protocol.SourceRun+": run_1\r\n\r\n")
				_, _ = io.Copy(io.Discard, c)
			}
			_ = c.Close()
		}
	}()
	s = New(Options{Socket: late})
	if err := s.Await(t.Context(), time.Hour); err != nil || s.Run(t.Context()) != "run_1" {
		t.Errorf("a hostd that answers the second attempt: run id %q, error %v", s.Run(t.Context()), err)
	}
	s.End(0)
}

// TestQuestions checks the questions for different types. Values of types without a form field are
// entered as JSON.
func TestQuestions(t *testing.T) {
	for schema, want := range map[string]string{
		``:                   `[{"id":"answer","question":"p","kind":"text","required":true}]`,
		`{"type":"string"}`:  `[{"id":"answer","question":"p","kind":"text","required":true}]`,
		`{"type":"boolean"}`: `[{"id":"answer","question":"p","kind":"confirm","required":true}]`,
		`{"type":"integer"}`: `[{"id":"answer","question":"p","kind":"json","required":true,"schema":{"type":"integer"}}]`,
		`true`:               `[{"id":"answer","question":"p","kind":"json","required":true,"schema":true}]`,
		`{"type":"array","items":{"type":"string","enum":["a"]}}`:                                                      `[{"id":"answer","question":"p","kind":"multi","options":[{"value":"a","label":"a"}],"required":true}]`,
		`{"type":"object","properties":{"answer":{"type":"string"}}}`:                                                  `[{"id":"answer","question":"p","kind":"json","required":true,"schema":{"type":"object","properties":{"answer":{"type":"string"}}}}]`,
		`{"type":"object","properties":{"next":{"$ref":"#"}}}`:                                                         `[{"id":"answer","question":"p","kind":"json","required":true,"schema":{"type":"object","properties":{"next":{"$ref":"#"}}}}]`,
		`{"type":"object","properties":{"b":{"type":"boolean"},"a":{"type":"string","default":"x"}},"required":["b"]}`: `[{"id":"b","question":"b","kind":"confirm","required":true},{"id":"a","question":"a","kind":"text","default":"x"}]`,
	} {
		var value json.RawMessage
		if schema != "" {
			value = json.RawMessage(schema)
		}
		got, err := json.Marshal(questionsOf(value, "p"))
		if err != nil || string(got) != want {
			t.Errorf("questions for schema %s = %s (error %v), want\n%s", schema, got, err, want)
		}
	}
}
