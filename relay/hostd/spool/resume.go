package spool

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// Adopt registers a live run whose events were in a spool that is lost. New events of the run are
// held until Resume receives the server's last sequence number. A gap then marks the lost events.
// The run is sealed if the machine has an account; its events are sealed in Resume. Adopt does
// nothing if the run is known.
func (s *Spool) Adopt(ctx context.Context, id string) error {
	return s.do(ctx, func(b *batch) error {
		if b.state(id) != nil {
			return nil
		}
		st, err := b.newState()
		if err != nil {
			return err
		}
		st.adopted = true
		return b.create(id, st)
	})
}

// Resume receives the last sequence number that the server has of a run. It returns the sequence
// number after which to send events. If the server has lost events that it had acknowledged, first
// is a gap that must be sent before. If the server has more events than this spool, it received
// them from a spool that is lost. The events of an adopted run that cannot be sealed without its
// account are held until the next Resume.
func (s *Spool) Resume(ctx context.Context, id string, has int64) (after int64, first *protocol.Envelope, err error) {
	err = s.do(ctx, func(b *batch) error {
		st := b.state(id)
		switch {
		case st == nil:
			return nil
		case st.adopted || has > st.last:
			after = has
			return b.rebase(id, has, false)
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
		st := b.state(id)
		switch {
		case st == nil:
			return nil
		case st.adopted:
			return b.rebase(id, s.epoch, true)
		}
		after = st.acked
		return nil
	})
	return after, err
}

// rebase renumbers the events of a run so that they follow the server's last sequence number has. A
// gap marks the lost events. If has is only assumed, the gap is for all events up to has.
func (b *batch) rebase(id string, has int64, assumed bool) error {
	st := b.state(id)
	if !st.adopted { // the server received these sequence numbers from a lost spool
		var size int64
		if err := b.tx.QueryRowContext(b.ctx, `SELECT COALESCE(SUM(size), 0) FROM events WHERE run = ?`, st.n).Scan(&size); err != nil {
			return err
		}
		b.used, b.freed = b.used-size, b.freed || size > 0
		if err := b.exec(`DELETE FROM events WHERE run = ?`, st.n); err != nil {
			return err
		}
		st.last, st.acked = has, has
		if st.restartChain(has); st.ended {
			return nil
		}
	} else if st.account != "" {
		if _, err := b.keysFor(id, st.account); err != nil {
			b.s.log.Warn("the events of a run are held until they can be sealed", "run", id, "error", err)
			return nil
		}
	}
	d := &draft{b: b, id: id, st: *st}
	d.st.adopted, d.st.acked, d.st.last = false, has, has
	gap := protocol.New(protocol.RunGap, b.now, protocol.Empty{})
	r := row{typ: gap.Type, ts: gap.TS, data: []byte(spoolLost)}
	r.size = sizeOf(r.typ, r.data)
	from := has + 1
	if assumed {
		d.st.acked, from = 0, 1
	}
	d.put(r, from, has+1, 0)
	d.st.restartChain(has + 1)
	if !st.adopted {
		return d.write()
	}
	// Sequence numbers must be unique at any time.
	if err := b.exec(`UPDATE events SET seq = -seq WHERE run = ?`, st.n); err != nil {
		return err
	}
	if d.st.account == "" {
		if err := d.write(); err != nil {
			return err
		}
		b.runs[id].last += st.last
		return b.exec(`UPDATE events SET seq = ? - seq, from_seq = from_seq + ? WHERE run = ? AND seq < 0`, has+1, has+1, st.n)
	}
	err := d.sealHeld()
	if isRefusal(err) { // the transaction must not be committed
		err = fmt.Errorf("seal the events of run %s: %s", id, err)
	}
	return err
}

const spoolLost = "spool_lost"

// sealHeld seals the events of an adopted run, which have negative sequence numbers.
func (d *draft) sealHeld() error {
	for {
		held, sizes, err := d.readHeld()
		if err != nil {
			return err
		}
		for i := range held {
			if err := d.add(held[i].row, held[i].old); err != nil {
				return err
			}
			d.size -= sizes[i]
		}
		if len(held) == 0 {
			if err := d.endChange(); err != nil {
				return err
			}
		}
		if err := d.write(); err != nil || len(held) == 0 {
			return err
		}
		d.rows, d.size = nil, 0
	}
}

// readHeld returns the next events of an adopted run, and their sizes.
func (d *draft) readHeld() (all []draftRow, sizes []int64, err error) {
	rows, err := d.b.tx.QueryContext(d.b.ctx, `SELECT seq, from_seq, ts, type, data, size FROM events WHERE run = ? AND seq < 0 ORDER BY seq DESC LIMIT ?`, d.st.n, protocol.BatchEvents)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	for total := int64(0); total < protocol.BatchBytes && rows.Next(); {
		var r draftRow
		if err := rows.Scan(&r.old, &r.from, &r.ts, &r.typ, &r.data, &r.size); err != nil {
			return nil, nil, err
		}
		r.lost = -r.old - r.from + 1
		all, sizes, total = append(all, r), append(sizes, r.size), total+r.size
	}
	return all, sizes, rows.Err()
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

// Result returns the result of a command that the server has not acknowledged, or nil if there is
// none.
func (s *Spool) Result(ctx context.Context, run, kind, id string) (*Result, error) {
	r := &Result{Run: run, CommandDone: protocol.CommandDone{Kind: kind, ID: id}}
	err := s.readDB.QueryRowContext(ctx, `SELECT n, state, error FROM results WHERE run = ? AND kind = ? AND id = ?`, run, kind, id).Scan(&r.N, &r.State, &r.Error)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the spool: %w", err)
	}
	return r, nil
}

// ResultAcked deletes a result that the server has acknowledged.
func (s *Spool) ResultAcked(ctx context.Context, n int64) error {
	return s.do(ctx, func(b *batch) error { return b.exec(`DELETE FROM results WHERE n = ?`, n) })
}

// Report stores the result of a command. The run need not be known.
func (s *Spool) Report(ctx context.Context, r Result) error {
	return s.do(ctx, func(b *batch) error { return b.insertResult(r) })
}
