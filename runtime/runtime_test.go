package runtime

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/concerto-lang/concerto/internal/effect"
	"github.com/concerto-lang/concerto/runtime/emit"
	"github.com/concerto-lang/concerto/runtime/host"
	"github.com/concerto-lang/concerto/runtime/llm"
	"github.com/concerto-lang/concerto/runtime/permit"
)

// requests is one request of each kind that a program can make.
var requests = []effect.Request{
	&effect.AgentCall{}, &effect.Step{}, &effect.ExchangeOpen{}, &effect.ExchangeNext{}, &effect.ExchangeReply{}, &effect.ExchangeClose{},
	&effect.Emit{}, &effect.AwaitEmit{}, &effect.Print{}, &effect.Log{}, &effect.Env{}, &effect.EnvAll{}, &effect.Args{}, &effect.Sleep{},
	&effect.Clock{}, &effect.Zone{}, &effect.Random{}, &effect.RandomSeed{}, &effect.Secret{}, &effect.HTTP{Timeout: 1},
	&effect.ReadFile{}, &effect.WriteFile{}, &effect.FileInfo{}, &effect.ListDir{}, &effect.RemoveFile{}, &effect.MakeDir{},
	&effect.CopyFile{}, &effect.MoveFile{}, &effect.Glob{}, &effect.TempDir{}, &effect.Command{},
}

func TestEveryKindHasAPerformer(t *testing.T) {
	r := New(Config{Emit: emit.Options{Out: &bytes.Buffer{}}, Log: &bytes.Buffer{}})
	for _, q := range requests {
		_, err := r.Perform(t.Context(), q)
		if err != nil && err.Error() == "nothing performs "+string(q.Kind()) {
			t.Error(err)
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
		Hosts:       []host.Config{{Name: "W", Command: "/no/such/program"}},
		Connections: []llm.Connection{{Name: "main", Provider: "scripted", Replies: []byte(`[{"text":"a","tokens_in":1,"tokens_out":1}]`)}},
		Emit:        emit.Options{Out: &out},
		Environ:     []string{"A=1"},
		Log:         &logged,
		MaxTokens:   2,
		Permissions: &permit.Manifest{Env: []string{"A"}},
		Layers:      []effect.Layer{layer("outer"), layer("inner")},
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
			t.Errorf("%s: %v", q.Kind(), err)
		}
	}
	if _, err := perform(unknown{}); err == nil || err.Error() != "nothing performs telepathy" {
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
	r := New(Config{Hosts: []host.Config{{Name: "W", Command: "sh"}}, Emit: emit.Options{Out: &bytes.Buffer{}}, Log: &bytes.Buffer{}})
	r.Kill()
	if _, err := r.Perform(t.Context(), &effect.ExchangeOpen{Host: "W"}); !errors.Is(err, host.ErrClosed) {
		t.Error(err)
	}
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
