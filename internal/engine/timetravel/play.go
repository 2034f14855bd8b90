package timetravel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/runconf"
	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/runtime"
	"github.com/concerto-lang/concerto/runtime/mock"
	"github.com/concerto-lang/concerto/runtime/world/emit"
	"github.com/concerto-lang/concerto/runtime/world/env"
	"github.com/concerto-lang/concerto/stdlib"
	"github.com/concerto-lang/concerto/vm"
)

// Recording is the list of effects of a run, and the log from which a Session replays the run.
type Recording struct {
	*Source
	Effects []Effect // in order of their numbers, which start at 1
	log     log
	clean   func([]byte) []byte
	config  vm.Config // configuration of the VM for replaying
	cutOff  bool      // the tape does not contain the end of the run
	seen    int64     // number of the effect whose frames the caller requested; 0 for none
}

// Play plays the run from its tape. If at is not 0, playing stops after effect at, and the
// recording contains the frames of that effect. After a *tape.DivergedError the recording contains
// the effects before the divergence.
func (s *Source) Play(ctx context.Context, at int64) (*Recording, error) {
	return s.play(ctx, at, nil)
}

// play plays the run like Play. clock, if not nil, observes the run.
func (s *Source) play(ctx context.Context, at int64, clock *clock) (*Recording, error) {
	r := &Recording{Source: s, seen: at, log: newLog()}
	world, t, err := s.world(r)
	if err != nil {
		return nil, err
	}
	r.cutOff = t.Ended == nil
	player := tape.Play(t)
	player.Clean = r.clean
	first := &first{ctx: ctx, r: r, past: player, tape: t, at: map[int64]int{}, clock: clock}
	h := &t.Header
	r.config = vm.Config{Program: s.program, Natives: stdlib.Native, AskPerson: h.Flags.Asks,
		Application: vm.Application{Run: world.ID(), Tools: h.Flags.Tools, Audited: h.Flags.Audited}}
	c := r.config
	c.Performer, c.Durable = world, first
	if clock != nil {
		clock.open(world.Secrets())
		c.Observer = clock
	}
	machine, err := vm.New(c)
	if err != nil {
		return nil, fmt.Errorf("could not load the program: %w", err)
	}
	err = s.start(ctx, machine)
	located := machine.CutAt().Locate(err)
	if clock != nil && !first.over {
		clock.Close(located)
	}
	if located != err {
		err = nil // the recorded run was stopped at the same place
	}
	if cerr := world.Close(context.WithoutCancel(ctx)); cerr != nil {
		return nil, cerr
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return r, first.diverged(err)
}

// world returns a runtime with the run's arguments, session and seed, and the tape with its secrets
// restored. It also sets r.clean, which removes secrets.
func (s *Source) world(r *Recording) (*runtime.Runtime, *tape.Tape, error) {
	secrets := tape.NewSecrets(s.environ)
	restored, err := s.tape.Restore(secrets.Value)
	if err != nil {
		return nil, nil, err
	}
	h := &restored.Header
	conf, err := runconf.Read(s.program.Run)
	if err != nil {
		return nil, nil, err
	}
	c := runtime.Config{Emit: emit.Options{Out: io.Discard, Mode: emit.None}, Log: io.Discard, Args: h.Args, Session: env.Session{ID: h.Run, Inputs: h.Inputs}}
	c.Secrets, c.Redact = conf.Secrets, conf.Redact
	if x := h.Session; x != nil {
		c.Session.Cwd, c.Session.Metadata, c.Session.Render = x.Cwd, x.Metadata, x.Render
	}
	if h.Seed != "" {
		seed, err := strconv.ParseInt(h.Seed, 10, 64) // validated when the tape was read
		if err != nil {
			return nil, nil, err
		}
		c.Seed = &seed
	}
	if s.eval != nil { // the sample itself performs requests that define mocks
		c.Layers = []effect.Layer{mock.New(mock.Options{Live: true, Sample: true}).Layer}
	}
	world := runtime.New(c)
	record := world.Recorded()
	secrets.AddTo(world.Secrets(), record)
	s.secrets, s.lacksSecrets = world.Secrets(), secrets.IsMissing()
	restored.Clean(record.JSON)
	r.clean = record.JSON
	return world, restored, nil
}

// first plays the run for the first time. It is the VM's Durable and Past, and returns the results
// of the tape until the tape ends.
type first struct {
	vm.NotDurable
	vm.OnlyPast
	ctx  context.Context
	r    *Recording
	past *tape.Player
	tape *tape.Tape
	// clock receives the times of the effects; nil if no clock is required.
	clock *clock
	at    map[int64]int // index in r.Effects by effect number
	begun int           // number of effects that have begun and not ended in the recording
	over  bool          // playing has ended, and no further effect is recorded
	place vm.Place      // place of the last effect
	lost  string        // source position of an effect that the tape does not contain
	end   error         // error that ended playing; nil if the program ended or the tape was cut off
}

// Journal implements vm.Durable.
func (f *first) Journal() vm.Journal { return noting{first: f} }

// Past implements vm.Durable.
func (f *first) Past() vm.Past { return f }

// diverged returns the reason why the run could not be played to its end, or nil. err is the error
// that the VM returned.
func (f *first) diverged(err error) error {
	if f.end != nil {
		err = f.end
	} else if f.over {
		return nil
	}
	var failed *vm.Uncaught
	if errors.Is(err, vm.ErrNoMain) {
		return err
	}
	if err == nil || errors.As(err, new(*vm.Continued)) || errors.As(err, new(*vm.Exit)) || errors.As(err, &failed) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil // the recorded run ended with this error too
	}
	d, ok := err.(*tape.DivergedError)
	if !ok {
		d = &tape.DivergedError{Err: err}
	}
	d.At = f.lost
	if at, ok := errors.AsType[*vm.Stopped](err); ok {
		d.At = formatPlace(at.Place)
	}
	return d
}

