// Package memory stores runs in memory, for tests. Each write is a transaction with the rules of a
// shared database: it stores a whole group, or nothing, and it fails if another process has become
// the owner of the run.
//
// A Session is a worker of the store. Leases, epochs, queues and claims have the rules of package
// postgres, except for pins, secrets, versions of the VM, schedules and successors.
package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
)

// Store contains runs. The zero value is an empty store.
type Store struct {
	// Commit, if not nil, is called for each transaction of a Writer. It may call commit once, and
	// its result is the result of the transaction. An error after a successful commit is a
	// transaction with unknown outcome.
	Commit func(commit func() error) error

	mu       sync.Mutex
	runs     map[string]*content
	workers  map[string]*worker
	queues   map[string]Queue
	sessions []*Session // those that receive notifications
	number   int        // number of registered workers and submitted runs
}

// content is the stored content of a run.
type content struct {
	row
	at        position
	lines     [][]byte // records without newlines
	size      int64    // size of the records in bytes, with newlines
	out       []string
	ledger    []string
	blobs     map[string][]byte // by SHA-256
	programs  map[string][]byte // by SHA-256
	answers   map[string]journal.Answer
	questions []journal.Question
	stop      bool
	changed   chan struct{} // is closed and replaced when an answer or a request to stop is stored
}

func newContent(id string) *content {
	return &content{row: row{id: id, queue: "default", state: "ready"}, at: position{From: journal.From{H: journal.ZeroHash}},
		blobs: map[string][]byte{}, programs: map[string][]byte{}, answers: map[string]journal.Answer{}, changed: make(chan struct{})}
}

// put adds a run to the store.
func (s *Store) put(c *content) {
	if s.runs == nil {
		s.runs = map[string]*content{}
	}
	s.runs[c.id] = c
}

// change wakes the watchers of a run. The caller must hold the lock of the store.
func (s *Store) change(c *content) {
	close(c.changed)
	c.changed = make(chan struct{})
	s.notify(c.id)
}

// position is the end of a run's records and output.
type position struct {
	journal.From
	out int // number of lines of output
}

// Sibling returns the run of the store with an id.
func (r *run) Sibling(id string) journal.Run { return r.store.Run(id) }

// NoteSuccessor does nothing: no process creates the successor of a run in a shared store.
func (r *run) NoteSuccessor() error { return nil }

// HadSuccessor returns false.
func (r *run) HadSuccessor() bool { return false }

// Run returns the run with an id. The store need not contain it.
func (s *Store) Run(id string) journal.Run { return &run{store: s, id: id} }

// Expire ends the ownership of a run without notifying its owner, as if its lease had expired.
// Another process can then open the run.
func (s *Store) Expire(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.runs[id]
	c.lapsed = true
	if w := s.workers[c.owner]; w != nil {
		w.until = time.Now()
	}
}

// transact executes a transaction of a Writer.
func (r *run) transact(what string, apply func() error) error {
	commit := func() error {
		r.store.mu.Lock()
		defer r.store.mu.Unlock()
		return apply()
	}
	if r.session != nil {
		return r.session.write(r.id, what, commit)
	}
	if r.store.Commit == nil {
		return commit()
	}
	return r.store.Commit(commit)
}

// run is a journal.Run.
type run struct {
	store   *Store
	id      string
	session *Session // nil for a process that is no worker
	// claimed is the epoch at which the session has claimed the run; 0 if Create or Open must claim
	// it.
	claimed atomic.Int64
	isNew   bool // the claimed run has no records
	isLent  bool // a worker has claimed the run, and releases it itself
}

// Name returns the id of the run.
func (r *run) Name() string { return r.id }

// view calls f with the content of the run. The error is journal.ErrNoRun if there is none.
func (r *run) view(what string, f func(c *content)) error {
	read := func() error {
		r.store.mu.Lock()
		defer r.store.mu.Unlock()
		c := r.store.runs[r.id]
		if c == nil {
			return journal.ErrNoRun
		}
		f(c)
		return nil
	}
	if r.session != nil {
		return r.session.read(r.id, what, read)
	}
	return read()
}

// Create stores a new run; see journal.Run.
func (r *run) Create(start journal.Start, program []byte, o journal.Options) (journal.Writer, error) {
	start.Format = journal.Format
	sum := hexsum.SHA256(program)
	epoch := r.claimed.Swap(0)
	if r.isNew && sum != start.IR {
		return nil, fmt.Errorf("the program of run %s has hash %s, not %s", r.id, sum, start.IR)
	}
	c := newContent(r.id)
	if !r.isNew {
		epoch, c.state, c.epoch, c.owner = 1, "running", 1, r.owner()
		c.programs[sum] = program
	}
	w := newWriter(r, epoch, nil, 0, o)
	w.Append(&journal.Record{RecordKind: journal.KStart, Start: &start, Owner: o.Owner.Numbered(1)})
	first, err := w.takeBuffer()
	if err != nil {
		return nil, err
	}
	err = r.transact("create", func() error {
		if r.isNew {
			return w.commit(first)
		}
		if r.store.runs[r.id] != nil {
			return &journal.ExistsError{Run: start.Run}
		}
		r.store.put(c)
		return w.commit(first)
	})
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	w.markWritten(first)
	w.SyncLater()
	return w, nil
}

