package postgres

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/concerto-lang/concerto/internal/record/journal"
)

// Session is a worker of an engine in this process. It renews its lease until Close or until the
// lease is lost.
type Session struct {
	engine  *Engine
	commits *commits
	id      string
	lease   time.Duration
	vm      int      // version of the VM
	names   []string // of the environment variables

	syncWithin time.Duration // limit of the time between a write and its sync

	// sendUntil is the time until which the session may send something for its runs, on the
	// monotonic clock: four fifths of the lease after the last renewal was sent.
	sendUntil atomic.Pointer[time.Time]
	draining  atomic.Bool
	clock     journal.Clock

	// OnRetry, if not nil, makes writers repeat a write after an error of the connection, until the
	// lease is lost. It receives the first error of each write.
	OnRetry func(run string, err error)
	lost    context.Context // ends when the lease is lost or the session is closed
	lose    context.CancelCauseFunc
	running sync.WaitGroup
	watches watches
}

// errNotRenewed means that nothing may be sent before the lease is renewed.
var errNotRenewed = errors.New("the lease could not be renewed in time; waiting for the engine")

// NewSession registers a worker with a lease, and renews the lease in the background.
func (e *Engine) NewSession(ctx context.Context, w WorkerRow, lease time.Duration) (*Session, error) {
	s := &Session{engine: e, commits: &commits{pool: e.pool}, syncWithin: syncWithin, lease: lease, vm: w.VMVersion, names: w.Variables, watches: watches{runs: map[string]chan struct{}{}, woken: make(chan struct{}, 1)}}
	s.extend(time.Now())
	var err error
	if s.id, err = e.Register(ctx, w, lease); err != nil {
		return nil, err
	}
	s.lost, s.lose = context.WithCancelCause(context.Background())
	if err := s.renewOnce(); err != nil { // reads the database's clock
		return nil, errors.Join(err, e.Unregister(ctx, s.id))
	}
	s.running.Go(s.renew)
	s.running.Go(s.listen)
	s.running.Go(s.poll)
	return s, nil
}

// ID returns the worker's id.
func (s *Session) ID() string { return s.id }

// Ended returns a context that ends when other workers may own the session's runs, or when the
// session is closed.
func (s *Session) Ended() context.Context { return s.lost }

// Drain makes the session claim nothing more from its next renewal on.
func (s *Session) Drain() { s.draining.Store(true) }

// Close stops renewing the lease and removes the worker. Its runs must have been released.
func (s *Session) Close(ctx context.Context) error {
	s.lose(errors.New("the session is closed"))
	s.running.Wait()
	return s.engine.Unregister(ctx, s.id)
}

func (s *Session) extend(sent time.Time) {
	until := sent.Add(s.lease * 4 / 5)
	s.sendUntil.Store(&until)
}

// renew renews the lease every third of its duration, and after a failed attempt more often.
func (s *Session) renew() {
	for wait := s.lease / 3; ; {
		select {
		case <-s.lost.Done():
			return
		case <-time.After(wait):
		}
		if wait = s.lease / 3; s.renewOnce() != nil {
			wait = s.lease / 20
		}
	}
}

// renewOnce tries to renew the lease.
func (s *Session) renewOnce() error {
	sent := time.Now()
	ctx, cancel := context.WithTimeout(s.lost, s.lease/3)
	defer cancel()
	now, err := s.engine.Renew(ctx, s.id, s.lease, s.draining.Load(), s.names)
	switch {
	case errors.Is(err, ErrLost):
		s.lose(ErrLost)
	case err == nil:
		s.clock.Set(sent, now)
		s.extend(sent)
	}
	return err
}

// context returns a context for sending something for a run. It ends before another worker can own
// the run. The error is journal.ErrFenced if the lease is lost, or errNotRenewed.
func (s *Session) context() (context.Context, context.CancelFunc, error) {
	if s.lost.Err() != nil {
		return nil, nil, journal.ErrFenced
	}
	until := *s.sendUntil.Load()
	if !time.Now().Before(until) {
		return nil, nil, errNotRenewed
	}
	ctx, cancel := context.WithDeadlineCause(s.lost, until, errNotRenewed)
	return ctx, cancel, nil
}

