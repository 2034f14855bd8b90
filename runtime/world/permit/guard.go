package permit

import (
	"context"
	"fmt"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// Guard returns a performer that checks the policy before it passes a request of kind k to next. If
// no permission that the kind needs is limited, Guard returns next itself.
func (p *Policy) Guard(k effect.Kind, next effect.Performer) effect.Performer {
	w := rows()[k]
	switch {
	case w == nil:
		return effect.PerformerFunc(func(context.Context, effect.Request) (effect.Result, error) {
			return nil, fmt.Errorf("no permission is defined for %s", k)
		})
	case w.free != "":
		return next
	}
	for _, need := range w.kinds {
		if p.isLimited(need) {
			g := &guard{policy: p, row: w, next: next}
			if s, ok := next.(effect.Starter); ok {
				return &startingGuard{g, s}
			}
			return g
		}
	}
	return next
}

// guard is a performer that passes on only permitted requests.
type guard struct {
	policy *Policy
	row    *row
	next   effect.Performer
}

// Perform passes r to the next performer, or returns an error if r is not permitted.
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

// startingGuard is a guard whose next performer is an effect.Starter.
type startingGuard struct {
	*guard
	starter effect.Starter
}

// Start passes r to the next performer. If r is not permitted, Start ends it immediately with an
// error.
func (g *startingGuard) Start(ctx context.Context, r effect.Request, done func(effect.Result, error)) (stop func(), ok bool) {
	if err := g.policy.checkRequest(g.row, r); err != nil {
		done(nil, err)
		return func() {}, true
	}
	return g.starter.Start(ctx, r, done)
}
