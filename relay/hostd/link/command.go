package link

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
)

const (
	maxConcurrentRPCs = 256  // maximum number of running RPCs; the reader waits while it is reached
	maxQueuedCommands = 1000 // maximum number of queued commands of a run
	byMember          = "by" // member of an envelope with the name of the user who sent a command
	kindInput         = "input"
	kindStop          = "stop"
	kindDecided       = "decision"
)

// commandQueues contains the queued commands of each run.
type commandQueues struct {
	mu    sync.Mutex
	byRun map[string][]func()
}

// handleCommand starts a command or an RPC of the server.
func (l *Link) handleCommand(s *session, e *protocol.Envelope) {
	m := protocol.Find(e.Type)
	switch {
	case isRequest(e):
		l.serveRPC(s, e)
	case m != nil && m.Kind == protocol.Command && commandFuncs[e.Type] != nil:
		l.enqueue(s, e)
	default:
		s.refuse(e, &protocol.Refusal{Code: protocol.UnknownType, Why: "hostd does not support " + e.Type})
	}
}

// commandFunc performs a command. It returns the id and kind of the command if the result must be
// reported.
type commandFunc func(l *Link, ctx context.Context, e *protocol.Envelope) (id, kind string, out Outcome, err error)

var commandFuncs = map[string]commandFunc{
	protocol.RunSendInput: (*Link).handleInput, protocol.RunSendKeys: (*Link).handleKeys, protocol.RunStop: (*Link).handleStop, protocol.RunResize: (*Link).handleResize,
	protocol.RunApprove: (*Link).handleDecision, protocol.RunDeny: (*Link).handleDecision,
}

// enqueue queues a command. The commands of a run are performed one after another.
func (l *Link) enqueue(s *session, e *protocol.Envelope) {
	if e.RunID == "" {
		s.refuse(e, &protocol.Refusal{Code: protocol.BadMessage, Why: e.Type + ": run_id is missing"})
		return
	}
	l.queues.mu.Lock()
	defer l.queues.mu.Unlock()
	if l.queues.byRun == nil {
		l.queues.byRun = map[string][]func(){}
	}
	waiting, busy := l.queues.byRun[e.RunID]
	if len(waiting) >= maxQueuedCommands {
		s.refuse(e, &protocol.Refusal{Code: protocol.RateLimited, Why: "too many commands of the run are queued"})
		return
	}
	l.queues.byRun[e.RunID] = append(waiting, func() { l.runCommand(l.ctx, e) })
	if !busy {
		l.work.Go(func() { l.drain(e.RunID) })
	}
}

func (l *Link) drain(run string) {
	for {
		l.queues.mu.Lock()
		waiting := l.queues.byRun[run]
		if len(waiting) == 0 {
			delete(l.queues.byRun, run)
			l.queues.mu.Unlock()
			return
		}
		do := waiting[0]
		l.queues.byRun[run] = waiting[1:]
		l.queues.mu.Unlock()
		do()
	}
}

// runCommand performs a command. If the server speaks protocol 2, the result is stored until the
// server acknowledges it.
func (l *Link) runCommand(ctx context.Context, e *protocol.Envelope) {
	id, kind, out, err := commandFuncs[e.Type](l, ctx, e)
	if err != nil {
		l.o.Log.Error("could not decode a command", "type", e.Type, "error", err)
		return
	}
	if out.Error != "" {
		l.o.Log.Warn("a command was not applied", "type", e.Type, "run", e.RunID, "state", out.State, "error", out.Error)
	}
	if id == "" || !l.welcomed.Load() {
		return
	}
	result := spool.Result{Run: e.RunID, CommandDone: protocol.CommandDone{ID: id, Kind: kind, State: out.State, Error: out.Error}}
	if err := l.o.Spool.Report(context.WithoutCancel(ctx), result); err != nil {
		l.o.Log.Error("could not store the outcome of a command", "run", e.RunID, "id", id, "error", err)
	}
}

func (l *Link) handleInput(ctx context.Context, e *protocol.Envelope) (id, kind string, out Outcome, err error) {
	c, err := protocol.Decode[protocol.SendInput](e)
	if err == nil {
		out = l.o.Commands.Input(ctx, e.RunID, userOf(e), c)
	}
	return c.InputID, kindInput, out, err
}

func (l *Link) handleKeys(ctx context.Context, e *protocol.Envelope) (id, kind string, out Outcome, err error) {
	c, err := protocol.Decode[protocol.SendKeys](e)
	if err == nil {
		l.o.Commands.Keys(ctx, e.RunID, c)
	}
	return "", "", out, err
}

func (l *Link) handleStop(ctx context.Context, e *protocol.Envelope) (id, kind string, out Outcome, err error) {
	c, err := protocol.Decode[protocol.Stop](e)
	if err == nil {
		out = l.o.Commands.Stop(ctx, e.RunID, c)
	}
	if protocol.IsID(e.ID) {
		id = e.ID
	}
	return id, kindStop, out, err
}

func (l *Link) handleResize(ctx context.Context, e *protocol.Envelope) (id, kind string, out Outcome, err error) {
	c, err := protocol.Decode[protocol.Resize](e)
	if err == nil {
		l.o.Commands.Resize(ctx, e.RunID, c)
	}
	return "", "", out, err
}

func (l *Link) handleDecision(ctx context.Context, e *protocol.Envelope) (id, kind string, out Outcome, err error) {
	c, err := protocol.Decode[protocol.Decide](e)
	if err == nil {
		out = l.o.Commands.Decide(ctx, e.RunID, e.Type == protocol.RunApprove, userOf(e), c)
	}
	return c.RequestID, kindDecided, out, err
}

// userOf returns the name of the user who sent a command. It is in the envelope or in the data.
func userOf(e *protocol.Envelope) (by string) {
	for _, m := range e.Extra {
		if m.Name == byMember && json.Unmarshal(m.Value, &by) == nil {
			return by
		}
	}
	var data struct{ By string }
	_ = json.Unmarshal(e.Data, &data) // ignore the error: the data may contain no user
	return data.By
}

// serveRPC performs an RPC. It sends the response on the connection that is open when the RPC has
// finished.
func (l *Link) serveRPC(s *session, e *protocol.Envelope) {
	select {
	case l.busy <- struct{}{}:
	case <-s.ctx.Done():
		return
	}
	l.work.Go(func() {
		defer func() { <-l.busy }()
		run, response := l.o.Commands.RPC(l.ctx, e)
		answer := l.envelope(protocol.RPCResponse, response)
		answer.RunID, answer.Re = run, e.ID
		stored, _ := l.o.Spool.Run(run)
		l.send(answer, stored.Last) // the response follows the events that the RPC has caused
	})
}
