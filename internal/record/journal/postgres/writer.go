package postgres

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/concerto-lang/concerto/internal/record/journal"
)

// syncWithin limits the time between a write and its sync.
const syncWithin = time.Second

// writer is the journal.Writer of an engine.
type writer struct {
	run     *run
	options journal.Options

	mu     sync.Mutex // protects the fields up to last
	next   group      // what the next Flush adds
	chain  journal.Chain
	broken error    // error of encoding a record; nil if there was none
	output int64    // number of lines of output
	ledger []string // lines of the ledger; nil if they were not read
	bytes  int64    // size of the journal, including the records in next
	last   *journal.Record

	successor *journal.Successor // nil unless the run has continued

	io     sync.Mutex // protects store
	store  store
	synced atomic.Uint64

	late   chan struct{} // receives a value when records must be synced within the session's syncWithin
	ended  chan struct{}
	ending sync.WaitGroup
}

// newWriter returns a writer of an owner that appends after a history; nil means a new run. at is
// the end of the journal, and output the number of lines of output.
func newWriter(r *run, epoch int64, h *journal.History, at position, output int64, o journal.Options) *writer {
	if o.Now == nil {
		o.Now = r.session.Now
	}
	w := &writer{run: r, options: o, chain: journal.NewChain(h, o.Now), output: output, late: make(chan struct{}, 1), ended: make(chan struct{})}
	if h != nil {
		w.bytes, w.last = h.Bytes, h.Last()
	}
	w.store = store{commits: r.session.commits, run: r.id, epoch: epoch, vm: r.session.vm, end: at}
	w.begin(at)
	w.ending.Go(w.syncLate)
	return w
}

// begin starts the next group. The caller must hold mu.
func (w *writer) begin(at position) {
	w.next = group{before: at, after: at, outputFrom: w.output + 1}
}

// Append adds a record.
func (w *writer) Append(r *journal.Record) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken != nil {
		return w.next.after.s
	}
	if b, ok := r.TakeBlob(); ok {
		w.next.blobSums, w.next.blobs = append(w.next.blobSums, b.Sum), append(w.next.blobs, b.Data)
	}
	line, err := w.chain.Append(nil, r, w.synced.Load())
	if err != nil {
		w.broken = err
		return w.next.after.s
	}
	w.bytes += int64(len(line))
	w.next.lines = append(w.next.lines, string(bytes.TrimSuffix(line, []byte("\n"))))
	w.next.after.s, w.next.after.h, w.next.progress, w.last = r.Seq, r.Hash, max(w.next.progress, r.Effect), r
	return r.Seq
}

// Out adds a line of output.
func (w *writer) Out(line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.output++
	w.next.output = append(w.next.output, line)
}

// Ask adds an open question.
func (w *writer) Ask(q journal.Question) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next.asked = append(w.next.asked, q)
}

// EndQuestion removes an open question.
func (w *writer) EndQuestion(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next.closed = append(w.next.closed, id)
}

// Pin pins the run to its machine, unless it is pinned.
func (w *writer) Pin(by string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.next.pinnedBy == "" {
		w.next.pinnedBy = by
	}
}

// Ledger returns the lines of the ledger.
func (w *writer) Ledger() ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ledger == nil {
		rows, cancel, err := w.run.query(`SELECT line FROM concerto.ledger WHERE run = $1 ORDER BY n`, w.run.id)
		if err != nil {
			return nil, err
		}
		defer cancel()
		if w.ledger, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
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
	if w.next.ledgerFrom == 0 {
		w.next.ledgerFrom = int64(len(w.ledger))
	}
	w.next.ledger = w.ledger[w.next.ledgerFrom-1:]
}

// TruncateLedger removes the last lines of the ledger.
func (w *writer) TruncateLedger(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ledger = slices.Clone(w.ledger[:n]) // groups that are not stored share the lines
	if from := int64(n) + 1; w.next.ledgerFrom == 0 || from < w.next.ledgerFrom {
		w.next.ledgerFrom = from
	}
	w.next.ledger = w.ledger[w.next.ledgerFrom-1:]
}

// ConsumeAnswer removes an answer together with the next group.
func (w *writer) ConsumeAnswer(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next.consumed = append(w.next.consumed, id)
}

