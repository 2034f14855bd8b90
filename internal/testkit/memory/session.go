package memory

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/concerto-lang/concerto/internal/record/journal"
)

// Connection is how a worker reaches the store.
type Connection struct {
	// Send sends a statement. It may call do once, and fail although do was called. nil calls do.
	Send func(ctx context.Context, what, run string, do func()) error
	// Notify passes on a notification about a run. It must not block. nil calls deliver.
	Notify func(run string, deliver func())
	// OnRetry, if not nil, makes writers repeat a write after an error of the connection, until the
	// lease is lost. It receives the first error of each write.
	OnRetry func(run string, err error)
}

// Session is a worker of the store in this process. It renews its lease until Close or until the
// lease is lost. Its rules are those of postgres.Session.
type Session struct {
	Connection
	store *Store
	id    string
	lease time.Duration

	// sendUntil is the time until which the session may send something for its runs: four fifths of
	// the lease after the last renewal was sent.
	sendUntil atomic.Pointer[time.Time]
	draining  atomic.Bool
	clock     journal.Clock
	lost      context.Context // ends when the lease is lost or the session is closed
	lose      context.CancelCauseFunc
	running   sync.WaitGroup

	mu      sync.Mutex
	watched map[string]chan struct{}
	woken   chan struct{}
}

// errNotRenewed means that nothing may be sent before the lease is renewed.
var errNotRenewed = errors.New("the lease could not be renewed in time; waiting for the engine")

// requestTimeout limits a request of a reader, and pollInterval is the interval of requests for
// answers.
const (
	requestTimeout = 30 * time.Second
	pollInterval   = time.Second
)

// NewSession registers a worker with a lease, and renews the lease in the background.
func (s *Store) NewSession(ctx context.Context, queues []string, lease time.Duration, c Connection) (*Session, error) {
	x := &Session{Connection: c, store: s, lease: lease, watched: map[string]chan struct{}{}, woken: make(chan struct{}, 1)}
	x.extend(time.Now())
	if err := x.send(ctx, "register", "", func() { x.id = s.register(queues, lease) }); err != nil {
		return nil, err
	}
	x.lost, x.lose = context.WithCancelCause(context.Background())
	if err := x.renewOnce(); err != nil { // reads the store's clock
		return nil, errors.Join(err, x.send(ctx, "unregister", "", func() { s.unregister(x.id) }))
	}
	s.mu.Lock()
	s.sessions = append(s.sessions, x)
	s.mu.Unlock()
	x.running.Go(x.renew)
	x.running.Go(x.poll)
	return x, nil
}

// send executes a statement. Its do is called with the lock of the store.
func (x *Session) send(ctx context.Context, what, run string, do func()) error {
	return x.call(ctx, what, run, func() {
		x.store.mu.Lock()
		defer x.store.mu.Unlock()
		do()
	})
}

func (x *Session) call(ctx context.Context, what, run string, do func()) error {
	if x.Send == nil {
		do()
		return nil
	}
	return x.Send(ctx, what, run, do)
}

// ID returns the worker's id.
func (x *Session) ID() string { return x.id }

// Ended returns a context that ends when other workers may own the session's runs, or when the
// session is closed.
func (x *Session) Ended() context.Context { return x.lost }

// Drain makes the session claim nothing more from its next renewal on.
func (x *Session) Drain() { x.draining.Store(true) }

// Abandon ends the session, as if its lease were lost, because its process has crashed.
func (x *Session) Abandon() { x.lose(ErrLost) }

// Woken returns a channel that receives a value when the session may be able to claim a run.
func (x *Session) Woken() <-chan struct{} { return x.woken }

// Close stops renewing the lease and removes the worker. Its runs must have been released.
func (x *Session) Close(ctx context.Context) error {
	x.lose(errors.New("the session is closed"))
	x.running.Wait()
	x.store.mu.Lock()
	x.store.sessions = slices.DeleteFunc(slices.Clone(x.store.sessions), func(y *Session) bool { return y == x })
	x.store.mu.Unlock()
	return x.send(ctx, "unregister", "", func() { x.store.unregister(x.id) })
}

func (x *Session) extend(sent time.Time) {
	until := sent.Add(x.lease * 4 / 5)
	x.sendUntil.Store(&until)
}

// renew renews the lease every third of its duration, and after a failed attempt more often.
func (x *Session) renew() {
	for wait := x.lease / 3; ; {
		select {
		case <-x.lost.Done():
			return
		case <-time.After(wait):
		}
		if wait = x.lease / 3; x.renewOnce() != nil {
			wait = x.lease / 20
		}
	}
}

// renewOnce tries to renew the lease.
func (x *Session) renewOnce() error {
	sent := time.Now()
	ctx, cancel := context.WithTimeout(x.lost, x.lease/3)
	defer cancel()
	var result error
	var now time.Time
	err := x.send(ctx, "renew", "", func() { result, now = x.store.renew(x.id, x.lease, x.draining.Load()), time.Now() })
	switch {
	case err != nil:
		return err
	case errors.Is(result, ErrLost):
		x.lose(ErrLost)
	default:
		x.clock.Set(sent, now)
		x.extend(sent)
	}
	return result
}

