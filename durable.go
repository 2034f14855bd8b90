package concerto

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/engine/runs"
)

// Durable configures how a run is stored. When the context of such a run ends, the run is suspended
// instead of cancelled: Run returns ErrSuspended, and the program does not notice.
type Durable struct {
	// Dir is the directory of the run. It is created, or must be empty. Resume ignores it.
	Dir string
	// SuspendOnQuestion suspends the run when it waits for nothing but questions without an answer.
	// StoredRun.Answer answers them.
	SuspendOnQuestion bool
	// WaitForAnswer makes the run wait in that case. Without both, such a question is an EmitError.
	WaitForAnswer bool
	// Sync selects when records are synced to disk: "output" (before each output), "every" (record)
	// or "never"; "" uses the manifest's value.
	Sync string
	// SnapshotEvery is the number of records between snapshots, from which the run resumes;
	// 0 uses the manifest's value.
	SnapshotEvery int
	// Metadata is any JSON that is stored with the run.
	Metadata json.RawMessage
	// OnNotice is called with what a person should know about resuming; nil drops it.
	OnNotice func(text string)
}

func (d *Durable) engine() *engine.Durable {
	return &engine.Durable{Dir: d.Dir, Park: d.SuspendOnQuestion, Wait: d.WaitForAnswer, Sync: d.Sync,
		SnapshotEvery: d.SnapshotEvery, Given: d.Metadata, Remark: d.OnNotice}
}

// RunState is the state of a stored run.
type RunState string

// The states.
const (
	// RunRunning: a process executes the run.
	RunRunning RunState = "running"
	// RunSuspended: no process executes it.
	RunSuspended RunState = "suspended"
	// RunWaiting: it is suspended until a question is answered, or a time has come.
	RunWaiting RunState = "waiting"
	// RunFinished: it has ended without an error.
	RunFinished RunState = "finished"
	// RunFailed: it has ended with an error, or was stopped.
	RunFailed RunState = "failed"
	// RunDamaged: its directory cannot be read.
	RunDamaged RunState = "damaged"
)

// StoredRun is a durable run in its directory, as it was when OpenRun or ListRuns returned it.
type StoredRun struct {
	// Dir is the directory of the run, and ID its id.
	Dir, ID string
	// Program is the name of the program's main file, relative to its project.
	Program string
	// State is the state of the run.
	State RunState
	// Started is when the run began.
	Started time.Time
	// Questions are the questions that wait for an answer.
	Questions []Question
	// Usage is what the run used of all models.
	Usage Usage
	// Metadata is Durable.Metadata. ListRuns does not read it.
	Metadata json.RawMessage
	// Damage describes the damage of a run in the state RunDamaged.
	Damage string
}

// Question is a question of a durable run.
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
	shown, err := runs.Show(dir)
	if err != nil {
		return nil, convert(err)
	}
	s := newStoredRun(shown)
	s.Metadata = run.Given
	return s, nil
}

// ListRuns returns the stored runs in the directories in dir, the oldest first. It is empty when
// there is no such directory.
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
		Usage: Usage{Calls: int64(r.Usage.Calls), TokensIn: r.Usage.TokensIn, TokensOut: r.Usage.TokensOut, CostUSD: r.Usage.CostUSD}}
	if began, err := time.Parse(time.RFC3339, r.Started); err == nil {
		s.Started = began
	}
	for _, q := range r.Pending {
		s.Questions = append(s.Questions, Question{q.ID, q.Channel, q.Payload, q.Type})
	}
	return s
}

// Resume continues the run: it restores its state from the directory, without repeating what the
// run has done outside. Args, Input, Dir and Session are those that the run began with; functions,
// writers and Env are those of o, and Durable may be nil.
//
// The Result and the error are those of Run. The error is also ErrLocked when another process
// executes the run, or ErrSecret.
func (s *StoredRun) Resume(ctx context.Context, o Options) (*Result, error) {
	run, err := engine.OpenRun(s.Dir)
	if err != nil {
		return &Result{RunID: s.ID}, convert(err)
	}
	r, err := o.run(ctx, run.Resume)
	r.RunID = run.ID
	return r, err
}

// Answer answers a question of the run. The value is encoded as JSON; an error as value refuses the
// question, which is an EmitError in the program. A process that executes the run receives the
// answer at once, otherwise Resume does.
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
	return convert(runs.Answer(s.Dir, id, answer))
}

// Stop ends the run. A process that executes it cancels it, and Stop waits for that. A run that has
// ended already is an error.
func (s *StoredRun) Stop(ctx context.Context) error {
	err := runs.Stop(ctx, s.Dir)
	if err != nil && ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return err
	}
	return convert(err)
}
