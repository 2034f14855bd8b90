// Package worker claims runs of an engine, a database that several machines share, and executes
// them (docs/decisions/066).
package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/engine/runs"
	"github.com/concerto-lang/concerto/internal/engine/submission"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/localowner"
	"github.com/concerto-lang/concerto/internal/record/journal/postgres"
	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/runtime/keeper"
)

// Config configures a worker.
type Config struct {
	Engine     Engine
	Row        postgres.WorkerRow
	Lease      time.Duration
	Drain      time.Duration // how long effects in progress may continue when the worker ends
	MaxCrashes int           // number of crashes without progress after which a run is held
	State      string        // directory for what belongs to this machine; its workers share it
	Dir        string        // directory to which the paths of programs are relative
	UntilIdle  bool          // end when there is no run, and none that the worker can claim
	// Options returns the options of a run, given its id and what was submitted.
	Options func(p *engine.Program, run string, start json.RawMessage) (engine.Options, error)
	// Log receives the events of the worker. Calls are concurrent.
	Log func(Event)
	// Ready is called when the worker accepts runs.
	Ready func(id string) error
}

// The kinds of events.
const (
	Started  = "started"
	Claim    = "claim"
	Park     = "park"
	End      = "end"
	Handover = "handover"
	Held     = "held"
	Fenced   = "fenced"
	Refused  = "refused"
	Retry    = "retry"
	Drain    = "drain"
	Lost     = "lost"
	Rejoined = "rejoined"
)

// Event is an event of a worker. Run and Epoch are zero if it concerns the worker itself.
type Event struct {
	Kind  string
	Run   string
	Epoch int64
	Text  string
}

// claimInterval is the interval at which a worker with capacity tries to claim runs. Notifications
// arrive earlier, but may be lost, and there is none when the lease of a dead worker expires: other
// workers then claim its runs within half a second. scheduleInterval is the interval at which a
// worker submits the runs of schedules.
const (
	claimInterval    = 400 * time.Millisecond
	scheduleInterval = time.Second
)

// errDrained is the reason for the suspension of runs when their worker ends.
var errDrained = errors.New("the worker is stopping")

// worker is a running worker.
type worker struct {
	Config
	session Session

	unsure time.Time // until when the engine may execute a claim whose response was lost; zero if none was

	mu      sync.Mutex
	live    map[string]int64 // epochs of the runs that the worker executes
	refused []string         // runs that this worker cannot execute

	ended   chan struct{} // receives a value when a run has ended
	running sync.WaitGroup
}

// Run executes runs until ctx ends, and then releases them. kill, when it is closed, stops
// everything for which a run still waits. The error is that of connecting or of the engine's
// schema.
func Run(ctx context.Context, kill <-chan struct{}, c Config) error {
	w := &worker{Config: c, live: map[string]int64{}, ended: make(chan struct{}, 1)}
	for first := true; ; first = false {
		if err := w.join(ctx, first); err != nil {
			return err
		}
		if ctx.Err() != nil && !first && w.session.Ended().Err() != nil { // it was drained before it could register again
			return nil
		}
		if ctx.Err() != nil && !first || w.serve(ctx, kill) {
			closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.Lease)
			defer cancel()
			return w.session.Close(closing)
		}
		w.Log(Event{Kind: Lost, Text: "the lease of worker " + w.session.ID() + " has expired; its runs continue on other workers"})
	}
}

// join registers the worker. If the worker was registered before, it retries until ctx ends, and
// removes the earlier registration. It may register although ctx has ended since.
func (w *worker) join(ctx context.Context, first bool) error {
	for {
		s, err := w.Engine.NewSession(ctx, w.Row, w.Lease, func(run string, err error) {
			w.Log(Event{Kind: Retry, Run: run, Text: fmt.Sprintf("could not write to the engine: %v; retrying", err)})
		})
		if err == nil {
			if !first {
				_ = w.session.Close(ctx) // its lease has expired: the row has no meaning
			}
			w.session, w.unsure = s, time.Time{}
			break
		}
		if first {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(claimInterval):
		}
	}
	kind := Rejoined
	if first {
		kind = Started
	}
	w.Log(Event{Kind: kind, Text: fmt.Sprintf("worker %s started on %s, queues %s", w.session.ID(), w.Row.Machine, strings.Join(w.Row.Queues, ", "))})
	if w.Ready != nil {
		return w.Ready(w.session.ID())
	}
	return nil
}

