package sse

import (
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// event is an Event whose data remains valid.
type event struct{ Name, ID, Retry, Data string }

func readAll(r io.Reader) (all []event, err error) {
	in := NewReader(r, 1000)
	for {
		e, err := in.Next()
		if err != nil {
			return all, err
		}
		all = append(all, event{e.Name, e.ID, e.Retry, string(e.Data)})
	}
}

func TestNext(t *testing.T) {
	for _, test := range []struct {
		text string
		want []event
		err  error
	}{
		{"data: a\n\ndata:b\r\n\r\ndata:  c\r\r", []event{{Data: "a"}, {Data: "b"}, {Data: " c"}}, io.EOF},
		{"\ufeffdata: a\ndata: b\n\n", []event{{Data: "a\nb"}}, io.EOF},
		{"data\ndata\n\ndata:\n\n: alive\n\n", []event{{Data: "\n"}, {}}, io.EOF},
		{"event: x\nid: 7\nretry: 10\nother: y\ndata: {\n\n", []event{{"x", "7", "10", "{"}}, io.EOF},
		{"id: a\x00b\ndata: c\n\n", []event{{Data: "c"}}, io.EOF},
		{"data: a\n\ndata: b", []event{{Data: "a"}}, io.ErrUnexpectedEOF},
		{" data: a\nDATA: b\n\n", nil, io.EOF},
		{"data: \ufeffa\r\ndata: b\n\n", []event{{Data: "\ufeffa\nb"}}, io.EOF},
		{"data: " + strings.Repeat("x", 1001) + "\n\n", nil, ErrTooLong},
	} {
		for _, r := range []io.Reader{strings.NewReader(test.text), iotest.OneByteReader(strings.NewReader(test.text)), iotest.DataErrReader(strings.NewReader(test.text))} {
			if got, err := readAll(r); err != test.err || !reflect.DeepEqual(got, test.want) {
				t.Errorf("%q: got %q (error %v), want %q (error %v)", test.text, got, err, test.want, test.err)
			}
		}
	}
}

// TestCRDoesNotWait checks that an event whose lines end with CR is returned before the next byte
// arrives.
func TestCRDoesNotWait(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	go func() { _, _ = io.WriteString(w, "data: a\r\r") }()
	if e, err := NewReader(r, 0).Next(); err != nil || string(e.Data) != "a" {
		t.Errorf("got %q (error %v)", e.Data, err)
	}
}

// randomStream returns a stream and its events.
func randomStream(seed uint64) (string, []event) {
	r := rand.New(rand.NewPCG(seed, 0))
	end := []string{"\n", "\r", "\r\n"}[r.IntN(3)]
	words := []string{"", "a", "é", ":", " ", "data: x", "{\"a\":1}", "\ufeff"}
	text := []string{"", "\ufeff"}[r.IntN(2)]
	var all []event
	for range 1 + r.IntN(4) {
		var data []string
		for range 1 + r.IntN(3) {
			s := words[r.IntN(len(words))] + words[r.IntN(len(words))]
			data = append(data, s)
			text += "data: " + s + end
			if r.IntN(4) == 0 {
				text += ": a comment" + end
			}
		}
		text += end
		all = append(all, event{Data: strings.Join(data, "\n")})
	}
	return text, all
}

// TestEvents checks that random events are read as they were written, with any line ends and
// comments, however the stream is split into reads.
func TestEvents(t *testing.T) {
	show := func(seed uint64) string {
		text, _ := randomStream(seed)
		return fmt.Sprintf("%q", text)
	}
	randtest.Run(t, "runtime/sse", 1000, show, func(t *testing.T, seed uint64) {
		text, want := randomStream(seed)
		got, err := readAll(iotest.HalfReader(strings.NewReader(text)))
		if err != io.EOF || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: got %q (error %v), want %q", text, got, err, want)
		}
	})
}

// FuzzNext checks that the events do not depend on how a stream is split into reads.
func FuzzNext(f *testing.F) {
	f.Add("\ufeffid: 1\rdata: a\r\ndata\n\n: x\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		whole, err := readAll(strings.NewReader(text))
		bytes, again := readAll(iotest.OneByteReader(strings.NewReader(text)))
		if !reflect.DeepEqual(whole, bytes) || err != again {
			t.Fatalf("%q: got %q (error %v) and by bytes %q (error %v)", text, whole, err, bytes, again)
		}
	})
}
