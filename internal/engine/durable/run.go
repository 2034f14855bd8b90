// Package durable writes the journal of a run, and replays the journal when the run is resumed
// (spec/26-durable.md).
//
// A Run has three roles. As the vm.Durable of a run, it records the results of effects in its
// vm.Journal, and returns recorded results by its vm.Past. As an effect.Layer between the VM and
// the runtime, it performs an effect only after the journal contains everything on which the effect
// may depend.
package durable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/vm"
)

// Config configures a Run.
type Config struct {
	ID     string
	Stored journal.Run
	Writer journal.Writer
	// History contains the existing records; nil for a new run. Out contains the existing lines of
	// output.
	History *journal.History
	Out     []string
	Seed    string
	Every   bool // sync the record of each result before the program receives the result
	// Secret returns the value of an environment variable.
	Secret func(name string) (value string, ok bool)
	// Remark receives messages for the user.
	Remark func(text string)
	Asking Asking
	// ParkAfter, if not nil, returns the time without progress after which a waiting run is parked.
	ParkAfter func() time.Duration
	// Policy returns the [run.unknown] policy for a kind of effect and an address; see
	// runconf.Config.
	Policy func(kind, address string) string
	// World, if not nil, is the part of the runtime whose state is restored.
	World World
	// Alone means that the previous process of the run has certainly exited.
	Alone bool
	// SharedFiles means that the files of all machines that can execute the run are the same. Moved
	// means that they are not, and that the previous process was on another machine.
	SharedFiles, Moved bool
	// Continues describes the earlier run of which the run is the successor; nil if there is none.
	Continues *journal.Continues
	// Inputs are the inputs that the earlier run has stored, with marks in place of secrets; nil if
	// there is none.
	Inputs json.RawMessage
	// Trial replays the run without writing anything or performing effects. At the end of the
	// replay the run is suspended with ErrTried.
	Trial bool
}

// World is the part of the runtime whose state a resumed run continues.
type World interface {
	// Charge counts what models and hosts have used in earlier processes, and Lost a call of a
	// model whose usage is unknown. Price returns the cost of a reply; see effect.Meter.
	Charge(effect.Use)
	Lost(*effect.AgentCall)
	Price(*effect.AgentReply) (cost int64, ok bool)
	// FlushOutput waits until all output is written or the context ends. OutputProgress returns the
	// number of bytes that were added to the output so far, and how many of them are written.
	FlushOutput(context.Context) error
	OutputProgress() (added, written int64)
}

// ErrTried is the reason for the suspension of a trial that has replayed the whole journal.
var ErrTried = errors.New("the program must do the same as the recorded run")

// Run is a durable run in this process.
type Run struct {
	vm.NotDurable
	c Config
	redactor
	named   map[string]bool // secrets that the journal names; used only by recordSecrets
	numbers numbers
	past    past
	out     output
	live    bool // the replay has ended
	parking parking
	talks   openExchanges
	meter   effect.Meter
	effectState
	decisions
	toolState
	carried carried
	openers map[number]begunEffect // begin records of the objects that the program may still use

	appendMu sync.Mutex

	flights flights

	suspension
}

// redactor replaces secrets by placeholders: clean in JSON, hide in plain text.
type redactor struct {
	clean func([]byte) []byte
	hide  func(string) string
}

// hostLines replaces secrets in the lines of exchanges with hosts. Pieces of a secret may be in
// consecutive lines.
type hostLines struct {
	stored     *secret.Record
	byExchange map[int64]*secret.Lines
}

// of returns the Lines of an exchange.
func (h *hostLines) of(exchange int64) *secret.Lines {
	if h.byExchange[exchange] == nil {
		h.byExchange[exchange] = h.stored.Lines(h.stored.JSON)
	}
	return h.byExchange[exchange]
}

// suspension contains the reason why the run is suspended.
type suspension struct {
	suspend chan struct{}
	once    sync.Once
	why     error // set before suspend is closed
	// canContinue means that a result was recorded after the suspension began, so that the program
	// no longer waits. Only the run's goroutine uses it.
	canContinue bool
}

// effectState contains functions and state that performing effects requires.
type effectState struct {
	print func(q *effect.Emit, n int64) error
	mark  func(q effect.Request) *int64
	clock clock
}

