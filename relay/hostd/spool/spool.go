// Package spool stores the events that a machine must send to the relay's server, until the server
// acknowledges them (spec/relay.md). One SQLite file contains all runs of a hostd.
//
// The spool numbers each event and commits it before any other part of hostd can read it. A Change
// is atomic. It contains, for example, an event and the position after it in the raw log, or a
// request and the data that is needed to decide it after a restart. Unacknowledged events do not
// expire. If the spool is full, the oldest output is replaced with a run.gap.
//
// If the machine has an account when a run begins, the run is sealed: the commit seals each event
// with the run's key (relay/seal), and adds the heads by which readers confirm events. The server
// never receives an event of such a run in plaintext, except a gap after a loss of data. Notes and
// results are not sealed.
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

// Errors of this package. Match them with errors.Is.
var (
	ErrClosed  = errors.New("the spool is closed")
	ErrEnded   = errors.New("the run has ended: it accepts no more events")
	ErrDamaged = errors.New("the spool is damaged")
	ErrNewer   = errors.New("the spool was created by a newer version")
	ErrInUse   = errors.New("another hostd uses the spool")
)

// DefaultMax is the default maximum size of all events in bytes.
const DefaultMax = 1 << 30

// Options configures a Spool.
type Options struct {
	Max int64        // maximum size of all events in bytes; 0 means DefaultMax
	Log *slog.Logger // nil logs nothing
	VFS string       // the SQLite VFS with the file; "" means that of the system
	// Keys has the keys of new runs. If it is nil, new runs are not sealed, and sealed runs accept
	// no events.
	Keys Keys

	BeforeBatch func() // called before each batch is gathered; only internal/sim sets it
}

// Event is an event of a run. Data is one of the structs of package protocol, or a JSON object. The
// spool assigns the sequence number. In a run.gap, only the number of lost events matters, which is
// To-From+1.
type Event struct {
	Type string
	Data any
	TS   time.Time // zero means now
}

// Note is state that hostd needs after it was killed, such as the state of a request or an input.
// Data is JSON. A note with nil Data deletes the stored note.
type Note struct {
	Kind, Key string
	Data      json.RawMessage
}

// Result is the result of a command. It is stored until the server acknowledges it.
type Result struct {
	N   int64 // number of the result, which the spool assigns; see ResultAcked
	Run string
	protocol.CommandDone
}

// Change is a set of changes to one run, which are committed atomically.
type Change struct {
	Run     string
	Events  []Event
	Offset  *int64 // position in the raw log, in bytes; output up to this position is in the spool
	Notes   []Note
	Results []Result // results of commands for this run
}

// Run describes a run in the spool.
type Run struct {
	ID     string
	Last   int64 // sequence number of the last event
	Acked  int64 // last sequence number that the server has acknowledged
	Offset int64 // position in the raw log, in bytes
	Ended  bool
}

// Spool is an open spool. It is safe for concurrent use.
type Spool struct {
	writeDB, readDB *sql.DB
	max             int64
	epoch           int64
	log             *slog.Logger
	keys            Keys   // nil if events are not sealed
	before          func() // see Options.BeforeBatch
	unlock          func() error
	integrity       *sqliteintegrity.File // nil until the file was checked

	in        chan *job
	wake      chan struct{} // wakes the writer to commit acknowledgements
	committed chan struct{} // signals that new events are committed
	room      chan struct{} // closed and replaced when an acknowledgement frees space
	closed    chan struct{}
	done      chan struct{}
	once      sync.Once

	mu   sync.Mutex
	runs map[string]*run
	acks map[string]int64 // acknowledgements to commit, by run
	fill fill

	// Only the writer uses the following.
	headsAt map[string]time.Time // time of the next head by run, for the runs that need one
	runKeys runKeys
	insert  *sql.Stmt // inserts an event
}

