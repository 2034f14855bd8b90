// Package timetravel inspects recorded runs: which effects a run performed, at which source
// position, and which values its variables had at that time (spec/26-durable.md).
//
// Play plays a recording once from its tape without performing effects, and records each effect in
// a list. After that, a Session can stop the run at any effect or line, in any order.
package timetravel

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/vm"
)

// The statuses of an effect. An effect is Pending while the run waits for its result. None means
// that the effect did not happen.
const (
	Done    = "done"
	None    = "none"
	Unknown = "unknown"
	Pending = "pending"
)

// Effect is an effect of a run.
type Effect struct {
	N       int64           `json:"effect"`
	Task    int64           `json:"task"` // task number, where 1 is main
	Kind    string          `json:"kind"`
	Status  string          `json:"status"`
	At      string          `json:"at"`           // FILE:LINE:COLUMN of the innermost call in the program's own files
	Of      int64           `json:"of,omitempty"` // number of the effect that opened the object which this effect uses
	Request json.RawMessage `json:"request"`
	Result  json.RawMessage `json:"result"`          // null if the effect has no result
	Error   *tape.Failure   `json:"error,omitempty"` // nil unless the effect failed
	Frames  []Frame         `json:"frames,omitzero"` // set only for the effect that Play received as at
}

// Frame is a running call. Lists of frames start with the innermost call.
type Frame struct {
	Function string `json:"function"`
	At       string `json:"at"`
	Locals   Locals `json:"locals"`
	File     string `json:"-"`
	Line     int    `json:"-"`
}

// Locals are variables in the order of their declaration.
type Locals []Variable

// Variable is a variable with its value as JSON, or as text if the value has no JSON form.
type Variable struct {
	Name  string
	Value json.RawMessage
}

// MarshalJSON returns an object of the variables.
func (all Locals) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, v := range all {
		if i > 0 {
			out = append(out, ',')
		}
		name, err := json.Marshal(v.Name)
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, name...), ':'), v.Value...)
	}
	return append(out, '}'), nil
}

// Source is a recorded run.
type Source struct {
	program *ir.Program
	tape    *tape.Tape
	under   map[int64]string // status by number of each effect that began and did not end
	times   map[int64]effectTimes
	environ []string
	eval    *EvalCall // of a sample of an eval; nil for a run of main
	// records is the journal of the run; nil for a tape
	records []*journal.Record
	// secrets are those of the run that was played last. lacksSecrets means that the environment
	// lacks the values of some.
	secrets      *secret.Set
	lacksSecrets bool
}

// Program returns the program of the run.
func (s *Source) Program() *ir.Program { return s.program }

// Header returns the recording's description of the run.
func (s *Source) Header() *tape.Header { return &s.tape.Header }

// Arguments returns the arguments and the input of the program, without the secrets of the run,
// which must have been played. ok is false if the environment lacks the value of a secret, which
// they may contain.
func (s *Source) Arguments() (args []string, inputs json.RawMessage, ok bool) {
	if s.secrets == nil || s.lacksSecrets {
		return nil, nil, false
	}
	for _, a := range s.tape.Args {
		args = append(args, s.secrets.Text(a))
	}
	if s.tape.Inputs != nil {
		inputs = s.secrets.JSON(s.tape.Inputs)
	}
	return args, inputs, true
}

// Exit returns the exit code of the run, or nil if the recording does not contain its end.
func (s *Source) Exit() *int {
	if s.tape.Ended == nil {
		return s.stopped()
	}
	return &s.tape.Ended.Code
}

// stopped returns the exit code of a run that was stopped while no process was running it, or nil.
// Its tape contains no end.
func (s *Source) stopped() *int {
	if n := len(s.records); n > 0 && s.tape.Ended == nil && s.records[n-1].RecordKind == journal.KFinish {
		return s.records[n-1].Code
	}
	return nil
}

// Times returns the times of the first and the last record of the journal. ok is false for a tape,
// which has no times.
func (s *Source) Times() (first, last time.Time, ok bool) {
	if len(s.records) == 0 {
		return first, last, false
	}
	return time.UnixMilli(s.records[0].Time), time.UnixMilli(s.records[len(s.records)-1].Time), true
}

