package spool

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
)

// load reads the state of the runs. Before that, it deletes the oldest runs that have ended and are
// completely acknowledged, so that no more remain than a server remembers.
func (s *Spool) load(ctx context.Context) error {
	_, err := s.writeDB.ExecContext(ctx, `DELETE FROM runs WHERE n IN (SELECT n FROM runs WHERE ended AND acked >= last ORDER BY n DESC LIMIT -1 OFFSET ?)`, protocol.MaxRunsOfMachine)
	if err != nil {
		return err
	}
	if err := s.readDB.QueryRowContext(ctx, `SELECT COALESCE(SUM(size), 0) FROM events`).Scan(&s.fill.used); err != nil {
		return err
	}
	rows, err := s.readDB.QueryContext(ctx, `SELECT n, id, last, acked, off, ended, adopted, account, chain, covered, acked_tag, title FROM runs`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		r := &run{}
		var id, chain string
		err := rows.Scan(&r.n, &id, &r.last, &r.acked, &r.off, &r.ended, &r.adopted, &r.account, &chain, &r.covered, &r.ackedTag, &r.title)
		if err == nil {
			r.chain, err = parseChain(chain)
		}
		if err != nil {
			return err
		}
		if s.keys != nil && r.isSealed() && r.covered < r.last { // hostd was stopped before the head
			r.headAt = time.Now().Add(seal.HeadInterval)
			s.headsAt[id] = r.headAt
		}
		s.runs[id] = r
	}
	return rows.Err()
}

// Runs returns the runs that have not ended, and the ended runs with unacknowledged events, oldest
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
		all[i] = s.runs[id].describe(id)
	}
	return all
}

// Run returns the state of a run. Runs that have ended are included until load deletes them.
func (s *Spool) Run(id string) (Run, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.runs[id]; r != nil {
		return r.describe(id), true
	}
	return Run{}, false
}

// Ends returns the last events of the sealed runs of an account by their IDs, of at most n runs: of
// those that have not ended, and then of the newest ones. Until it is sent, the last event of a run
// can be replaced by another one in its place.
func (s *Spool) Ends(account string, n int) map[string]seal.End {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for id, r := range s.runs {
		if r.account == account && r.isSealed() {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(x, y string) int {
		a, b := s.runs[x], s.runs[y]
		if a.ended != b.ended {
			return map[bool]int{false: -1, true: 1}[a.ended]
		}
		return cmp.Compare(b.n, a.n)
	})
	ends := map[string]seal.End{}
	for _, id := range ids[:min(n, len(ids))] {
		if c := s.runs[id].chain; c.Seq > 0 {
			ends[id] = seal.End{Seq: c.Seq, Tag: c.Tag}
		}
	}
	return ends
}

func (r *run) describe(id string) Run {
	out := Run{ID: id, Last: r.last, Acked: r.acked, Offset: r.off, Ended: r.ended}
	if r.adopted {
		out.Last = 0 // the events of an adopted run get their sequence numbers in Resume
	}
	return out
}

// Next returns at most n events of a run after a sequence number. The envelopes lack only the
// machine id.
func (s *Spool) Next(ctx context.Context, id string, after int64, n int) ([]protocol.Envelope, error) {
	run, acked, until := s.startRead(id)
	after = max(after, acked) // acknowledged events may not be deleted yet
	if until <= after {
		return nil, nil
	}
	rows, err := s.readDB.QueryContext(ctx, `SELECT seq, from_seq, ts, type, data, epoch FROM events WHERE run = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?`, run, after, until, n)
	if err != nil {
		return nil, fmt.Errorf("read the spool: %w", err)
	}
	defer rows.Close()
	var all []protocol.Envelope
	for size := 0; size < protocol.BatchBytes && rows.Next(); {
		e := protocol.Envelope{RunID: id}
		var from, epoch int64
		var data []byte
		if err := rows.Scan(&e.Seq, &from, &e.TS, &e.Type, &data, &epoch); err != nil {
			return nil, fmt.Errorf("read the spool: %w", err)
		}
		e.Data = data
		switch {
		case epoch > 0:
			e.Enc = seal.EncOf(epoch)
		case e.Type == protocol.RunGap: // an acknowledgement may have shortened the gap
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

// startRead returns the row id of a run, its last acknowledged sequence number, and the last
// sequence number that Next may return. It records that Next returns the events up to that number.
func (s *Spool) startRead(id string) (n, acked, until int64) {
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

// Ack records that the server has the events of a run up to a sequence number. The writer deletes
// these events later.
func (s *Spool) Ack(id string, last int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.runs[id]
	if r == nil || r.adopted || last <= r.acked || last > r.last {
		return
	}
	r.acked = last
	s.acks[id] = last
	notify(s.wake)
}

// OldestEpoch returns the lowest epoch of the sealed events that the server has not acknowledged,
// or 0 if there are none.
func (s *Spool) OldestEpoch(ctx context.Context) (n int64, err error) {
	if err = s.readDB.QueryRowContext(ctx, `SELECT COALESCE(MIN(epoch), 0) FROM events WHERE epoch > 0`).Scan(&n); err != nil {
		err = fmt.Errorf("read the spool: %w", err)
	}
	return n, err
}

// Notes returns the notes of a run with the given kind, by key.
func (s *Spool) Notes(ctx context.Context, id, kind string) (map[string]json.RawMessage, error) {
	rows, err := s.readDB.QueryContext(ctx, `SELECT key, data FROM notes WHERE run = (SELECT n FROM runs WHERE id = ?) AND kind = ?`, id, kind)
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

// Note returns a note of a run, or nil if it does not exist.
func (s *Spool) Note(ctx context.Context, id, kind, key string) (json.RawMessage, error) {
	var data []byte
	err := s.readDB.QueryRowContext(ctx, `SELECT data FROM notes WHERE run = (SELECT n FROM runs WHERE id = ?) AND kind = ? AND key = ?`, id, kind, key).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return data, err
}
