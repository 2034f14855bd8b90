// Package spool keeps what a host has to tell the relay's server until the server has it,
// spec/relay.md (its API promises nothing): one SQLite file for all runs of a hostd.
//
// An event gets its seq here, and is told to nobody before it is committed. What belongs
// together is one Change, so that an event and the place in the raw log behind it, or a request
// and what a decision of it will need, are there both or neither. Events that are not acknowledged
// are never deleted by age. When there is no room the oldest output is given up, and a run.gap
// says so.
package spool

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/process/lockfile"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/sqliteintegrity"
)

// What cannot be; matched with errors.Is.
var (
	ErrClosed  = errors.New("the spool is closed")
	ErrEnded   = errors.New("the run has ended: nothing follows")
	ErrDamaged = errors.New("the spool is damaged")
	ErrNewer   = errors.New("the spool was made by a newer version")
	ErrInUse   = errors.New("another hostd uses the spool")
)

// DefaultMax is how many bytes of events a spool holds when nothing else is said.
const DefaultMax = 1 << 30

// Options are a spool's settings.
type Options struct {
	Max int64        // bytes of events; 0: DefaultMax
	Log *slog.Logger // nil: nothing is logged

	disk string // the file system; "": the machine's
}

// Event is what is to be told of a run. Data is one of protocol's structs, or JSON that is an
// object. Of a run.gap, To-From+1 is how many events will never come: the spool says which.
type Event struct {
	Type string
	Data any
	TS   time.Time // the zero time is now
}

// Note is what hostd has to know again when it was killed: a request, an input that was seen.
// Data is JSON; nil deletes it.
type Note struct {
	Kind, Key string
	Data      json.RawMessage
}

// Result is what became of a command. It is kept until the server has acknowledged it.
type Result struct {
	N   int64 // its number, given by the spool: see ResultAcked
	Run string
	protocol.CommandDone
}

// Change is committed at once.
type Change struct {
	Run     string
	Events  []Event
	Offset  *int64 // the raw log is in the spool up to here, in bytes
	Notes   []Note
	Results []Result // of this run
}

// Run is what the spool knows of a run.
type Run struct {
	ID     string
	Last   int64 // the seq of its last event
	Acked  int64 // the server has it and all before
	Offset int64 // of its raw log
	Ended  bool
}

// Spool is an open spool. Safe for concurrent use.
type Spool struct {
	write, read *sql.DB
	max         int64
	epoch       int64
	log         *slog.Logger
	unlock      func() error
	whole       *sqliteintegrity.File // nil before it was looked at

	in     chan *job
	wake   chan struct{} // acks wait for the writer
	tell   chan struct{} // events are committed
	room   chan struct{} // closed, and made anew, when an ack has made room
	closed chan struct{}
	done   chan struct{}
	once   sync.Once

	mu   sync.Mutex
	runs map[string]*run
	acks map[string]int64 // that are to be committed
	fill fill
}

// Open opens a file, or makes it. A damaged file is ErrDamaged, one of a newer version
// ErrNewer; both are left as they are. A file that another process has open is ErrInUse. Of a
// large one whose hostd was killed, damage is found while it is used: Damage tells of it.
func Open(ctx context.Context, file string, o Options) (s *Spool, err error) {
	if o.Max == 0 {
		o.Max = DefaultMax
	}
	if o.disk == "" {
		o.disk = "os"
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	unlock, err := lockfile.Lock(file + ".lock")
	if errors.Is(err, lockfile.ErrHeld) {
		err = ErrInUse
	}
	if err != nil {
		return nil, fmt.Errorf("open the spool %s: %w", file, err)
	}
	s = &Spool{max: o.Max, log: o.Log, unlock: unlock, in: make(chan *job, protocol.BatchEvents), wake: make(chan struct{}, 1), tell: make(chan struct{}, 1),
		room: make(chan struct{}), closed: make(chan struct{}), done: make(chan struct{}), runs: map[string]*run{}, acks: map[string]int64{}}
	if err := s.open(ctx, o.disk, file); err != nil {
		return nil, errors.Join(fmt.Errorf("open the spool %s: %w", file, err), s.release())
	}
	go s.work()
	return s, nil
}

func (s *Spool) open(ctx context.Context, disk, file string) (err error) {
	if s.write, err = connect(disk, file, "immediate"); err != nil {
		return err
	}
	s.write.SetMaxOpenConns(1)
	if err := s.look(ctx, disk, file); err != nil {
		return err
	}
	if s.epoch, err = migrate(ctx, s.write); err != nil {
		return err
	}
	if err := os.Chmod(file, 0o600); err != nil {
		return err
	}
	if s.read, err = connect(disk, file, "deferred"); err != nil {
		return err
	}
	return s.load(ctx)
}

// Close commits what it was given, and ends.
func (s *Spool) Close() error {
	s.once.Do(func() { close(s.closed) })
	<-s.done
	return s.release()
}

func (s *Spool) release() error {
	if s.whole != nil {
		s.whole.Stop()
	}
	var all []error
	for _, db := range []*sql.DB{s.read, s.write} {
		if db != nil {
			all = append(all, db.Close())
		}
	}
	if s.whole != nil && errors.Join(all...) == nil {
		all = append(all, s.whole.Left())
	}
	return errors.Join(append(all, s.unlock())...)
}

// Damage tells once of damage that is found while the spool is used; it is ErrDamaged.
func (s *Spool) Damage() <-chan error { return s.whole.Found() }

// Epoch is when the spool was made, as Unix ms, and 1 more for each start since.
func (s *Spool) Epoch() int64 { return s.epoch }

// Committed hears when there are events that Next has not given yet. It has one listener.
func (s *Spool) Committed() <-chan struct{} { return s.tell }

// Append commits events of a run, and gives the seq of the last. Output waits while the spool

func (s *Spool) Append(ctx context.Context, run string, events ...Event) (last int64, err error) {
	return s.Commit(ctx, Change{Run: run, Events: events})
}

// Commit commits a change, and gives the seq of the run's last event. When the disk is full
// it waits until there is room. ctx ends waiting for the spool's room, and nothing that has
// begun to be committed. The error is ErrEnded, ErrClosed, ctx's, or tells of the file.
func (s *Spool) Commit(ctx context.Context, c Change) (last int64, err error) {
	j, err := newJob(c)
	if err != nil {
		return 0, err
	}
	if err := s.admit(ctx, j); err != nil {
		return 0, err
	}
	return s.submit(ctx, j)
}

func (s *Spool) submit(ctx context.Context, j *job) (int64, error) {
	select {
	case <-s.closed: // of two that are ready any may be taken
		return 0, ErrClosed
	default:
	}
	select {
	case s.in <- j:
	case <-s.closed:
		return 0, ErrClosed
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	select {
	case <-j.done:
	case <-s.done: // it came after the writer's last look
		select {
		case <-j.done:
		default:
			return 0, ErrClosed
		}
	}
	return j.last, j.err
}
