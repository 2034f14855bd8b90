package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/concerto-lang/concerto/internal/record/journal"
)

// position is the end of a journal: the number and the hash of its last record, and the number of
// groups, because a group may consist of output alone.
type position struct {
	s uint64
	h string
	n int64
}

// group contains what one Flush stores: all of it or nothing.
type group struct {
	before, after position
	lines         []string // records without newlines, before.s+1 to after.s
	progress      int64    // number of the last effect

	outputFrom int64 // number of the first line of output, from 1
	output     []string

	asked  []journal.Question
	closed []string // ids of questions

	ledgerFrom int64 // number of the first line of the ledger, from 1; 0 means no change
	ledger     []string

	blobSums []string
	blobs    [][]byte
	pinnedBy string   // host or file that pins the run to its machine; "" for none
	consumed []string // ids of questions whose end the records contain
}

// MissingError means that the database lacks records that it had confirmed to be on its disk, or
// output after the record Last.
type MissingError struct {
	Run         string
	First, Last uint64 // numbers of the records; Last is before First if only output is missing
}

func (e *MissingError) Error() string {
	if e.Last < e.First {
		return fmt.Sprintf("run %s: output after record %d is missing from the database; it may have failed over to a replica that lagged", e.Run, e.Last)
	}
	return fmt.Sprintf("run %s: records %d to %d are missing from the database; it may have failed over to a replica that lagged", e.Run, e.First, e.Last)
}

// errRemoved means that a run was removed while a worker owned it.
var errRemoved = errors.New("the run has been removed")

// FencedError means that another worker owns a run. It is a journal.ErrFenced.
type FencedError struct {
	Run         string
	Epoch, Ours int64
}

func (e *FencedError) Error() string {
	return fmt.Sprintf("run %s: fenced: another worker owns it (epoch %d, ours was %d)", e.Run, e.Epoch, e.Ours)
}

// Is reports whether target is journal.ErrFenced.
func (e *FencedError) Is(target error) bool { return target == journal.ErrFenced }

// restoreAdvice is the advice for a journal that was changed.
const restoreAdvice = "restore the database from a backup"

// store stores groups of records for one owner of a run. It retains the groups since the last
// synced one: a crash of the server may lose those that were only written. An error whose outcome
// is unknown leaves all groups in place, and the next call of put continues with them. It is not
// safe for concurrent use.
type store struct {
	commits *commits
	run     string
	epoch   int64
	vm      int // version of the VM that writes

	groups []group
	stored int // number of the groups that the database is known to have
	end    position
	synced position // end of the last synced group
	ended  error    // a final error
}

// add adds a group after the last one. The zero group adds nothing.
func (s *store) add(g group) {
	if g.after.n > 0 {
		s.groups, s.end = append(s.groups, g), g.after
	}
}

// put stores all groups, and makes the level hold for all of them.
func (s *store) put(ctx context.Context, level journal.Level) error {
	if s.ended != nil {
		return s.ended
	}
	for len(s.groups) > s.stored || level == journal.Synced && len(s.groups) > 0 {
		next := group{before: s.end, after: s.end, outputFrom: 1} // a sync syncs what was written before
		nextLevel := level
		if s.stored < len(s.groups) {
			next = s.groups[s.stored]
			if s.stored < len(s.groups)-1 {
				nextLevel = journal.Written
			}
		}
		found, ok, err := s.send(ctx, next, nextLevel)
		switch {
		case err != nil:
			return err
		case !ok:
			// An earlier attempt has stored the group, or the server has lost groups in a crash.
			if s.stored, err = s.countStored(found); err != nil {
				s.ended = err
				return err
			}
		case nextLevel == journal.Synced:
			s.groups, s.stored, s.synced = nil, 0, s.end
		default:
			s.stored = min(s.stored+1, len(s.groups))
		}
	}
	return nil
}

// countStored returns how many of the retained groups the journal contains that ends at a position.
func (s *store) countStored(found position) (int, error) {
	for i, g := range s.groups {
		if g.before == found {
			return i, nil
		}
	}
	if found == s.end {
		return len(s.groups), nil
	}
	if found.n < s.synced.n {
		return 0, &MissingError{s.run, found.s + 1, s.synced.s}
	}
	return 0, &journal.DamagedError{Where: fmt.Sprintf("record %d of run %s", found.s, s.run), Why: "the database contains another record than this worker has written", Next: restoreAdvice}
}

// send stores a group with one statement. If the journal does not end before the group, ok is
// false, and found is where it ends. The error is a *FencedError, or an error of the connection:
// the database may have stored the group or not.
func (s *store) send(ctx context.Context, g group, level journal.Level) (found position, ok bool, err error) {
	var asked *string
	if len(g.asked) > 0 {
		text, err := json.Marshal(g.asked)
		if err != nil {
			return position{}, false, err
		}
		all := string(text)
		asked = &all
	}
	x := &commit{level: level, args: []any{s.run, s.epoch, int64(g.before.s), g.before.h, g.before.n, list(g.lines), g.after.h, g.after.n, g.progress,
		g.outputFrom, list(g.output), g.ledgerFrom, list(g.ledger), list(g.blobSums), list(g.blobs), list(g.consumed), asked, list(g.closed), s.vm, orNull(g.pinnedBy)}}
	s.commits.do(ctx, x)
	switch {
	case x.err != nil:
		return position{}, false, x.err
	case x.epoch == nil:
		s.ended = fmt.Errorf("run %s: %w", s.run, errRemoved)
		return position{}, false, s.ended
	case *x.epoch != s.epoch || x.owner == nil:
		s.ended = &FencedError{s.run, *x.epoch, s.epoch}
		return position{}, false, s.ended
	}
	return position{uint64(*x.s), *x.h, *x.n}, *x.stored, nil
}

// orNull returns nil for an empty text.
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// list returns a slice that PostgreSQL receives as an empty array instead of NULL.
func list[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}
