package effect

import "context"

// What a durable run tells the performers of an effect beside the request.
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

// WithOutput returns the number of what is put out: 1, 2, … over the whole run.
func WithOutput(ctx context.Context, n int64) context.Context {
	return context.WithValue(ctx, outputOf{}, n)
}

// OutputOf returns the number of what is put out; 0 when the run does not count.
func OutputOf(ctx context.Context) int64 {
	n, _ := ctx.Value(outputOf{}).(int64)
	return n
}

// WithShown says that an awaited emit was put out already.
func WithShown(ctx context.Context) context.Context { return context.WithValue(ctx, shownOf{}, true) }

// IsShown reports whether ctx was made by WithShown.
func IsShown(ctx context.Context) bool { return ctx.Value(shownOf{}) != nil }

// WithAgain says that the effect may have been made before.
func WithAgain(ctx context.Context) context.Context { return context.WithValue(ctx, againOf{}, true) }

// IsAgain reports whether ctx was made by WithAgain.
func IsAgain(ctx context.Context) bool { return ctx.Value(againOf{}) != nil }

// WithAside says that what is put out is not the program's: whoever performs its effects tells of
// it, and a run that is played again does not.
func WithAside(ctx context.Context) context.Context { return context.WithValue(ctx, asideOf{}, true) }

// IsAside reports whether ctx was made by WithAside.
func IsAside(ctx context.Context) bool { return ctx.Value(asideOf{}) != nil }