// Flush stores the next group, and those whose outcome is unknown.
func (w *writer) Flush(level journal.Level) error {
	if w.options.Sync == journal.SyncNever {
		level = journal.Written
	}
	w.io.Lock()
	defer w.io.Unlock()
	g, err := w.take()
	if err != nil {
		return err
	}
	return w.put(g, level)
}

// take returns the next group and begins another one.
func (w *writer) take() (g group, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.broken != nil:
		return group{}, w.broken
	case w.options.MaxBytes > 0 && w.bytes > w.options.MaxBytes && len(w.next.lines) > 0:
		return group{}, journal.ErrFull
	case len(w.next.lines)+len(w.next.output)+len(w.next.consumed)+len(w.next.asked)+len(w.next.closed) == 0 && w.next.ledgerFrom == 0:
		return group{}, nil
	}
	g = w.next
	g.after.n++
	w.begin(g.after)
	return g, nil
}

// put stores a group. The caller must hold io.
func (w *writer) put(g group, level journal.Level) error {
	w.store.add(g)
	if err := w.run.session.Try(w.run.id, func(ctx context.Context) error { return w.store.put(ctx, level) }); err != nil {
		return err
	}
	if level == journal.Synced {
		w.synced.Store(w.store.end.s)
		return nil
	}
	select {
	case w.late <- struct{}{}:
	default:
	}
	return nil
}

// syncLate syncs the written groups after a delay.
func (w *writer) syncLate() {
	for {
		select {
		case <-w.ended:
			return
		case <-w.late:
		}
		select {
		case <-w.ended:
			return
		case <-time.After(w.run.session.syncWithin):
		}
		w.sync()
	}
}

// sync syncs the written groups. An error is that of the next Flush, too.
func (w *writer) sync() {
	w.io.Lock()
	defer w.io.Unlock()
	if w.options.Sync != journal.SyncNever {
		_ = w.put(group{}, journal.Synced)
	}
}

// SyncLater has no effect: the written records are synced within syncWithin. A transaction that
// syncs them earlier would delay the next group.
func (w *writer) SyncLater() {}

// Synced returns the number of the last synced record.
func (w *writer) Synced() uint64 { return w.synced.Load() }

// At returns the position after the last record and the size of the journal.
func (w *writer) At() (at journal.From, size int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.chain.At(), w.bytes
}

// Time returns the current time, or the time of the last record if that is later.
func (w *writer) Time() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.chain.Time()
}

// request sends a statement with a result that is false if the writer is fenced.
func (w *writer) request(sql string, args ...any) error {
	return w.run.session.Try(w.run.id, func(ctx context.Context) error {
		owns := false
		err := w.run.engine.pool.QueryRow(ctx, sql, slices.Concat([]any{w.run.id, w.store.epoch}, args)...).Scan(&owns)
		if err == nil && !owns {
			return journal.ErrFenced
		}
		return err
	})
}

// owned is a statement's condition that the writer owns the run.
const owned = `EXISTS (SELECT FROM concerto.runs r WHERE r.id = $1 AND r.epoch = $2 AND r.owner IS NOT NULL)`

// PutProgram stores another program of the run.
func (w *writer) PutProgram(_ string, program []byte) error {
	return w.request(`WITH stored AS (INSERT INTO concerto.programs (sha256, data) SELECT encode(sha256($3::bytea), 'hex'), $3 WHERE `+owned+` ON CONFLICT DO NOTHING),
		adopted AS (UPDATE concerto.runs SET adopted = adopted || encode(sha256($3::bytea), 'hex') WHERE id = $1 AND `+owned+`) SELECT `+owned, program)
}

// ContinueAs makes Close submit the successor of the run.
func (w *writer) ContinueAs(next *journal.Successor) { w.successor = next }

// Close ends the ownership of the run. The last record decides about its state: a run that has not
// ended and does not wait becomes ready.
func (w *writer) Close() error {
	close(w.ended)
	w.ending.Wait()
	if w.successor != nil {
		return w.run.continueAs(w.store.epoch, w.successor)
	}
	state, wake, code := w.state()
	if state == "ready" {
		return w.run.release(w.store.epoch)
	}
	return w.run.leave(w.store.epoch, state, wake, code)
}

// state returns the state of the run after its last record; see journal.StateAfter.
func (w *writer) state() (state string, wake *time.Time, code *int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return journal.StateAfter(w.last)
}
