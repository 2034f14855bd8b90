package link

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
)

const (
	maxConcurrentRPCs = 256                   // maximum number of running RPCs; the reader waits while it is reached
	largeResult       = protocol.MaxFrame / 2 // size of a result above which it is the reason why it cannot be sent
	maxQueuedCommands = 1000                  // maximum number of queued commands of a run
	byMember          = "by"                  // member of an envelope with the name of the user who sent a command
	kindInput         = "input"
	kindStop          = "stop"
	kindDecided       = "decision"
)

// commandQueues contains the queued commands of each run.
type commandQueues struct {
	mu    sync.Mutex
	byRun map[string]*runQueue
}

// handleCommand starts a command or an RPC of the server.
func (l *Link) handleCommand(s *session, e *protocol.Envelope) {
	switch {
	case isRequest(e):
		l.serveRPC(s, e)
	case commandsByType[e.Type] != nil:
		l.enqueue(s, e)
	default:
		s.refuse(e, &protocol.Refusal{Code: protocol.UnknownType, Why: "hostd does not support " + e.Type})
	}
}

// command describes a type of commands. result is the kind of the command in the message that
// reports its result, or "" if the result is not reported. idOf is the member of the data that
// contains the command's id, or "" if the envelope contains it.
type command struct {
	result, idOf string
	do           func(l *Link, ctx context.Context, a Admission) (Outcome, error)
}

var commandsByType = map[string]*command{
	protocol.RunSendInput: {kindInput, "input_id", (*Link).handleInput}, protocol.RunSendKeys: {"", "", (*Link).handleKeys},
	protocol.RunStop: {kindStop, "", (*Link).handleStop}, protocol.RunResize: {"", "", (*Link).handleResize},
	protocol.RunApprove: {kindDecided, "request_id", (*Link).handleDecision}, protocol.RunDeny: {kindDecided, "request_id", (*Link).handleDecision},
	protocol.RunDecide: {kindDecided, "", (*Link).handleDecision}, // the gate opens it
}

// CommandID returns the id of a command or an RPC: that of the input or of the request, or that of
// the envelope, also of a sealed command. It is "" if there is none.
func CommandID(e *protocol.Envelope) string {
	c := commandsByType[e.Type]
	switch {
	case e.Enc != nil && protocol.IsID(e.ID):
		return e.ID
	case c == nil:
		return idIn(e, "request_id")
	case c.idOf != "":
		return idIn(e, c.idOf)
	case protocol.IsID(e.ID):
		return e.ID
	}
	return ""
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
		l.queues.byRun = map[string]*runQueue{}
	}
	q := l.queues.byRun[e.RunID]
	if q == nil {
		q = &runQueue{}
		l.queues.byRun[e.RunID] = q
	}
	if len(q.waiting) >= maxQueuedCommands {
		s.refuse(e, &protocol.Refusal{Code: protocol.RateLimited, Why: "too many commands of the run are queued"})
		return
	}
	q.waiting = append(q.waiting, &queuedCommand{e: e})
	l.start(e.RunID, q)
}

// runCommand performs a command if the gate admits it; isLast is passed to the gate. If the server
// speaks protocol 2, the result is stored until the server acknowledges it. runCommand returns
// false if the command must wait for an earlier one.
func (l *Link) runCommand(ctx context.Context, e *protocol.Envelope, isLast bool) bool {
	how, id := commandsByType[e.Type], CommandID(e)
	if done, err := l.repeatResult(ctx, how, e.RunID, id); err != nil || done {
		if err != nil {
			l.o.Log.Error("could not repeat the outcome of a command", "run", e.RunID, "id", id, "error", err)
		}
		return true
	}
	a := l.o.Gate.Admit(ctx, e, isLast)
	if a.Later && !isLast {
		return false
	}
	out := a.Outcome
	if a.Command != nil {
		var err error
		if out, err = how.do(l, ctx, a); err != nil {
			l.o.Log.Error("could not decode a command", "type", e.Type, "error", err)
			return true
		}
		if a.Done != nil {
			a.Done(out)
		}
	}
	if out.Error != "" {
		l.o.Log.Warn("a command was not applied", "type", e.Type, "run", e.RunID, "state", out.State, "error", out.Error)
	}
	if how.result == "" || id == "" || !l.welcomed.Load() {
		return true
	}
	if a.Sealed {
		out.Error = codeOnly(out.Error)
	}
	result := spool.Result{Run: e.RunID, CommandDone: protocol.CommandDone{ID: id, Kind: how.result, State: out.State, Error: out.Error}}
	if err := l.o.Spool.Report(context.WithoutCancel(ctx), result); err != nil {
		l.o.Log.Error("could not store the outcome of a command", "run", e.RunID, "id", id, "error", err)
	}
	return true
}

// repeatResult reports the result of a command again that was performed or refused before, and of
// which the server has not acknowledged that. done is true if there is one. A decision has the id
// of its request, and a second one may follow one that was refused.
func (l *Link) repeatResult(ctx context.Context, how *command, run, id string) (done bool, err error) {
	if how.result == "" || how.result == kindDecided || id == "" {
		return false, nil
	}
	r, err := l.o.Spool.Result(ctx, run, how.result, id)
	if r == nil || err != nil {
		return false, err
	}
	return true, l.o.Spool.Report(context.WithoutCancel(ctx), *r)
}

