package effect

import "context"

// Starter is a Performer that can perform requests without a waiting goroutine. The order of the
// calls of Start determines results that depend on the order of requests, such as the order of
// output or the place in a queue.
type Starter interface {
	Performer
	// Start starts r on the caller's goroutine and returns without waiting. It calls done once with
	// the results of Perform, from any goroutine, possibly before Start returns. stop requests an
	// early end: done is then called soon, with an error unless the effect has already happened.
	// After the call of done, stop has no effect. ctx is the context of the whole run. If ok is
	// false, nothing has happened, and the caller must use Perform.
	Start(ctx context.Context, r Request, done func(Result, error)) (stop func(), ok bool)
}
