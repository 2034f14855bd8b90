package runtime

import (
	"context"
	"errors"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/runtime/host"
)

// starting is a performer that also implements effect.Starter. All its requests fail.
type starting struct{ effect.PerformerFunc }

func (s starting) Start(ctx context.Context, r effect.Request, done func(effect.Result, error)) (stop func(), ok bool) {
	done(s.Perform(ctx, r))
	return func() {}, true
}

// TestContained checks that every failure in the performer of a model, host, MCP server or tool
// becomes an error that the program can catch.
func TestContained(t *testing.T) {
	failing := func(err error) effect.Performer {
		return contain(starting{func(context.Context, effect.Request) (effect.Result, error) { return nil, err }})
	}
	kinds := map[effect.Area]string{effect.Models: "AgentError", effect.Hosts: "HostError", effect.Servers: "ToolError", effect.Applications: "ToolError"}
	for _, row := range effect.Table() {
		kind := kinds[row.By]
		if kind == "" {
			continue
		}
		check := func(_ effect.Result, err error) {
			var e *effect.Error
			if !errors.As(err, &e) || e.Kind != kind || e.Message != "internal error: the queue is broken" || e.Status != effect.Unknown {
				t.Errorf("%s: error %#v, want an internal error of the effect's kind", row.Kind, err)
				return
			}
			for name := range e.Fields {
				if value.ErrorType(e.Kind).FieldIndex(name) < 0 {
					t.Errorf("%s: error kind %s has no field %s", row.Kind, e.Kind, name)
				}
			}
		}
		p := failing(errors.New("the queue is broken"))
		check(p.Perform(t.Context(), row.Request()))
		p.(effect.Starter).Start(t.Context(), row.Request(), check)
	}
	r := &effect.ExchangeOpen{Host: "W"}
	if _, err := failing(errors.New("broken")).Perform(t.Context(), r); err.(*effect.Error).Fields["host"] != "W" {
		t.Error(err)
	}
	for _, ends := range []error{host.ErrClosed, effect.ErrWaits, &effect.UnperformedError{Who: "hosts"}} {
		if _, err := failing(ends).Perform(t.Context(), r); err != ends {
			t.Errorf("error %v became %v, want it unchanged", ends, err)
		}
	}
	over, cancel := context.WithCancelCause(t.Context())
	why := errors.New("interrupted")
	cancel(why)
	if _, err := failing(why).Perform(over, r); err != why {
		t.Error(err)
	}
}
