package memory

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
)

// writer is a journal.Writer.
type writer struct {
	run     *run
	epoch   int64
	options journal.Options

	// writing contains a value while groups are written. It is no sync.Mutex, because virtual time
	// does not advance while a goroutine waits for one.
	writing chan struct{}
	open    *group // group whose write has failed, so that its outcome may be unknown; nil if there is none

	mu      sync.Mutex
	buffer  group
	chain   journal.Chain
	size    int64  // size of all appended records in bytes, with newlines
	written uint64 // number of the last written record
	synced  uint64
	broken  error // error of encoding a record; nil if there was none
	last    *journal.Record
	ledger  []string // lines of the ledger, including those in the buffer; nil if they were not read
}

// group is a set of additions that is stored completely or not at all.
type group struct {
	after, upTo position
	lines       [][]byte
	out         []string
	blobs       []journal.Blob
	consumed    []string // ids of the questions whose answers are removed
	progress    int64    // number of the last effect
	asked       []journal.Question
	closed      []string // ids of questions
	ledgerFrom  int      // number of the first line of the ledger, from 1; 0 means no change
	ledger      []string
}

// isEmpty reports whether the group adds nothing.
func (g *group) isEmpty() bool {
	return g.after == g.upTo && len(g.consumed)+len(g.asked)+len(g.closed) == 0 && g.ledgerFrom == 0
}

// newWriter returns a writer after a history. h is nil for a new run. out is the number of lines of
// output.
func newWriter(r *run, epoch int64, h *journal.History, out int, o journal.Options) *writer {
	if o.Now == nil && r.session != nil {
		o.Now = r.session.Now
	}
	w := &writer{run: r, epoch: epoch, options: o, chain: journal.NewChain(h, o.Now), writing: make(chan struct{}, 1)}
	w.buffer.after = position{w.chain.At(), out}
	if h != nil {
		w.size, w.written, w.last = h.Bytes, h.N, h.Last()
	}
	return w
}

// Append adds a record; see journal.Writer.
func (w *writer) Append(r *journal.Record) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken != nil {
		return w.chain.At().S
	}
	if b, ok := r.TakeBlob(); ok {
		w.buffer.blobs = append(w.buffer.blobs, b)
	}
	var line []byte
	if line, w.broken = w.chain.Append(nil, r, w.synced); w.broken == nil {
		w.buffer.lines = append(w.buffer.lines, bytes.TrimSuffix(line, []byte("\n")))
		w.size += int64(len(line))
		w.buffer.progress, w.last = max(w.buffer.progress, r.Effect), r
	}
	return w.chain.At().S
}

// Out adds a line to the run's output.
func (w *writer) Out(line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buffer.out = append(w.buffer.out, line)
}

// ConsumeAnswer removes an answer together with the records of the next Flush.
func (w *writer) ConsumeAnswer(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buffer.consumed = append(w.buffer.consumed, id)
}

// Ask adds an open question.
func (w *writer) Ask(q journal.Question) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buffer.asked = append(w.buffer.asked, q)
}

// EndQuestion removes an open question.
func (w *writer) EndQuestion(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buffer.closed = append(w.buffer.closed, id)
}

// Ledger returns the lines of the ledger.
func (w *writer) Ledger() ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ledger == nil {
		if err := w.run.view("ledger", func(c *content) { w.ledger = slices.Clone(c.ledger) }); err != nil {
			return nil, err
		}
	}
	return slices.Clone(w.ledger), nil
}

// AppendLedger adds a line of the ledger.
func (w *writer) AppendLedger(line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ledger = append(w.ledger, line)
	w.changeLedger(len(w.ledger))
}

// TruncateLedger removes the last lines of the ledger.
func (w *writer) TruncateLedger(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ledger = slices.Clone(w.ledger[:n]) // groups that are not stored share the lines
	w.changeLedger(n + 1)
}

// changeLedger adds the lines from a number on to the next group. The caller holds mu.
func (w *writer) changeLedger(from int) {
	if b := &w.buffer; b.ledgerFrom == 0 || from < b.ledgerFrom {
		b.ledgerFrom = from
	}
	w.buffer.ledger = w.ledger[w.buffer.ledgerFrom-1:]
}

