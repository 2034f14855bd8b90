package host

import "context"

// lifetime is a context that end ends with a cause.
type lifetime struct {
	context.Context
	end context.CancelCauseFunc
}

func newLifetime() lifetime {
	ctx, end := context.WithCancelCause(context.Background())
	return lifetime{ctx, end}
}

// bound returns a copy of ctx that also ends with the lifetime, with its cause. The caller must
// call cancel.
func (l lifetime) bound(ctx context.Context) (bounded context.Context, cancel context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l, func() { end(context.Cause(l)) })
	return ctx, func() {
		stop()
		end(nil)
	}
}
