package sealer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/concerto-lang/concerto/relay/client/machineapi"
	"github.com/concerto-lang/concerto/relay/seal"
)

// followInterval is the interval at which the server's roster is read.
const followInterval = time.Minute

// Follow makes Run read the server's roster.
func (s *Sealer) Follow() {
	select {
	case s.follow <- struct{}{}:
	default:
	}
}

// Run follows the roster at the server until ctx is done.
func (s *Sealer) Run(ctx context.Context) {
	for {
		var next <-chan time.Time
		stop := func() bool { return true }
		if s.Account() != "" {
			timer := time.NewTimer(followInterval)
			next, stop = timer.C, timer.Stop
		}
		select {
		case <-s.follow:
		case <-next:
		case <-ctx.Done():
			stop()
			return
		}
		stop()
		if err := s.readRoster(ctx); err != nil && ctx.Err() == nil {
			s.o.Log.Warn("could not read the roster of the account", "error", err)
		}
		if err := s.SyncKeys(ctx); err != nil && ctx.Err() == nil {
			s.o.Log.Warn("could not publish the keys of the account", "error", err)
		}
		if err := s.DropSecrets(ctx); err != nil && ctx.Err() == nil {
			s.o.Log.Warn("could not delete the keys of deleted runs", "error", err)
		}
	}
}

// readRoster appends the server's new lines to the roster. If the server has another roster, all
// commands are refused from then on.
func (s *Sealer) readRoster(ctx context.Context) error {
	s.mu.Lock()
	a := s.account
	if a == nil || a.fork != "" || s.o.Server == nil {
		s.mu.Unlock()
		return nil
	}
	id, head, whole := a.id(), a.roster.Head(), a.roster.Text()
	s.mu.Unlock()
	// The last known line is read again. It shows whether the server's roster is another one, or a
	// shorter one.
	server, err := s.o.Server(ctx)
	if err != nil {
		return err
	}
	text, err := server.Roster(ctx, id, head.N-1)
	if errors.Is(err, machineapi.ErrUnknownAccount) {
		return server.Publish(ctx, id, whole)
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.account != a { // the files were read again
		return nil
	}
	return s.extend(a, head, text)
}

// extend appends the lines of the server to a roster that ended at head when they were read.
func (s *Sealer) extend(a *account, head seal.Position, text []byte) error {
	if len(text) == 0 {
		return s.fork(a, fmt.Sprintf("the server's roster has fewer than the %d lines that this machine knows", head.N))
	}
	n := a.roster.Head().N
	bad := a.roster.AppendLines(text)
	var why *seal.Refusal
	switch {
	case !errors.As(bad, &why):
	case why.Code == seal.RosterFork:
		return s.fork(a, "the server has another roster: "+why.Why)
	case why.Code == seal.Unsupported: // an owner has signed it, and later lines may remove a device
		return s.fork(a, "this version cannot read the roster: "+why.Why)
	}
	if bad != nil {
		bad = fmt.Errorf("the server's roster has an invalid line: %w", bad)
	}
	if a.roster.Head().N == n && !a.unstored {
		return bad
	}
	s.o.Log.Info("the roster of the account has new lines", "account", a.id(), "lines", a.roster.Head().N)
	return errors.Join(bad, a.storeRoster(), a.dropRemoved())
}

func (s *Sealer) fork(a *account, why string) error {
	s.o.Log.Error("commands of the server are refused until concerto-relay seal status --resolve", "account", a.id(), "why", why)
	return a.setFork(why, s.o.Now())
}
