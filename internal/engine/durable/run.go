// Package durable writes a run's journal while it runs, and replays it when the run is resumed
// (spec/26-durable.md); its API promises nothing.
//
// A Run has three roles: it is the vm.Journal that records the results of effects, the vm.Past that
// replays them, and the effect.Layer between the VM and the runtime: an effect is performed only
// when everything that it may depend on is in the journal.
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

// Config configures a Run.
type Config struct {
	ID     string
	Writer *journal.Writer
	Dir    *journal.Directory
	// History contains the existing records; nil for a new run. Out contains the existing output.
	History *journal.History
	Out     []string
	Seed    string
	Every   bool // sync each result before the program receives it
	// Secret returns the value of a variable of the environment.
	Secret func(name string) (value string, ok bool)
	// Remark receives messages for the person who runs the run.
	Remark func(text string)
	Asking Asking
	// Policy returns the policy of [run.unknown] for effects; see runconf.Config.
	Policy func(kind, address string) string
	// World, if not nil, receives state from the run's past.
	World World
	// Restored is the run's state in a snapshot, and History is the history after it; nil if the
	// run begins, or is replayed from its beginning.
	Restored  *State
	Snapshots Snapshots
	// CaughtUp, if not nil, is called when the replay has ended.
	CaughtUp func() error
	// Alone means that the earlier process of the run is known to have exited.
	Alone bool
	// Trial suspends the run with ErrTried when the replay has ended: nothing is written and no
	// effect performed.
	Trial bool
}

// World is the part of the runtime whose state continues in a resumed run.
type World interface {
	// Used counts calls of a model before the run was resumed, with their tokens; answered is false
	// if their usage is unknown: then the tokens are those of Most.
	Used(connection, model string, calls, in, out int64, answered bool)
	Most(*effect.AgentCall) (in, out int64)
	RandomState() []byte
	SetRandomState([]byte) error
	// FlushOutput waits until all output is written, or the context ends. OutputProgress returns
	// how many bytes were put out so far, and how many of them are written.
	FlushOutput(context.Context) error
	OutputProgress() (added, written int64)
}

// ErrTried is the reason for the suspension of a trial that has replayed the whole run.
var ErrTried = errors.New("the program must do the same as the recorded run")

// Run is a durable run in this process.
type Run struct {
	c Config
	redactor
	named   map[string]bool // secrets that the journal names; used by recordSecrets
	numbers numbers
	past    past
	out     output
	live    bool // the replay has ended
	idle    idleness
	talks   openExchanges
	effectState
	decisions
	calling
	lasting
	snaps snapshots

	appendMu sync.Mutex

	mu      sync.Mutex
	flights map[effect.Request]*inFlight
	policy  policyOf

	suspension
}

// redactor replaces secrets by marks, in JSON and in texts.
type redactor struct {
	clean func([]byte) []byte
	hide  func(string) string
}

// suspension is the state of a run's suspension.
type suspension struct {
	suspend chan struct{}
	once    sync.Once
	why     error // set before suspend is closed
}

// effectState is the state of the run's effects.
type effectState struct {
	print func(q *effect.Emit, n int64) error
	mark  func(q effect.Request) *int64
	clock clock
}

// policyOf is the program's policy for the effect that is about to begin.
type policyOf struct {
	e        int64
	policy   string
	function string
}

// inFlight is a running effect.
type inFlight struct {
	e        int64
	expires  int64 // of a timer, in Unix milliseconds; 0 for none
	repeated bool  // it had begun before the run was resumed
	mark     int64 // the earlier size of the file that it writes; -1 if it did not exist
	task     int64
	policy   string // of @on_unknown
	rule     string // the function with that annotation
	class    string // as in its begin record
	tries    int
	until    int64           // its own deadline in Unix milliseconds; 0 for none
	counted  int             // of its tries, counted as lost
	begin    *journal.Record // the first of its begin records; nil for an effect without one
	// resolved is the decision about its unknown outcome; nil before.
	resolved *journal.Resolved
}

