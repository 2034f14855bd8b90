// Package enginemachine presents an engine, a database with durable runs, to the relay's server as
// one machine (spec/37-engine.md). Each run of the engine is a run of this machine. The answers of
// users become answers in the engine.
//
// The machine reads what has changed once per second, and commits it as events to a spool, with the
// number of the output line up to which it has read. So a restart repeats no event. From there on
// the events take the path of hostd: package link sends them to the server and receives commands.
package enginemachine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/record/journal/postgres"
	"github.com/concerto-lang/concerto/relay/hostd/approvals"
	"github.com/concerto-lang/concerto/relay/hostd/link"
	"github.com/concerto-lang/concerto/relay/hostd/redact"
	"github.com/concerto-lang/concerto/relay/hostd/runs"
	"github.com/concerto-lang/concerto/relay/hostd/spool"
)

// Options configures a Machine.
type Options struct {
	Engine *postgres.Engine
	ID     string // the engine's id, which is also that of the machine
	Name   string // name of the machine
	Spool  string // path of the spool's database
	Server string // URL of the relay's server
	Token  string // authenticates the machine
	// Stored returns the number of this machine's runs that the server has stored; nil means none.
	Stored  func(ctx context.Context) (int, error)
	Version string
	Log     *slog.Logger
}

// Machine presents an engine as a machine.
type Machine struct {
	o        Options
	spool    *spool.Spool
	requests *approvals.Registry
	redact   *redact.Redactor
	instance string

	endedAfter time.Time // runs that have ended before are not read again
	polls      int       // number of successful polls
	full       bool      // the server accepts no further runs

	mu     sync.Mutex
	runs   map[string]*run // runs that have not ended, by the relay's ids
	err    error           // why the engine cannot be read; nil if it can
	online *connection     // nil while the engine cannot be read
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

// Open opens the spool and restores the runs and requests in it.
func Open(ctx context.Context, o Options) (_ *Machine, err error) {
	h := &Machine{o: o, runs: map[string]*run{}, instance: newInstance()}
	if h.redact, err = redact.New("", nil); err != nil {
		return nil, err
	}
	if h.spool, err = spool.Open(ctx, o.Spool, spool.Options{Log: o.Log}); err != nil {
		return nil, err
	}
	events := &runs.Events{Spool: h.spool}
	h.requests = approvals.New(approvals.Options{Events: events, Redact: h.redact.Text,
		RedactJSON: func(v json.RawMessage) json.RawMessage { return h.redact.JSON(v) }})
	rows, err := events.Rows(ctx)
	if err == nil {
		err = h.requests.Restore(ctx, rows)
	}
	if err == nil {
		err = h.restore(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, h.spool.Close())
	}
	return h, nil
}

// restore loads the runs in the spool that have not ended. The first poll attaches to their open
// requests.
func (h *Machine) restore(ctx context.Context) error {
	for _, stored := range h.spool.Runs() {
		if stored.Ended {
			continue
		}
		text, err := h.spool.Note(ctx, stored.ID, noteKind, noteKey)
		if err == nil && text == nil {
			err = errors.New("the spool does not describe it")
		}
		if err != nil {
			return fmt.Errorf("restore run %s: %w", stored.ID, err)
		}
		r := &run{id: stored.ID, output: stored.Offset, started: true}
		if err := json.Unmarshal(text, &r.note); err != nil {
			return fmt.Errorf("restore run %s: %w", stored.ID, err)
		}
		if r.labels, err = labelsText(r.Labels); err != nil {
			return err
		}
		h.runs[r.id] = r
	}
	return nil
}

// Close closes the spool. Run must have returned.
func (h *Machine) Close() error { return h.spool.Close() }

// pollInterval is the interval at which the machine reads what has changed in the engine.
const pollInterval = time.Second

// Run follows the engine until ctx is done or the spool is damaged. While the engine cannot be
// read, the machine is offline.
func (h *Machine) Run(ctx context.Context) error {
	defer h.disconnect()
	for failures := 0; ; {
		err := h.poll(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			if failures > 0 {
				h.o.Log.Info("the engine can be read again", "engine", h.o.Engine.Address())
			}
			failures = 0
			h.setError(nil)
			if err := h.connect(ctx); err != nil {
				return err
			}
		default:
			if failures++; failures == 1 {
				h.o.Log.Warn("could not read the engine; retrying", "engine", h.o.Engine.Address(), "error", h.o.Engine.Explain(err, postgres.Client))
			}
			h.setError(h.o.Engine.Explain(err, postgres.Client))
			if failures > 1 { // the first error may be that of a single connection
				h.disconnect()
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case err := <-h.spool.Damage():
			return err
		case <-time.After(pollInterval):
		}
	}
}

func (h *Machine) setError(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err = err
}

// connection is a link to the server.
type connection struct {
	stop context.CancelFunc
	done chan struct{} // closed when the link has stopped
}

// connect starts the link to the server, unless it is running.
func (h *Machine) connect(ctx context.Context) error {
	if h.online != nil {
		return nil
	}
	l, err := link.New(link.Options{Name: h.o.Name, URL: h.o.Server, MachineID: h.o.ID, Token: func() (string, error) { return h.o.Token, nil },
		Agent: "concerto-relay/" + h.o.Version, Instance: h.instance, Features: []string{"questions"}, Spool: h.spool, Commands: commands{h}, Log: h.o.Log})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	c := &connection{stop, make(chan struct{})}
	go func() {
		defer close(c.done)
		l.Run(ctx)
	}()
	h.online = c
	return nil
}

// disconnect stops the link to the server, if it is running.
func (h *Machine) disconnect() {
	if h.online != nil {
		h.online.stop()
		<-h.online.done
		h.online = nil
	}
}

// find returns a run that has not ended, or nil.
func (h *Machine) find(id string) *run {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.runs[id]
}
