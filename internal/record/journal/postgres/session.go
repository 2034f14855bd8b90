package postgres

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/record/journal"
)

// Session is a worker of an engine in this process. It renews its lease until Close or until the
// lease is lost.
type Session struct {
	*journal.Lease
	engine  *Engine
	commits *commits
	id      string
	vm      int      // version of the VM
	names   []string // of the environment variables

	syncWithin time.Duration // limit of the time between a write and its sync
	listening  sync.WaitGroup
	watches    watches
}

// NewSession registers a worker with a lease, and renews the lease in the background. onRetry is
// that of journal.LeaseOptions.
func (e *Engine) NewSession(ctx context.Context, w WorkerRow, lease time.Duration, onRetry func(run string, err error)) (*Session, error) {
	s := &Session{engine: e, commits: &commits{pool: e.pool}, syncWithin: syncWithin, vm: w.VMVersion, names: w.Variables, watches: watches{runs: map[string]chan struct{}{}, woken: make(chan struct{}, 1)}}
	sent := time.Now()
	var err error
	if s.id, err = e.Register(ctx, w, lease); err != nil {
		return nil, err
	}
	s.Lease = journal.NewLease(sent, journal.LeaseOptions{Duration: lease, IsFinal: isFinal, OnRetry: onRetry,
		Renew: func(ctx context.Context, draining bool) (time.Time, error) {
			return e.Renew(ctx, s.id, lease, draining, s.names)
		}})
	if err := s.Start(); err != nil {
		return nil, errors.Join(err, e.Unregister(ctx, s.id))
	}
	s.listening.Go(s.listen)
	s.listening.Go(s.poll)
	return s, nil
}

// ID returns the worker's id.
func (s *Session) ID() string { return s.id }

// Close stops renewing the lease and removes the worker. Its runs must have been released.
func (s *Session) Close(ctx context.Context) error {
	s.End(errors.New("the session is closed"))
	s.Wait()
	s.listening.Wait()
	return s.engine.Unregister(ctx, s.id)
}

// isFinal reports whether an error of a write comes from the state of the run, so that repeating
// the write cannot succeed.
func isFinal(err error) bool {
	return errors.As(err, new(*MissingError)) || errors.As(err, new(*journal.DamagedError)) || errors.Is(err, errRemoved) || isDenied(err)
}

// Run returns a run of the engine. It need not exist.
func (s *Session) Run(id string) journal.Run { return &run{engine: s.engine, session: s, id: id} }

// Claim makes the session the owner of at most n runs; see Engine.Claim.
func (s *Session) Claim(n, maxCrashes int, refused []string) ([]Claimed, error) {
	ctx, cancel := context.WithTimeout(s.Ended(), requestTimeout)
	defer cancel()
	return s.engine.Claim(ctx, s.id, n, maxCrashes, refused, s.names)
}

// Owned returns the runs of which the session is the owner. If the response to a claim is lost, it
// also returns what was claimed.
func (s *Session) Owned() ([]Claimed, error) {
	ctx, cancel := context.WithTimeout(s.Ended(), requestTimeout)
	defer cancel()
	return s.engine.runsOf(ctx, s.id)
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
	return s.Try(c.Run, func(ctx context.Context) error {
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