// serve claims and executes runs. over is false if the worker has lost its lease.
func (w *worker) serve(parent context.Context, kill <-chan struct{}) (over bool) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(parent))
	defer cancel(nil)
	defer w.running.Wait()
	defer func() { cancel(errDrained) }()
	w.fireSchedules(ctx)
	firing, stopFiring := context.WithCancel(ctx)
	defer stopFiring()
	w.running.Go(func() {
		for firing.Err() == nil {
			select {
			case <-firing.Done():
			case <-time.After(scheduleInterval):
				w.fireSchedules(firing)
			}
		}
	})
	for parent.Err() == nil {
		before := w.executing()
		claimed, err := w.claim(ctx, kill)
		if err != nil && w.session.Ended().Err() == nil {
			w.Log(Event{Kind: Retry, Text: fmt.Sprintf("could not claim runs: %v; retrying", err)})
		}
		// A run that ends after the query may have made another one ready, such as its successor.
		if w.UntilIdle && before == 0 && claimed == 0 && err == nil {
			return true
		}
		live := w.executing()
		if claimed > 0 && live < w.Row.Concurrency {
			continue // there may be more
		}
		var again <-chan time.Time
		woken := w.session.Woken()
		if live < w.Row.Concurrency {
			again = time.After(claimInterval)
		} else {
			woken = nil
		}
		select {
		case <-parent.Done():
		case <-w.session.Ended().Done():
			if parent.Err() == nil {
				return false
			}
		case <-woken:
		case <-w.ended:
		case <-again:
		}
	}
	w.session.Drain()
	w.Log(Event{Kind: Drain, Text: fmt.Sprintf("releasing %d runs", w.executing())})
	return true
}

// executing returns the number of runs that the worker executes.
func (w *worker) executing() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.live)
}

// fireSchedules submits the runs whose scheduled times have come.
func (w *worker) fireSchedules(ctx context.Context) {
	if err := w.Engine.FireSchedules(ctx); err != nil && ctx.Err() == nil {
		w.Log(Event{Kind: Retry, Text: fmt.Sprintf("could not submit the runs of schedules: %v; retrying", err)})
	}
}

// claim claims runs up to the worker's capacity and begins to execute them. It returns their
// number.
func (w *worker) claim(ctx context.Context, kill <-chan struct{}) (int, error) {
	all, err := w.claimable()
	if err != nil {
		return 0, err
	}
	for _, c := range all {
		if c.Held {
			w.Log(Event{Held, c.Run, c.Epoch, "its workers have crashed too often without progress; concerto runs release makes it ready again"})
			continue
		}
		w.mu.Lock()
		w.live[c.Run] = c.Epoch
		w.mu.Unlock()
		text := "claimed"
		if c.TakenOver {
			text = "taken over from a worker that does not respond"
		}
		w.Log(Event{Claim, c.Run, c.Epoch, text})
		session := w.session
		w.running.Go(func() {
			w.finish(session, &c, w.execute(ctx, kill, session, &c))
			w.mu.Lock()
			delete(w.live, c.Run)
			w.mu.Unlock()
			select {
			case w.ended <- struct{}{}:
			default:
			}
		})
	}
	return len(all), nil
}

// claimable returns the runs that the worker has claimed and does not execute. If the response to a
// claim is lost, the engine may have executed it, now or a moment later.
func (w *worker) claimable() (all []postgres.Claimed, err error) {
	w.mu.Lock()
	free, executing, refused := w.Row.Concurrency-len(w.live), maps.Clone(w.live), slices.Clone(w.refused)
	w.mu.Unlock()
	if free <= 0 {
		return nil, nil
	}
	if !w.unsure.IsZero() {
		over := time.Now().After(w.unsure)
		owned, err := w.session.Owned()
		if err != nil {
			return nil, err
		}
		for _, c := range owned {
			switch epoch, live := executing[c.Run]; {
			case !live:
				all = append(all, c)
			case c.Epoch != epoch: // the worker still ends an earlier execution of the claimed run
				over = false
			}
		}
		if over {
			w.unsure = time.Time{}
		}
	}
	if free <= len(all) {
		return all, nil
	}
	// A run that another worker could claim may still end its execution here.
	more, err := w.session.Claim(free-len(all), w.MaxCrashes, slices.AppendSeq(refused, maps.Keys(executing)))
	if err != nil {
		w.unsure = time.Now().Add(w.Lease)
		if len(all) == 0 {
			return nil, err
		}
	}
	return append(all, more...), nil
}

