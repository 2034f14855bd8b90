// Package hostd implements the daemon on a machine where agents run (spec/relay.md). It connects
// the spool, the open requests, the runs on terminals, the API on the Unix socket and the
// connection to the server, and closes them in the correct order.
package hostd

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/record/journal/postgres"
	"github.com/concerto-lang/concerto/relay/enginemachine"
	"github.com/concerto-lang/concerto/relay/hostd/approvals"
	"github.com/concerto-lang/concerto/relay/hostd/ingest"
	"github.com/concerto-lang/concerto/relay/hostd/link"
	"github.com/concerto-lang/concerto/relay/hostd/pair"
	"github.com/concerto-lang/concerto/relay/hostd/prompt"
	"github.com/concerto-lang/concerto/relay/hostd/redact"
	"github.com/concerto-lang/concerto/relay/hostd/rpc"
	"github.com/concerto-lang/concerto/relay/hostd/runs"
	"github.com/concerto-lang/concerto/relay/hostd/sealer"
	"github.com/concerto-lang/concerto/relay/hostd/socket"
	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// Options configures a Daemon.
type Options struct {
	Server    string // URL of the relay's server; "" means no server
	MachineID string // "" generates an id and stores it in State
	Token     string // "" generates a token and stores it in State

	// HasMachine reports whether the server has a machine with this key. If HasMachine is nil, the
	// pairing is used if it was made with the configured server's address. hostd sets HasMachine
	// when the server runs in the same process, because the server's address may then change.
	HasMachine func(ctx context.Context, machineID string, key ed25519.PublicKey) (bool, error)

	State    string // the state directory
	Spool    string // path of the spool's database; "" means spool.db in State
	SpoolMax int64
	Socket   string
	Roots    []string // directories that the working directories of runs must be in

	Prompts         string // path of a file with rules for prompts; "" means none
	Redact          string // the value of REDACTION_EXTRA_REGEX
	ApprovalTimeout time.Duration
	RemoteExec      bool
	Sealed          string // SealedAuto, SealedOff or SealedRequired; "" means SealedOff

	Engine   *postgres.Engine // its runs are shown as runs of this machine; Close closes it; nil means none
	EngineID string

	Holder  []string // command line of the program that holds a run's terminal
	Environ []string
	Version string
	LogPath string // path of the log file, which the diagnostics report; "" means none
	Log     *slog.Logger

	seams Seams
}

// How hostd seals the events of runs (relay/seal).
const (
	SealedAuto     = "auto" // the events of new runs are sealed if the machine has an account
	SealedOff      = "off"
	SealedRequired = "required" // Open fails if the machine has no account
)

// Seams replaces what a Daemon uses of the operating system. The zero Seams replaces nothing. Only
// internal/sim sets it.
type Seams struct {
	Listen      func() (net.Listener, error) // listens for programs; nil means on the Unix socket
	VFS         string                       // the SQLite VFS with the spool
	BeforeBatch func()                       // called before the spool gathers a batch
	HTTP        *http.Client                 // for the connection to the server
	Random      func() float64               // for the delays of the link, in [0, 1)
}

// SetSeams sets the seams.
func (o *Options) SetSeams(s Seams) { o.seams = s }

// Daemon is a running machine daemon.
type Daemon struct {
	o         Options
	name      string // of the machine; "" if it is unknown
	spool     *spool.Spool
	approvals *approvals.Registry
	events    *runs.Events
	runs      *runs.Manager
	rpc       *rpc.Dispatcher
	source    *ingest.Sources
	engine    *enginemachine.Source // nil if there is no engine
	redact    *redact.Redactor
	paired    *pair.Pairing // the pairing with the server; nil if the machine uses a token
	link      *link.Link
	sealer    *sealer.Sealer
	api       *socket.API
	listen    net.Listener
}

