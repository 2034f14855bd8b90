package spool

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// fullTimeout is the time for which output waits for space before the oldest output is dropped.
const fullTimeout = 60 * time.Second

// fill describes how much of the spool is used.
type fill struct {
	used         int64     // size of all events in bytes
	waitingSince time.Time // when output began to wait for space; zero if no output waits
	dropping     bool      // the oldest output is dropped until an acknowledgement frees space
	writeErr     error     // error of the last write; nil if it succeeded
}

// Health describes the state of the spool.
type Health struct {
	Used, Max int64
	Full      bool  // output waits for space or is dropped
	WriteErr  error // error of the last write; nil if it succeeded
}

// Health returns the state of the spool.
func (s *Spool) Health() Health {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Health{Used: s.fill.used, Max: s.max, Full: !s.fill.waitingSince.IsZero(), WriteErr: s.fill.writeErr}
}

// setTrouble records the error of a write, which is nil if the write succeeded.
func (s *Spool) setTrouble(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fill.writeErr != nil && err == nil {
		s.log.Info("the spool is writable again")
	}
	s.fill.writeErr = err
}

// setUsed records the size of all events after a commit. freed reports whether the commit deleted
// acknowledged events. The caller holds mu.
func (s *Spool) setUsed(used int64, freed bool) {
	s.fill.used = used
	if freed && used < s.max {
		if !s.fill.waitingSince.IsZero() {
			s.log.Info("the spool has room again")
		}
		s.fill.waitingSince, s.fill.dropping = time.Time{}, false
		close(s.room)
		s.room = make(chan struct{})
	}
}

// admit blocks a job that consists of output until there is space for it or fullTimeout has passed.
func (s *Spool) admit(ctx context.Context, j *job) error {
	for j.output {
		room, wait := s.roomFor(j.size)
		if room == nil {
			return nil
		}
		t := time.NewTimer(wait)
		select {
		case <-room:
		case <-t.C:
		case <-s.closed:
			t.Stop()
			return ErrClosed
		case <-ctx.Done():
			t.Stop()
			return context.Cause(ctx)
		}
		t.Stop()
	}
	return nil
}

// roomFor returns a nil channel if output of the given size may be written now. Otherwise it
// returns a channel that is closed when space is freed, and the maximum time to wait.
func (s *Spool) roomFor(size int64) (room <-chan struct{}, most time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fill.dropping || s.fill.used+size <= s.max {
		return nil, 0
	}
	if s.fill.waitingSince.IsZero() {
		s.fill.waitingSince = time.Now()
		s.log.Warn("the spool is full: output waits", "bytes", s.fill.used)
	}
	most = time.Until(s.fill.waitingSince.Add(fullTimeout))
	if most <= 0 {
		s.fill.dropping = true
		s.log.Warn("the spool is full: the oldest output is dropped")
		return nil, 0
	}
	return s.room, most
}

// dropOldest replaces the oldest output with gaps if the spool is full, until a sixteenth of the
// maximum size is free.
func (b *batch) dropOldest() error {
	if b.used <= b.s.max {
		return nil
	}
	for target := b.s.max - b.s.max/16; b.used > target; {
		var run, first int64
		err := b.tx.QueryRowContext(b.ctx, `SELECT run, seq FROM events WHERE type = ? ORDER BY n LIMIT 1`, protocol.RunOutput).Scan(&run, &first)
		if errors.Is(err, sql.ErrNoRows) {
			return nil // events other than output are never dropped
		}
		if err != nil {
			return err
		}
		if err := b.replaceWithGap(run, first, b.used-target); err != nil {
			return err
		}
	}
	return nil
}

// replaceWithGap replaces consecutive output events that begin with sequence number first with a
// gap, until want bytes are freed. If a gap precedes them, the new gap includes it.
func (b *batch) replaceWithGap(run, first, want int64) error {
	to, freed, err := b.measureOutput(run, first, want)
	if err != nil {
		return err
	}
	from, size := first, int64(0)
	err = b.tx.QueryRowContext(b.ctx, `SELECT from_seq, size FROM events WHERE run = ? AND seq = ? AND type = ? AND data = ?`, run, first-1, protocol.RunGap, spoolFull).Scan(&from, &size)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if err := b.exec(`DELETE FROM events WHERE run = ? AND seq BETWEEN ? AND ?`, run, from, to); err != nil {
		return err
	}
	b.used -= freed + size
	b.clearTail(run, to)
	now := protocol.New(protocol.RunGap, time.Now(), protocol.Empty{})
	return b.insert(run, to, from, &row{typ: now.Type, ts: now.TS, data: []byte(spoolFull), size: int64(len(now.Type)+len(spoolFull)) + rowSize})
}

const spoolFull = "spool_full"

// measureOutput returns the last sequence number and the total size of consecutive output events
// that begin with sequence number first. It stops when the size reaches want.
func (b *batch) measureOutput(run, first, want int64) (to, size int64, err error) {
	rows, err := b.tx.QueryContext(b.ctx, `SELECT seq, type, size FROM events WHERE run = ? AND seq >= ? ORDER BY seq`, run, first)
	if err != nil {
		return 0, 0, err
	}
	defer rows.Close()
	for to = first - 1; size < want && rows.Next(); {
		var seq, bytes int64
		var typ string
		if err := rows.Scan(&seq, &typ, &bytes); err != nil {
			return 0, 0, err
		}
		if typ != protocol.RunOutput || seq != to+1 {
			break
		}
		to, size = seq, size+bytes
	}
	return to, size, rows.Err()
}

// clearTail makes sure that later output is not merged into a dropped event.
func (b *batch) clearTail(n, to int64) {
	b.s.mu.Lock()
	for id, r := range b.s.runs {
		if r.n == n && b.runs[id] == nil && r.tail != nil {
			st := r.state
			b.runs[id] = &st
		}
	}
	b.s.mu.Unlock()
	for _, st := range b.runs {
		if st.n == n && st.tail != nil && st.tail.seq <= to {
			st.tail = nil
		}
	}
}
