package effect

import "context"

// The keys of the context values that are passed to performers.
type (
	keyOf        struct{}
	keysBefore   struct{}
	outputOf     struct{}
	sentOf       struct{}
	retryOf      struct{}
	sideOutputOf struct{}
)

// WithKey returns a context with the key of an effect. All attempts of the effect have the same
// key.
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, keyOf{}, key)
}

// KeyOf returns the key of the effect, or "" if the run is not durable.
func KeyOf(ctx context.Context) string {
	key, _ := ctx.Value(keyOf{}).(string)
	return key
}

// WithKeysBefore returns a context with the number of an effect of the run. The run's changes of
// stores before it will not be repeated, so their keys are no longer needed.
func WithKeysBefore(ctx context.Context, e int64) context.Context {
	return context.WithValue(ctx, keysBefore{}, e)
}

// KeysBefore returns the number of WithKeysBefore, or 0 if all keys are needed.
func KeysBefore(ctx context.Context) int64 {
	e, _ := ctx.Value(keysBefore{}).(int64)
	return e
}

// WithOutput returns a context with the number of an output: 1, 2, … in the whole run.
func WithOutput(ctx context.Context, n int64) context.Context {
	return context.WithValue(ctx, outputOf{}, n)
}

// OutputOf returns the number of the output, or 0 if the outputs of the run are not numbered.
func OutputOf(ctx context.Context) int64 {
	n, _ := ctx.Value(outputOf{}).(int64)
	return n
}

// WithSent marks an awaited emit that was already sent to the application.
func WithSent(ctx context.Context) context.Context { return context.WithValue(ctx, sentOf{}, true) }

// IsSent reports whether WithSent has marked the effect.
func IsSent(ctx context.Context) bool { return ctx.Value(sentOf{}) != nil }

// WithRetry marks an effect that may have been performed before.
func WithRetry(ctx context.Context) context.Context { return context.WithValue(ctx, retryOf{}, true) }

// IsRetry reports whether WithRetry has marked the effect.
func IsRetry(ctx context.Context) bool { return ctx.Value(retryOf{}) != nil }

// WithSideOutput marks output that comes from a performer and not from the program. A replayed run
// does not repeat such output.
func WithSideOutput(ctx context.Context) context.Context {
	return context.WithValue(ctx, sideOutputOf{}, true)
}

// IsSideOutput reports whether WithSideOutput has marked the output.
func IsSideOutput(ctx context.Context) bool { return ctx.Value(sideOutputOf{}) != nil }
