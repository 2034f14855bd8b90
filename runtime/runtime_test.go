package runtime

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime/host"
	"github.com/concerto-lang/concerto/runtime/llm"
	"github.com/concerto-lang/concerto/runtime/world/emit"
	"github.com/concerto-lang/concerto/runtime/world/env"
	"github.com/concerto-lang/concerto/runtime/world/permit"
	"github.com/concerto-lang/concerto/runtime/world/sqlitestore"
)

// TestEveryKindHasAPerformer checks that the performer of each area can perform all kinds of that
// area in the table of effects.
func TestEveryKindHasAPerformer(t *testing.T) {
	c := Config{Emit: emit.Options{Out: &bytes.Buffer{}}, Log: &bytes.Buffer{}, Stores: sqlitestore.Options{InMemory: true}}
	r := New(c)
	areas := r.areas(&c, c.policy(), env.New(nil, nil))
	var unperformed *effect.UnperformedError
	for _, row := range effect.Table() {
		p := areas[row.By]
		if p == nil {
			t.Errorf("no performer handles %s", row.Kind)
			continue
		}
		q := row.Request()
		if s, ok := q.(interface{ At() *effect.Store }); ok {
			kind, _, _ := strings.Cut(string(row.Kind), ".")
			*s.At() = effect.Store{File: "s.db", Kind: strings.Replace(kind, "store", "hashmap", 1), Name: "s"}
		}
		if _, err := p.Perform(t.Context(), q); errors.As(err, &unperformed) {
			t.Error(err)
		}
		if s, ok := p.(effect.Starter); ok && !row.Inline {
			done := make(chan error, 1)
			if stop, ok := s.Start(t.Context(), row.Request(), func(_ effect.Result, err error) { done <- err }); ok {
				stop()
				if err := <-done; errors.As(err, &unperformed) {
					t.Error(err)
				}
			}
		}
	}
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

type unknown struct{}

func (unknown) Kind() effect.Kind { return "telepathy" }

func TestRun(t *testing.T) {
	var out, logged bytes.Buffer
	var order []string
	layer := func(name string) effect.Layer {
		return func(next effect.Performer) effect.Performer {
			return effect.PerformerFunc(func(ctx context.Context, q effect.Request) (effect.Result, error) {
				order = append(order, name)
				return next.Perform(ctx, q)
			})
		}
	}
	r := New(Config{
		Parties: Parties{
			Hosts:       []host.Config{{Name: "W", Command: "/no/such/program"}},
			Connections: []llm.Connection{{Name: "main", Provider: "scripted", Replies: []byte(`[{"text":"a","tokens_in":1,"tokens_out":1}]`)}},
		},
		Emit:    emit.Options{Out: &out},
		Environ: []string{"A=1"},
		Log:     &logged,
		Bounds:  Bounds{MaxTokens: 2},
		Allowed: Allowed{Manifest: &permit.Manifest{Env: []string{"A"}}},
		Layers:  []effect.Layer{layer("outer"), layer("inner")},
	})
	ctx := t.Context()
	perform := func(q effect.Request) (effect.Result, error) { return r.Perform(ctx, q) }

	if _, err := perform(&effect.Emit{Channel: "x", Payload: []byte("1")}); err != nil {
		t.Error(err)
	}
	if order[0] != "outer" || order[1] != "inner" {
		t.Error(order)
	}
	if v, err := perform(&effect.Env{Name: "A"}); err != nil || *v.(*effect.EnvValue) != (effect.EnvValue{Value: "1", Set: true}) {
		t.Error(v, err)
	}
	call := &effect.AgentCall{Agent: "A", Connection: "main", Messages: []effect.ChatMessage{{Role: "user", Content: "p"}}}
	if v, err := perform(call); err != nil || v.(*effect.AgentReply).Text != "a" {
		t.Error(v, err)
	}
	for q, kind := range map[effect.Request]string{
		call:                            "AgentError", // the tokens are used up
		&effect.Env{Name: "B"}:          "EnvError",
		&effect.ExchangeOpen{Host: "W"}: "HostError",
		&effect.AwaitEmit{Channel: "c"}: "EmitError",
	} {
		var e *effect.Error
		if _, err := perform(q); !errors.As(err, &e) || e.Kind != kind {
			t.Errorf("%s: error %v, want kind %s", q.Kind(), err, kind)
		}
	}
	if _, err := perform(unknown{}); err == nil || err.Error() != "this run cannot perform telepathy" {
		t.Error(err)
	}
	if _, err := perform(&effect.Log{Level: "info", Message: "m"}); err != nil || logged.String() != "info: m\n" {
		t.Error(logged.String(), err)
	}
	if err := r.Close(ctx); err != nil {
		t.Error(err)
	}
	if out.String() != "[x] 1\n[c]\n" {
		t.Error(out.String())
	}
}

func TestKill(t *testing.T) {
	r := New(Config{Parties: Parties{Hosts: []host.Config{{Name: "W", Command: "sh"}}}, Emit: emit.Options{Out: &bytes.Buffer{}}, Log: &bytes.Buffer{}})
	r.Kill()
	if _, err := r.Perform(t.Context(), &effect.ExchangeOpen{Host: "W"}); !errors.Is(err, host.ErrClosed) {
		t.Error(err)
	}
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