// try calls write with a context that ends before another worker can own the session's runs. If
// OnRetry is set, it repeats the write after an error that does not come from the engine, until the
// lease is lost.
func (s *Session) try(run string, write func(context.Context) error) error {
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		ctx, cancel, err := s.context()
		if err == nil {
			err = write(ctx)
			cancel()
		}
		if err == nil || s.OnRetry == nil || isFinal(err) {
			return err
		}
		if wait == 20*time.Millisecond {
			s.OnRetry(run, err)
		}
		select {
		case <-s.lost.Done():
			return journal.ErrFenced
		case <-time.After(wait):
		}
	}
}

// isFinal reports whether an error of a write comes from the state of the run, so that repeating
// the write cannot succeed.
func isFinal(err error) bool {
	return errors.Is(err, journal.ErrFenced) || errors.As(err, new(*MissingError)) || errors.As(err, new(*journal.DamagedError)) || errors.Is(err, errRemoved) || isDenied(err)
}

// Run returns a run of the engine. It need not exist.
func (s *Session) Run(id string) journal.Run { return &run{engine: s.engine, session: s, id: id} }

// Claim makes the session the owner of at most n runs; see Engine.Claim.
func (s *Session) Claim(n, maxCrashes int, refused []string) ([]Claimed, error) {
	ctx, cancel := context.WithTimeout(s.lost, requestTimeout)
	defer cancel()
	return s.engine.Claim(ctx, s.id, n, maxCrashes, refused, s.names)
}

// Owned returns the runs of which the session is the owner, except for some. If the response to a
// claim is lost, it returns what was claimed.
func (s *Session) Owned(except []string) ([]Claimed, error) {
	ctx, cancel := context.WithTimeout(s.lost, requestTimeout)
	defer cancel()
	return s.engine.runsOf(ctx, s.id, except)
}

// Claimed returns a run that the session has claimed. Its first Create or Open uses this claim. If
// it neither ends nor waits, the session owns it until Release, Refuse or Damaged.
func (s *Session) Claimed(c *Claimed) journal.Run {
	r := &run{engine: s.engine, session: s, id: c.Run, isNew: !c.Begun, isLent: true}
	r.claimed.Store(c.Epoch)
	return r
}

// Release makes a run that the session has claimed ready for any worker. It changes nothing if the
// run has ended, waits or has another owner.
func (s *Session) Release(c *Claimed) error {
	return (&run{engine: s.engine, session: s, id: c.Run}).leave(c.Epoch, "ready", nil, nil)
}

// Refuse releases a run that the session has claimed and cannot execute, or has released at this
// epoch. reason is shown as the reason why the run does not progress. Workers can claim the run
// again after a delay.
func (s *Session) Refuse(c *Claimed, reason string, delay time.Duration) error {
	return s.refuse(c, "ready", reason, delay)
}

// Damaged marks a run as damaged. reason describes the damage.
func (s *Session) Damaged(c *Claimed, reason string) error { return s.refuse(c, "damaged", reason, 0) }

func (s *Session) refuse(c *Claimed, state, reason string, delay time.Duration) error {
	return s.try(c.Run, func(ctx context.Context) error {
		_, err := s.engine.pool.Exec(ctx, `SELECT concerto.refuse($1, $2, $3, $4, $5)`, c.Run, c.Epoch, state, reason, delay)
		return err
	})
}

// Take makes the session the owner of a run in any state. The next Create or Open of the result
// uses this ownership; until then, GiveBack ends it. The error is a *journal.HeldError,
// journal.ErrNoRun, or an error of the database.
func (s *Session) Take(id string) (journal.Run, error) {
	r := &run{engine: s.engine, session: s, id: id}
	epoch, err := r.claim()
	r.claimed.Store(epoch)
	return r, err
}

// GiveBack makes a run that Take has returned ready, unless it was opened.
func (s *Session) GiveBack(taken journal.Run) error {
	r, ok := taken.(*run)
	if !ok {
		return nil
	}
	epoch := r.claimed.Swap(0)
	if epoch == 0 {
		return nil
	}
	return r.leave(epoch, "ready", nil, nil)
}