// Open opens the stored state, continues the runs that are still alive, and listens on the socket.
// An error contains the setting that must be changed.
func Open(ctx context.Context, o Options) (_ *Daemon, err error) {
	if err := os.MkdirAll(o.State, 0o700); err != nil {
		return nil, fmt.Errorf("create the state directory: %w", err)
	}
	d := &Daemon{o: o}
	defer func() {
		if err != nil {
			d.Close()
		}
	}()
	if err := d.loadIdentity(ctx); err != nil {
		return nil, err
	}
	environ := o.Environ
	if environ == nil {
		environ = os.Environ()
	}
	if d.redact, err = redact.New(o.Redact, environ); err != nil {
		return nil, err
	}
	d.redact.Add("HOST_TOKEN", d.o.Token)
	rules, err := prompt.Load(o.Prompts)
	if err != nil {
		return nil, err
	}
	if o.seams.Listen == nil {
		o.seams.Listen = func() (net.Listener, error) { return socket.Listen(o.Socket) }
		if err := socket.CheckFree(o.Socket); err != nil {
			return nil, err
		}
	}
	if d.o.Spool == "" {
		d.o.Spool = filepath.Join(o.State, "spool.db")
	}
	if d.name, err = os.Hostname(); err != nil {
		o.Log.Warn("could not read the machine's name", "error", err)
	}
	if err := d.openAccount(ctx); err != nil {
		return nil, err
	}
	if d.spool, err = spool.Open(ctx, d.o.Spool, spool.Options{Max: o.SpoolMax, Log: o.Log, VFS: o.seams.VFS, Keys: d.sealer, BeforeBatch: o.seams.BeforeBatch}); err != nil {
		return nil, err
	}
	// If two daemons start at the same time, the lock of the spool stops one of them before it can
	// take over the other's socket.
	if d.listen, err = o.seams.Listen(); err != nil {
		return nil, err
	}
	if err := d.restore(ctx, rules); err != nil {
		return nil, err
	}
	d.rpc = d.newDispatcher()
	if err := d.rpc.Restore(ctx, d.spool); err != nil {
		return nil, err
	}
	if err := d.connect(ctx); err != nil {
		return nil, err
	}
	d.api = socket.New(socket.Options{Runs: d.runs, Approvals: d.approvals, RPC: d, Source: d.source, Programs: d.source, Account: d.sealer, Health: d.health, Log: o.Log,
		RecordRefused: func(run string, what protocol.OwnRefused) error {
			return d.events.CommitChange(context.Background(), spool.Change{Run: run, Events: []spool.Event{{Type: protocol.RunRefused, Data: what}}})
		}})
	return d, nil
}

// restore creates the request registry and the runs from the state that the previous process
// stored.
func (d *Daemon) restore(ctx context.Context, rules prompt.Rules) (err error) {
	d.events = &runs.Events{Spool: d.spool}
	d.approvals = approvals.New(approvals.Options{Events: d.events, Timeout: d.o.ApprovalTimeout, Redact: d.redact.Text,
		RedactJSON: func(v json.RawMessage) json.RawMessage { return d.redact.JSON(v) }, Fresh: d.sealer.Token, Record: d.sealer.RecordDecision})
	d.runs, err = runs.New(runs.Options{Dir: filepath.Join(d.o.State, "runs"), Roots: d.o.Roots, Holder: d.o.Holder, Env: d.o.Environ, Socket: d.o.Socket, Spool: d.spool, Approvals: d.approvals,
		Rules: rules, Redact: d.redact, Log: d.o.Log, NoServer: d.o.Server == ""})
	if err != nil {
		return err
	}
	d.events.Runs = d.runs
	rows, err := d.events.Rows(ctx)
	if err != nil {
		return err
	}
	if err := d.approvals.Restore(ctx, rows); err != nil {
		return err
	}
	if err := d.runs.Restore(ctx); err != nil {
		return err
	}
	d.source = ingest.New(ingest.Options{Spool: d.spool, Approvals: d.approvals, Redact: d.redact, Log: d.o.Log, Open: d.sealer.OpenEvent, PID: socket.PeerPID,
		CallerRuns: func(q *http.Request) []string { return d.api.CallerRuns(q) }})
	d.events.ShowOther = d.source.Show
	if d.o.Engine != nil {
		d.engine, err = enginemachine.NewSource(ctx, enginemachine.SourceOptions{Engine: d.o.Engine, ID: d.o.EngineID, Spool: d.spool, Requests: d.approvals, Redact: d.redact, Log: d.o.Log})
	}
	return errors.Join(err, d.source.Restore(ctx))
}

