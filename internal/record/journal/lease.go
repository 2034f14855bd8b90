package journal

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// ErrLost means that the lease of a worker has expired. Other workers may own its runs.
var ErrLost = errors.New("the lease has expired")

// ErrNotRenewed means that nothing may be sent before the lease is renewed.
var ErrNotRenewed = errors.New("the lease could not be renewed in time; waiting for the engine")

// Lease is the lease of a worker in a shared store, which protects the runs that the worker owns.
// It is renewed in the background from Start until End, or until it is lost. It is safe for
// concurrent use.
type Lease struct {
	options LeaseOptions
	// sendUntil is the time until which the worker may send something for its runs, on the
	// monotonic clock: four fifths of the lease after the last renewal was sent.
	sendUntil atomic.Pointer[time.Time]
	draining  atomic.Bool
	clock     clock
	lost      context.Context // ends when the lease is lost, or at End
	lose      context.CancelCauseFunc
	renewing  sync.WaitGroup
}

// LeaseOptions configures a Lease.
type LeaseOptions struct {
	Duration time.Duration
	// Renew renews the lease in the store, and returns the store's time. draining means that the
	// worker claims nothing more. The error is ErrLost if the lease has expired.
	Renew func(ctx context.Context, draining bool) (now time.Time, err error)
	// IsFinal reports whether an error of a write comes from the state of the run, so that
	// repeating the write cannot succeed.
	IsFinal func(error) bool
	// OnRetry, if not nil, makes Try repeat a write after another error, until the lease is lost.
	// It receives the first error of each write.
	OnRetry func(run string, err error)
}

// NewLease returns the lease of a worker that was just registered. registered is when the
// registration was sent.
func NewLease(registered time.Time, o LeaseOptions) *Lease {
	l := &Lease{options: o}
	l.lost, l.lose = context.WithCancelCause(context.Background())
	l.SetSent(registered)
	return l
}

// Start renews the lease, which reads the store's clock, and from now on in the background.
func (l *Lease) Start() error {
	if err := l.RenewNow(); err != nil {
		return err
	}
	l.renewing.Go(l.renewRegularly)
	return nil
}

// Ended returns a context that ends when other workers may own the worker's runs, or at End.
func (l *Lease) Ended() context.Context { return l.lost }

// Drain makes the worker claim nothing more from its next renewal on.
func (l *Lease) Drain() { l.draining.Store(true) }

// End ends the renewals for a reason, and does not wait for one that is in progress; Wait does.
func (l *Lease) End(why error) { l.lose(why) }

// Wait waits until no renewal is in progress. It must be called after End.
func (l *Lease) Wait() { l.renewing.Wait() }

// SetSent sets when the last successful renewal was sent.
func (l *Lease) SetSent(at time.Time) {
	until := at.Add(l.options.Duration * 4 / 5)
	l.sendUntil.Store(&until)
}

// renewRegularly renews the lease every third of its duration, and after a failed attempt more
// often.
func (l *Lease) renewRegularly() {
	for wait := l.options.Duration / 3; ; {
		select {
		case <-l.lost.Done():
			return
		case <-time.After(wait):
		}
		if wait = l.options.Duration / 3; l.RenewNow() != nil {
			wait = l.options.Duration / 20
		}
	}
}

// RenewNow tries to renew the lease.
func (l *Lease) RenewNow() error {
	sent := time.Now()
	ctx, cancel := context.WithTimeout(l.lost, l.options.Duration/3)
	defer cancel()
	now, err := l.options.Renew(ctx, l.draining.Load())
	switch {
	case errors.Is(err, ErrLost):
		l.lose(ErrLost)
	case err == nil:
		l.clock.set(sent, now)
		l.SetSent(sent)
	}
	return err
}

// Context returns a context for sending something for a run. It ends before another worker can own
// the run. The error is ErrFenced if the lease is lost, or ErrNotRenewed.
func (l *Lease) Context() (context.Context, context.CancelFunc, error) {
	if l.lost.Err() != nil {
		return nil, nil, ErrFenced
	}
	until := *l.sendUntil.Load()
	if !time.Now().Before(until) {
		return nil, nil, ErrNotRenewed
	}
	ctx, cancel := context.WithDeadlineCause(l.lost, until, ErrNotRenewed)
	return ctx, cancel, nil
}

// Try calls write with a context that ends before another worker can own the worker's runs. With
// OnRetry, it repeats the write after an error that is not final, until the lease is lost.
func (l *Lease) Try(run string, write func(context.Context) error) error {
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		ctx, cancel, err := l.Context()
		if err == nil {
			err = write(ctx)
			cancel()
		}
		if err == nil || l.options.OnRetry == nil || errors.Is(err, ErrFenced) || l.options.IsFinal(err) {
			return err
		}
		if wait == 20*time.Millisecond {
			l.options.OnRetry(run, err)
		}
		select {
		case <-l.lost.Done():
			return ErrFenced
		case <-time.After(wait):
		}
	}
}

// Now returns the store's time in Unix milliseconds.
func (l *Lease) Now() int64 { return l.clock.now() }