// Open opens the run; see journal.Run.
func (r *run) Open(h *journal.History, o journal.Options) (journal.Writer, *journal.History, error) {
	epoch := r.claimed.Swap(0)
	if epoch == 0 {
		var held error
		err := r.view("claim", func(c *content) {
			if r.store.isOwned(c) {
				held = &journal.HeldError{Run: r.id}
				return
			}
			c.epoch++
			c.owner, c.state, c.lapsed, epoch = r.owner(), "running", false, c.epoch
		})
		if err = cmp.Or(err, held); err != nil {
			return nil, nil, err
		}
	}
	var at position
	err := r.view("open", func(c *content) { at = c.at })
	if err == nil && (h == nil || h.At() != at.From) {
		h, err = r.Read()
	}
	w := newWriter(r, epoch, h, at.out, o)
	if err != nil {
		return nil, nil, errors.Join(err, w.Close())
	}
	return w, h, nil
}

// IsRunning reports whether the run has an owner.
func (r *run) IsRunning() (held bool, err error) {
	err = r.view("running", func(c *content) { held = r.store.isOwned(c) })
	return held, err
}

// Read reads the journal.
func (r *run) Read() (*journal.History, error) {
	var lines [][]byte
	if err := r.view("read", func(c *content) { lines = c.lines }); err != nil {
		return nil, err
	}
	if len(lines) == 0 { // it was submitted, and has not begun
		return nil, journal.ErrNoRun
	}
	x := journal.NewReader()
	for i, line := range lines {
		if err := x.Add(line); err != nil {
			return nil, &journal.DamagedError{Where: fmt.Sprintf("record %d", i+1), Why: err.Error()}
		}
	}
	return x.History, nil
}

// ReadUndamaged is like Read.
func (r *run) ReadUndamaged() (*journal.History, error) { return r.Read() }

// Program returns a program by its SHA-256 in hex.
func (r *run) Program(name, sum string) ([]byte, error) {
	return r.part(name, func(c *content) []byte { return c.programs[sum] })
}

// Blob returns a large value by its SHA-256 in hex.
func (r *run) Blob(sum string) ([]byte, error) {
	return r.part("blobs/"+sum, func(c *content) []byte { return c.blobs[sum] })
}

// part returns a part of the run, which must exist.
func (r *run) part(name string, of func(c *content) []byte) (data []byte, err error) {
	err = r.view("part", func(c *content) { data = of(c) })
	if err == nil && data == nil {
		err = &journal.DamagedError{Where: name, Why: "it is missing"}
	}
	return data, err
}

// Out returns the lines of the output.
func (r *run) Out() (lines []string, torn int, err error) {
	err = r.view("out", func(c *content) { lines = c.out })
	return lines, 0, err
}

// PutAnswer stores an answer, unless there is one.
func (r *run) PutAnswer(id string, a journal.Answer) error {
	var first *journal.Answer
	err := r.view("answer", func(c *content) {
		if x, ok := c.answers[id]; ok {
			first = &x
			return
		}
		a.At = cmp.Or(a.At, time.Now().UnixMilli())
		c.answers[id] = a
		r.store.change(c)
	})
	if first != nil {
		return &journal.AnsweredError{By: first.By, At: first.At}
	}
	return err
}

// Answer returns the stored answer to a question, or nil.
func (r *run) Answer(id string) (*journal.Answer, error) {
	var a *journal.Answer
	err := r.view("read answer", func(c *content) {
		if x, ok := c.answers[id]; ok {
			a = &x
		}
	})
	return a, err
}

// Answers returns all stored answers by the ids of their questions.
func (r *run) Answers() (map[string]*journal.Answer, error) {
	all := map[string]*journal.Answer{}
	err := r.view("read answers", func(c *content) {
		for id, a := range c.answers {
			all[id] = &a
		}
	})
	return all, err
}

// DropAnswer removes an answer.
func (r *run) DropAnswer(id string) error {
	return r.view("drop answer", func(c *content) { delete(c.answers, id) })
}

// RequestStop requests the owner of the run to stop it.
func (r *run) RequestStop() error {
	return r.view("stop", func(c *content) {
		c.stop = true
		r.store.change(c)
	})
}

// IsStopRequested reports whether a process has requested that the run stops.
func (r *run) IsStopRequested() (stop bool) {
	err := r.view("read stop", func(c *content) { stop = c.stop })
	return err == nil && stop
}

// Watch calls changed at once and after each change.
func (r *run) Watch(ctx context.Context, changed func()) {
	if r.session != nil {
		r.session.watch(ctx, r.id, changed)
		return
	}
	for ctx.Err() == nil {
		var next chan struct{}
		if r.view("watch", func(c *content) { next = c.changed }) != nil {
			return
		}
		changed()
		select {
		case <-ctx.Done():
		case <-next:
		}
	}
}
