// Package sqlitestore performs the effects on stores in files (spec/12-stores.md): hashmaps,
// ledgers and memories, any number of them in one SQLite database. The compatibility promise does
// not cover its API.
//
// A request is one transaction. When a request that writes has returned, its changes are on disk.
// Processes that use the same file wait for each other's transactions, for a bounded time. A file
// is inspected before SQLite opens it: one that is damaged, of a newer version or not ours is
// refused and not modified.
package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// defaultWait is the time that a request waits for other processes.
const defaultWait = 10 * time.Second

// Options specify where files are.
type Options struct {
	// Dir is the start of relative paths; "" is the working directory.
	Dir string
	// InMemory holds the stores of every file in memory until Close, separate from those of other
	// Stores, and accesses no file.
	InMemory bool
	// Wait bounds the time that a request waits for other processes; 0 means 10 s.
	Wait time.Duration
}

// Stores performs the effects on stores in files. Files are opened on first use. It is safe for
// concurrent use.
type Stores struct {
	options Options

	mu    sync.Mutex
	files map[string]*file // by path, however the program writes it
}

// New returns Stores. It accesses no file.
func New(o Options) *Stores {
	if o.Wait == 0 {
		o.Wait = defaultWait
	}
	return &Stores{options: o, files: map[string]*file{}}
}

// Close closes every file. Stores may be used afterwards, which opens the files again.
func (s *Stores) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, f := range s.files {
		f.turn <- struct{}{} // the current request ends first
		if err := f.closeConnection(); err != nil {
			errs = append(errs, fmt.Errorf("could not close %s: %w", f.name, err))
		}
		<-f.turn
	}
	clear(s.files)
	return errors.Join(errs...)
}

// Perform performs one request. An error is an *effect.Error, effect.ErrWaits, or the cause of
// ctx's end.
func (s *Stores) Perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	op, at := operationOf(r)
	if op == nil {
		return nil, &effect.UnperformedError{Who: "stores", Kind: r.Kind()}
	}
	f := s.fileAt(at.File)
	result, err := f.runOperation(ctx, r.Kind(), op)
	if err == nil {
		return result, nil
	}
	return nil, f.programError(ctx, at, err)
}

// fileAt returns the file of that path; a new one is not opened.
func (s *Stores) fileAt(name string) *file {
	path := filepath.Clean(filepath.FromSlash(name))
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.options.Dir, path)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files[path]
	if f == nil {
		f = &file{options: &s.options, name: name, path: path, turn: make(chan struct{}, 1)}
		s.files[path] = f
	}
	return f
}

// operation is the part of a request within its file.
type operation func(f *file) (effect.Result, error)

// operationOf returns a request's operation and its store; nil if the request does not concern a
// store.
func operationOf(r effect.Request) (operation, effect.Store) {
	switch q := r.(type) {
	case *effect.StoreRead:
		return func(f *file) (effect.Result, error) { return f.readEntry(q) }, q.Store
	case *effect.StoreWrite:
		return func(f *file) (effect.Result, error) { return f.writeEntries(q) }, q.Store
	case *effect.StoreAdd:
		return func(f *file) (effect.Result, error) { return f.addToEntry(q) }, q.Store
	case *effect.StoreDelete:
		return func(f *file) (effect.Result, error) { return f.deleteEntry(q) }, q.Store
	case *effect.StoreList:
		return func(f *file) (effect.Result, error) { return f.listEntries(q) }, q.Store
	case *effect.StoreLen:
		return func(f *file) (effect.Result, error) { return f.countEntries(q) }, q.Store
	case *effect.StoreClear:
		return func(f *file) (effect.Result, error) { return f.empty(q) }, q.Store
	case *effect.StoreExpire:
		return func(f *file) (effect.Result, error) { return nil, f.expire(q) }, q.Store
	case *effect.LedgerPut:
		return func(f *file) (effect.Result, error) { return f.putRecord(q) }, q.Store
	case *effect.LedgerDelete:
		return func(f *file) (effect.Result, error) { return f.strike(q) }, q.Store
	case *effect.LedgerFind:
		return func(f *file) (effect.Result, error) { return f.findRecords(q) }, q.Store
	case *effect.MemoryAppend:
		return func(f *file) (effect.Result, error) { return nil, f.appendMessages(q) }, q.Store
	case *effect.MemoryList:
		return func(f *file) (effect.Result, error) { return f.listMessages(q) }, q.Store
	}
	return nil, effect.Store{}
}