// Open opens a spool, and creates it if it does not exist. It returns ErrDamaged for a damaged file
// and ErrNewer for the file of a newer version, and changes neither. It returns ErrInUse if another
// process has opened the spool. If hostd was killed, a large file is checked while it is in use,
// and Damage reports the result.
func Open(ctx context.Context, file string, o Options) (s *Spool, err error) {
	if o.Max == 0 {
		o.Max = DefaultMax
	}
	if o.VFS == "" {
		o.VFS = "os"
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
	s = &Spool{max: o.Max, log: o.Log, keys: o.Keys, before: o.BeforeBatch, headsAt: map[string]time.Time{}, unlock: unlock, in: make(chan *job, protocol.BatchEvents), wake: make(chan struct{}, 1), committed: make(chan struct{}, 1),
		room: make(chan struct{}), closed: make(chan struct{}), done: make(chan struct{}), runs: map[string]*run{}, acks: map[string]int64{}}
	if err := s.open(ctx, o.VFS, file); err != nil {
		return nil, errors.Join(fmt.Errorf("open the spool %s: %w", file, err), s.release())
	}
	go s.write()
	return s, nil
}

func (s *Spool) open(ctx context.Context, vfs, file string) (err error) {
	if err := createPrivate(file); err != nil {
		return err
	}
	if s.writeDB, err = connect(vfs, file, "immediate"); err != nil {
		return err
	}
	s.writeDB.SetMaxOpenConns(1)
	if err := s.checkIntegrity(ctx, vfs, file); err != nil {
		return err
	}
	if s.epoch, err = migrate(ctx, s.writeDB); err != nil {
		return err
	}
	if s.insert, err = s.writeDB.PrepareContext(ctx, insertEvent); err != nil {
		return err
	}
	if s.readDB, err = connect(vfs, file, "deferred"); err != nil {
		return err
	}
	return s.load(ctx)
}

// createPrivate lets only this user read a file, which it creates if it does not exist: SQLite
// would let others read it.
func createPrivate(file string) error {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(0o600), f.Close())
}

// Close commits pending changes and closes the spool.
func (s *Spool) Close() error {
	s.once.Do(func() { close(s.closed) })
	<-s.done
	return s.release()
}

func (s *Spool) release() error {
	if s.integrity != nil {
		s.integrity.Stop()
	}
	var all []error
	for _, db := range []*sql.DB{s.readDB, s.writeDB} {
		if db != nil {
			all = append(all, db.Close())
		}
	}
	if s.integrity != nil && errors.Join(all...) == nil {
		all = append(all, s.integrity.RecordClosed())
	}
	return errors.Join(append(all, s.unlock())...)
}

// Damage returns a channel that receives ErrDamaged if damage is found while the spool is in use.
func (s *Spool) Damage() <-chan error { return s.integrity.Found() }

// Epoch returns a number that increases with each start. It is the time at which the spool was
// created, in Unix ms, plus the number of later starts.
func (s *Spool) Epoch() int64 { return s.epoch }

// Committed returns a channel that signals that Next has new events. Only one goroutine may receive
// from it.
func (s *Spool) Committed() <-chan struct{} { return s.committed }

// Append commits events of a run and returns the sequence number of the last one. If the spool is
// full, output waits for space.
func (s *Spool) Append(ctx context.Context, run string, events ...Event) (last int64, err error) {
	return s.Commit(ctx, Change{Run: run, Events: events})
}

// Commit commits a change and returns the sequence number of the run's last event. If the disk is
// full, it waits for space. Cancelling ctx ends the wait for space in the spool, but does not stop
// a commit that has begun. Commit returns ErrEnded, ErrAccount, ErrClosed, the error of ctx, or an
// error of the keys or the file.
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
	case <-s.closed: // checked first, because select chooses a ready channel at random
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
	case <-s.done: // the writer stopped before it received the job
		select {
		case <-j.done:
		default:
			return 0, ErrClosed
		}
	}
	return j.last, j.err
}
