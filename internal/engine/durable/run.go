// Package durable keeps a run's journal while it runs, and gives it to the run again when it is
// gone on with (spec/26-durable.md); its API promises nothing.
//
// A Run is three things in one: the vm.Journal that writes down what the program gets, the
// vm.Past that gives it what it has got, and the effect.Layer through which it reaches the
// world: nothing leaves by it before everything that it may depend on is in the journal.
package durable

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
)

// Config is what a Run is made from.
type Config struct {
	ID     string
	Writer *journal.Writer
	Dir    *journal.Directory
	// History is what was written before; nil for a new run. Out is what it has put out.
	History *journal.History
	Out     []string
	Seed    string
	Every   bool // what the program gets is synced before it gets it
	// Secret is the value of a variable of the environment.
	Secret func(name string) (value string, ok bool)
	// Remark tells whoever runs the run.
	Remark func(text string)
	Asking Asking
	// Policy is what [run.unknown] says of effects; see runconf.Config.
	Policy func(kind, address string) string
	// World is what the run's past is told to; nil: nobody is.
	World World
	// Restored is what a snapshot keeps of the run, whose history is that behind it; nil when the run
	// begins, or is played again from its beginning.
	Restored  *State
	Snapshots Snapshots
	// CaughtUp is called when the run's past is over; nil: nothing is.
	CaughtUp func() error
	// Alone says that the process is known to be gone that had the run before.
	Alone bool
	// Trial has the run suspended by ErrTried when its past is over: nothing is written, and
	// nothing leaves.
	Trial bool
}

// World is what of the world outside the VM goes on from where the run stood.
type World interface {
	// Used counts calls of a model that were made before the run was gone on with, with their
	// tokens; answered is false when nobody knows what they have used: then tokens are Most.
	Used(connection, model string, calls, in, out int64, answered bool)
	Most(*effect.AgentCall) (in, out int64)
	RandomState() []byte
	SetRandomState([]byte) error
	// FlushOutput returns when all that was put out is written, or the context ends. OutputProgress
	// returns how many bytes were put out so far, and how many of them are written.
	FlushOutput(context.Context) error
	OutputProgress() (added, written int64)
}

// ErrTried is why a trial was suspended that has done all that the run had.
var ErrTried = errors.New("the program does what the run has done")

// Run is a durable run in this process.
type Run struct {
	c Config
	hiding
	told  map[string]bool // secrets that the journal names; held by telling
	given numbers
	past  past
	out   output
	live  bool // the past is over
	idle  idleness
	talks talks
	reach
	decisions
	calling
	lasting
	snaps snapshots

	telling sync.Mutex

	mu      sync.Mutex
	flights map[effect.Request]*flight
	said    policyOf

	leaving
}

// hiding has secrets stand as their marks, in JSON and in texts.
type hiding struct {
	clean func([]byte) []byte
	hide  func(string) string
}

// leaving is how a run is suspended.
type leaving struct {
	suspend chan struct{}
	once    sync.Once
	why     error // set before suspend is closed
}

// reach is what the run has of its way to the world.
type reach struct {
	print func(q *effect.Emit, n int64) error
	mark  func(q effect.Request) *int64
	clock clock
}

// policyOf is what the program says of the effect that is about to begin.
type policyOf struct {
	e        int64
	policy   string
	function string
}

// flight is an effect under way.
type flight struct {
	e       int64
	due     int64 // of a timer, in Unix milliseconds; 0 for none
	again   bool  // it had begun before the run was gone on with
	mark    int64 // the size of the file that it writes, before; -1 when there was none
	task    int64
	policy  string // what @on_unknown says of it
	rule    string // the function that says so
	class   string // as its begin says
	tries   int
	until   int64           // when its own time is over, in Unix milliseconds; 0 for none
	counted int             // of its tries, as lost
	begin   *journal.Record // the first of its begins; nil for an effect that has none
	// resolved is what was decided of it when nobody knew whether it had been done; nil before.
	resolved *journal.Resolved
}

// New makes a Run.
func New(c Config) *Run {
	r := &Run{c: c, told: map[string]bool{}, given: numbers{real: map[number]int64{}}, flights: map[effect.Request]*flight{}, lasting: lasting{openers: map[number]begunEffect{}}, leaving: leaving{suspend: make(chan struct{})}}
	if c.Remark == nil {
		r.c.Remark = func(string) {}
	}
	r.out.have = c.Out
	r.idle.init(r)
	r.talks.init()
	r.past.init(r)
	r.snaps.init(c.History)
	r.live = c.History == nil
	return r
}

// Know gives the run its secrets, before it begins. The error says which secret of the journal
// is missing, or another one.
func (r *Run) Know(known *secret.Set, world World) error {
	r.c.World = world
	kept := known.Kept()
	r.clean, r.hide = kept.JSON, kept.Text
	if r.c.History == nil {
		return nil
	}
	for _, x := range r.c.History.Records {
		if x.K != journal.KSecret {
			continue
		}
		r.told[x.Name] = true
		value, ok := r.c.Secret(x.Name)
		switch {
		case !ok || value == "":
			return &SecretError{x.Name, "is not set"}
		case check(r.c.Seed, value) != x.Check:
			return &SecretError{x.Name, "is another one than that the run began with"}
		}
		known.Add(x.Name, value)
	}
	return r.restore()
}