// flights contains the effects that have begun and not ended.
type flights struct {
	mu  sync.Mutex // protects all
	all map[effect.Request]*inFlight

	stores storeChanges
}

func newFlights() flights {
	return flights{all: map[effect.Request]*inFlight{}, stores: storeChanges{}}
}

// inFlight is an effect that has begun and not ended.
type inFlight struct {
	e        int64
	expires  int64 // expiry of a timer in Unix milliseconds; 0 for other effects
	repeated bool  // the effect began before the run was resumed
	mark     int64 // size of the file before the effect writes it; -1 if the file did not exist
	task     int64
	policy   string // policy of @on_unknown; "" for none
	rule     string // function with the @on_unknown annotation; "" for none
	class    string // class of the effect in its begin record
	tries    int
	until    int64           // latest deadline of its attempts in Unix milliseconds; 0 for none
	begin    *journal.Record // first begin record; nil if no record is written before the effect
	// storesBefore: the results of all changes of stores with lower numbers are in the journal
	storesBefore int64
	// resolved is the decision about the effect's unknown outcome; nil without a decision.
	resolved *journal.Resolved
}

// New returns a run with a configuration.
func New(c Config) *Run {
	r := &Run{c: c, named: map[string]bool{}, numbers: numbers{real: map[number]int64{}}, flights: newFlights(), openers: map[number]begunEffect{}, suspension: suspension{suspend: make(chan struct{})}}
	if c.Remark == nil {
		r.c.Remark = func(string) {}
	}
	r.out.have = c.Out
	r.parking.init(r)
	r.talks.init()
	r.past.init(r)
	r.live = c.History == nil
	var before []*journal.Record
	if c.History != nil {
		before = c.History.Records
	}
	r.carried = newCarried(c.Continues, before)
	return r
}

