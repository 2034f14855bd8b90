package effect

import "context"

// Starter is a Performer that can have a request under way without a goroutine
// that waits for it, and that decides there and then what depends on the order
// in which requests are made: what is printed first, who is first in a queue.
type Starter interface {
	Performer
	// Start begins r, on its caller's goroutine, and returns without waiting.
	// done is then called once, from any goroutine, also before Start returns,
	// with what Perform would have given. stop asks for an early end: done is
	// called soon, with an error unless the effect had happened; after done it
	// does nothing. ctx is the whole run's. ok is false when r is one to Perform;
	// nothing has happened then.
	Start(ctx context.Context, r Request, done func(Result, error)) (stop func(), ok bool)
}
