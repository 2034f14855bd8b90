package hostd

import (
	"context"

	"github.com/concerto-lang/concerto/relay/hostd/doctor"
	"github.com/concerto-lang/concerto/relay/hostd/rpc"
	"github.com/concerto-lang/concerto/relay/hostd/runs"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// newDispatcher returns the dispatcher that performs RPCs.
func (d *Daemon) newDispatcher() *rpc.Dispatcher {
	return rpc.New(rpc.Options{MachineID: d.o.MachineID, Version: d.o.Version, Runs: rpcRuns{d}, Approvals: d.approvals, Events: d.events, Shares: d.sealer, Redact: d.redact, RemoteExec: d.o.RemoteExec, LogFile: d.o.LogPath,
		Socket: d.o.Socket, Features: features, Seal: d.sealer.Describe, Seals: d.sealer.Seals, Doctor: d.checkDeps, Log: d.o.Log, Environ: d.o.Environ})
}

// features lists the features of this machine beyond those of protocol 1.
var features = []string{"pty", "keys", "resize", "questions", "local"}

// PerformLocal performs a request that arrived over the Unix socket.
func (d *Daemon) PerformLocal(ctx context.Context, e *protocol.Envelope) protocol.Response {
	_, r := d.rpc.Do(ctx, rpc.Call{Type: e.Type, Run: e.RunID, Data: e.Data, Local: true})
	return r
}

// checkDeps checks the machine's dependencies.
func (d *Daemon) checkDeps(ctx context.Context) []protocol.Dep {
	o := doctor.Options{Environ: d.o.Environ, State: d.o.State, Socket: d.o.Socket, Server: d.o.Server, MachineID: d.o.MachineID, Token: d.o.Token, LogFile: d.o.LogPath, Spool: d.spool.Health}
	if d.link != nil {
		o.Link = d.link.State
	}
	return doctor.Deps(doctor.Run(ctx, o))
}

// rpcRuns implements rpc.Runs for the runs on terminals and the runs of programs.
type rpcRuns struct{ d *Daemon }

// Find returns a run's working directory and state.
func (r rpcRuns) Find(id string) (rpc.Run, bool) {
	if r.d.source.Has(id) {
		return rpc.Run{Cwd: r.d.source.Dir(id)}, true
	}
	if r.d.ofEngine(id) {
		return rpc.Run{}, true
	}
	dir, ended, ok := r.d.runs.Lookup(id)
	return rpc.Run{Cwd: dir, Ended: ended}, ok
}

// Start starts a run and returns its id.
func (r rpcRuns) Start(ctx context.Context, q protocol.StartRun, _ string) (string, error) {
	s := runs.Spec{Tool: q.Tool, Cmd: q.Cmd, Cwd: q.Cwd, Title: q.Title}
	if q.Cols != nil && q.Rows != nil {
		s.Cols, s.Rows = *q.Cols, *q.Rows
	}
	return r.d.runs.Start(ctx, s)
}

// Stop stops a run.
func (r rpcRuns) Stop(ctx context.Context, id string, q protocol.StopRun) error {
	return r.d.stop(ctx, id, q.Signal == "kill", runs.DefaultGrace)
}

// List returns all runs.
func (r rpcRuns) List() []protocol.RunSummary { return append(r.d.runs.List(), r.d.source.List()...) }

// stop stops a run on a terminal, of a program or of the engine.
func (d *Daemon) stop(ctx context.Context, id string, kill bool, graceS int64) error {
	if d.source.Has(id) {
		return d.source.Stop(ctx, id, kill)
	}
	if d.ofEngine(id) {
		return d.engine.Stop(id)
	}
	return d.runs.Stop(ctx, id, kill, graceS)
}

// ofEngine reports whether a run is one of the engine that has not ended.
func (d *Daemon) ofEngine(run string) bool { return d.engine != nil && d.engine.Has(run) }