// SetSecrets sets the run's secrets and restores the state of world. It must be called before the
// run begins. The error names a secret that the journal uses and that is missing or different.
func (r *Run) SetSecrets(secrets *secret.Set, world World) error {
	if r.c.World = world; world != nil { // a trial has none
		r.meter.Price = world.Price
	}
	stored := secrets.ForJournal()
	r.clean, r.hide = stored.JSON, stored.Text
	r.talks.lines = hostLines{stored, map[int64]*secret.Lines{}}
	for _, name := range marks(r.c.Inputs) {
		value, ok := r.c.Secret(name)
		if !ok || value == "" {
			return &SecretError{name, "is not set"}
		}
		secrets.Add(name, value)
	}
	if r.c.History == nil {
		return nil
	}
	for _, x := range r.c.History.Records {
		if x.RecordKind != journal.KSecret {
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
	return nil
}

// SecretError means that a run cannot be resumed because the environment variable Name is missing
// or has a different value.
type SecretError struct{ Name, What string }

func (e *SecretError) Error() string { return fmt.Sprintf("the secret %s %s", e.Name, e.What) }

// secretCheck returns a short part of a hash. It is long enough to detect a different secret, and
// too short to find the secret by trying values.
func secretCheck(seed, value string) string {
	return hexsum.SHA256(seed + value)[:4]
}

// Suspend suspends the run as soon as possible. Only the first call has an effect. why becomes the
// result of Err.
func (r *Run) Suspend(why error) {
	r.once.Do(func() {
		r.why = why
		close(r.suspend)
	})
}

// Suspended returns a channel that is closed when the run must suspend.
func (r *Run) Suspended() <-chan struct{} { return r.suspend }

// Err returns the reason for the suspension of the run, or nil.
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

// Unwrap returns the error of writing.
func (e *Unwritable) Unwrap() error { return e.Err }

// flushJournal writes all appended records, and a record with the number of printed lines. An error
// suspends the run.
func (r *Run) flushJournal(level journal.Level) error {
	if r.live {
		r.out.recordPrinted(r)
	}
	return r.writeAppended(level)
}

// writeAppended writes all appended records. An error suspends the run.
func (r *Run) writeAppended(level journal.Level) error {
	if r.c.Trial {
		return nil
	}
	if err := r.Err(); err != nil {
		if _, failed := errors.AsType[*Unwritable](err); failed {
			return err
		}
	}
	lines := r.talks.takeWritten()
	if err := r.c.Writer.Flush(level); err != nil {
		err = &Unwritable{err}
		r.Suspend(err)
		return err
	}
	r.flushed(lines)
	return nil
}

// Finish records the exit code of the run, and whether it continues as a new run. Printed must be
// called before.
func (r *Run) Finish(code int, continued bool) error {
	if err := r.out.truncate(r, int(r.out.n)); err != nil {
		return err
	}
	r.out.lastNote(r, "")
	x := ""
	if continued {
		x = journal.HasContinued
	} else if err := r.dropAnswers(); err != nil {
		return err
	}
	if err := r.prepareEnd(); err != nil {
		r.Suspend(err)
		return err
	}
	r.c.Writer.Append(&journal.Record{RecordKind: journal.KFinish, ResultMembers: journal.ResultMembers{Outcome: x}, RequestMembers: journal.RequestMembers{Digest: r.out.digest()}, Owner: journal.Owner{N: r.out.n}, RareMembers: journal.RareMembers{Code: &code, Ledger: r.ledgerHead()}})
	return r.writeAppended(journal.Synced)
}

// dropAnswers removes the answers that the run has not read, such as an answer about the outcome of
// an effect whose outcome became known. A run that was never interrupted and has asked nothing has
// none.
func (r *Run) dropAnswers() error {
	r.parking.mu.Lock()
	hasAsked := r.parking.hasAsked
	r.parking.mu.Unlock()
	if r.c.History == nil && !hasAsked {
		return nil
	}
	left, err := r.c.Stored.Answers()
	for id := range left {
		if !journal.IsAboutSteering(id) { // a reply is removed by its reader
			r.c.Writer.ConsumeAnswer(id)
		}
	}
	return err
}

// prepareEnd syncs what only a resumed run would restore. The error is an *Unwritable.
func (r *Run) prepareEnd() error {
	if err := r.syncLedgers(); err != nil {
		return err
	}
	if w, ok := r.c.Writer.(journal.EndPreparer); ok {
		if err := w.PrepareEnd(); err != nil {
			return &Unwritable{err}
		}
	}
	return nil
}

// Clean replaces the secrets of the run in JSON by marks.
func (r *Run) Clean(text []byte) []byte { return r.clean(text) }

// printWithin limits how long a suspended run waits until its output is printed.
const printWithin = time.Second

// Printed waits until the run's output is printed. If that fails, the run is suspended. The resumed
// run prints the rest.
func (r *Run) Printed() error {
	if err := r.flushOutput(); err != nil {
		r.Suspend(err)
		return r.why
	}
	return nil
}

// flushOutput waits until the run's output is printed or the run is suspended.
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

// Leave records the suspension of the run.
func (r *Run) Leave() error {
	within, cancel := context.WithTimeout(context.Background(), printWithin)
	defer cancel()
	if r.c.World != nil {
		// the resumed run prints the remaining lines
		_ = r.c.World.FlushOutput(within)
	}
	parked, ok := errors.AsType[*Parked](r.Err())
	waits, by := ok && !r.canContinue, journal.BySuspending
	switch {
	case waits:
		by = ""
	case ok:
		by = journal.ByParking
	}
	r.out.lastNote(r, by)
	if waits {
		r.c.Writer.Append(&journal.Record{RecordKind: journal.KPark, RareMembers: journal.RareMembers{Waits: parked.waits()}})
	}
	return r.writeAppended(journal.Synced)
}

// number identifies an object of the program: the family of its kind (effect.Kind.Family) and the
// number of the effect that opened the object.
type number struct {
	family string
	e      int64
}

// numbers maps the numbers of objects to the numbers that the performers assigned to them.
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
	r.flights.mu.Lock()
	defer r.flights.mu.Unlock()
	return r.flights.all[q]
}

func (r *Run) setFlight(q effect.Request, f *inFlight) {
	r.flights.mu.Lock()
	defer r.flights.mu.Unlock()
	if f == nil {
		delete(r.flights.all, q)
	} else {
		r.flights.all[q] = f
	}
}

// blocked waits for the end of the context. The VM ends it to release an effect that must not be
// performed.
func blocked(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}
