package memory

import (
	"bytes"
	"sync"

	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
)

// writer is a journal.Writer.
type writer struct {
	run     *run
	epoch   uint64
	options journal.Options

	writing sync.Mutex // held while groups are written
	open    *group     // group whose write has failed, so that its outcome may be unknown; nil if there is none

	mu      sync.Mutex
	buffer  group
	chain   journal.Chain
	size    int64  // size of all appended records in bytes, with newlines
	written uint64 // number of the last written record
	synced  uint64
	broken  error // error of encoding a record; nil if there was none
}

// group is a set of additions that is stored completely or not at all.
type group struct {
	after, upTo position
	lines       [][]byte
	out         []string
	blobs       []journal.Blob
	consumed    []string // ids of the questions whose answers are removed
}

// newWriter returns a writer after a history. h is nil for a new run. out is the number of lines of
// output.
func newWriter(r *run, epoch uint64, h *journal.History, out int, o journal.Options) *writer {
	w := &writer{run: r, epoch: epoch, options: o, chain: journal.NewChain(h, o.Now)}
	w.buffer.after = position{w.chain.At(), out}
	if h != nil {
		w.size, w.written = h.Bytes, h.N
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

// Flush writes the buffer. If an earlier Flush has failed, it first writes the same group again.
func (w *writer) Flush(level journal.Level) (err error) {
	w.writing.Lock()
	defer w.writing.Unlock()
	for err == nil {
		if w.open == nil {
			w.open, err = w.takeBuffer()
		}
		if w.open == nil {
			break
		}
		if err = w.run.store.transact(func() error { return w.commit(w.open) }); err == nil {
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
	if w.broken != nil || g.after == g.upTo && len(g.consumed) == 0 {
		return nil, w.broken
	}
	w.buffer = group{after: g.upTo}
	return &g, nil
}

// commit stores a group, unless an earlier attempt has stored it. The caller holds the store's mu.
func (w *writer) commit(g *group) error {
	c := w.run.store.runs[w.run.id]
	switch {
	case c.epoch != w.epoch:
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
	c.at = g.upTo
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

// put executes a transaction that changes the content, if the writer is the owner of the run.
func (w *writer) put(change func(c *content)) error {
	return w.run.store.transact(func() error {
		c := w.run.store.runs[w.run.id]
		if c.epoch != w.epoch {
			return journal.ErrFenced
		}
		change(c)
		return nil
	})
}

// PutProgram stores another program of the run.
func (w *writer) PutProgram(_ string, program []byte) error {
	return w.put(func(c *content) { c.programs[hexsum.SHA256(program)] = program })
}

// Close ends the ownership of the run.
func (w *writer) Close() error {
	return w.run.view(func(c *content) {
		if c.epoch == w.epoch {
			c.held = false
		}
	})
}
