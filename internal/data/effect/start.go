package effect

import "context"

// Starter is a Performer that can perform requests without a waiting goroutine. At the call it
// fixes what depends on the order of requests: what is printed first, which is first in a queue.
type Starter interface {
	Performer
	// Start starts r on the caller's goroutine and returns without waiting. It calls done once with
	// the results of Perform, from any goroutine, possibly before Start returns. stop requests an
	// early end: done is called soon, with an error unless the effect had happened; after done it
	// has no effect. ctx is that of the whole run. If ok is false, r must go to Perform instead,
	// and nothing has happened.
	Start(ctx context.Context, r Request, done func(Result, error)) (stop func(), ok bool)
}
