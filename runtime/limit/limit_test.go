package limit

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/concerto-lang/concerto/effect"
)

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		ctx, cancel := Run(t.Context(), 1.5)
		defer cancel()
		<-ctx.Done()
		var te *TimeError
		if err := context.Cause(ctx); !errors.As(err, &te) || err.Error() != "the run took longer than the 1.5 seconds that [limits] max_run_seconds allows" {
			t.Error(err)
		}
		if d := time.Since(begin); d != 1500*time.Millisecond {
			t.Error(d)
		}
		free, cancel := Run(t.Context(), 0)
		defer cancel()
		if _, ok := free.Deadline(); ok {
			t.Error("no bound was asked for")
		}
	})
}

func TestTokens(t *testing.T) {
	calls := 0
	model := effect.PerformerFunc(func(_ context.Context, r effect.Request) (effect.Result, error) {
		calls++
		if r.Kind() != effect.KindAgentCall {
			return nil, nil
		}
		if calls == 2 {
			return nil, errors.New("failed")
		}
		return &effect.AgentReply{TokensIn: 3, TokensOut: 2}, nil
	})
	p := Tokens(10)(model)
	call := &effect.AgentCall{Agent: "A", Model: "m", Connection: "c"}
	for i, want := range []bool{true, false, true} {
		if _, err := p.Perform(t.Context(), call); (err == nil) != want {
			t.Errorf("call %d: %v", i, err)
		}
	}
	_, err := p.Perform(t.Context(), call)
	if e, ok := err.(*effect.Error); !ok || e.Kind != "AgentError" || e.Message != "agent 'A' may ask no more: the run has used 10 of the 10 tokens that [limits] max_tokens allows" {
		t.Error(err)
	}
	if _, err := p.Perform(t.Context(), &effect.Sleep{}); err != nil || calls != 4 {
		t.Errorf("other requests pass: %v after %d calls", err, calls)
	}
	if _, wrapped := Tokens(0)(&fake{}).(*fake); !wrapped {
		t.Error("without a bound there is no layer")
	}
}

type fake struct{}

func (*fake) Perform(context.Context, effect.Request) (effect.Result, error) { return nil, nil }

// starter starts calls, which it completes at once.
type starter struct{ fake }

func (*starter) Start(_ context.Context, r effect.Request, done func(effect.Result, error)) (func(), bool) {
	if r.Kind() != effect.KindAgentCall {
		return nil, false
	}
	done(&effect.AgentReply{TokensIn: 3, TokensOut: 2}, nil)
	return func() {}, true
}

// TestTokensStarted: calls that are started count too.
func TestTokensStarted(t *testing.T) {
	p := Tokens(5)(&starter{}).(effect.Starter)
	var errs []error
	for range 2 {
		if _, ok := p.Start(t.Context(), &effect.AgentCall{Agent: "A"}, func(_ effect.Result, err error) { errs = append(errs, err) }); !ok {
			t.Fatal("not started")
		}
	}
	if len(errs) != 2 || errs[0] != nil || errs[1] == nil {
		t.Error(errs)
	}
	if _, ok := p.Start(t.Context(), &effect.Sleep{}, nil); ok {
		t.Error("started what its performer does not")
	}
	if _, ok := Tokens(5)(&fake{}).(effect.Starter).Start(t.Context(), &effect.Sleep{}, nil); ok {
		t.Error("started without a starter")
	}
}