// Outcome returns the status of an effect that the journal contains as begun and not ended, Unknown
// or Pending, and "" for other effects.
func (s *Source) Outcome(effect int64) string { return s.under[effect] }

// Run opens a stored run. The run may still be in progress. environ ("NAME=value") contains the
// secrets that the journal omits; a missing secret is shown as its placeholder. The error is
// journal.ErrNoRun, a *journal.DamagedError, a *journal.NewerFormatError, or an error of the store.
func Run(run journal.Run, environ []string) (*Source, error) {
	stored, err := durable.Open(run)
	if err != nil {
		return nil, err
	}
	return ofStored(stored, environ)
}

// Undamaged opens the part of a stored run before the damage of its journal.
func Undamaged(run journal.Run, environ []string) (*Source, error) {
	stored, err := durable.Good(run)
	if err != nil {
		return nil, err
	}
	return ofStored(stored, environ)
}

func ofStored(stored *durable.Stored, environ []string) (*Source, error) {
	var text bytes.Buffer
	if err := durable.Tape(stored.Run, stored.History, stored.TapeFlags(), stored.Flags.Emit, &text); err != nil {
		return nil, err
	}
	s, err := Tape(&text, stored.Program, environ)
	if err != nil {
		return nil, err
	}
	s.records = stored.History.Records
	s.times = timesOf(s.records)
	for _, r := range stored.History.Records {
		switch r.RecordKind {
		case journal.KBegin:
			s.under[r.Effect] = underWay(r.Class)
		case journal.KEnd, journal.KDid, journal.KLines:
			delete(s.under, r.Effect)
		}
	}
	return s, nil
}

// underWay returns the status of an effect that began and did not end, by the name of its class.
func underWay(class string) string {
	switch class {
	case effect.ClassWaits.String(), effect.ClassKept.String():
		return Pending
	}
	return Unknown
}

// Tape opens the run that a tape recorded. program is the compiled program of the run. The error is
// a *tape.SyntaxError for an invalid tape, or states why the program is invalid.
func Tape(text io.Reader, program []byte, environ []string) (*Source, error) {
	p, err := ir.Decode(program)
	if err == nil {
		err = ir.Verify(p)
	}
	if err != nil {
		return nil, fmt.Errorf("could not read the program: %w", err)
	}
	t, err := tape.Read(text)
	if err != nil {
		return nil, err
	}
	return &Source{program: p, tape: t, under: map[int64]string{}, environ: environ}, nil
}

// EvalCall is the call of an eval. RowType is the index of its parameter's type. Edit changes each
// request as in the sample.
type EvalCall struct {
	Edit     func(effect.Request)
	Function int
	Row      json.RawMessage
	RowType  int
}

// Sample returns the Source for a tape of a sample that contains all effects.
func Sample(text io.Reader, program []byte, environ []string, call EvalCall) (*Source, error) {
	s, err := Tape(text, program, environ)
	if err == nil {
		s.eval = &call
	}
	return s, err
}

// start runs main, or the eval of a sample.
func (s *Source) start(ctx context.Context, m *vm.VM) error {
	if s.eval == nil {
		_, err := m.Run(ctx)
		return err
	}
	row, errs := schema.Decode(s.eval.Row, vm.TypeOf(m, s.eval.RowType))
	if len(errs) > 0 {
		return fmt.Errorf("could not read the row: %s", schema.Join(errs))
	}
	_, err := m.Call(ctx, s.eval.Function, row)
	return err
}

// Text returns the text of the program's source file with this name. ok is false if the program
// contains no such file.
func (s *Source) Text(file string) (text string, ok bool) {
	for _, f := range s.program.Files {
		if f.Name == file {
			return f.Text, f.Text != ""
		}
	}
	return "", false
}

// Name returns the name of the program's main file.
func (s *Source) Name() string {
	if s.program.Entry < 0 {
		return s.program.Name
	}
	return s.program.Files[s.program.Functions[s.program.Entry].File].Name
}

// LastStored returns the number of the last effect up to n whose kind is recorded in journals, or n
// if there is none.
func (r *Recording) LastStored(n int64) int64 {
	for i := len(r.Effects) - 1; i >= 0; i-- {
		if x := &r.Effects[i]; x.N <= n && tape.Recorded(effect.Kind(x.Kind)) {
			return x.N
		}
	}
	return n
}
