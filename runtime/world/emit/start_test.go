package emit

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// TestStart checks that a started awaited emit is printed before it is answered. An emit with a
// predefined answer must be answered immediately.
func TestStart(t *testing.T) {
	var out bytes.Buffer
	p := &held{asked: make(chan string), answer: make(chan string)}
	s := New(Options{Out: &out, Prompter: p, Answers: []Fixed{{Channel: "fixed", Value: "f"}}})
	type outcome struct {
		value string
		err   error
	}
	start := func(channel string) (chan outcome, func()) {
		done := make(chan outcome, 1)
		stop, ok := s.Start(bg, &effect.AwaitEmit{Channel: channel, Payload: json.RawMessage(`1`)}, func(r effect.Result, err error) {
			o := outcome{err: err}
			if err == nil {
				o.value = string(r.(*effect.Answer).Value)
			}
			done <- o
		})
		if !ok {
			t.Fatal("Start did not accept the awaited emit")
		}
		return done, stop
	}
	asked, _ := start("asked")
	if err := s.printEmit(bg, &effect.Emit{Channel: "next", Payload: json.RawMessage(`2`)}); err != nil {
		t.Fatal(err)
	}
	fixed, _ := start("fixed")
	if o := <-fixed; o.value != `"f"` || o.err != nil {
		t.Error(o)
	}
	<-p.asked
	p.answer <- "typed"
	if o := <-asked; o.value != `"typed"` || o.err != nil {
		t.Error(o)
	}
	stopped, stop := start("stopped")
	<-p.asked
	stop()
	if o := <-stopped; o.err != context.Canceled {
		t.Error(o)
	}
	if _, ok := s.Start(bg, &effect.Print{}, nil); ok {
		t.Error("Start accepted a print")
	}
	finish(t, s)
	if got := out.String(); got != "[asked] 1\n[next] 2\n[fixed] 1\n[stopped] 1\n" {
		t.Errorf("output = %q, want the emits in the order of their starts", got)
	}
	silent := New(Options{Out: io.Discard})
	var err error
	silent.Start(bg, &effect.AwaitEmit{Channel: "ask"}, func(_ effect.Result, e error) { err = e })
	wantEmitError(t, err, "no_listener", "channel 'ask'")
	finish(t, silent)
}

// held is a Prompter that reports each question and answers when the test requests it.
type held struct{ asked, answer chan string }

func (h *held) Ask(ctx context.Context, channel string) (string, error) {
	h.asked <- channel
	select {
	case a := <-h.answer:
		return strings.TrimSpace(a), nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