func (d *Daemon) connect(ctx context.Context) (err error) {
	if d.o.Server == "" {
		return nil
	}
	d.link, err = link.New(link.Options{Name: d.name, URL: d.o.Server, MachineID: d.o.MachineID, Token: func() (string, error) { return d.o.Token, nil }, Key: func() (*link.Key, error) { return d.key(ctx) }, Agent: "concerto-relay/" + d.o.Version, Instance: newUUID(), Features: features,
		Spool: d.spool, Commands: commands{d}, Gate: d.sealer, Account: d.sealer.Account, Sealed: d.sealer.Seals, Welcomed: d.sealer.Follow, Log: d.o.Log, HTTP: d.o.seams.HTTP, Random: d.o.seams.Random})
	return err
}

// Socket returns the path of the Unix socket.
func (d *Daemon) Socket() string { return d.o.Socket }

// MachineID returns the machine's id.
func (d *Daemon) MachineID() string { return d.o.MachineID }

// Token returns the token with which the machine authenticates to its server.
func (d *Daemon) Token() string { return d.o.Token }

// Run serves until ctx is done, the socket fails, or the spool reports damage.
func (d *Daemon) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var work sync.WaitGroup
	if d.link != nil {
		work.Go(func() { d.link.Run(ctx) })
		work.Go(func() { d.sealer.Run(ctx) })
	}
	if d.engine != nil {
		work.Go(func() { d.engine.Run(ctx) })
	}
	served := make(chan error, 1)
	go func() { served <- d.api.Serve(d.listen) }()
	var err, damage error
	select {
	case <-ctx.Done():
		d.api.Close()
		err = <-served
	case damage = <-d.spool.Damage():
		stop()
		d.api.Close()
		err = <-served
	case err = <-served:
		stop()
	}
	work.Wait()
	return errors.Join(damage, err)
}

// Close commits pending events and detaches from the runs. The runs continue.
func (d *Daemon) Close() {
	if d.listen != nil {
		d.listen.Close()
	}
	if d.api != nil {
		d.api.Close()
	}
	if d.source != nil {
		d.source.Close()
	}
	if d.runs != nil {
		d.runs.Close()
	}
	if d.sealer != nil {
		if err := d.sealer.Close(); err != nil {
			d.o.Log.Error("could not close the ledger", "error", err)
		}
	}
	if d.spool != nil {
		if err := d.spool.Close(); err != nil {
			d.o.Log.Error("could not close the spool", "error", err)
		}
	}
	if d.o.Engine != nil {
		d.o.Engine.Close()
	}
}

// health returns the body of GET /health.
func (d *Daemon) health() any {
	type state struct {
		Name      string `json:"name"`
		Version   string `json:"version"`
		Status    string `json:"status"`
		MachineID string `json:"host_id"`
		Server    string `json:"server,omitempty"`
		Connected bool   `json:"connected"`
		Error     string `json:"error,omitempty"`
	}
	s := state{Name: "concerto-relay hostd", Version: d.o.Version, Status: "ok", MachineID: d.o.MachineID, Server: d.o.Server}
	if d.link != nil {
		l := d.link.State()
		s.Connected = l.Connected
		if l.Err != nil && !l.Connected {
			s.Error = l.Err.Error()
		}
	}
	if h := d.spool.Health(); h.WriteErr != nil {
		s.Status, s.Error = "disk", h.WriteErr.Error()
	} else if h.Full {
		s.Status = "spool_full"
	} else if d.engine != nil && d.engine.Err() != nil {
		s.Status, s.Error = "engine", d.engine.Err().Error()
	}
	return s
}

// loadIdentity determines the machine's id and token if the options do not contain them.
func (d *Daemon) loadIdentity(ctx context.Context) (err error) {
	if err := d.loadPairing(ctx); err != nil {
		return err
	}
	if d.o.MachineID == "" {
		if d.o.MachineID, err = d.loadOrCreate("host-id", "host_"); err != nil {
			return err
		}
	}
	if d.o.Token == "" && d.paired == nil {
		d.o.Token, err = d.loadOrCreate("host-token", "")
	}
	return err
}

// loadOrCreate returns the content of a file in the state directory. If the file does not exist, it
// creates the file with the prefix and a random text.
func (d *Daemon) loadOrCreate(name, prefix string) (string, error) {
	file := filepath.Join(d.o.State, name)
	text, err := os.ReadFile(file)
	if err == nil {
		return strings.TrimSpace(string(text)), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	made := prefix + strings.ToLower(rand.Text()[:20])
	return made, os.WriteFile(file, []byte(made+"\n"), 0o600)
}

// newUUID returns a random UUID (version 4).
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