// context returns a context for sending something for a run. It ends before another worker can own
// the run. The error is journal.ErrFenced if the lease is lost, or errNotRenewed.
func (x *Session) context() (context.Context, context.CancelFunc, error) {
	if x.lost.Err() != nil {
		return nil, nil, journal.ErrFenced
	}
	until := *x.sendUntil.Load()
	if !time.Now().Before(until) {
		return nil, nil, errNotRenewed
	}
	ctx, cancel := context.WithDeadlineCause(x.lost, until, errNotRenewed)
	return ctx, cancel, nil
}

// write executes a transaction for a run, with a context that ends before another worker can own
// the run. If OnRetry is set, it repeats the transaction after an error of the connection, until
// the lease is lost.
func (x *Session) write(run, what string, do func() error) error {
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		ctx, cancel, err := x.context()
		if err == nil {
			var result error
			err = x.call(ctx, what, run, func() { result = do() })
			cancel()
			if err == nil {
				return result
			}
		}
		if x.OnRetry == nil || errors.Is(err, journal.ErrFenced) {
			return err
		}
		if wait == 20*time.Millisecond {
			x.OnRetry(run, err)
		}
		select {
		case <-x.lost.Done():
			return journal.ErrFenced
		case <-time.After(wait):
		}
	}
}

// read executes a statement that needs no lease.
func (x *Session) read(run, what string, do func() error) error {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	var result error
	if err := x.call(ctx, what, run, func() { result = do() }); err != nil {
		return err
	}
	return result
}

// Run returns a run of the store. It need not exist.
func (x *Session) Run(id string) journal.Run { return &run{store: x.store, id: id, session: x} }

// Claim makes the session the owner of at most n runs.
func (x *Session) Claim(n, maxCrashes int, refused []string) (all []Claimed, err error) {
	ctx, cancel := context.WithTimeout(x.lost, requestTimeout)
	defer cancel()
	err = x.send(ctx, "claim", "", func() { all = x.store.claim(x.id, n, maxCrashes, refused) })
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Owned returns the runs of which the session is the owner, except for some.
func (x *Session) Owned(except []string) (all []Claimed, err error) {
	ctx, cancel := context.WithTimeout(x.lost, requestTimeout)
	defer cancel()
	err = x.send(ctx, "owned", "", func() {
		for _, c := range x.store.inOrder() {
			if c.owner == x.id && !slices.Contains(except, c.id) {
				all = append(all, c.claimed())
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Claimed returns a run that the session has claimed. Its first Create or Open uses this claim.
func (x *Session) Claimed(c *Claimed) journal.Run {
	r := &run{store: x.store, id: c.Run, session: x, isNew: !c.Begun, isLent: true}
	r.claimed.Store(c.Epoch)
	return r
}

// Release makes a run that the session has claimed ready. It changes nothing if the run has ended,
// waits or has another owner.
func (x *Session) Release(c *Claimed) error {
	return (&run{store: x.store, id: c.Run, session: x}).leave(c.Epoch, "ready", nil, nil)
}

// Refuse releases a run that the session has claimed and cannot execute. Workers can claim the run
// again after a delay. A damaged run stays damaged.
func (x *Session) Refuse(c *Claimed, state, reason string, delay time.Duration) error {
	return x.write(c.Run, "refuse", func() error {
		x.store.mu.Lock()
		defer x.store.mu.Unlock()
		x.store.refuse(c.Run, c.Epoch, state, reason, delay)
		return nil
	})
}

// notify passes on that a run has changed. The caller holds mu.
func (s *Store) notify(run string) {
	for _, x := range s.sessions {
		if x.Notify == nil {
			x.deliver(run)
			continue
		}
		x.Notify(run, func() { x.deliver(run) })
	}
}

// deliver wakes the watcher of a run, or else the worker.
func (x *Session) deliver(run string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	c := x.watched[run]
	if c == nil {
		c = x.woken
	}
	select {
	case c <- struct{}{}:
	default:
	}
}

// poll reads answers and requests to stop at an interval, because notifications may be lost.
func (x *Session) poll() {
	for {
		select {
		case <-x.lost.Done():
			return
		case <-time.After(pollInterval):
		}
		x.mu.Lock()
		watching := len(x.watched) > 0
		x.mu.Unlock()
		if !watching {
			continue
		}
		var changed []string
		ctx, cancel := context.WithTimeout(x.lost, requestTimeout)
		err := x.send(ctx, "poll", "", func() {
			for _, c := range x.store.inOrder() {
				if c.owner == x.id && (c.stop || len(c.answers) > 0) {
					changed = append(changed, c.id)
				}
			}
		})
		cancel()
		if err != nil {
			continue // the next one repeats it
		}
		for _, run := range changed {
			x.deliver(run)
		}
	}
}

// watch calls changed at once, and when an answer or a request to stop may have been stored.
func (x *Session) watch(ctx context.Context, run string, changed func()) {
	c := make(chan struct{}, 1)
	x.mu.Lock()
	x.watched[run] = c
	x.mu.Unlock()
	defer func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.watched[run] == c { // the session may have claimed the run again
			delete(x.watched, run)
		}
	}()
	for {
		changed()
		select {
		case <-ctx.Done():
			return
		case <-c:
		}
	}
}
