// Package sqlitestore performs the effects on stores in files (spec/12-stores.md): hashmaps,
// ledgers, memories and queues. One SQLite database can contain any number of stores.
//
// A request is one transaction. When a request that writes has returned, its changes are on disk.
// Processes that use the same file wait for each other's transactions, for a limited time. A file
// is inspected before SQLite opens it. A file that is damaged, has a newer format or belongs to
// another program is refused and not modified.
package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/process/disk"
	"github.com/concerto-lang/concerto/runtime/world/clock"
)

// defaultWait is the default time that a request waits for other processes.
const defaultWait = 10 * time.Second

// Options configures Stores.
type Options struct {
	// Dir is the directory of relative paths; "" means the working directory.
	Dir string
	// InMemory means that no file is used: the stores of each file are in memory until Close. Other
	// Stores do not share them.
	InMemory bool
	// Wait is the maximum time that a request waits for other processes; 0 means 10 s.
	Wait time.Duration
	// Disk is the disk with the files; nil means the real one. VFS is the name of the SQLite VFS
	// with the same files; "" means that of the system.
	Disk disk.Disk
	VFS  string
	// Clock measures the waits for items of queues; nil means the system's clock.
	Clock *clock.PausableClock
	// Now returns the time for the items of queues; nil means that of Clock.
	Now func() time.Time
}

// Stores performs the effects on stores in files. It opens a file at the first request to it.
// Stores is safe for concurrent use.
type Stores struct {
	options Options

	mu    sync.Mutex
	files map[string]*file // open and closed files, by absolute path
}

// New returns Stores. It accesses no file.
func New(o Options) *Stores {
	if o.Wait == 0 {
		o.Wait = defaultWait
	}
	if o.Now == nil {
		o.Now = o.Clock.Now
	}
	return &Stores{options: o, files: map[string]*file{}}
}

// Close closes all files. A later request opens its file again.
func (s *Stores) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(s.files)) { // the errors are in this order
		f := s.files[name]
		f.turn <- struct{}{} // waits until the current request has ended
		if err := f.closeConnection(); err != nil {
			errs = append(errs, fmt.Errorf("could not close %s: %w", f.name, err))
		}
		<-f.turn
	}
	clear(s.files)
	return errors.Join(errs...)
}

// Perform performs one request. The error is an *effect.Error, effect.ErrWaits, or ctx's cause if
// ctx has ended.
func (s *Stores) Perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	if q, ok := r.(*effect.QueueWait); ok {
		return nil, s.waitForItem(ctx, q)
	}
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

// fileAt returns the file with that name in the program. It does not open a new file.
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

// operationOf returns the operation of a request and its store. The operation is nil if the request
// concerns no store.
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
	case *effect.QueueAdd:
		return func(f *file) (effect.Result, error) { return f.changeQueue(q, &q.Store) }, q.Store
	case *effect.QueueClaim:
		return func(f *file) (effect.Result, error) { return f.claimItem(q) }, q.Store
	case *effect.QueueUpdate:
		return func(f *file) (effect.Result, error) { return f.changeQueue(q, &q.Store) }, q.Store
	case *effect.QueueGet:
		return func(f *file) (effect.Result, error) { return f.readQueue(q) }, q.Store
	}
	return nil, effect.Store{}
}
