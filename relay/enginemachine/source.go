package enginemachine

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/record/journal/postgres"
	"github.com/concerto-lang/concerto/relay/hostd/approvals"
	"github.com/concerto-lang/concerto/relay/hostd/redact"
	"github.com/concerto-lang/concerto/relay/hostd/spool"
)

// SourceOptions configures a Source.
type SourceOptions struct {
	Engine   *postgres.Engine
	ID       string // the engine's id
	Spool    *spool.Spool
	Requests *approvals.Registry // with the open requests in the spool
	Redact   *redact.Redactor
	// Stored returns the number of the machine's runs that the server has stored; nil means none.
	Stored func(ctx context.Context) (int, error)
	Log    *slog.Logger
}

// Source shows the runs of an engine as runs of a machine: it commits their events to the machine's
// spool, and opens their requests.
type Source struct {
	o        SourceOptions
	spool    *spool.Spool
	requests *approvals.Registry
	redact   *redact.Redactor

	endedAfter time.Time // runs that have ended before are not read again
	polls      int       // number of successful polls
	full       bool      // the server accepts no further runs

	mu   sync.Mutex
	runs map[string]*run // runs that have not ended, by the relay's ids
	err  error           // why the engine cannot be read; nil if it can
}

// run is a run that has not ended according to the committed events. Only poll changes it.
type run struct {
	note
	id      string        // the relay's id
	mark    postgres.Mark // the state whose events are committed; zero if the run must be read again
	output  int64         // number of lines of output whose events are committed
	started bool          // run.started is committed
	labels  string        // labels in the last run.meta, as JSON
}

// note is the content of the note that describes a run in the spool.
type note struct {
	Run    string            `json:"run"` // id in the engine
	Labels map[string]string `json:"labels"`
}

// Kind and key of this note.
const (
	noteKind = "engine"
	noteKey  = "run"
)

// NewSource restores the runs of an engine in a spool.
func NewSource(ctx context.Context, o SourceOptions) (*Source, error) {
	s := &Source{o: o, spool: o.Spool, requests: o.Requests, redact: o.Redact, runs: map[string]*run{}}
	return s, s.restore(ctx)
}

// restore loads the runs in the spool that have not ended. The first poll attaches to their open
// requests.
func (s *Source) restore(ctx context.Context) error {
	for _, stored := range s.spool.Runs() {
		if stored.Ended {
			continue
		}
		text, err := s.spool.Note(ctx, stored.ID, noteKind, noteKey)
		if err != nil {
			return fmt.Errorf("restore run %s: %w", stored.ID, err)
		}
		if text == nil {
			continue // a run of the machine that has the spool
		}
		r := &run{id: stored.ID, output: stored.Offset, started: true}
		if err := json.Unmarshal(text, &r.note); err != nil {
			return fmt.Errorf("restore run %s: %w", stored.ID, err)
		}
		if r.labels, err = labelsText(r.Labels); err != nil {
			return err
		}
		s.runs[r.id] = r
	}
	return nil
}

// pollInterval is the interval at which the machine reads what has changed in the engine.
const pollInterval = time.Second

// Run follows the engine until ctx is done.
func (s *Source) Run(ctx context.Context) {
	_ = s.follow(ctx, nil, func(context.Context) error { return nil }, func() {}) // without damage, only online could fail
}

// follow follows the engine until ctx is done, online fails, or an error arrives from damage. It
// calls online after each successful poll, and offline while the engine cannot be read.
func (s *Source) follow(ctx context.Context, damage <-chan error, online func(context.Context) error, offline func()) error {
	for failures := 0; ; {
		err := s.poll(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			if failures > 0 {
				s.o.Log.Info("the engine can be read again", "engine", s.o.Engine.Address())
			}
			failures = 0
			s.setError(nil)
			if err := online(ctx); err != nil {
				return err
			}
		default:
			if failures++; failures == 1 {
				s.o.Log.Warn("could not read the engine; retrying", "engine", s.o.Engine.Address(), "error", s.o.Engine.Explain(err, postgres.Client))
			}
			s.setError(s.o.Engine.Explain(err, postgres.Client))
			if failures > 1 { // the first error may be that of a single connection
				offline()
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case err := <-damage:
			return err
		case <-time.After(pollInterval):
		}
	}
}

func (s *Source) setError(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// Err returns why the engine cannot be read, or nil.
func (s *Source) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Has reports whether a run is one of the engine that has not ended.
func (s *Source) Has(run string) bool { return s.find(run) != nil }

// find returns a run that has not ended, or nil.
func (s *Source) find(id string) *run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs[id]
}
