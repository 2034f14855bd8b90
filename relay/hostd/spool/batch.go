package spool

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// batch is a transaction with the changes of one or several jobs.
type batch struct {
	ctx     context.Context
	s       *Spool
	tx      *sql.Tx
	runs    map[string]*state // states of the runs that the batch changes, by run id
	used    int64             // size of the events after the transaction, in bytes
	freed   bool              // an acknowledgement has deleted events
	hasNews bool              // the batch has added events or results
}

func (b *batch) run(jobs []*job, acks map[string]int64) error {
	tx, err := b.s.writeDB.BeginTx(b.ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after a commit
	b.tx = tx
	b.s.mu.Lock()
	b.used = b.s.fill.used
	over := b.s.fill.dropping
	b.s.mu.Unlock()
	for id, last := range acks {
		if err := b.ack(id, last); err != nil {
			return err
		}
	}
	for _, j := range jobs {
		j.err = b.apply(j)
		if j.err != nil && !isRefusal(j.err) {
			return j.err
		}
	}
	if over {
		if err := b.dropOldest(); err != nil {
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

// state returns a copy of the state of a run, which the batch changes. If the run does not exist,
// state returns nil, or creates the run if make is set.
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

func (b *batch) apply(j *job) error {
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
		if err := b.addEvent(j.Run, st, &j.rows[i]); err != nil {
			return err
		}
	}
	if j.Offset != nil {
		st.off = *j.Offset
	}
	for _, n := range j.Notes {
		if err := b.storeNote(st, n); err != nil {
			return err
		}
	}
	for _, r := range j.Results {
		r.Run = j.Run
		if err := b.insertResult(r); err != nil {
			return err
		}
	}
	j.last = st.last
	return nil
}

// insertResult stores the result of a command. It replaces an older result of the same command and
// gets a new number, so that it is sent again.
func (b *batch) insertResult(r Result) error {
	b.hasNews = true
	return b.exec(`INSERT OR REPLACE INTO results (run, kind, id, state, error) VALUES (?, ?, ?, ?, ?)`, r.Run, r.Kind, r.ID, r.State, r.Error)
}

func (b *batch) storeNote(st *state, n Note) error {
	if n.Data == nil {
		return b.exec(`DELETE FROM notes WHERE run = ? AND kind = ? AND key = ?`, st.n, n.Kind, n.Key)
	}
	return b.exec(`INSERT INTO notes (run, kind, key, data) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET data = excluded.data`, st.n, n.Kind, n.Key, string(n.Data))
}

// addEvent stores an event with the next sequence number, or merges it into the last event.
func (b *batch) addEvent(id string, st *state, r *row) error {
	b.hasNews = true
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

// merge appends output to the last event of its run. It does so only if the spool is nearly full
// and Next has not returned that event.
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

// maxOutput is the maximum size in bytes of the text in a merged output event.
const maxOutput = 32 << 10

// hide prevents Next from returning an event until the end of the batch. It returns false if Next
// has already returned the event.
func (b *batch) hide(id string, seq int64) bool {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	r := b.s.runs[id]
	if r == nil {
		return true // this batch creates the run, so Next cannot have returned the event
	}
	if r.handed >= seq {
		return false
	}
	if r.hidden == 0 || seq < r.hidden {
		r.hidden = seq
	}
	return true
}

// ack deletes the events up to sequence number last. If last is inside a gap, it shortens the gap.
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
