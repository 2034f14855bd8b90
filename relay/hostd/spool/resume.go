package spool

import (
	"context"
	"fmt"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// Adopt registers a live run whose events were in a spool that is lost. New events of the run are
// held until Resume receives the server's last sequence number. A gap then marks the lost events.
// Adopt does nothing if the run is known.
func (s *Spool) Adopt(ctx context.Context, id string) error {
	return s.do(ctx, func(b *batch) error {
		b.s.mu.Lock()
		exists := b.s.runs[id] != nil
		b.s.mu.Unlock()
		if exists || b.runs[id] != nil {
			return nil
		}
		st, err := b.state(id, true)
		if err == nil {
			st.adopted = true
		}
		return err
	})
}

// Resume receives the last sequence number that the server has of a run. It returns the sequence
// number after which to send events. If the server has lost events that it had acknowledged, first
// is a gap that must be sent before. If the server has more events than this spool, it received
// them from a spool that is lost.
func (s *Spool) Resume(ctx context.Context, id string, has int64) (after int64, first *protocol.Envelope, err error) {
	err = s.do(ctx, func(b *batch) error {
		st, err := b.state(id, false)
		switch {
		case st == nil || err != nil:
			return err
		case st.adopted || has > st.last:
			after = has
			return b.rebase(st, has)
		case has >= st.acked:
			after = has
			return b.ack(id, has)
		}
		after = st.acked
		gap := protocol.New(protocol.RunGap, time.Now(), protocol.Gap{From: has + 1, To: st.acked, Reason: "store_lost"})
		gap.RunID, gap.Seq = id, st.acked
		first = &gap
		return nil
	})
	return after, first, err
}

// ResumeUnreported is called instead of Resume if the server does not report its last sequence
// number. For an adopted run it assumes that the lost spool has sent fewer events than the
// milliseconds since 1970.
func (s *Spool) ResumeUnreported(ctx context.Context, id string) (after int64, err error) {
	err = s.do(ctx, func(b *batch) error {
		st, err := b.state(id, false)
		if st == nil || err != nil {
			return err
		}
		if st.adopted {
			if err := b.rebase(st, s.epoch); err != nil {
				return err
			}
			st.acked = 0
			err = b.exec(`UPDATE events SET from_seq = 1 WHERE run = ? AND seq = ?`, st.n, s.epoch+1)
		}
		after = st.acked
		return err
	})
	return after, err
}

// rebase renumbers the events of a run so that they follow the server's last sequence number has. A
// gap marks the lost events.
func (b *batch) rebase(st *state, has int64) error {
	move := has + 1
	if !st.adopted { // the server received these sequence numbers from a lost spool
		var size int64
		if err := b.tx.QueryRowContext(b.ctx, `SELECT COALESCE(SUM(size), 0) FROM events WHERE run = ?`, st.n).Scan(&size); err != nil {
			return err
		}
		b.used, b.freed = b.used-size, size > 0
		if err := b.exec(`DELETE FROM events WHERE run = ?`, st.n); err != nil {
			return err
		}
		st.last, st.acked = has, has
		if st.ended {
			return nil
		}
	} else {
		// In two steps, because sequence numbers must be unique at any time.
		if err := b.exec(`UPDATE events SET seq = -seq - ?, from_seq = from_seq + ? WHERE run = ?`, move, move, st.n); err != nil {
			return err
		}
		if err := b.exec(`UPDATE events SET seq = -seq WHERE run = ? AND seq < 0`, st.n); err != nil {
			return err
		}
		st.last += has
	}
	st.last++
	st.adopted, st.acked, st.tail, b.hasNews = false, has, nil, true
	now := protocol.New(protocol.RunGap, time.Now(), protocol.Empty{})
	const lost = "spool_lost"
	return b.insert(st.n, move, move, &row{typ: now.Type, ts: now.TS, data: []byte(lost), size: int64(len(now.Type)+len(lost)) + rowSize})
}

// do runs a function in a batch of the writer.
func (s *Spool) do(ctx context.Context, do func(*batch) error) error {
	_, err := s.submit(ctx, &job{do: do, done: make(chan struct{})})
	return err
}

// Results returns the results of commands whose number is greater than after, in order.
func (s *Spool) Results(ctx context.Context, after int64) ([]Result, error) {
	rows, err := s.readDB.QueryContext(ctx, `SELECT n, run, kind, id, state, error FROM results WHERE n > ? ORDER BY n`, after)
	if err != nil {
		return nil, fmt.Errorf("read the spool: %w", err)
	}
	defer rows.Close()
	var all []Result
	for rows.Next() {
		var r Result
		if err := rows.Scan(&r.N, &r.Run, &r.Kind, &r.ID, &r.State, &r.Error); err != nil {
			return nil, fmt.Errorf("read the spool: %w", err)
		}
		all = append(all, r)
	}
	return all, rows.Err()
}

// ResultAcked deletes a result that the server has acknowledged.
func (s *Spool) ResultAcked(ctx context.Context, n int64) error {
	return s.do(ctx, func(b *batch) error { return b.exec(`DELETE FROM results WHERE n = ?`, n) })
}

// Report stores the result of a command. The run need not be known.
func (s *Spool) Report(ctx context.Context, r Result) error {
	return s.do(ctx, func(b *batch) error { return b.insertResult(r) })
}
