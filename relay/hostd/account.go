package hostd

import (
	"context"
	"errors"
	"time"

	"github.com/concerto-lang/concerto/relay/client/machineapi"
	"github.com/concerto-lang/concerto/relay/hostd/sealer"
	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
)

// keysTimeout is the maximum time for which the start waits for the server's newest key record.
const keysTimeout = 5 * time.Second

// openAccount loads the account of the machine, if it has one.
func (d *Daemon) openAccount(ctx context.Context) (err error) {
	o := sealer.Options{SealEvents: d.o.Sealed == SealedRequired || d.o.Sealed == SealedAuto, Required: d.o.Sealed == SealedRequired, Name: d.name, State: d.o.State, MachineID: d.o.MachineID, Log: d.o.Log, Request: d.openRequest, Ends: d.ends, Spooled: func(ctx context.Context) (int64, error) { return d.spool.OldestEpoch(ctx) }, IsLive: d.isLive, Refused: d.commitRefused, Changed: d.accountChanged}
	if d.o.Server != "" {
		o.Server = d.serverAPI
	}
	if d.sealer, err = sealer.Open(o); err != nil {
		return err
	}
	if o.Required && d.sealer.Account() == "" {
		return errors.New("the events of runs must be sealed, and this machine has no account: run concerto-relay seal init, or start hostd with --sealed=off")
	}
	ctx, cancel := context.WithTimeout(ctx, keysTimeout)
	defer cancel()
	if err := d.sealer.SyncKeys(ctx); err != nil {
		d.o.Log.Warn("could not read the newest keys at the server; they are published later", "error", err)
	}
	return nil
}

// openRequest returns an open request of a run, or nil. The registry of requests is created later
// than the account, which records its decisions.
func (d *Daemon) openRequest(run, id string) *protocol.PermissionRequested {
	return d.approvals.Find(run, id)
}

func (d *Daemon) ends(account string, n int) map[string]seal.End { return d.spool.Ends(account, n) }

func (d *Daemon) isLive(run string) bool {
	r, known := d.spool.Run(run)
	return known && !r.Ended
}

// commitRefused commits that a command of a run was refused, if the run is live.
func (d *Daemon) commitRefused(run string, what protocol.OwnRefused) error {
	if !d.isLive(run) {
		return nil
	}
	return d.events.CommitChange(context.Background(), spool.Change{Run: run, Events: []spool.Event{{Type: protocol.RunRefused, Data: what}}})
}

// accountChanged sends the server a new hello.
func (d *Daemon) accountChanged() {
	if d.link != nil {
		d.link.Reconnect()
	}
}

// serverAPI returns a client with the present credentials: the machine can be paired while hostd
// runs.
func (d *Daemon) serverAPI(ctx context.Context) (sealer.Server, error) {
	o := d.o
	base, err := machineapi.BaseURL(o.Server)
	if err != nil {
		return nil, err
	}
	c := &machineapi.Client{Base: base, MachineID: o.MachineID, Token: o.Token, HTTP: o.seams.HTTP}
	key, err := d.key(ctx)
	if key != nil {
		c.Key = key.Private
	}
	return c, err
}
