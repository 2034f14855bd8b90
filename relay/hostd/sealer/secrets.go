package sealer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/concerto-lang/concerto/relay/client/machineapi"
	"github.com/concerto-lang/concerto/relay/seal"
)

// recordAge is the minimum age of a key record that is deleted. A server that was restored from a
// backup needs the records that it does not have: devices accept none that continues a missing one.
const recordAge = 30 * 24 * time.Hour

// DropSecrets deletes the secrets of the epochs of which no event is stored, at the server or in
// the spool, and their old key records. It deletes nothing if the server does not know which events
// it stores. It asks the server at most once in an epoch.
func (s *Sealer) DropSecrets(ctx context.Context) error {
	s.mu.Lock()
	a := s.account
	if a == nil || s.o.Server == nil || !a.epochs.canDrop(s.o.Now()) || a.epochs.asked == a.epochs.Last.N {
		s.mu.Unlock()
		return nil
	}
	id, last := a.id(), a.epochs.Last.N
	s.mu.Unlock()
	// The spool is read first: an event leaves it after the server has stored the event.
	spooled, err := s.o.Spooled(ctx)
	if err != nil {
		return err
	}
	server, err := s.o.Server(ctx)
	if err != nil {
		return err
	}
	oldest, err := server.OldestEpoch(ctx, id, s.o.MachineID)
	if err != nil && !errors.Is(err, machineapi.ErrUnsupported) {
		return fmt.Errorf("read which events the server stores: %w", err)
	}
	if spooled > 0 {
		oldest = min(oldest, spooled)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.account != a {
		return errReloaded
	}
	if err := a.dropBefore(oldest, s.o.Now()); err != nil {
		return err
	}
	a.epochs.asked = last
	return nil
}

// canDrop reports whether the command keys of the oldest epoch have ended, so that its secret may
// be deleted. Those of the newest one never end.
func (e *epochs) canDrop(now time.Time) bool {
	if len(e.All) == 0 {
		return false
	}
	_, err := seal.CommandEpoch(e.All, e.All[0].N, now)
	return err != nil
}

// dropBefore deletes the secrets of the epochs before one, and their old key records.
func (a *account) dropBefore(oldest int64, now time.Time) error {
	if a.fork != "" || !a.epochs.canDrop(now) { // after a fork, the user may choose a list that needs older records
		return nil
	}
	next := *a.epochs
	for next.canDrop(now) && next.All[0].N < oldest {
		next.All = next.All[1:]
	}
	if a.isContinued() {
		next.records = maps.Clone(next.records)
		maps.DeleteFunc(next.records, func(n int64, line []byte) bool { return n < next.All[0].N && isOld(line, now) })
	}
	if len(next.All) == len(a.epochs.All) && len(next.records) == len(a.epochs.records) {
		return nil
	}
	before := a.epochs
	a.epochs = &next
	err := a.storeEpochs()
	if err != nil {
		a.epochs = before
	}
	return err
}

// isContinued reports whether the server has the newest key record and the next one continues it,
// so that no earlier one is needed.
func (a *account) isContinued() bool {
	last := a.epochs.Last.N
	_, err := a.roster.VerifyKeyRecord(a.epochs.records[last], a.machine, seal.EpochPosition{})
	return err == nil && a.epochs.published == last
}

// isOld reports whether a key record may be deleted by its age.
func isOld(line []byte, now time.Time) bool {
	var k seal.KeyRecord
	if json.Unmarshal(line, &k) != nil {
		return false
	}
	at, err := time.Parse(time.RFC3339, k.At)
	return err == nil && now.Sub(at) >= recordAge
}
