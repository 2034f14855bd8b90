package llm

import (
	"context"
	"errors"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// TestStartChoosesReplies checks that started calls use the replies of a script in the order of
// their starts, however long each call takes, and that a stopped call ends.
func TestStartChoosesReplies(t *testing.T) {
	c, _ := script(t, `[{"text": "one"}, {"text": "two", "delay_ms": 5}, {"text": "three"}]`)
	type outcome struct {
		text string
		err  error
	}
	var all []chan outcome
	for _, p := range []string{"a", "b", "c", "d"} {
		done := make(chan outcome, 1)
		call := prompt(p)
		call.Agent, call.Connection = "A", "main"
		_, ok := c.Start(context.Background(), &call, func(r effect.Result, err error) {
			o := outcome{err: err}
			if err == nil {
				o.text = r.(*effect.AgentReply).Text
			}
			done <- o
		})
		if !ok {
			t.Fatal("Start did not accept the scripted call")
		}
		all = append(all, done)
	}
	for i, want := range []string{"one", "two", "three"} {
		if o := <-all[i]; o.text != want || o.err != nil {
			t.Error(i, o)
		}
	}
	var e *effect.Error
	if o := <-all[3]; !errors.As(o.err, &e) {
		t.Error(o)
	}
	if _, ok := c.Start(context.Background(), &effect.Sleep{}, nil); ok {
		t.Error("Start accepted a sleep")
	}
	call := prompt("x")
	call.Connection = "unknown"
	if _, ok := c.Start(context.Background(), &call, nil); ok {
		t.Error("Start accepted a call of an unknown connection")
	}
}
