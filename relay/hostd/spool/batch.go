package spool

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/concerto-lang/concerto/relay/seal"
)

// batch is a transaction with the changes of one or several jobs.
type batch struct {
	ctx     context.Context
	s       *Spool
	tx      *sql.Tx
	now     time.Time
	runs    map[string]*state // states of the runs that the batch changes, by run id
	used    int64             // size of the events after the transaction, in bytes
	passed  int64             // see fill
	freed   bool              // an acknowledgement has deleted events
	hasNews bool              // the batch has added events or results

	messages int      // approximate number of messages to seal
	sealing  *Sealing // keys for the next reserved messages; nil without an account
	reserved int
}

func (b *batch) run(jobs []*job, acks map[string]int64) error {
	tx, err := b.s.writeDB.BeginTx(b.ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after a commit
	b.tx = tx
	b.s.mu.Lock()
	b.used, b.passed = b.s.fill.used, b.s.fill.passed
	over := b.s.fill.dropping
	b.s.mu.Unlock()
	for _, j := range jobs {
		b.messages += 2 * len(j.rows) // a head may follow each event
	}
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
	if err := b.addHeads(); err != nil {
		return err
	}
	if over {
		if err := b.dropOldest(); err != nil {
			return err
		}
	}
	for _, st := range b.runs {
		if err := b.storeState(st); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func (b *batch) storeState(st *state) error {
	chain := ""
	if st.account != "" {
		text, err := json.Marshal(st.chain)
		if err != nil {
			return err
		}
		chain = string(text)
	}
	return b.exec(`UPDATE runs SET last = ?, acked = ?, off = ?, ended = ?, adopted = ?, chain = ?, covered = ?, acked_tag = ?, title = ? WHERE n = ?`,
		st.last, st.acked, st.off, st.ended, st.adopted, chain, st.covered, st.ackedTag, st.title, st.n)
}

// addHeads adds the heads whose time has come.
func (b *batch) addHeads() error {
	for id, at := range b.s.headsAt {
		if at.After(b.now) {
			continue
		}
		st := b.state(id)
		if st.headAt.IsZero() { // an event of this batch has required the head
			continue
		}
		d := &draft{b: b, id: id, st: *st}
		switch err := d.addHead(); {
		case err == nil:
			if err := d.write(); err != nil {
				return err
			}
		case isRefusal(err):
			b.s.log.Warn("could not seal a head; trying again later", "run", id, "error", err)
			st.headAt = b.now.Add(headRetry)
		default:
			return err
		}
	}
	return nil
}

func (b *batch) exec(text string, args ...any) error {
	_, err := b.tx.ExecContext(b.ctx, text, args...)
	return err
}

// state returns a copy of the state of a run, which the batch changes. It returns nil if the run
// does not exist.
func (b *batch) state(id string) *state {
	if st := b.runs[id]; st != nil {
		return st
	}
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	r := b.s.runs[id]
	if r == nil {
		return nil
	}
	st := r.state
	b.runs[id] = &st
	return &st
}

// newState returns the state of a new run, which is sealed if the machine seals new runs.
func (b *batch) newState() (*state, error) {
	keys, err := b.nextKeys()
	if err != nil || keys == nil || keys.OldRunsOnly {
		return &state{}, err
	}
	return &state{account: keys.Epoch.Account}, nil
}

// create creates a run.
func (b *batch) create(id string, st *state) error {
	done, err := b.tx.ExecContext(b.ctx, `INSERT INTO runs (id, last, acked, off, ended, adopted, account) VALUES (?, 0, 0, 0, 0, 0, ?)`, id, st.account)
	if err != nil {
		return err
	}
	st.n, err = done.LastInsertId()
	b.runs[id] = st
	return err
}

func (b *batch) apply(j *job) error {
	if j.do != nil {
		return j.do(b)
	}
	st := b.state(j.Run)
	isNew := st == nil
	if isNew {
		var err error
		if st, err = b.newState(); err != nil {
			return err
		}
	}
	if st.ended && len(j.rows) > 0 {
		return ErrEnded
	}
	d := &draft{b: b, id: j.Run, st: *st}
	if err := d.addEvents(j.rows); err != nil {
		return err
	}
	if isNew {
		if err := b.create(j.Run, &d.st); err != nil {
			return err
		}
	}
	if err := d.write(); err != nil {
		return err
	}
	st = &d.st
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

// ack deletes the events up to sequence number last. If last is inside a gap that is not sealed, it
// shortens the gap.
func (b *batch) ack(id string, last int64) error {
	st := b.state(id)
	if st == nil {
		return nil
	}
	st.acked = max(st.acked, last)
	if st.isSealed() {
		after, err := b.chainAfter(st.n, last)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err == nil {
			st.ackedTag = after.Tag
		}
	}
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
	if err := b.exec(`UPDATE events SET from_seq = ? WHERE run = ? AND from_seq <= ? AND epoch = 0`, last+1, st.n, last); err != nil {
		return err
	}
	if st.ended && st.acked >= st.last {
		return b.exec(`DELETE FROM notes WHERE run = ?`, st.n)
	}
	return nil
}

// chainAfter returns the chain after the last stored event of a run up to a sequence number. Its
// error is sql.ErrNoRows if there is no such event.
func (b *batch) chainAfter(run, seq int64) (seal.Chain, error) {
	var text string
	if err := b.tx.QueryRowContext(b.ctx, `SELECT chain FROM events WHERE run = ? AND seq <= ? ORDER BY seq DESC LIMIT 1`, run, seq).Scan(&text); err != nil {
		return seal.Chain{}, err
	}
	return parseChain(text)
}
