package effect

import "context"

// What a durable run passes to performers in addition to the request.
type (
	keyOf    struct{}
	outputOf struct{}
	shownOf  struct{}
	againOf  struct{}
	asideOf  struct{}
)

// WithKey returns the key by which an effect's receiver knows a second attempt.
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, keyOf{}, key)
}

// KeyOf returns the effect's key; "" when the run is no durable one.
func KeyOf(ctx context.Context) string {
	key, _ := ctx.Value(keyOf{}).(string)
	return key
}

// WithOutput sets the number of an output: 1, 2, … over the whole run.
func WithOutput(ctx context.Context, n int64) context.Context {
	return context.WithValue(ctx, outputOf{}, n)
}

// OutputOf returns the number of the output, or 0 if the run does not count.
func OutputOf(ctx context.Context) int64 {
	n, _ := ctx.Value(outputOf{}).(int64)
	return n
}

// WithShown marks an awaited emit as already sent.
func WithShown(ctx context.Context) context.Context { return context.WithValue(ctx, shownOf{}, true) }

// IsShown reports whether ctx was made by WithShown.
func IsShown(ctx context.Context) bool { return ctx.Value(shownOf{}) != nil }

// WithAgain marks an effect that may have been performed before.
func WithAgain(ctx context.Context) context.Context { return context.WithValue(ctx, againOf{}, true) }

// IsAgain reports whether ctx was made by WithAgain.
func IsAgain(ctx context.Context) bool { return ctx.Value(againOf{}) != nil }

// WithAside marks output that is not the program's: the performer of the effects reports it, and a
// replayed run does not.
func WithAside(ctx context.Context) context.Context { return context.WithValue(ctx, asideOf{}, true) }

// IsAside reports whether ctx was made by WithAside.
func IsAside(ctx context.Context) bool { return ctx.Value(asideOf{}) != nil }
