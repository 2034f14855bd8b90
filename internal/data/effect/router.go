package effect

import "context"

// Router is a Starter that passes each request to the performer of its kind.
type Router map[Kind]Performer

// Perform performs r. A request of a kind without a performer ends the run.
func (t Router) Perform(ctx context.Context, r Request) (Result, error) {
	p := t[r.Kind()]
	if p == nil {
		return nil, &UnperformedError{Who: "this run", Kind: r.Kind()}
	}
	return p.Perform(ctx, r)
}

// Start begins r if its performer is a Starter.
func (t Router) Start(ctx context.Context, r Request, done func(Result, error)) (stop func(), ok bool) {
	if s, can := t[r.Kind()].(Starter); can {
		return s.Start(ctx, r, done)
	}
	return nil, false
}

// Nothing is the performer for requests that only layers observe.
var Nothing Performer = PerformerFunc(func(context.Context, Request) (Result, error) { return nil, nil })