// codeOnly removes the reason from an error "CODE: reason".
func codeOnly(text string) string {
	const rest = "hostd's log has the reason"
	code, _, _ := strings.Cut(text, ":")
	switch {
	case text == "":
		return ""
	case slices.ContainsFunc(protocol.Codes, func(c protocol.CodeInfo) bool { return string(c.Code) == code }):
		return code + ": " + rest
	}
	return rest
}

func (l *Link) handleInput(ctx context.Context, a Admission) (out Outcome, err error) {
	c, err := protocol.Decode[protocol.SendInput](a.Command)
	if err == nil {
		out = l.o.Commands.Input(ctx, a.Command.RunID, userOf(a.Command), c)
	}
	return out, err
}

func (l *Link) handleKeys(ctx context.Context, a Admission) (out Outcome, err error) {
	c, err := protocol.Decode[protocol.SendKeys](a.Command)
	if err == nil {
		l.o.Commands.Keys(ctx, a.Command.RunID, c)
	}
	return out, err
}

func (l *Link) handleStop(ctx context.Context, a Admission) (out Outcome, err error) {
	c, err := protocol.Decode[protocol.Stop](a.Command)
	if err == nil {
		out = l.o.Commands.Stop(ctx, a.Command.RunID, c)
	}
	return out, err
}

func (l *Link) handleResize(ctx context.Context, a Admission) (out Outcome, err error) {
	c, err := protocol.Decode[protocol.Resize](a.Command)
	if err == nil {
		l.o.Commands.Resize(ctx, a.Command.RunID, c)
	}
	return out, err
}

func (l *Link) handleDecision(ctx context.Context, a Admission) (out Outcome, err error) {
	c, err := protocol.Decode[protocol.Decide](a.Command)
	if err == nil {
		out = l.o.Commands.Decide(ctx, a, userOf(a.Command), c)
	}
	return out, err
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

// performRPC performs an RPC if the gate admits it. It returns the frame with the response.
func (l *Link) performRPC(e *protocol.Envelope) (answer protocol.Envelope) {
	a := l.o.Gate.Admit(l.ctx, e, true)
	run, r := e.RunID, protocol.Response{RequestID: CommandID(e), RPCType: e.Type, Error: a.Outcome.Error, ErrorCode: protocol.RPCCode(a.Code)}
	if a.Command != nil {
		run, r = l.o.Commands.RPC(l.ctx, a)
	}
	answer, err := l.response(a, r)
	if err == nil && len(answer.Data) > spool.MaxData {
		err = fmt.Errorf("it does not fit into a frame of %d bytes", protocol.MaxFrame)
	}
	if err != nil {
		code := protocol.Internal
		if len(r.Result) > largeResult {
			code = protocol.TooLarge
		}
		r = protocol.Response{RequestID: r.RequestID, RPCType: r.RPCType, Error: fmt.Sprintf("the response cannot be sent: %v", err), ErrorCode: protocol.RPCCode(code)}
		answer, err = l.response(a, r)
	}
	if err != nil {
		l.o.Log.Error("could not seal the response to an RPC", "type", r.RPCType, "error", err)
		r = protocol.Response{RequestID: r.RequestID, RPCType: e.Type, Error: "the response could not be sealed", ErrorCode: protocol.RPCCode(protocol.Internal)}
		answer, _ = l.response(Admission{}, r)
	}
	answer.RunID, answer.Re = run, e.ID
	return answer
}

// response returns a frame with a response, sealed as the gate requires.
func (l *Link) response(a Admission, r protocol.Response) (out protocol.Envelope, err error) {
	if a.Seal == nil {
		return l.envelope(protocol.RPCResponse, r), nil
	}
	out = l.envelope(protocol.RPCResponse, nil)
	out.Enc, out.Data, err = a.Seal(r)
	return out, err
}

// callKey identifies an RPC and its copies.
type callKey struct{ typ, run, id, data string }

// serveRPC performs an RPC. It sends the response on the connection that is open when the RPC has
// finished. A copy of a sealed RPC that arrives before is dropped: the gate would admit it as a
// repeated one, of which the result is not known yet.
func (l *Link) serveRPC(s *session, e *protocol.Envelope) {
	key := callKey{e.Type, e.RunID, e.ID, string(e.Data)}
	if e.Enc != nil {
		if _, running := l.running.LoadOrStore(key, nil); running {
			return
		}
	}
	select {
	case l.busy <- struct{}{}:
	case <-s.ctx.Done():
		l.running.Delete(key)
		return
	}
	l.work.Go(func() {
		defer func() { <-l.busy }()
		answer := l.performRPC(e)
		l.running.Delete(key) // before the response is sent: the server may send a copy if it is lost
		stored, _ := l.o.Spool.Run(answer.RunID)
		l.send(answer, stored.Last) // the response follows the events that the RPC has caused
	})
}
