package tooltest

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/runtime/tool"
)

// Registry returns the script's tools as Go handlers.
func Registry(t *testing.T) *tool.Registry {
	t.Helper()
	r := &tool.Registry{}
	for _, x := range Tools() {
		d := x.Definition
		d.Handler = func(ctx context.Context, input json.RawMessage, c *tool.Context) (tool.Result, error) {
			return x.Do(ctx, input, c)
		}
		if err := r.Register(d); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// Hooks returns hooks that connect a session with the application.
func Hooks(app *App) tool.Hooks {
	return tool.Hooks{Emit: app.Emit, Approve: func(_ context.Context, q *tool.Question) (json.RawMessage, audit.Actor, error) {
		text, err := json.Marshal(q)
		if err != nil {
			return nil, audit.Actor{}, err
		}
		answer, ok := app.Approve(text)
		if !ok {
			return nil, audit.Actor{}, tool.ErrNoApprover
		}
		return answer, audit.Actor{Type: "application", Name: "tooltest"}, nil
	}}
}

// Go returns the route of Go handlers that are called from Go.
func Go() Route {
	return Route{Name: "go", Open: func(t *testing.T, app *App) Session {
		return Open(t, app, Registry(t))
	}}
}

type goSession struct {
	r *tool.Registry
	s *tool.Session
}

func (g goSession) Call(ctx context.Context, name string, args json.RawMessage) Got {
	e := g.s.Do(ctx, tool.Ask{Name: name, Args: args})
	text, failed := e.Text()
	return Got{text, failed, e.Outcome}
}

func (g goSession) Unregister(name string) error {
	if !g.r.Unregister(name) {
		return errors.New("there is no tool " + name)
	}
	return nil
}
