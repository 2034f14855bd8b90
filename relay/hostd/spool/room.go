package spool

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
)

// fullTimeout is the time for which output waits for space before the oldest output is dropped.
const fullTimeout = 60 * time.Second

// fill describes how much of the spool is used.
type fill struct {
	used         int64     // size of all events in bytes
	waitingSince time.Time // when output began to wait for space; zero if no output waits
	dropping     bool      // the oldest output is dropped until an acknowledgement frees space
	passed       int64     // number of the last output that remains, because its gap is not smaller
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
		s.fill.waitingSince, s.fill.dropping, s.fill.passed = time.Time{}, false, 0
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
// maximum size is free. It cannot replace that of a sealed run without the keys for the gap.
func (b *batch) dropOldest() error {
	if b.used <= b.s.max {
		return nil
	}
	account := ""
	switch keys, err := b.nextKeys(); {
	case err != nil:
		b.s.log.Warn("the output of sealed runs is not dropped", "error", err)
	case keys != nil:
		account = keys.Epoch.Account
	}
	for target := b.s.max - b.s.max/16; b.used > target; {
		var n, first int64
		var id string
		err := b.tx.QueryRowContext(b.ctx, `SELECT e.n, r.id, e.seq FROM events e JOIN runs r ON r.n = e.run WHERE e.type = ? AND e.n > ? AND r.account IN ('', ?) ORDER BY e.n LIMIT 1`,
			protocol.RunOutput, b.passed, account).Scan(&n, &id, &first)
		if errors.Is(err, sql.ErrNoRows) {
			return nil // events other than output are never dropped
		}
		if err != nil {
			return err
		}
		switch done, err := b.replaceWithGap(id, first, b.used-target); {
		case isRefusal(err):
			b.s.log.Warn("the output of sealed runs is not dropped", "error", err)
			return nil
		case err != nil:
			return err
		case !done:
			b.passed = n
		}
	}
	return nil
}

const spoolFull = "spool_full"

// sealedGapSize is more than the size of the row of a sealed gap, in bytes.
const sealedGapSize = 1 << 10

// replaceWithGap replaces consecutive output events that begin with sequence number first with a
// gap, until want bytes are freed. If a gap precedes them, the new gap includes it. It changes
// nothing and returns false if the gap is not smaller than they are.
func (b *batch) replaceWithGap(id string, first, want int64) (done bool, err error) {
	st := b.state(id)
	if st.isSealed() {
		want += sealedGapSize
	}
	to, freed, err := b.measureOutput(st.n, first, want)
	if err != nil {
		return false, err
	}
	before, err := b.eventBefore(st, first)
	if err != nil {
		return false, err
	}
	from := first
	if before.isFullGap {
		from, freed = before.from, freed+before.size
	}
	now := protocol.New(protocol.RunGap, b.now, protocol.Empty{})
	gap := draftRow{row: row{typ: now.Type, ts: now.TS, data: []byte(spoolFull)}, from: from, seq: to}
	gap.size = sizeOf(gap.typ, gap.data)
	if st.isSealed() {
		if err := b.sealFullGap(id, st, &gap, before.prev); err != nil {
			return false, err
		}
	}
	if gap.size >= freed {
		return false, nil
	}
	if err := b.exec(`DELETE FROM events WHERE run = ? AND seq BETWEEN ? AND ?`, st.n, from, to); err != nil {
		return false, err
	}
	if st.tail != nil && st.tail.seq <= to {
		st.tail = nil // later output must not be merged into a dropped event
	}
	d := &draft{b: b, id: id, st: *st, rows: []draftRow{gap}, size: gap.size - freed}
	return true, d.write()
}

// sealFullGap seals a gap in the place of stored events. prev is the tag of the event before them.
func (b *batch) sealFullGap(id string, st *state, gap *draftRow, prev string) error {
	keys, err := b.keysFor(id, st.account)
	if err != nil {
		return err
	}
	last, err := b.chainAfter(st.n, gap.seq)
	if err != nil {
		return err
	}
	e, err := b.s.runKeys.get(keys.Epoch, id).SealGap(keys.Keys, gap.from, prev, spoolFull, last, b.now)
	if err != nil {
		return err
	}
	gap.reason = spoolFull
	return gap.putSealed(e, last)
}

// eventBefore describes the event before a stored one.
type eventBefore struct {
	isFullGap  bool // it is a gap of the full spool, which a later gap includes
	from, size int64
	// prev is the tag that a gap after the event, or instead of it, has as prev.
	prev string
}

// eventBefore describes the event before the stored event with the sequence number seq.
func (b *batch) eventBefore(st *state, seq int64) (e eventBefore, err error) {
	var typ, data, chain, reason string
	err = b.tx.QueryRowContext(b.ctx, `SELECT from_seq, size, type, data, chain, reason FROM events WHERE run = ? AND seq = ?`, st.n, seq-1).
		Scan(&e.from, &e.size, &typ, &data, &chain, &reason)
	switch {
	case errors.Is(err, sql.ErrNoRows): // it was acknowledged
		return eventBefore{prev: st.ackedTag}, nil
	case err != nil:
		return e, err
	}
	e.isFullGap = typ == protocol.RunGap && (reason == spoolFull || data == spoolFull)
	if e.isFullGap && reason != "" {
		var sealed seal.SealedData
		err = json.Unmarshal([]byte(data), &sealed)
		e.prev = sealed.Prev
		return e, err
	}
	after, err := parseChain(chain)
	e.prev = after.Tag
	return e, err
}

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
