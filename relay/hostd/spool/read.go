package spool

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// load reads what is known of runs. Of those that have ended, and of which the server has
// all, as many are kept as a server remembers.
func (s *Spool) load(ctx context.Context) error {
	_, err := s.write.ExecContext(ctx, `DELETE FROM runs WHERE n IN (SELECT n FROM runs WHERE ended AND acked >= last ORDER BY n DESC LIMIT -1 OFFSET ?)`, protocol.RunsOfHost)
	if err != nil {
		return err
	}
	if err := s.read.QueryRowContext(ctx, `SELECT COALESCE(SUM(size), 0) FROM events`).Scan(&s.fill.used); err != nil {
		return err
	}
	rows, err := s.read.QueryContext(ctx, `SELECT n, id, last, acked, off, ended, adopted FROM runs`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		r := &run{}
		var id string
		if err := rows.Scan(&r.n, &id, &r.last, &r.acked, &r.off, &r.ended, &r.adopted); err != nil {
			return err
		}
		s.runs[id] = r
	}
	return rows.Err()
}

// Runs are the runs that have not ended, or of which the server lacks events; the oldest
// first.
func (s *Spool) Runs() []Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	var open []string
	for id, r := range s.runs {
		if !r.ended || r.acked < r.last {
			open = append(open, id)
		}
	}
	slices.SortFunc(open, func(a, b string) int { return cmp.Compare(s.runs[a].n, s.runs[b].n) })
	all := make([]Run, len(open))
	for i, id := range open {
		all[i] = s.runs[id].shown(id)
	}
	return all
}

// Run is what is known of a run, also of one that is over.
func (s *Spool) Run(id string) (Run, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.runs[id]; r != nil {
		return r.shown(id), true
	}
	return Run{}, false
}

func (r *run) shown(id string) Run {
	out := Run{ID: id, Last: r.last, Acked: r.acked, Offset: r.off, Ended: r.ended}
	if r.adopted {
		out.Last = 0 // what it has is not numbered yet
	}
	return out
}

// Next gives the events of a run behind a seq, at most n: complete envelopes but for the host.
func (s *Spool) Next(ctx context.Context, id string, after int64, n int) ([]protocol.Envelope, error) {
	run, acked, until := s.hand(id)
	after = max(after, acked) // what the server has is told no more, deleted or not
	if until <= after {
		return nil, nil
	}
	rows, err := s.read.QueryContext(ctx, `SELECT seq, from_seq, ts, type, data FROM events WHERE run = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?`, run, after, until, n)
	if err != nil {
		return nil, fmt.Errorf("read the spool: %w", err)
	}
	defer rows.Close()
	var all []protocol.Envelope
	for size := 0; size < protocol.BatchBytes && rows.Next(); {
		e := protocol.Envelope{RunID: id}
		var from int64
		var data []byte
		if err := rows.Scan(&e.Seq, &from, &e.TS, &e.Type, &data); err != nil {
			return nil, fmt.Errorf("read the spool: %w", err)
		}
		e.Data = data
		if e.Type == protocol.RunGap { // a part of it may have been told as it was
			if e.Data, err = json.Marshal(protocol.Gap{From: max(from, after+1), To: e.Seq, Reason: string(data)}); err != nil {
				return nil, err
			}
		}
		all, size = append(all, e), size+len(data)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read the spool: %w", err)
	}
	return all, nil
}

// hand notes that a run's events may be given, and says up to which.
func (s *Spool) hand(id string) (n, acked, until int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.runs[id]
	if r == nil || r.adopted {
		return 0, 0, 0
	}
	until = r.last
	if r.hidden > 0 {
		until = min(until, r.hidden-1)
	}
	r.handed = max(r.handed, until)
	return r.n, r.acked, until
}

// Ack notes that the server has a run's events up to a seq. They are deleted soon.
func (s *Spool) Ack(id string, last int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.runs[id]
	if r == nil || r.adopted || last <= r.acked || last > r.last {
		return
	}
	r.acked = last
	s.acks[id] = last
	nudge(s.wake)
}

// Notes are a run's notes of a kind, by their keys.
func (s *Spool) Notes(ctx context.Context, id, kind string) (map[string]json.RawMessage, error) {
	rows, err := s.read.QueryContext(ctx, `SELECT key, data FROM notes WHERE run = (SELECT n FROM runs WHERE id = ?) AND kind = ?`, id, kind)
	if err != nil {
		return nil, fmt.Errorf("read the spool: %w", err)
	}
	defer rows.Close()
	all := map[string]json.RawMessage{}
	for rows.Next() {
		var key string
		var data []byte
		if err := rows.Scan(&key, &data); err != nil {
			return nil, fmt.Errorf("read the spool: %w", err)
		}
		all[key] = data
	}
	return all, rows.Err()
}

// Note is one note; nil when there is none.
func (s *Spool) Note(ctx context.Context, id, kind, key string) (json.RawMessage, error) {
	var data []byte
	err := s.read.QueryRowContext(ctx, `SELECT data FROM notes WHERE run = (SELECT n FROM runs WHERE id = ?) AND kind = ? AND key = ?`, id, kind, key).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return data, err
}