// New returns a Run.
func New(c Config) *Run {
	r := &Run{c: c, named: map[string]bool{}, numbers: numbers{real: map[number]int64{}}, flights: map[effect.Request]*inFlight{}, lasting: lasting{openers: map[number]begunEffect{}}, suspension: suspension{suspend: make(chan struct{})}}
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

// SetSecrets adds the run's secrets, before it begins. The error names a secret of the journal that
// is missing or differs.
func (r *Run) SetSecrets(secrets *secret.Set, world World) error {
	r.c.World = world
	stored := secrets.ForJournal()
	r.clean, r.hide = stored.JSON, stored.Text
	if r.c.History == nil {
		return nil
	}
	for _, x := range r.c.History.Records {
		if x.K != journal.KSecret {
			continue
		}
		r.named[x.Name] = true
		value, ok := r.c.Secret(x.Name)
		switch {
		case !ok || value == "":
			return &SecretError{x.Name, "is not set"}
		case secretCheck(r.c.Seed, value) != x.Check:
			return &SecretError{x.Name, "differs from its value when the run started"}
		}
		secrets.Add(x.Name, value)
	}
	return r.restore()
}

// SecretError means that a run cannot be resumed in this environment.
type SecretError struct{ Name, What string }

func (e *SecretError) Error() string { return fmt.Sprintf("the secret %s %s", e.Name, e.What) }

// secretCheck returns enough of a hash to notice a different secret, and too little to find one.
func secretCheck(seed, value string) string {
	return hexsum.SHA256(seed + value)[:4]
}

// Suspend suspends the run as soon as possible; why is the result of Err.
func (r *Run) Suspend(why error) {
	r.once.Do(func() {
		r.why = why
		close(r.suspend)
	})
}

// Suspended returns a channel that is closed when the run must be suspended.
func (r *Run) Suspended() <-chan struct{} { return r.suspend }

// Err returns why the run is suspended, or nil.
func (r *Run) Err() error {
	select {
	case <-r.suspend:
		return r.why
	default:
		return nil
	}
}

// Unwritable means that the journal could not be written.
type Unwritable struct{ Err error }

func (e *Unwritable) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Unwritable) Unwrap() error { return e.Err }

// flushJournal writes everything that was appended, and how much of the output is printed. On
// failure the run is suspended.
func (r *Run) flushJournal(level journal.Level) error {
	if r.live {
		r.out.recordPrinted(r)
	}
	return r.writeAppended(level)
}

// writeAppended writes everything that was appended. On failure the run is suspended.
func (r *Run) writeAppended(level journal.Level) error {
	if r.c.Trial {
		return nil
	}
	if err := r.Err(); err != nil {
		if _, failed := errors.AsType[*Unwritable](err); failed {
			return err
		}
	}
	answered := r.idle.takeAnswered()
	lines := r.talks.takeWritten()
	err := r.c.Writer.Flush(level)
	for _, id := range answered {
		if err == nil { // the journal contains them
			err = r.c.Dir.DropAnswer(id)
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

// Finish records how the run has ended: by an exit code. Printed must be called before.
func (r *Run) Finish(code int) error {
	if err := r.out.truncate(r, int(r.out.n)); err != nil {
		return err
	}
	r.out.lastNote(r)
	r.c.Writer.Append(&journal.Record{K: journal.KFinish, Asked: journal.Asked{D: r.out.digest()}, Owner: journal.Owner{N: r.out.n}, Rest: journal.Rest{Code: &code, Ledger: r.ledgerHead()}})
	return r.writeAppended(journal.Synced)
}

// printWithin limits how long a suspended run waits for the reader of its output.
const printWithin = time.Second

// Printed waits until the run's output is printed. If that fails, the run is suspended: it prints
// the rest when it is resumed.
func (r *Run) Printed() error {
	if err := r.flushOutput(); err != nil {
		r.Suspend(err)
		return r.why
	}
	return nil
}

// flushOutput waits until the run's output is printed, or the run is suspended.
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

// Leave records that the run is suspended.
func (r *Run) Leave() error {
	within, cancel := context.WithTimeout(context.Background(), printWithin)
	defer cancel()
	if r.c.World != nil {
		// what is not printed by then is printed when the run is resumed
		_ = r.c.World.FlushOutput(within)
	}
	r.out.lastNote(r)
	if parked, ok := errors.AsType[*Parked](r.Err()); ok {
		r.c.Writer.Append(&journal.Record{K: journal.KPark, Rest: journal.Rest{Waits: parked.waits()}})
	}
	return r.writeAppended(journal.Synced)
}

// number is a number of a family (effect.Kind.Family) by which the program refers to an object: the
// number of the effect that opened it.
type number struct {
	family string
	e      int64
}

// numbers maps these to the numbers assigned by performers.
type numbers struct {
	mu   sync.Mutex
	real map[number]int64
}

func (x *numbers) setReal(k effect.Kind, e, real int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.real[number{k.Family(), e}] = real
}

func (x *numbers) realNumber(k effect.Kind, e int64) (real int64, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	real, ok = x.real[number{k.Family(), e}]
	return real, ok
}

func (r *Run) flightOf(q effect.Request) *inFlight {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.flights[q]
}

func (r *Run) setFlight(q effect.Request, f *inFlight) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f == nil {
		delete(r.flights, q)
	} else {
		r.flights[q] = f
	}
}

// blocked waits until the VM releases an effect that must not be performed.
func blocked(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}
