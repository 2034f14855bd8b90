package hostd

import (
	"context"

	"github.com/concerto-lang/concerto/relay/hostd/doctor"
	"github.com/concerto-lang/concerto/relay/hostd/rpc"
	"github.com/concerto-lang/concerto/relay/hostd/runs"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// dispatcher does RPCs.
func (d *Daemon) dispatcher() *rpc.Dispatcher {
	return rpc.New(rpc.Options{HostID: d.o.HostID, Version: d.o.Version, Runs: rpcRuns{d}, Desk: d.desk, Events: d.events, Redact: d.redact, Remote: d.o.RemoteExec, LogFile: d.o.LogPath,
		Socket: d.o.Socket, Features: features, Doctor: d.doctor, Log: d.o.Log, Environ: d.o.Environ})
}

// features are what this host can do beyond protocol 1.
var features = []string{"pty", "keys", "resize", "questions", "local"}

// Local does a request that came over the unix socket.
func (d *Daemon) Local(ctx context.Context, e *protocol.Envelope) protocol.Response {
	_, r := d.rpc.Do(ctx, rpc.Call{Type: e.Type, Run: e.RunID, Data: e.Data, Local: true})
	return r
}

// doctor is what the host needs, and whether it is there.
func (d *Daemon) doctor(ctx context.Context) []protocol.Dep {
	o := doctor.Options{Environ: d.o.Environ, State: d.o.State, Socket: d.o.Socket, Server: d.o.Server, HostID: d.o.HostID, Token: d.o.Token, LogFile: d.o.LogPath, Spool: d.spool.Health}
	if d.link != nil {
		o.Link = d.link.State
	}
	return doctor.Deps(doctor.Run(ctx, o))
}

// rpcRuns are the runs as RPCs see them.
type rpcRuns struct{ d *Daemon }

// Find finds a run.
func (r rpcRuns) Find(id string) (rpc.Run, bool) {
	if r.d.source.Has(id) {
		return rpc.Run{Cwd: r.d.source.Dir(id)}, true
	}
	dir, ended, ok := r.d.runs.Look(id)
	return rpc.Run{Cwd: dir, Ended: ended}, ok
}

// Start starts one.
func (r rpcRuns) Start(ctx context.Context, q protocol.StartRun, _ string) (string, error) {
	s := runs.Spec{Tool: q.Tool, Cmd: q.Cmd, Cwd: q.Cwd, Title: q.Title}
	if q.Cols != nil && q.Rows != nil {
		s.Cols, s.Rows = *q.Cols, *q.Rows
	}
	return r.d.runs.Start(ctx, s)
}

// Stop ends one.
func (r rpcRuns) Stop(ctx context.Context, id string, q protocol.StopRun) error {
	return r.d.stop(ctx, id, q.Signal == "kill", runs.DefaultGrace)
}

// List is all of them.
func (r rpcRuns) List() []protocol.RunListed { return append(r.d.runs.List(), r.d.source.List()...) }

// stop ends a run, of whichever kind.
func (d *Daemon) stop(ctx context.Context, id string, kill bool, graceS int64) error {
	if d.source.Has(id) {
		return d.source.Stop(ctx, id, kill)
	}
	return d.runs.Stop(ctx, id, kill, graceS)
}