// SecretError says that a run cannot be gone on with in this environment.
type SecretError struct{ Name, What string }

func (e *SecretError) Error() string { return fmt.Sprintf("the secret %s %s", e.Name, e.What) }

// check is enough of a hash to notice another secret, and too little to find one.
func check(seed, value string) string {
	return hexsum.SHA256(seed + value)[:4]
}

// Suspend leaves the run where it is, as soon as it can be left; why is what Err gives.
func (r *Run) Suspend(why error) {
	r.once.Do(func() {
		r.why = why
		close(r.suspend)
	})
}

// Suspended is closed when the run is to be left where it is.
func (r *Run) Suspended() <-chan struct{} { return r.suspend }

// Err is why the run is suspended; nil when it is not.
func (r *Run) Err() error {
	select {
	case <-r.suspend:
		return r.why
	default:
		return nil
	}
}

// Unwritable says that the journal could not be written.
type Unwritable struct{ Err error }

func (e *Unwritable) Error() string { return e.Err.Error() }

// Unwrap gives why.
func (e *Unwritable) Unwrap() error { return e.Err }

// flush has all that was appended written, and with it how much of the output is printed. When
// that fails the run is suspended.
func (r *Run) flush(level journal.Level) error {
	if r.live {
		r.out.note(r)
	}
	return r.write(level)
}

// write has all that was appended written. When that fails the run is suspended.
func (r *Run) write(level journal.Level) error {
	if r.c.Trial {
		return nil
	}
	if err := r.Err(); err != nil {
		if _, failed := errors.AsType[*Unwritable](err); failed {
			return err
		}
	}
	answered := r.idle.takeTaken()
	lines := r.talks.taken()
	err := r.c.Writer.Flush(level)
	for _, id := range answered {
		if err == nil { // the journal holds it
			err = r.c.Dir.Taken(id)
		}
	}
	if err != nil {
		err = &Unwritable{err}
		r.Suspend(err)
		return err
	}
	r.flushed(lines)
	return nil
}

// Finish writes how the run has ended: by an exit code.
// It must be Printed.
func (r *Run) Finish(code int) error {
	if err := r.out.cut(r, int(r.out.n)); err != nil {
		return err
	}
	r.out.lastNote(r)
	r.c.Writer.Append(&journal.Record{K: journal.KFinish, Asked: journal.Asked{D: r.out.digest()}, Owner: journal.Owner{N: r.out.n}, Rest: journal.Rest{Code: &code, Ledger: r.ledgerHead()}})
	return r.write(journal.Synced)
}

// printWithin is how long a run that is left waits for who reads its output.
const printWithin = time.Second

// Printed waits until all that the run has put out is printed. When it cannot be, the run is
// suspended: it puts out the rest when it is gone on with.
func (r *Run) Printed() error {
	if err := r.flushOutput(); err != nil {
		r.Suspend(err)
		return r.why
	}
	return nil
}

// flushOutput returns when all that the run has put out is printed, or the run is suspended.
func (r *Run) flushOutput() error {
	if r.c.World == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-r.suspend:
			cancel()
		case <-ctx.Done():
		}
	}()
	return r.c.World.FlushOutput(ctx)
}

// Leave writes that the run is left where it is.
func (r *Run) Leave() error {
	within, cancel := context.WithTimeout(context.Background(), printWithin)
	defer cancel()
	if r.c.World != nil {
		_ = r.c.World.FlushOutput(within) // what is not printed by then is when the run is resumed
	}
	r.out.lastNote(r)
	if parked, ok := errors.AsType[*Parked](r.Err()); ok {
		r.c.Writer.Append(&journal.Record{K: journal.KPark, Rest: journal.Rest{Waits: parked.waits()}})
	}
	return r.write(journal.Synced)
}

// number is a number of a family (effect.Kind.Family) by which the program knows what an
// effect has opened: that effect's own.
type number struct {
	family string
	e      int64
}

// numbers are those that performers have given.
type numbers struct {
	mu   sync.Mutex
	real map[number]int64
}

func (x *numbers) set(k effect.Kind, e, real int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.real[number{k.Family(), e}] = real
}

func (x *numbers) get(k effect.Kind, e int64) (real int64, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	real, ok = x.real[number{k.Family(), e}]
	return real, ok
}

func (r *Run) flightOf(q effect.Request) *flight {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.flights[q]
}

func (r *Run) setFlight(q effect.Request, f *flight) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f == nil {
		delete(r.flights, q)
	} else {
		r.flights[q] = f
	}
}

// blocked waits until the VM lets go of an effect that may not be made any more.
func blocked(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}
