package mock

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// performOutput performs the requests that concern output. It records the output of the test,
// answers awaited emits, and returns parts of the record to the test.
func (w *World) performOutput(ctx context.Context, r effect.Request, next effect.Performer) (effect.Result, error) {
	if q, ok := r.(*effect.AwaitEmit); ok && w.options.Sample && !w.Answers(q) {
		w.Note(q)
		return next.Perform(ctx, q)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch r := r.(type) {
	case *effect.Emit:
		w.record.Emits = append(w.record.Emits, Emit{r.Channel, r.Payload})
	case *effect.Print:
		w.output = append(w.output, r.Text...)
		if r.Newline {
			w.output = append(w.output, '\n')
		}
	case *effect.Log:
		w.record.Log = append(w.record.Log, r.Level+": "+strings.TrimSuffix(r.Message, "\n"))
	case *effect.AwaitEmit:
		w.note(r)
		return w.answerEmit(r)
	case *effect.Record:
		v, err := json.Marshal(w.readRecord(r))
		if err != nil {
			return nil, fmt.Errorf("could not write the test's record: %w", err)
		}
		return &effect.Recorded{Value: v}, nil
	}
	return nil, nil
}

// Note adds a request to what mock_prompts, test_requests and test_emits return. Those that the
// World's layer performs are noted by it.
func (w *World) Note(r effect.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note(r)
}

func (w *World) note(r effect.Request) {
	switch r := r.(type) {
	case *effect.AgentCall:
		if n := len(r.Messages); n > 0 && r.Messages[n-1].Role != "tool" {
			w.prompts[r.Agent] = append(w.prompts[r.Agent], r.Messages[n-1].Content)
		}
	case *effect.ExchangeOpen:
		w.prompts[r.Host] = append(w.prompts[r.Host], r.Prompt)
	case *effect.HTTP:
		q := httpRequest{Method: r.Method, URL: r.URL, Headers: map[string]string{}, Body: r.Body}
		for _, h := range r.Headers {
			q.Headers[h.Name] = h.Value
		}
		w.requested = append(w.requested, q)
	case *effect.AwaitEmit:
		w.record.Emits = append(w.record.Emits, Emit{r.Channel, r.Payload})
	}
}

func (w *World) answerEmit(r *effect.AwaitEmit) (effect.Result, error) {
	queue := w.answers[r.Channel]
	if len(queue) == 0 {
		return nil, effect.Errorf("EmitError", "no handler answers the emit on channel '%[1]s': add an answer to the test with mock_answer(\"%[1]s\", …)", r.Channel).
			With("channel", r.Channel).With("reason", "no_listener")
	}
	w.answers[r.Channel] = queue[1:]
	return &effect.Answer{Value: queue[0]}, nil
}

// readRecord returns a part of the record as a value whose JSON form is an array.
func (w *World) readRecord(r *effect.Record) any {
	switch r.What {
	case "emits":
		return orEmpty(w.record.Emits)
	case "output":
		return string(w.output)
	case "requests":
		return orEmpty(w.requested)
	case "prompts":
		return orEmpty(w.prompts[r.Party])
	}
	if h := w.hosts[r.Party]; h != nil {
		return orEmpty(h.replies)
	}
	return []int{}
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// Record returns the recorded output of the test.
func (w *World) Record() Record {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.record
	r.Output = string(w.output)
	return r
}

// Leftovers returns a sentence for each part of a mock that the test did not use. Leftovers make
// the test fail.
func (w *World) Leftovers() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := slices.Clone(w.left)
	for _, name := range slices.Sorted(maps.Keys(w.agents)) {
		out = append(out, w.agents[name].leftovers()...)
	}
	for _, name := range slices.Sorted(maps.Keys(w.hosts)) {
		out = append(out, w.hosts[name].leftovers()...)
	}
	for _, channel := range slices.Sorted(maps.Keys(w.answers)) {
		if q := w.answers[channel]; len(q) > 0 {
			out = append(out, fmt.Sprintf("mock_answer(\"%s\", …) has %s left that no awaited emit used; the next is %s", channel, plural(len(q), "answer"), q[0]))
		}
	}
	return append(append(out, w.web.leftovers("mock_http", "answer", "request")...), w.shell.leftovers("mock_command", "outcome", "run")...)
}
