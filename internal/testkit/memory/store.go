// Package memory stores runs in memory, for tests. Each write is a transaction with the rules of a
// shared database: it stores a whole group, or nothing, and it fails if another process has become
// the owner of the run.
package memory

import (
	"cmp"
	"context"
	"fmt"
	"sync"
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

	mu   sync.Mutex
	runs map[string]*content
}

// content is the stored content of a run.
type content struct {
	epoch    uint64 // number of the last owner
	held     bool   // the last owner has not closed its Writer, and has not expired
	at       position
	lines    [][]byte // records without newlines
	size     int64    // size of the records in bytes, with newlines
	out      []string
	blobs    map[string][]byte // by SHA-256
	programs map[string][]byte // by SHA-256
	answers  map[string]journal.Answer
	stop     bool
	changed  chan struct{} // is closed and replaced when an answer or a request to stop is stored
}

// change wakes the watchers. The caller must hold the lock of the store.
func (c *content) change() {
	close(c.changed)
	c.changed = make(chan struct{})
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
func (s *Store) Run(id string) journal.Run { return &run{s, id} }

// Expire ends the ownership of a run without notifying its owner, as if its lease had expired.
// Another process can then open the run.
func (s *Store) Expire(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs[id].held = false
}

// transact executes a transaction of a Writer.
func (s *Store) transact(apply func() error) error {
	commit := func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		return apply()
	}
	if s.Commit == nil {
		return commit()
	}
	return s.Commit(commit)
}

// run is a journal.Run.
type run struct {
	store *Store
	id    string
}

// Name returns the id of the run.
func (r *run) Name() string { return r.id }

// view calls f with the content of the run. The error is journal.ErrNoRun if there is none.
func (r *run) view(f func(c *content)) error {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	c := r.store.runs[r.id]
	if c == nil {
		return journal.ErrNoRun
	}
	f(c)
	return nil
}

// Create stores a new run; see journal.Run.
func (r *run) Create(start journal.Start, program []byte, o journal.Options) (journal.Writer, error) {
	start.Format = journal.Format
	w := newWriter(r, 1, nil, 0, o)
	w.Append(&journal.Record{RecordKind: journal.KStart, Start: &start, Owner: o.Owner.Numbered(1)})
	first, err := w.takeBuffer()
	if err != nil {
		return nil, err
	}
	err = r.store.transact(func() error {
		if r.store.runs[r.id] != nil {
			return &journal.ExistsError{Run: start.Run}
		}
		if r.store.runs == nil {
			r.store.runs = map[string]*content{}
		}
		c := &content{epoch: w.epoch, held: true, at: first.after, blobs: map[string][]byte{}, programs: map[string][]byte{hexsum.SHA256(program): program}, answers: map[string]journal.Answer{}, changed: make(chan struct{})}
		r.store.runs[r.id] = c
		c.add(first)
		return nil
	})
	if err != nil {
		return nil, err
	}
	w.markWritten(first)
	w.SyncLater()
	return w, nil
}

// Open opens the run; see journal.Run.
func (r *run) Open(h *journal.History, o journal.Options) (journal.Writer, *journal.History, error) {
	var epoch uint64
	var at position
	held := false
	err := r.view(func(c *content) {
		if held = c.held; held {
			return
		}
		c.epoch++
		c.held = true
		epoch, at = c.epoch, c.at
	})
	if held {
		err = &journal.HeldError{Run: r.id}
	}
	if err != nil {
		return nil, nil, err
	}
	switch {
	case h == nil:
		h, err = r.Read()
	case h.At() != at.From:
		h, err = r.Read()
	}
	w := newWriter(r, epoch, h, at.out, o)
	if err != nil {
		_ = w.Close() // does not fail
		return nil, nil, err
	}
	return w, h, nil
}

// IsRunning reports whether the run has an owner.
func (r *run) IsRunning() (held bool, err error) {
	err = r.view(func(c *content) { held = c.held })
	return held, err
}

// Read reads the journal.
func (r *run) Read() (*journal.History, error) {
	var lines [][]byte
	if err := r.view(func(c *content) { lines = c.lines }); err != nil {
		return nil, err
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
	err = r.view(func(c *content) { data = of(c) })
	if err == nil && data == nil {
		err = &journal.DamagedError{Where: name, Why: "it is missing"}
	}
	return data, err
}

// Out returns the lines of the output.
func (r *run) Out() (lines []string, torn int, err error) {
	err = r.view(func(c *content) { lines = c.out })
	return lines, 0, err
}

// PutAnswer stores an answer, unless there is one.
func (r *run) PutAnswer(id string, a journal.Answer) error {
	var first *journal.Answer
	err := r.view(func(c *content) {
		if x, ok := c.answers[id]; ok {
			first = &x
			return
		}
		a.At = cmp.Or(a.At, time.Now().UnixMilli())
		c.answers[id] = a
		c.change()
	})
	if first != nil {
		return &journal.AnsweredError{By: first.By, At: first.At}
	}
	return err
}

// Answer returns the stored answer to a question, or nil.
func (r *run) Answer(id string) (*journal.Answer, error) {
	all, err := r.Answers()
	return all[id], err
}

// Answers returns all stored answers by the ids of their questions.
func (r *run) Answers() (map[string]*journal.Answer, error) {
	all := map[string]*journal.Answer{}
	err := r.view(func(c *content) {
		for id, a := range c.answers {
			all[id] = &a
		}
	})
	return all, err
}

// DropAnswer removes an answer.
func (r *run) DropAnswer(id string) error {
	return r.view(func(c *content) { delete(c.answers, id) })
}

// RequestStop requests the owner of the run to stop it.
func (r *run) RequestStop() error {
	return r.view(func(c *content) {
		c.stop = true
		c.change()
	})
}

// IsStopRequested reports whether a process has requested that the run stops.
func (r *run) IsStopRequested() (stop bool) {
	err := r.view(func(c *content) { stop = c.stop })
	return err == nil && stop
}

// Watch calls changed at once and after each change.
func (r *run) Watch(ctx context.Context, changed func()) {
	for ctx.Err() == nil {
		var next chan struct{}
		if r.view(func(c *content) { next = c.changed }) != nil {
			return
		}
		changed()
		select {
		case <-ctx.Done():
		case <-next:
		}
	}
}
