package spool

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// fullPause is how long output waits for room before the oldest is given up.
const fullPause = 60 * time.Second

// fill is how full the spool is.
type fill struct {
	used    int64     // bytes of events
	since   time.Time // output waits since then; the zero time when none does
	over    bool      // the oldest output is given up until an ack makes room
	trouble error     // why the file cannot be written at present
}

// Health is how a spool is.
type Health struct {
	Used, Max int64
	Full      bool  // output waits for room, or is given up
	Trouble   error // why the file cannot be written at present; nil when it can
}

// Health is how the spool is.
func (s *Spool) Health() Health {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Health{Used: s.fill.used, Max: s.max, Full: !s.fill.since.IsZero(), Trouble: s.fill.trouble}
}

// trouble notes whether the file can be written.
func (s *Spool) trouble(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fill.trouble != nil && err == nil {
		s.log.Info("the spool can be written again")
	}
	s.fill.trouble = err
}

// filled notes how full the spool is after a commit. Called with mu.
func (s *Spool) filled(used int64, freed bool) {
	s.fill.used = used
	if freed && used < s.max {
		if !s.fill.since.IsZero() {
			s.log.Info("the spool has room again")
		}
		s.fill.since, s.fill.over = time.Time{}, false
		close(s.room)
		s.room = make(chan struct{})
	}
}

// admit waits until there is room for a job that is output, but not for ever.
func (s *Spool) admit(ctx context.Context, j *job) error {
	for j.output {
		room, wait := s.wait(j.size)
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

// wait says for what output of so many bytes has to wait, and how long at most; nil when it
// need not.
func (s *Spool) wait(size int64) (room <-chan struct{}, most time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fill.over || s.fill.used+size <= s.max {
		return nil, 0
	}
	if s.fill.since.IsZero() {
		s.fill.since = time.Now()
		s.log.Warn("the spool is full, and output waits", "bytes", s.fill.used)
	}
	most = time.Until(s.fill.since.Add(fullPause))
	if most <= 0 {
		s.fill.over = true
		s.log.Warn("the spool is full, and the oldest output is given up")
		return nil, 0
	}
	return s.room, most
}

// giveUp puts gaps in the place of the oldest output until a sixteenth is free.
func (b *batch) giveUp() error {
	if b.used <= b.s.max {
		return nil
	}
	for target := b.s.max - b.s.max/16; b.used > target; {
		var run, first int64
		err := b.tx.QueryRowContext(b.ctx, `SELECT run, seq FROM events WHERE type = ? ORDER BY n LIMIT 1`, protocol.RunOutput).Scan(&run, &first)
		if errors.Is(err, sql.ErrNoRows) {
			return nil // all that is left is never given up
		}
		if err != nil {
			return err
		}
		if err := b.gap(run, first, b.used-target); err != nil {
			return err
		}
	}
	return nil
}

// gap puts a gap in the place of output from a seq on: of as much as stands together, and as
// is wanted. A gap before it becomes a part of it.
func (b *batch) gap(run, first, want int64) error {
	to, freed, err := b.stretch(run, first, want)
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
	b.forget(run, to)
	now := protocol.New(protocol.RunGap, time.Now(), protocol.Empty{})
	return b.insert(run, to, from, &row{typ: now.Type, ts: now.TS, data: []byte(spoolFull), size: int64(len(now.Type)+len(spoolFull)) + rowSize})
}

const spoolFull = "spool_full"

// stretch is the end of output that stands together, and its bytes.
func (b *batch) stretch(run, first, want int64) (to, size int64, err error) {
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

// forget sees to it that nothing is added to an output that has been given up.
func (b *batch) forget(n, to int64) {
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
