package concerto

import (
	"errors"
	"io"
	"path/filepath"
	"time"

	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/record/activity"
)

// Records configures the recordings of a run. The zero Records records nothing. The run's secrets
// are removed from all recordings except the profile, which contains none. Writers are not closed.
type Records struct {
	// Tape receives everything that the run receives from outside, for Program.Replay.
	Tape io.Writer
	// Transcript receives the conversations between the program and its models, as JSON lines.
	Transcript io.Writer
	// HostTraffic receives every line that the run and its hosts send to each other, as JSON lines.
	HostTraffic io.Writer
	// Profile receives a CPU profile for `go tool pprof`.
	Profile io.Writer
	// Trace receives tasks and effects as trace events for Perfetto.
	Trace io.Writer
	// OnActivity is called for each activity of the run with its hosts, when it occurs. Calls do
	// not overlap, and the program waits until OnActivity returns.
	OnActivity func(Activity)
	// AuditFile is the path of a log with a record for every tool call. Each record contains a hash
	// of the one before. A call that cannot be recorded does not take place. "" means the log of
	// the manifest's [audit], if it has one. Runs of this process may share a file.
	AuditFile string
	// LedgerFile is the path of a log with a record for every decision: who answered or approved a
	// request. Each record contains a hash of the one before. Runs of this process may share a
	// file.
	LedgerFile string
}

// open adds the records to the engine's options. release closes the files that open has opened.
func (r *Records) open(o *engine.Options) (release func() error, err error) {
	x := &o.Records
	x.Tape, x.Transcript, x.Wire, x.Profile, x.Trace = r.Tape, r.Transcript, r.HostTraffic, r.Profile, r.Trace
	if on := r.OnActivity; on != nil {
		x.OnActivity = func(e activity.Event) { on(activityOf(e)) }
	}
	var closers []func() error
	release = func() error {
		var errs []error
		for _, c := range closers {
			errs = append(errs, c())
		}
		return errors.Join(errs...)
	}
	if r.AuditFile != "" {
		file, err := filepath.Abs(r.AuditFile)
		if err != nil {
			return nil, err
		}
		log, done, err := engine.SharedAudit(file)
		if err != nil {
			return nil, err
		}
		x.Audit, closers = log, append(closers, done)
	}
	if r.LedgerFile != "" {
		file, err := filepath.Abs(r.LedgerFile)
		if err != nil {
			return nil, errors.Join(err, release())
		}
		ledger, done, err := engine.SharedLedger(file)
		if err != nil {
			return nil, errors.Join(err, release())
		}
		x.Ledger, closers = ledger, append(closers, done)
	}
	return release, nil
}

// Activity is an activity of a run with its hosts. Fields that do not apply to its kind are zero.
// Texts come from hosts, models and programs, and may contain control characters.
type Activity struct {
	// Kind is "began", "moved", "asked", "answered", "withdrawn" or "ended" for an exchange with a
	// host. It is "listen began" or "listen ended" for a listen, "stage began" or "stage ended" for
	// a stage of a pipeline, and "progressed" or "progress ended" for run::progress.
	Kind string
	// At is the time since the start of the run.
	At time.Duration
	// Number identifies the exchange, the listen or the stage. It is 0 for an exchange whose host
	// could not be started.
	Number int64
	// Task is the number of the program's task, from 1, which is main.
	Task int64
	// Name is the name of the host, the stage as PIPELINE/STAGE, or for a listen the name of the
	// function that listens.
	Name string
	// Host is the name of the host's declaration.
	Host string
	// Lane distinguishes concurrent exchanges with one host. It counts from 1.
	Lane int
	// Text describes what the host does or asks, or is the answer or the message of an error.
	Text string
	// Percent is the reported progress in percent. It is negative if unknown.
	Percent float64
	// Done and Total are the arguments of run::progress.
	Done, Total float64
	// MessageType is "question" or "approval", and MessageID the ID of the message as JSON. Both
	// are set for activities that concern a question or an approval.
	MessageType, MessageID string
	// By is the kind of the party that answered, such as "handler" or "application".
	By string
	// Denied is set if an approval was denied. Failed is set if an exchange failed or was
	// cancelled.
	Denied, Failed bool
	// Tokens and CostUSD are the usage of the exchange so far, if its host reports it.
	Tokens  int64
	CostUSD float64
}

func activityOf(e activity.Event) Activity {
	return Activity{Kind: string(e.Kind), At: e.At, Number: e.Number, Task: e.Task, Name: e.Name, Host: e.Host, Lane: e.Lane,
		Text: e.Text, Percent: e.Percent, Done: e.Done, Total: e.Of, MessageType: e.Type, MessageID: e.ID, By: e.By,
		Denied: e.Denied, Failed: e.Failed, Tokens: e.Used.Tokens, CostUSD: e.Used.Cost}
}

// Tape is a recording of everything that a run received from outside.
type Tape struct{ tape *engine.Tape }

// ReadTape reads a tape that was written to Records.Tape. The error contains the number of the
// invalid line.
func ReadTape(r io.Reader) (*Tape, error) {
	t, err := engine.ReadTape(r)
	if err != nil {
		return nil, convert(err)
	}
	return &Tape{t}, nil
}
