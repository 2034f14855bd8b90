package effect

import "context"

// Starter is a Performer that can have a request under way without a goroutine
// that waits for it. It decides at the call what depends on the order in which
// requests are made: what is printed first, who is first in a queue.
type Starter interface {
	Performer
	// Start begins r, on its caller's goroutine, and returns without waiting.
	// done is then called once with the results of Perform, from any goroutine,
	// possibly before Start returns. stop asks for an early end: done is called
	// soon, with an error unless the effect had happened; after done it does
	// nothing. ctx is that of the whole run. ok is false when r must go to
	// Perform instead; nothing has happened then.
	Start(ctx context.Context, r Request, done func(Result, error)) (stop func(), ok bool)
}
