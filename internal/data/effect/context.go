package effect

import "context"

// The keys of the context values that a durable run passes to performers.
type (
	keyOf        struct{}
	outputOf     struct{}
	sentOf       struct{}
	retryOf      struct{}
	sideOutputOf struct{}
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

// WithSent marks an awaited emit as already sent.
func WithSent(ctx context.Context) context.Context { return context.WithValue(ctx, sentOf{}, true) }

// IsSent reports whether ctx was made by WithSent.
func IsSent(ctx context.Context) bool { return ctx.Value(sentOf{}) != nil }

// WithRetry marks an effect that may have been performed before.
func WithRetry(ctx context.Context) context.Context { return context.WithValue(ctx, retryOf{}, true) }

// IsRetry reports whether ctx was made by WithRetry.
func IsRetry(ctx context.Context) bool { return ctx.Value(retryOf{}) != nil }

// WithSideOutput marks output that is not the program's: the performer of the effects reports it,
// and a replayed run does not.
func WithSideOutput(ctx context.Context) context.Context {
	return context.WithValue(ctx, sideOutputOf{}, true)
}

// IsSideOutput reports whether ctx was made by WithSideOutput.
func IsSideOutput(ctx context.Context) bool { return ctx.Value(sideOutputOf{}) != nil }
