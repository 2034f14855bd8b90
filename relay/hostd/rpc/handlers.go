package rpc

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/concerto-lang/concerto/relay/hostd/workdirfs"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// handler describes how one type of RPC is performed. Its function gets a nil run if the RPC has
// none.
type handler struct {
	needsRun     bool
	needsLiveRun bool // the run must not have ended
	do           func(ctx context.Context, d *Dispatcher, c *call, run *Run) (any, error)
}

// handlers contains the handler of each RPC of the protocol.
var handlers = map[string]*handler{
	protocol.RPCReadFile:            {needsRun: true, do: inScope(func(ctx context.Context, s *workdirfs.Scope, q protocol.ReadFile) (any, error) { return s.Read(ctx, q) })},
	protocol.RPCListDir:             {needsRun: true, do: inScope(func(_ context.Context, s *workdirfs.Scope, q protocol.ListDir) (any, error) { return s.List(q) })},
	protocol.RPCSearch:              {needsRun: true, do: inScope(func(ctx context.Context, s *workdirfs.Scope, q protocol.Search) (any, error) { return s.Search(ctx, q) })},
	protocol.RPCGitStatus:           {needsRun: true, do: inScope(func(ctx context.Context, s *workdirfs.Scope, q protocol.Git) (any, error) { return s.Status(ctx, q) })},
	protocol.RPCGitDiff:             {needsRun: true, do: inScope(func(ctx context.Context, s *workdirfs.Scope, q protocol.Git) (any, error) { return s.Diff(ctx, q) })},
	protocol.RPCWriteFile:           {needsRun: true, do: gated(prepareWrite)},
	protocol.RPCBash:                {needsRun: true, do: gated(prepareBash)},
	protocol.RPCStartRun:            {do: startRun},
	protocol.RPCStopRun:             {needsRun: true, needsLiveRun: true, do: stopRun},
	protocol.RPCListRuns:            {do: listRuns},
	protocol.RPCMachineInfo:         {do: machineInfo},
	protocol.RPCMachineDoctor:       {do: machineDoctor},
	protocol.RPCMachineCapabilities: {do: machineCapabilities},
	protocol.RPCTailLog:             {do: tailLog},
	protocol.RPCShareStart:          {do: startShare},
	protocol.RPCShareEnd:            {do: endShare},
	protocol.RPCShareList:           {do: listShares},
}

// changesMachine reports whether the option --remote-exec off forbids the RPC.
func changesMachine(m *protocol.Message) bool { return m.Gated || m.Type == protocol.RPCStartRun }

// decode decodes the data of a call. The data was validated before.
func decode[T any](c *call) (q T, err error) {
	err = json.Unmarshal(c.Data, &q)
	return q, err
}

// inScope returns a handler for a read-only operation in the directory of a run. The handler
// commits the call and its result as events of the run.
func inScope[T any](do func(context.Context, *workdirfs.Scope, T) (any, error)) func(context.Context, *Dispatcher, *call, *Run) (any, error) {
	return func(ctx context.Context, d *Dispatcher, c *call, run *Run) (any, error) {
		q, err := decode[T](c)
		if err != nil {
			return nil, err
		}
		began, err := d.commitCall(ctx, c, run, argsOf(c))
		if err != nil {
			return nil, err
		}
		result, err := func() (any, error) {
			s, err := workdirfs.Open(run.Cwd)
			if err != nil {
				return nil, errorf(protocol.NotFound, "%v", err)
			}
			defer s.Close()
			return do(ctx, s, q)
		}()
		return result, d.commitResult(ctx, c, run, began, result, err)
	}
}

// tool returns the name of the RPC in events.
func (c *call) tool() string {
	if c.Local {
		return c.Type[len("rpc."):]
	}
	return c.Type
}

func startRun(ctx context.Context, d *Dispatcher, c *call, _ *Run) (any, error) {
	q, err := decode[protocol.StartRun](c)
	if err != nil {
		return nil, err
	}
	id, err := d.o.Runs.Start(ctx, q, c.actor)
	c.startedRun = id
	return protocol.StartRunResult{RunID: id}, err
}

func stopRun(ctx context.Context, d *Dispatcher, c *call, _ *Run) (any, error) {
	q, err := decode[protocol.StopRun](c)
	if err != nil {
		return nil, err
	}
	q.Signal = cmp.Or(q.Signal, "term")
	return protocol.StopRunResult{Signal: q.Signal}, d.o.Runs.Stop(ctx, c.Run, q)
}

func listRuns(_ context.Context, d *Dispatcher, c *call, _ *Run) (any, error) {
	all := d.o.Runs.List()
	if all == nil {
		all = []protocol.RunSummary{}
	}
	return protocol.ListRunsResult{Runs: all}, nil
}

func startShare(ctx context.Context, d *Dispatcher, c *call, _ *Run) (any, error) {
	q, err := decode[protocol.ShareStart](c)
	if err != nil {
		return nil, err
	}
	for _, run := range q.Runs {
		if _, ok := d.o.Runs.Find(run); !ok {
			return nil, errorf(protocol.RPCCode(protocol.UnknownRun), "there is no run %s on this machine", run)
		}
	}
	return d.o.Shares.StartShare(ctx, q, c.Device)
}

func endShare(_ context.Context, d *Dispatcher, c *call, _ *Run) (any, error) {
	q, err := decode[protocol.ShareEnd](c)
	if err != nil {
		return nil, err
	}
	return d.o.Shares.EndShare(q.ShareID)
}

func listShares(_ context.Context, d *Dispatcher, _ *call, _ *Run) (any, error) {
	return protocol.ShareListResult{Shares: d.o.Shares.Shares()}, nil
}

// maxEvent is the maximum size in bytes of arguments and results in events.
const maxEvent = 16 << 10
