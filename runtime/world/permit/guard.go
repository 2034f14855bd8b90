package permit

import (
	"context"
	"fmt"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// Guard returns a performer that checks the policy before a request of this kind. It returns next
// itself if nothing that the kind needs is limited.
func (p *Policy) Guard(k effect.Kind, next effect.Performer) effect.Performer {
	w := rows[k]
	switch {
	case w == nil:
		return effect.PerformerFunc(func(context.Context, effect.Request) (effect.Result, error) {
			return nil, fmt.Errorf("no permission is defined for %s", k)
		})
	case w.free != "":
		return next
	}
	for _, need := range w.kinds {
		if p.manifest[need].limited || p.caller[need].limited {
			g := &guard{policy: p, row: w, next: next}
			if s, ok := next.(effect.Starter); ok {
				return &startingGuard{g, s}
			}
			return g
		}
	}
	return next
}

// guard performs permitted requests.
type guard struct {
	policy *Policy
	row    *row
	next   effect.Performer
}

// Perform performs r, or returns the error for a request that is not permitted.
func (g *guard) Perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	if err := g.policy.checkRequest(g.row, r); err != nil {
		return nil, err
	}
	result, err := g.next.Perform(ctx, r)
	if err == nil && g.row.filter != nil {
		result = g.row.filter(g.policy, result)
	}
	return result, err
}

// startingGuard is the guard of a performer that can begin requests.
type startingGuard struct {
	*guard
	starter effect.Starter
}

// Start begins r, or ends it at once if it is not permitted.
func (g *startingGuard) Start(ctx context.Context, r effect.Request, done func(effect.Result, error)) (stop func(), ok bool) {
	if err := g.policy.checkRequest(g.row, r); err != nil {
		done(nil, err)
		return func() {}, true
	}
	return g.starter.Start(ctx, r, done)
}
