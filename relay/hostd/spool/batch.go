package spool

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// batch is a transaction.
type batch struct {
	ctx   context.Context
	s     *Spool
	tx    *sql.Tx
	runs  map[string]*state // that it has touched
	used  int64             // bytes of events, after it
	freed bool              // an ack has deleted some
	told  bool              // there is something for the listener
}

func (b *batch) run(jobs []*job, acks map[string]int64) error {
	tx, err := b.s.write.BeginTx(b.ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // after a commit it does nothing
	b.tx = tx
	b.s.mu.Lock()
	b.used = b.s.fill.used
	over := b.s.fill.over
	b.s.mu.Unlock()
	for id, last := range acks {
		if err := b.ack(id, last); err != nil {
			return err
		}
	}
	for _, j := range jobs {
		j.err = b.job(j)
		if j.err != nil && !isRefusal(j.err) {
			return j.err
		}
	}
	if over {
		if err := b.giveUp(); err != nil {
			return err
		}
	}
	for _, st := range b.runs {
		if err := b.exec(`UPDATE runs SET last = ?, acked = ?, off = ?, ended = ?, adopted = ? WHERE n = ?`, st.last, st.acked, st.off, st.ended, st.adopted, st.n); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func (b *batch) exec(text string, args ...any) error {
	_, err := b.tx.ExecContext(b.ctx, text, args...)
	return err
}

// state is a run's, to be changed. With make, the run is made when there is none.
func (b *batch) state(id string, make bool) (*state, error) {
	if st := b.runs[id]; st != nil {
		return st, nil
	}
	b.s.mu.Lock()
	r := b.s.runs[id]
	var st state
	if r != nil {
		st = r.state
	}
	b.s.mu.Unlock()
	switch {
	case r == nil && !make:
		return nil, nil
	case r == nil:
		done, err := b.tx.ExecContext(b.ctx, `INSERT INTO runs (id, last, acked, off, ended, adopted) VALUES (?, 0, 0, 0, 0, 0)`, id)
		if err != nil {
			return nil, err
		}
		if st.n, err = done.LastInsertId(); err != nil {
			return nil, err
		}
	}
	b.runs[id] = &st
	return &st, nil
}

func (b *batch) job(j *job) error {
	if j.do != nil {
		return j.do(b)
	}
	st, err := b.state(j.Run, true)
	if err != nil {
		return err
	}
	if st.ended && len(j.rows) > 0 {
		return ErrEnded
	}
	for i := range j.rows {
		if err := b.event(j.Run, st, &j.rows[i]); err != nil {
			return err
		}
	}
	if j.Offset != nil {
		st.off = *j.Offset
	}
	for _, n := range j.Notes {
		if err := b.note(st, n); err != nil {
			return err
		}
	}
	for _, r := range j.Results {
		r.Run = j.Run
		if err := b.result(r); err != nil {
			return err
		}
	}
	j.last = st.last
	return nil
}

// result keeps what became of a command. A newer one of the same command gets a number of its
// own, so that it is told.
func (b *batch) result(r Result) error {
	b.told = true
	return b.exec(`INSERT OR REPLACE INTO results (run, kind, id, state, error) VALUES (?, ?, ?, ?, ?)`, r.Run, r.Kind, r.ID, r.State, r.Error)
}

func (b *batch) note(st *state, n Note) error {
	if n.Data == nil {
		return b.exec(`DELETE FROM notes WHERE run = ? AND kind = ? AND key = ?`, st.n, n.Kind, n.Key)
	}
	return b.exec(`INSERT INTO notes (run, kind, key, data) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET data = excluded.data`, st.n, n.Kind, n.Key, string(n.Data))
}

// event gives an event its seq and stores it, or adds it to the last one.
func (b *batch) event(id string, st *state, r *row) error {
	b.told = true
	if done, err := b.merge(id, st, r); done || err != nil {
		return err
	}
	from := st.last + 1
	st.last += r.lost
	if err := b.insert(st.n, st.last, from, r); err != nil {
		return err
	}
	st.ended = st.ended || r.typ == protocol.RunExited
	st.tail = nil
	if r.output != nil {
		st.tail = &tail{seq: st.last, size: r.size, Output: *r.output}
	}
	return nil
}

func (b *batch) insert(run, seq, from int64, r *row) error {
	b.used += r.size
	return b.exec(`INSERT INTO events (run, seq, from_seq, ts, type, data, size) VALUES (?, ?, ?, ?, ?, ?, ?)`, run, seq, from, r.ts, r.typ, string(r.data), r.size)
}

// merge adds output to the run's last event, when there is little room and nobody has been
// given that one.
func (b *batch) merge(id string, st *state, r *row) (done bool, err error) {
	t := st.tail
	if t == nil || r.output == nil || r.output.Stream != t.Stream || len(t.Text)+len(r.output.Text) > maxOutput || b.used < b.s.max/10*8 || !b.hide(id, t.seq) {
		return false, nil
	}
	longer := *t
	longer.Text += r.output.Text
	data, err := json.Marshal(longer.Output)
	if err != nil {
		return false, err
	}
	longer.size = int64(len(data)+len(r.typ)) + rowSize
	b.used += longer.size - t.size
	st.tail = &longer
	return true, b.exec(`UPDATE events SET data = ?, size = ? WHERE run = ? AND seq = ?`, string(data), longer.size, st.n, t.seq)
}

// maxOutput is how long the text of an output may be.
const maxOutput = 32 << 10

// hide keeps an event from Next until the batch's end; false when it has been given.
func (b *batch) hide(id string, seq int64) bool {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	r := b.s.runs[id]
	if r == nil {
		return true // it is this batch that makes the run
	}
	if r.handed >= seq {
		return false
	}
	if r.hidden == 0 || seq < r.hidden {
		r.hidden = seq
	}
	return true
}

// ack deletes what the server has. A gap that begins before its end is made shorter.
func (b *batch) ack(id string, last int64) error {
	st, err := b.state(id, false)
	if st == nil || err != nil {
		return err
	}
	st.acked = max(st.acked, last)
	var size int64
	if err := b.tx.QueryRowContext(b.ctx, `SELECT COALESCE(SUM(size), 0) FROM events WHERE run = ? AND seq <= ?`, st.n, last).Scan(&size); err != nil {
		return err
	}
	if size > 0 {
		b.used, b.freed = b.used-size, true
		if err := b.exec(`DELETE FROM events WHERE run = ? AND seq <= ?`, st.n, last); err != nil {
			return err
		}
	}
	if err := b.exec(`UPDATE events SET from_seq = ? WHERE run = ? AND from_seq <= ?`, last+1, st.n, last); err != nil {
		return err
	}
	if st.ended && st.acked >= st.last {
		return b.exec(`DELETE FROM notes WHERE run = ?`, st.n)
	}
	return nil
}
