package spool

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
)

// draft has events that a batch adds to a run. They are sealed first and written afterwards, so
// that a refused event changes nothing.
type draft struct {
	b         *batch
	id        string
	st        state // the run's state with the events
	rows      []draftRow
	size      int64 // change of the size of all events, in bytes
	needsHead bool  // an event that no head covers requires one
}

// draftRow is a row to write. It replaces the stored event with the sequence number old, unless old
// is 0.
type draftRow struct {
	row
	old       int64
	from, seq int64
}

// addEvents adds the events of a change, and the heads that they require.
func (d *draft) addEvents(rows []row) error {
	for _, r := range rows {
		if done, err := d.merge(&r); done || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		if err := d.add(r, 0); err != nil {
			return err
		}
	}
	return d.endChange()
}

// endChange adds a head if an event of the change still requires one.
func (d *draft) endChange() error {
	if d.needsHead {
		return d.addHead()
	}
	return nil
}

// add adds an event with the next sequence number. old is that of the stored event that it
// replaces, or 0.
func (d *draft) add(r row, old int64) error {
	st, before := &d.st, d.st.chain
	from := st.last + 1
	var err error
	switch {
	case st.isSealed() && r.typ == protocol.RunGap:
		if st.last > st.covered {
			if err := d.addHead(); err != nil {
				return err
			}
			from++
		}
		err = d.sealGap(&r, from)
	case st.isSealed():
		d.needsHead = d.needsHead || seal.NeedsHead(r.typ)
		err = d.seal(&r)
	case st.account != "":
		err = d.trySeal(&r)
	}
	if err != nil {
		return err
	}
	d.put(r, from, from+r.lost-1, old)
	st.ended = st.ended || r.typ == protocol.RunExited
	if r.output != nil {
		st.tail = &tail{seq: st.last, size: r.size, ts: r.ts, before: before, Output: *r.output}
	}
	if !st.isSealed() || st.last == st.covered {
		return nil
	}
	if st.headAt.IsZero() {
		st.headAt = d.b.now.Add(seal.HeadInterval)
	}
	if st.last-st.covered >= seal.HeadEvents {
		return d.addHead()
	}
	return nil
}

// put adds a row as the last event.
func (d *draft) put(r row, from, seq, old int64) {
	d.rows = append(d.rows, draftRow{r, old, from, seq})
	d.size += r.size
	d.st.last, d.st.tail = seq, nil
}

// seal seals an event that follows the chain.
func (d *draft) seal(r *row) error {
	keys, err := d.b.keysFor(d.id, d.st.account)
	if err != nil {
		return err
	}
	e, after, err := d.b.s.runKeys.get(keys.Epoch, d.id).Seal(r.plain(), d.st.chain)
	if err != nil {
		return refuseEvent(d.id, r, err)
	}
	d.st.chain = after
	if err := d.addNotice(keys, e, r); err != nil {
		return refuseEvent(d.id, r, err)
	}
	return r.putSealed(e, after)
}

func (r *row) plain() seal.Event { return seal.Event{Type: r.typ, TS: r.ts, Data: r.data} }

// trySeal checks that an event of an adopted run can be sealed later, when its sequence number is
// known.
func (d *draft) trySeal(r *row) error {
	if r.typ == protocol.RunGap {
		gap, alone := *r, draft{b: d.b, id: d.id, st: state{account: d.st.account}}
		return alone.sealGap(&gap, 1)
	}
	keys, err := d.b.keysFor(d.id, d.st.account)
	if err != nil {
		return err
	}
	if _, _, err := d.b.s.runKeys.get(keys.Epoch, d.id).Seal(r.plain(), seal.Chain{}); err != nil {
		return refuseEvent(d.id, r, err)
	}
	return nil
}

// Tag and hash of no events. A gap requires both, also if no event precedes it.
const (
	noTag  = "AAAAAAAAAAAAAAAAAAAAAA"
	noHash = "0000000000000000000000000000000000000000000000000000000000000000"
)

// sealGap seals a gap for events that were lost before they were sealed. It begins with the
// sequence number from, and all earlier events are covered by a head.
func (d *draft) sealGap(r *row, from int64) error {
	keys, err := d.b.keysFor(d.id, d.st.account)
	if err != nil {
		return err
	}
	r.reason = string(r.data)
	prev, last := d.st.chain.Tag, d.st.chain
	last.Seq = from + r.lost - 1
	last.From = last.Seq + 1
	if last.Tag == "" {
		last.Tag, last.SHA256 = noTag, noHash
	}
	e, err := d.b.s.runKeys.get(keys.Epoch, d.id).SealGap(keys.Keys, from, prev, r.reason, last, d.b.now)
	if err != nil {
		return refuseEvent(d.id, r, err)
	}
	d.st.chain, d.st.covered = last, last.Seq
	return r.putSealed(e, last)
}

// addHead adds a head, which covers all earlier events.
func (d *draft) addHead() error {
	st := &d.st
	keys, err := d.b.keysFor(d.id, st.account)
	if err != nil {
		return err
	}
	e, after, err := d.b.s.runKeys.get(keys.Epoch, d.id).SealHead(keys.Keys, st.chain, keys.Fresh, d.b.now)
	if err != nil {
		return refusal{fmt.Errorf("seal a head of run %s: %w", d.id, err)}
	}
	var r row
	if err := r.putSealed(e, after); err != nil {
		return err
	}
	d.put(r, e.Seq, e.Seq, 0)
	st.chain, st.covered, st.headAt, d.needsHead = after, e.Seq, time.Time{}, false
	return nil
}

// merge appends output to the last event of the run. It does so only if the spool is nearly full
// and Next has not returned that event.
func (d *draft) merge(r *row) (done bool, err error) {
	t, b := d.st.tail, d.b
	if t == nil || r.output == nil || r.output.Stream != t.Stream || len(t.Text)+len(r.output.Text) > maxOutput ||
		b.used+d.size < b.s.max/10*8 || !b.hide(d.id, t.seq) {
		return false, nil
	}
	longer := *t
	longer.Text += r.output.Text
	merged := row{typ: r.typ, ts: t.ts, output: &longer.Output}
	if merged.data, err = json.Marshal(longer.Output); err != nil {
		return false, err
	}
	merged.size = sizeOf(merged.typ, merged.data)
	before := d.st
	if d.st.isSealed() {
		d.st.chain = t.before
		err = d.seal(&merged)
	} else if d.st.account != "" {
		err = d.trySeal(&merged)
	}
	if err != nil {
		d.st = before
		return false, err
	}
	longer.size = merged.size
	d.rows = append(d.rows, draftRow{merged, t.seq, t.seq, t.seq})
	d.size += longer.size - t.size
	d.st.tail = &longer
	return true, nil
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

// write writes the events.
func (d *draft) write() error {
	b := d.b
	for i := range d.rows {
		r := &d.rows[i]
		args := []any{d.st.n, r.seq, r.from, r.ts, r.typ, string(r.data), r.size, r.epoch, r.chain, r.reason}
		var err error
		if r.old == 0 {
			_, err = b.tx.StmtContext(b.ctx, b.s.insert).ExecContext(b.ctx, args...)
		} else {
			err = b.exec(`UPDATE events SET run = ?, seq = ?, from_seq = ?, ts = ?, type = ?, data = ?, size = ?, epoch = ?, chain = ?, reason = ? WHERE run = ? AND seq = ?`,
				append(args, d.st.n, r.old)...)
		}
		if err != nil {
			return err
		}
	}
	b.used += d.size
	b.hasNews = b.hasNews || len(d.rows) > 0
	b.runs[d.id] = &d.st
	return nil
}