// errRunStopped is the error of a run that was stopped while no process was running it.
var errRunStopped = errors.New("the run was stopped")

// stopNoting ends the recording with a reason, or with nil if nothing went wrong.
func (f *first) stopNoting(why error) {
	f.over, f.end = true, why
	switch {
	case f.clock == nil:
	case why == nil && f.r.stopped() != nil:
		f.clock.Close(&vm.Stopped{Err: errRunStopped, Place: f.place})
	default:
		f.clock.Leave() // the program now unwinds, which is no part of the run
	}
}

// errStopped is the error that makes the VM stop after the recording has ended.
var errStopped = vm.ErrSuspended

// Result returns the recorded result of an effect that does not wait.
func (f *first) Result(e int64, q effect.Request) (result effect.Result, known bool, err error) {
	if f.over {
		return nil, true, errStopped
	}
	result, known, err = f.past.Result(e, q)
	if f.missing(e, err) {
		return nil, true, errStopped
	}
	if by, over := errors.AsType[*vm.EndedBy](err); over {
		f.r.log.notedEffect(e).endedBy = by.Cause
	}
	return result, known, err
}

// missing handles err if it means that the tape does not contain effect e, and reports whether it
// did. In this case, either the recording was cut off or the program behaves differently.
func (f *first) missing(e int64, err error) bool {
	missing, ok := errors.AsType[*tape.DivergedError](err)
	if !ok {
		return false
	}
	if _, began := f.r.under[e]; began {
		f.stopNoting(nil)
		return true
	}
	f.dropEffect(e)
	if missing.Ends && f.tape.Ended == nil {
		f.stopNoting(nil)
	} else {
		f.stopNoting(missing)
	}
	return true
}

// dropEffect removes effect e from the recording, because the recorded run did not perform it.
func (f *first) dropEffect(e int64) {
	if n := len(f.r.Effects); n > 0 && f.r.Effects[n-1].N == e {
		f.lost = f.r.Effects[n-1].At
		f.r.Effects = f.r.Effects[:n-1]
	}
}

// Find returns whether the tape contains the result of an effect for which the program waits.
func (f *first) Find(e int64, q effect.Request) (vm.PastResult, error) {
	if f.over {
		return vm.Unrecorded, errStopped
	}
	found, err := f.past.Find(e, q)
	if _, lacks := errors.AsType[*tape.DivergedError](err); lacks {
		if _, began := f.r.under[e]; !began && f.tape.Ended != nil {
			f.missing(e, err)
		} else if n := len(f.r.Effects); n > 0 && !began {
			f.r.Effects[n-1].Status = underWay(effect.ClassOf(q).String())
		}
		return vm.UnderWay, nil
	}
	f.r.log.notedEffect(e).parked = found == vm.Recorded
	return found, err
}

// NextEvent returns the next event of the tape. The VM calls it when no task can continue.
func (f *first) NextEvent() (x vm.Event, ok bool) {
	if f.over {
		return vm.Event{}, false
	}
	x, ok = f.past.NextEvent()
	switch {
	case !ok:
		f.stopNoting(f.unused())
	case x.E == 0:
		f.r.log.addArrival(arrival{err: x.Err})
	}
	return x, ok
}