// Flush writes the buffer. If an earlier Flush has failed, it first writes the same group again.
func (w *writer) Flush(level journal.Level) (err error) {
	w.writing <- struct{}{}
	defer func() { <-w.writing }()
	for err == nil {
		if w.open == nil {
			w.open, err = w.takeBuffer()
		}
		if w.open == nil {
			break
		}
		if err = w.run.transact("flush", func() error { return w.commit(w.open) }); err == nil {
			w.markWritten(w.open)
			w.open = nil
		}
	}
	if err == nil && level == journal.Synced {
		w.SyncLater()
	}
	return err
}

// takeBuffer returns the buffer as a group, or nil if it is empty.
func (w *writer) takeBuffer() (*group, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.buffer
	g.upTo = position{w.chain.At(), g.after.out + len(g.out)}
	if w.broken != nil || g.isEmpty() {
		return nil, w.broken
	}
	w.buffer = group{after: g.upTo}
	return &g, nil
}

// commit stores a group, unless an earlier attempt has stored it. The caller holds the store's mu.
func (w *writer) commit(g *group) error {
	c := w.run.store.runs[w.run.id]
	switch {
	case !w.owns(c):
		return journal.ErrFenced
	case c.at == g.upTo && g.upTo != g.after:
		return nil
	case c.at != g.after:
		return journal.ErrFenced
	}
	size := int64(0)
	for _, line := range g.lines {
		size += int64(len(line)) + 1
	}
	if w.options.MaxBytes > 0 && c.size+size > w.options.MaxBytes {
		return journal.ErrFull
	}
	c.add(g)
	return nil
}

// owns reports whether the writer is the owner of the run, whose content is c.
func (w *writer) owns(c *content) bool { return c.epoch == w.epoch && c.owner != "" }

// add adds a group to the content of a run.
func (c *content) add(g *group) {
	for _, b := range g.blobs {
		c.blobs[b.Sum] = b.Data
	}
	for _, line := range g.lines {
		c.lines = append(c.lines, line)
		c.size += int64(len(line)) + 1
	}
	c.out = append(c.out, g.out...)
	for _, id := range g.consumed {
		delete(c.answers, id)
	}
	if g.ledgerFrom > 0 {
		c.ledger = append(slices.Clone(c.ledger[:min(g.ledgerFrom-1, len(c.ledger))]), g.ledger...)
	}
	for _, q := range g.asked {
		if !slices.ContainsFunc(c.questions, func(x journal.Question) bool { return x.ID == q.ID }) {
			c.questions = append(c.questions, q)
		}
	}
	c.questions = slices.DeleteFunc(slices.Clone(c.questions), func(q journal.Question) bool { return slices.Contains(g.closed, q.ID) })
	if g.progress > c.progress {
		c.progress, c.crashes = g.progress, 0
	}
	c.at = g.upTo
	c.groups++
}

// At returns the position after the last appended record, and the size of the journal up to there.
func (w *writer) At() (at journal.From, bytes int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.chain.At(), w.size
}

// Time returns the current time in Unix milliseconds, or the time of the last record if that is
// later.
func (w *writer) Time() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.chain.Time()
}

// Synced returns the number of the last synced record.
func (w *writer) Synced() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.synced
}

// SyncLater marks the written records as synced.
func (w *writer) SyncLater() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.options.Sync != journal.SyncNever {
		w.synced = w.written
	}
}

// markWritten marks the records of a group as written.
func (w *writer) markWritten(g *group) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.written = g.upTo.S
}

// PutProgram stores another program of the run.
func (w *writer) PutProgram(_ string, program []byte) error {
	return w.run.transact("program", func() error {
		c := w.run.store.runs[w.run.id]
		if !w.owns(c) {
			return journal.ErrFenced
		}
		c.programs[hexsum.SHA256(program)] = program
		return nil
	})
}

// Close ends the ownership of the run. The last record decides about its state: a run that has not
// ended and does not wait becomes ready.
func (w *writer) Close() error {
	state, wake, code := w.state()
	if state == "ready" && w.run.isLent {
		return nil
	}
	return w.run.leave(w.epoch, state, wake, code)
}

// state returns the state of the run after its last record; see journal.StateAfter.
func (w *writer) state() (state string, wake *time.Time, code *int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return journal.StateAfter(w.last)
}
