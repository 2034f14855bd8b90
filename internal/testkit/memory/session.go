package memory

import (
	"context"
	"errors"
	"slices"
	"sync"
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
// lease is lost.
type Session struct {
	*journal.Lease
	Connection
	store   *Store
	id      string
	polling sync.WaitGroup

	mu      sync.Mutex
	watched map[string]chan struct{}
	woken   chan struct{}
}

// requestTimeout limits a request of a reader, and pollInterval is the interval of requests for
// answers.
const (
	requestTimeout = 30 * time.Second
	pollInterval   = time.Second
)

// NewSession registers a worker with a lease, and renews the lease in the background.
func (s *Store) NewSession(ctx context.Context, queues []string, lease time.Duration, c Connection) (*Session, error) {
	x := &Session{Connection: c, store: s, watched: map[string]chan struct{}{}, woken: make(chan struct{}, 1)}
	sent := time.Now()
	if err := x.send(ctx, "register", "", func() { x.id = s.register(queues, lease) }); err != nil {
		return nil, err
	}
	x.Lease = journal.NewLease(sent, journal.LeaseOptions{Duration: lease, OnRetry: c.OnRetry, IsFinal: func(error) bool { return false },
		Renew: func(ctx context.Context, draining bool) (now time.Time, err error) {
			sent := x.send(ctx, "renew", "", func() { now, err = time.Now(), s.renew(x.id, lease, draining) })
			return now, errors.Join(sent, err)
		}})
	if err := x.Start(); err != nil {
		return nil, errors.Join(err, x.send(ctx, "unregister", "", func() { s.unregister(x.id) }))
	}
	s.mu.Lock()
	s.sessions = append(s.sessions, x)
	s.mu.Unlock()
	x.polling.Go(x.poll)
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

// Abandon ends the session, as if its lease were lost, because its process has crashed.
func (x *Session) Abandon() { x.End(journal.ErrLost) }

// Woken returns a channel that receives a value when the session may be able to claim a run.
func (x *Session) Woken() <-chan struct{} { return x.woken }

// Close stops renewing the lease and removes the worker. Its runs must have been released.
func (x *Session) Close(ctx context.Context) error {
	x.End(errors.New("the session is closed"))
	x.Wait()
	x.polling.Wait()
	x.store.mu.Lock()
	x.store.sessions = slices.DeleteFunc(slices.Clone(x.store.sessions), func(y *Session) bool { return y == x })
	x.store.mu.Unlock()
	return x.send(ctx, "unregister", "", func() { x.store.unregister(x.id) })
}

// write executes a transaction for a run, with a context that ends before another worker can own
// the run.
func (x *Session) write(run, what string, do func() error) error {
	var result error
	if err := x.Try(run, func(ctx context.Context) error {
		return x.call(ctx, what, run, func() { result = do() })
	}); err != nil {
		return err
	}
	return result
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
	ctx, cancel := context.WithTimeout(x.Ended(), requestTimeout)
	defer cancel()
	err = x.send(ctx, "claim", "", func() { all = x.store.claim(x.id, n, maxCrashes, refused) })
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Owned returns the runs of which the session is the owner.
func (x *Session) Owned() (all []Claimed, err error) {
	ctx, cancel := context.WithTimeout(x.Ended(), requestTimeout)
	defer cancel()
	err = x.send(ctx, "owned", "", func() {
		for _, c := range x.store.inOrder() {
			if c.owner == x.id {
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
		case <-x.Ended().Done():
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
		ctx, cancel := context.WithTimeout(x.Ended(), requestTimeout)
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