// EventAt returns the event that the tape contains at a moment of the computation. If the recorded
// run was interrupted, EventAt stops the run when all recorded results are used and all recorded
// effects have begun, because the program may compute endlessly.
func (f *first) EventAt(at vm.Moment) (x vm.Event, ok bool) {
	if f.over {
		return vm.Event{}, false
	}
	if _, unused := f.past.Unused(); f.ctx.Err() != nil || f.tape.Ended == nil && unused == 0 && f.begun == len(f.r.under) {
		f.stopNoting(nil)
		return vm.Event{Err: context.Canceled}, true
	}
	if x, ok = f.past.EventAt(at); ok && x.E == 0 {
		f.r.log.addArrival(arrival{err: x.Err, at: &at})
	}
	return x, ok
}

// unused returns an error if the tape contains effects that the run has not performed again.
func (f *first) unused() error {
	kinds, n := f.past.Unused()
	if n == 0 {
		return nil
	}
	return fmt.Errorf("the run is waiting, and did not repeat %d of its recorded effects: %s", n, strings.Join(kinds, ", "))
}

// ExceededMemory reports whether the recorded run exceeded its memory limit at this moment.
func (f *first) ExceededMemory(at vm.Moment) bool {
	found := !f.over && f.past.ExceededMemory(at)
	if found {
		f.r.log.exceeded[at] = true
	}
	return found
}

// noting is the VM's Journal while the run is played for the first time. It adds effects and their
// results to the recording.
type noting struct {
	vm.NoJournal
	*first
}

// EffectBegan adds an effect with its source position.
func (f noting) EffectBegan(e int64, at vm.Scene, q effect.Request) {
	if f.over {
		return
	}
	if f.r.eval != nil {
		f.r.eval.Edit(q)
	}
	f.place = at.Place()
	x := Effect{N: e, Task: at.Task(), Kind: string(q.Kind()), Status: None, At: formatPlace(at.Place())}
	if status, began := f.r.under[e]; began {
		x.Status = status
		f.begun++
	}
	if n, ok := q.(effect.Numbered); ok {
		x.Of = *n.Number() // number of the effect that opened the object; replaying restores it
	}
	if text, err := tape.Request(q); err == nil {
		x.Request = f.r.clean(text)
	} else {
		x.Request = f.r.clean(jsonText(err.Error()))
	}
	if e == f.r.seen {
		x.Frames = framesOf(at, f.r.clean)
	}
	f.at[e] = len(f.r.Effects)
	f.r.Effects = append(f.r.Effects, x)
}

func jsonText(s string) json.RawMessage {
	text, _ := json.Marshal(s) // a string can always be encoded
	return text
}

// EffectEnded adds the result of an effect.
func (f noting) EffectEnded(e int64, q effect.Request, result effect.Result, err error, at *vm.Moment) {
	if f.clock != nil {
		f.clock.advance(f.r.times[e].ended)
	}
	i, ok := f.at[e]
	if f.over || !ok || i >= len(f.r.Effects) || f.r.Effects[i].N != e {
		return
	}
	x := &f.r.Effects[i]
	entry, werr := tape.EntryOf(e, q.Kind(), result, err, at)
	if werr != nil {
		f.stopNoting(fmt.Errorf("record the result of effect %d: %w", e, werr))
		return
	}
	f.r.log.addEnd(entry, at)
	x.Status, x.Error = statusOf(err), entry.Err
	if entry.Lines != nil {
		x.Result = f.r.clean(linesOf(entry.Lines))
	} else if entry.V != nil {
		x.Result = f.r.clean(entry.V)
	}
	if entry.Err != nil {
		x.Error = f.cleaned(entry.Err)
	}
	if e == f.r.seen {
		f.stopNoting(nil)
	}
}

// cleaned returns a copy of a failure without secrets.
func (f *first) cleaned(x *tape.Failure) *tape.Failure {
	out := &tape.Failure{}
	text, err := json.Marshal(x)
	if err == nil && json.Unmarshal(f.r.clean(text), out) == nil {
		return out
	}
	return &tape.Failure{Kind: x.Kind}
}

// linesOf returns the output lines of a host as a JSON array. A line that is not JSON becomes a
// string.
func linesOf(lines []string) json.RawMessage {
	out := []byte{'['}
	for i, line := range lines {
		if i > 0 {
			out = append(out, ',')
		}
		if json.Valid([]byte(line)) {
			out = append(out, line...)
		} else {
			out = append(out, jsonText(line)...)
		}
	}
	return append(out, ']')
}

// statusOf returns the status of an effect that ended with err.
func statusOf(err error) string {
	if err == nil {
		return Done
	}
	if e, ok := errors.AsType[*effect.Error](err); ok {
		return [...]string{effect.None: None, effect.Done: Done, effect.Unknown: Unknown}[e.Status]
	}
	return Unknown
}

// EffectDeferred records that the first attempt of an effect returned effect.ErrWaits.
func (f noting) EffectDeferred(e int64, _ effect.Request, _ vm.Moment) {
	if !f.over {
		f.r.log.notedEffect(e).waited = true
	}
}