// execute executes a claimed run until it ends, waits or must leave the worker.
func (w *worker) execute(ctx context.Context, kill <-chan struct{}, session Session, c *postgres.Claimed) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(session.Ended(), func() { cancel(journal.ErrLost) })()
	run := session.Claimed(c)
	dir := w.runDir(c.Run)
	if c.Stop {
		return stop(run, c, dir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if !c.Begun {
		return w.first(ctx, kill, run, c, dir)
	}
	stored, err := engine.OpenSharedRun(run, dir, w.Dir)
	if err != nil {
		return err
	}
	p, err := stored.Program()
	if err != nil {
		return err
	}
	o, err := w.options(p, kill, c)
	if err != nil {
		return err
	}
	o.Records.Durable = w.durable(c, nil, "")
	return stored.Resume(ctx, o)
}

// first executes a run that has not begun.
func (w *worker) first(ctx context.Context, kill <-chan struct{}, run journal.Run, c *postgres.Claimed, dir string) error {
	data, err := run.Program(c.Program, c.IR)
	if err != nil {
		return err
	}
	p, err := engine.Load(data)
	if err != nil {
		return err
	}
	o, err := w.options(p, kill, c)
	if err != nil {
		return err
	}
	o.Session.SessionID = c.Run
	start, err := submission.Decode(c.Start)
	if err != nil {
		return err
	}
	o.Records.Durable = w.durable(c, run, dir)
	o.Records.Durable.Continues = start.Continues
	return p.Run(ctx, o)
}

func (w *worker) options(p *engine.Program, kill <-chan struct{}, c *postgres.Claimed) (engine.Options, error) {
	o, err := w.Options(p, c.Run, c.Start)
	o.WorkDir, o.Dir, o.Kill = w.Dir, w.Dir, kill
	return o, err
}

func (w *worker) durable(c *postgres.Claimed, run journal.Run, dir string) *engine.Durable {
	return &engine.Durable{Dir: dir, Run: run, Machine: w.Row.Machine, Park: true, ParkAfter: w.parkAfter, Finish: w.finishWithin, Remark: func(text string) { w.Log(Event{Kind: Claim, Run: c.Run, Epoch: c.Epoch, Text: text}) }}
}

// parkWhenFull is the time without progress after which a waiting run leaves a worker without free
// places. Usually it stays longer (durable.ParkAfter), because replaying it is more expensive.
const parkWhenFull = 100 * time.Millisecond

// parkAfter returns the time without progress after which a waiting run leaves the worker.
func (w *worker) parkAfter() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.live) >= w.Row.Concurrency {
		return parkWhenFull
	}
	return durable.ParkAfter
}

// finishWithin returns how long effects in progress may continue when a run is suspended.
func (w *worker) finishWithin(why error) time.Duration {
	if errors.Is(why, errDrained) {
		return w.Drain
	}
	return 0
}

// runDir returns the directory of what belongs to a run on this machine.
func (w *worker) runDir(run string) string { return filepath.Join(w.State, "runs", run) }

// stop ends a run that must stop and that no process executes.
func stop(run journal.Run, c *postgres.Claimed, dir string) error {
	owner := journal.Options{Owner: localowner.Here()}
	var writer journal.Writer
	var err error
	if c.Begun {
		writer, _, err = run.Open(nil, owner)
	} else {
		var data []byte
		if data, err = run.Program(c.Program, c.IR); err != nil {
			return err
		}
		empty := json.RawMessage("{}")
		writer, err = run.Create(journal.Start{Run: c.Run, Program: c.Program, IR: c.IR, Engine: tape.VMVersion, Args: []string{}, Inputs: empty, Session: empty, Flags: empty, Seed: "0"}, data, owner)
	}
	if err != nil {
		return err
	}
	if err := keeper.EndAt(dir); err != nil {
		return errors.Join(err, writer.Close())
	}
	return errors.Join(runs.FinishStopped(writer), runs.Settle(context.Background(), run), engine.ErrStopped)
}

