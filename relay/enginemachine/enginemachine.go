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
	"log/slog"

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
	*Source
	o        Options
	instance string
	online   *connection // nil while the engine cannot be read
}

// Open opens the spool and restores the runs and requests in it.
func Open(ctx context.Context, o Options) (*Machine, error) {
	redact, err := redact.New("", nil)
	if err != nil {
		return nil, err
	}
	stored, err := spool.Open(ctx, o.Spool, spool.Options{Log: o.Log})
	if err != nil {
		return nil, err
	}
	events := &runs.Events{Spool: stored}
	requests := approvals.New(approvals.Options{Events: events, Redact: redact.Text, RedactJSON: func(v json.RawMessage) json.RawMessage { return redact.JSON(v) }})
	rows, err := events.Rows(ctx)
	if err == nil {
		err = requests.Restore(ctx, rows)
	}
	h := &Machine{o: o, instance: newInstance()}
	if err == nil {
		h.Source, err = NewSource(ctx, SourceOptions{Engine: o.Engine, ID: o.ID, Spool: stored, Requests: requests, Redact: redact, Stored: o.Stored, Log: o.Log})
	}
	if err != nil {
		return nil, errors.Join(err, stored.Close())
	}
	return h, nil
}

// Close closes the spool. Run must have returned.
func (h *Machine) Close() error { return h.spool.Close() }

// Run follows the engine until ctx is done or the spool is damaged. While the engine cannot be
// read, the machine is offline.
func (h *Machine) Run(ctx context.Context) error {
	defer h.disconnect()
	return h.follow(ctx, h.spool.Damage(), h.connect, h.disconnect)
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
