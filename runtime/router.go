package runtime

import (
	"context"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// router maps each kind of request to its performer.
type router map[effect.Kind]effect.Performer

// Perform performs r. A request of a kind without a performer ends the run.
func (t router) Perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	p := t[r.Kind()]
	if p == nil {
		return nil, &effect.UnperformedError{Who: "this run", Kind: r.Kind()}
	}
	return p.Perform(ctx, r)
}

// Start begins r if its performer supports it; see effect.Starter.
func (t router) Start(ctx context.Context, r effect.Request, done func(effect.Result, error)) (stop func(), ok bool) {
	if s, can := t[r.Kind()].(effect.Starter); can {
		return s.Start(ctx, r, done)
	}
	return nil, false
}

// nothing is the performer for requests that only layers observe.
var nothing effect.Performer = effect.PerformerFunc(func(context.Context, effect.Request) (effect.Result, error) { return nil, nil })