// finish logs how the execution of a run has ended. A run that this worker cannot execute is
// released with the reason, and another worker may try.
func (w *worker) finish(session Session, c *postgres.Claimed, err error) {
	log := func(kind, text string) { w.Log(Event{kind, c.Run, c.Epoch, text}) }
	suspended, isSuspended := errors.AsType[*engine.Suspended](err)
	if isSuspended {
		err = suspended.Why
	}
	switch {
	case errors.Is(err, journal.ErrFenced) || errors.Is(err, journal.ErrLost) || session.Ended().Err() != nil && isSuspended:
		log(Fenced, fenceText(c.Run, err))
	case isSuspended && err == nil:
		w.released(c, session.Release(c)) // an answer may have arrived
		log(Park, "waits for answers or a time")
	case errors.Is(err, errDrained):
		w.released(c, session.Release(c))
		log(Handover, "released for another worker")
	case err == nil || w.hasEnded(c.Run):
		_ = os.RemoveAll(w.runDir(c.Run)) // what remains is not used again
		text := "finished"
		if as, ok := errors.AsType[*engine.Continued](err); ok {
			text = "continued as " + as.As
		} else if err != nil {
			text = "failed: " + err.Error()
		}
		log(End, text)
	default:
		w.refuse(session, c, err)
		log(Refused, err.Error())
	}
}

// hasEnded reports whether the end of a run is stored.
func (w *worker) hasEnded(run string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), w.Lease)
	defer cancel()
	_, exit, err := w.Engine.State(ctx, run)
	return err == nil && exit != nil
}

// fenceText returns the message for a run that has another owner. run is the id.
func fenceText(run string, err error) string {
	if fenced, ok := errors.AsType[*postgres.FencedError](err); ok {
		return fenced.Error()
	}
	return "run " + run + ": fenced: the lease of this worker has expired"
}

// retryAfter is the delay before another attempt to execute a run that could not be executed for a
// reason that may pass, such as a connection that was lost.
const retryAfter = 5 * time.Second

// refuse releases a run that this worker cannot execute. A damaged run becomes damaged. If the
// reason lasts as long as the worker, the worker does not claim the run again.
func (w *worker) refuse(session Session, c *postgres.Claimed, why error) {
	var err error
	switch {
	case errors.As(why, new(*journal.DamagedError)) || errors.As(why, new(*postgres.MissingError)):
		err = session.Damaged(c, why.Error())
	case isLasting(why):
		w.mu.Lock()
		w.refused = append(w.refused, c.Run)
		w.mu.Unlock()
		err = session.Refuse(c, requirement(why), 0)
	default:
		err = session.Refuse(c, why.Error(), retryAfter)
	}
	w.released(c, err)
}

// released logs an error of releasing a run.
func (w *worker) released(c *postgres.Claimed, err error) {
	if err != nil && !errors.Is(err, journal.ErrFenced) {
		w.Log(Event{Refused, c.Run, c.Epoch, fmt.Sprintf("could not release the run: %v", err)})
	}
}

// requirement returns what a run requires that a worker does not have, as the reason for which the
// run does not progress.
func requirement(why error) string {
	if secret, ok := errors.AsType[*durable.SecretError](why); ok {
		return fmt.Sprintf("secret %s has changed since the run started", secret.Name)
	}
	return why.Error()
}

// isLasting reports whether a worker cannot execute a run for a reason that lasts: its version, its
// secrets, or the size of the journal.
func isLasting(why error) bool {
	return errors.Is(why, ir.ErrNotIR) || errors.Is(why, ir.ErrVersion) || errors.Is(why, ir.ErrInvalid) || errors.Is(why, journal.ErrFull) ||
		errors.As(why, new(*journal.NewerFormatError)) || errors.Is(why, journal.ErrDropped) || errors.As(why, new(*durable.SecretError))
}
