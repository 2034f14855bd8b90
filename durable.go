package concerto

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/engine/runs"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
)

// Durable configures how a run is stored. When the context of a durable run ends, the run is
// suspended instead of cancelled. Run then returns ErrSuspended, and the program does not notice
// the end.
type Durable struct {
	// Dir is the directory of the run, which Run requires. Run creates it if it does not exist; an
	// existing directory must be empty. Resume ignores Dir.
	Dir string
	// SuspendOnQuestion suspends the run when it waits only for questions that have no answer.
	// StoredRun.Answer answers them.
	SuspendOnQuestion bool
	// WaitForAnswer makes the run wait for answers in that case. If neither field is set, a
	// question without an answer becomes an EmitError.
	WaitForAnswer bool
	// Sync determines when records are synced to disk. "" uses the manifest's value.
	Sync Sync
	// Metadata is any JSON value. It is stored with the run.
	Metadata json.RawMessage
	// OnNotice is called with messages for a person about resuming the run. nil discards them.
	OnNotice func(text string)
}

// Sync determines when the records of a durable run are synced to disk.
type Sync string

// The values of Sync.
const (
	// SyncOutput syncs before each output, so that what others have seen is never lost.
	SyncOutput Sync = "output"
	// SyncEvery syncs after each record.
	SyncEvery Sync = "every"
	// SyncNever leaves it to the operating system. Records survive the end of the process, but not
	// that of the machine.
	SyncNever Sync = "never"
)

func (d *Durable) engine() (*engine.Durable, error) {
	switch d.Sync {
	case "", SyncOutput, SyncEvery, SyncNever:
	default:
		return nil, &Error{Message: fmt.Sprintf("Options.Durable.Sync is %q: use SyncOutput, SyncEvery or SyncNever", d.Sync)}
	}
	return &engine.Durable{Dir: d.Dir, Park: d.SuspendOnQuestion, Wait: d.WaitForAnswer, Sync: string(d.Sync),
		Given: d.Metadata, Remark: d.OnNotice}, nil
}

// RunState is the state of a stored run.
type RunState string

// The states of a stored run.
const (
	// RunRunning means that a process executes the run.
	RunRunning RunState = "running"
	// RunSuspended means that the process that executed the run has suspended it.
	RunSuspended RunState = "suspended"
	// RunKilled means that the process that executed the run has neither ended nor suspended it.
	RunKilled RunState = "killed"
	// RunWaiting means that the run is suspended until a question is answered or until a certain
	// time.
	RunWaiting RunState = "waiting"
	// RunFinished means that the run has ended without an error.
	RunFinished RunState = "finished"
	// RunFailed means that the run has ended with an error, or was stopped.
	RunFailed RunState = "failed"
	// RunContinued means that the run has ended and a new run has taken its place.
	RunContinued RunState = "continued"
	// RunDamaged means that the directory of the run cannot be read.
	RunDamaged RunState = "damaged"
)

// StoredRun is a durable run in its directory. It describes the state of the run at the time when
// OpenRun or ListRuns returned it.
type StoredRun struct {
	// Dir is the directory of the run, and ID the identifier of the run.
	Dir, ID string
	// Program is the name of the program's main file, relative to its project.
	Program string
	// State is the state of the run.
	State RunState
	// Started is the time at which the run began.
	Started time.Time
	// Questions contains the questions that wait for an answer.
	Questions []Question
	// Usage is what all models and hosts have used in the run. Calls are those of models.
	Usage Usage
	// Metadata is Durable.Metadata. ListRuns does not read it.
	Metadata json.RawMessage
	// Damage describes the damage of a run in the state RunDamaged.
	Damage string
}

// Question is a question for which a durable run waits.
type Question struct {
	// ID identifies the question in its run.
	ID string
	// Channel is the channel of the awaited emit, or "host:" and the type of the host's message.
	Channel string
	// Payload is the emitted value, or the message, as JSON.
	Payload json.RawMessage
	// Type is the type of the answer in the program, such as "Bool"; "" if it is unknown.
	Type string
}

// OpenRun reads the stored run in a directory. The error is ErrNoRun, ErrDamaged or ErrVersion.
func OpenRun(dir string) (*StoredRun, error) {
	run, err := engine.OpenRun(dir)
	if err != nil {
		return nil, convert(err)
	}
	shown, err := runs.Show(rundir.At(dir))
	if err != nil {
		return nil, convert(err)
	}
	s := newStoredRun(shown)
	s.Metadata = run.Given
	return s, nil
}

// ListRuns returns the stored runs in the subdirectories of dir, the oldest first. If dir does not
// exist, the list is empty.
func ListRuns(dir string) ([]*StoredRun, error) {
	all, err := runs.List(dir)
	if err != nil {
		return nil, convert(err)
	}
	out := make([]*StoredRun, len(all))
	for i, shown := range all {
		out[i] = newStoredRun(shown)
	}
	return out, nil
}

func newStoredRun(r *durable.Shown) *StoredRun {
	s := &StoredRun{Dir: r.Dir, ID: r.Run, Program: r.Program, State: RunState(r.State), Damage: r.Damage,
		Usage: Usage{Calls: r.Usage.Calls, Failed: r.Usage.FailedCalls, TokensIn: r.Usage.TokensIn, TokensOut: r.Usage.TokensOut, CostUSD: r.Usage.CostUSD}}
	if began, err := time.Parse(time.RFC3339, r.Started); err == nil {
		s.Started = began
	}
	for _, q := range r.Pending {
		s.Questions = append(s.Questions, Question{q.ID, q.Channel, q.Payload, q.Type})
	}
	return s
}

// Resume continues the run. It restores the state from the directory, and does not repeat effects
// that the run has already performed. The run uses its original Args, Input, Dir and Session.
// Functions, writers and Env are those of o. o.Durable may be nil.
//
// Resume returns the same results as Run. In addition, the error can be ErrLocked, if another
// process executes the run, or ErrSecret.
func (s *StoredRun) Resume(ctx context.Context, o Options) (*Result, error) {
	run, err := engine.OpenRun(s.Dir)
	if err != nil {
		return &Result{RunID: s.ID}, convert(err)
	}
	r, err := o.run(ctx, engine.Configured, run.Resume)
	r.RunID = run.ID
	return r, err
}

// Answer answers a question of the run. The value is encoded as JSON. If the value is an error, the
// question is rejected, and the program receives an EmitError. If a process executes the run, it
// receives the answer at once, and otherwise Resume does.
func (s *StoredRun) Answer(id string, value any) error {
	var answer runs.Response
	if refusal, ok := value.(error); ok {
		text := refusal.Error()
		answer.Refuse = &text
	} else {
		text, err := json.Marshal(value)
		if err != nil {
			return convert(err)
		}
		answer.Text, answer.JSON = string(text), true
	}
	return convert(runs.Answer(rundir.At(s.Dir), id, answer))
}

// Stop ends the run. If a process executes the run, that process cancels it, and Stop waits for the
// end. If the run has already ended, Stop returns an error.
func (s *StoredRun) Stop(ctx context.Context) error {
	err := runs.Stop(ctx, s.Dir)
	if err != nil && ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return err
	}
	return convert(err)
}
