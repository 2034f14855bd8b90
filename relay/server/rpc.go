package server

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/store"
)

// calls holds the unanswered RPCs that concern this server, because a caller waits here or the
// machine is connected here. The state of each call is in the store. Therefore each call is
// answered once, and every server answers a repeated call with the same result.
type calls struct {
	srv *Server

	mu sync.Mutex
	of map[string]*call // calls by request_id

	queue   []func() // functions to run, in order
	working bool
	swept   int64 // time of the last removal of old calls, in Unix ms
}

// forgetInterval is the interval at which old calls are removed.
const forgetInterval = time.Minute

// call is an RPC.
type call struct {
	row      store.Call
	conn     *machine // the connection on which this server sent the call; nil if it did not
	answered bool     // the answer has arrived and is being stored
	askers   []waiter
	done     chan struct{}
	answer   *protocol.Envelope
	timer    func() bool // stops the timer of the call's deadline
}

// waiter is an app's connection that waits for the answer.
type waiter struct {
	app *app
	re  string
}

func newCalls(s *Server) *calls { return &calls{srv: s, of: map[string]*call{}} }

// call performs an RPC of an app. If the call is refused, the app receives an answer with an error.
func (s *Server) call(ctx context.Context, who *auth.Identity, e *protocol.Envelope, from *app) *Failure {
	_, f := s.startCall(ctx, who, e, from)
	if f == nil {
		return nil
	}
	code := protocol.RPCCode(f.Code)
	if !slices.Contains(protocol.RPCCodes, code) || code == protocol.RPCCode(protocol.BadMessage) {
		return f
	}
	request, _ := idsOf(e)
	out := s.failedCall(request, e.Type, e.RunID, code, f.Why)
	out.Re = e.ID
	from.push(out.Append(nil))
	return nil
}

// failedCall returns an answer that contains an error.
func (s *Server) failedCall(request, typ, run string, code protocol.RPCCode, why string) *protocol.Envelope {
	out := protocol.New(protocol.RPCResponse, s.clock.Now(), protocol.Response{RequestID: request, RPCType: typ, Error: why, ErrorCode: code})
	out.RunID = run
	return &out
}

// startCall starts a call. If a call with the same id exists, the caller joins it.
func (s *Server) startCall(ctx context.Context, who *auth.Identity, e *protocol.Envelope, from *app) (*call, *Failure) {
	row, machine, f := s.newCall(ctx, who, e)
	if f != nil {
		return nil, f
	}
	if c, f := s.findCall(ctx, row, waiter{from, e.ID}); c != nil || f != nil {
		return c, f
	}
	h := s.machines.get(row.Machine)
	here := h != nil && h.isReady()
	switch {
	case here:
		row.Gen = h.life.generation()
	case h == nil && !s.peers.isElsewhere(machine): // if the machine has sent no hello, it receives the call after HelloTimeout
		return nil, refuse(protocol.MachineOffline, "machine %s is not connected", row.Machine)
	}
	if s.calls.running(row.Session) >= protocol.MaxConcurrentRPCs {
		return nil, &Failure{Code: protocol.RateLimited, Why: "too many RPCs at a time", After: time.Second}
	}
	about := map[string]any{"request_id": row.ID, "type": row.Type, "host": row.Machine}
	was, fresh, err := s.store.AddCall(ctx, *row, who.Record("rpc", row.Run, about, nil))
	if err != nil {
		return nil, s.failed(err, protocol.Internal)
	}
	if !fresh {
		return s.join(was, row, waiter{from, e.ID})
	}
	c, f := s.join(row, row, waiter{from, e.ID})
	switch {
	case f != nil:
	case here:
		s.calls.sent(c, h)
		h.socket.push(row.Frame)
	case h == nil:
		s.peers.notify(checkMachines)
	case h.isReady(): // the machine became ready after the check and may have missed the call
		s.calls.resend(s, h)
	}
	return c, f
}

// findCall returns the call with an id and adds the waiter to it, or returns nil.
func (s *Server) findCall(ctx context.Context, row *store.Call, a waiter) (*call, *Failure) {
	s.calls.mu.Lock()
	has := s.calls.of[row.ID]
	s.calls.mu.Unlock()
	if has != nil {
		return s.join(&has.row, row, a)
	}
	was, err := s.store.Call(ctx, row.ID)
	switch {
	case errors.Is(err, store.ErrUnknown):
		return nil, nil
	case err != nil:
		return nil, s.failed(err, protocol.Internal)
	}
	return s.join(was, row, a)
}

// join adds a waiter to a stored call if the new request is identical. If the call is finished,
// join sends the answer at once.
func (s *Server) join(was, wants *store.Call, a waiter) (*call, *Failure) {
	if was.SHA256 != wants.SHA256 || was.By != wants.By {
		return nil, refuse(protocol.InputConflict, "the request_id was used for another call: use a new id")
	}
	s.calls.mu.Lock()
	defer s.calls.mu.Unlock()
	c := s.calls.open(was)
	switch {
	case a.app == nil:
	case c.answer != nil:
		c.sendTo(a)
	case !slices.Contains(c.askers, a):
		c.askers = append(c.askers, a)
	}
	return c, nil
}

// open returns this server's state of a call and creates it if needed. The state of a finished call
// is not retained. The caller holds calls.mu.
func (cs *calls) open(row *store.Call) *call {
	if c := cs.of[row.ID]; c != nil {
		return c
	}
	c := &call{row: *row, done: make(chan struct{})}
	if row.Answer != "" {
		c.finish(row)
		return c
	}
	cs.of[row.ID] = c
	cs.setDeadline(c)
	return c
}

// setDeadline starts the timer for the deadline of a call. The caller holds calls.mu.
func (cs *calls) setDeadline(c *call) {
	if c.timer != nil {
		c.timer()
		c.timer = nil
	}
	if c.row.Ends > 0 && c.answer == nil {
		id := c.row.ID
		c.timer = cs.srv.clock.After(time.Duration(c.row.Ends-cs.srv.now())*time.Millisecond, func() { cs.srv.moveCall(id, cs.srv.answerExpired) })
	}
}

// sent records that a call was sent on a connection.
func (cs *calls) sent(c *call, h *machine) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c.conn = h
}

// finish sets the answer from the stored call.
func (c *call) finish(row *store.Call) {
	c.row = *row
	answer, refused := protocol.Parse([]byte(row.Answer))
	if refused != nil {
		panic("server: an answer of ours is no message: " + refused.Why)
	}
	c.answer = &answer
	close(c.done)
}

// newCall converts a message to a call. It returns the call and its machine.
func (s *Server) newCall(ctx context.Context, who *auth.Identity, e *protocol.Envelope) (*store.Call, *store.Machine, *Failure) {
	if f := s.config.refusePlain(e); f != nil {
		return nil, nil, f
	}
	m := protocol.Find(e.Type)
	request, _ := idsOf(e)
	request, f := requireID(e, request)
	if f != nil {
		return nil, nil, f
	}
	c := &store.Call{ID: request, Type: e.Type, Session: who.ID, By: who.Name, Gated: m.Gated, State: protocol.CallAsked, At: s.now()}
	if c.Machine = store.Text(e.Data, "host_id"); e.Type == protocol.RPCSealed {
		c.Machine = e.MachineID
	}
	isSealed := e.Type == protocol.RPCSealed && c.Machine != "" && e.RunID == ""
	if isSealed { // the right of the type is that for a run's machine
		if err := s.may(ctx, who, auth.AskMachine, ""); err != nil {
			return nil, nil, s.failed(err, protocol.Forbidden)
		}
	}
	if !m.OfMachine && !isSealed && (e.Type != protocol.RPCListRuns || c.Machine == "") {
		if e.RunID == "" && e.Type != protocol.RPCListRuns {
			return nil, nil, refuse(protocol.UnknownRun, "%s requires run_id", e.Type)
		}
		r, err := s.visible(ctx, who.Sees, e.RunID)
		if err != nil {
			return nil, nil, s.failed(err, protocol.UnknownRun)
		}
		c.Run, c.Machine = r.ID, r.MachineID
	}
	machine, err := s.store.Machine(ctx, c.Machine)
	if err != nil {
		f := s.failed(err, protocol.UnknownMachine)
		if f.Code == protocol.UnknownMachine {
			f.Why = "there is no machine \"" + c.Machine + "\""
		}
		return nil, nil, f
	}
	c.SHA256 = hashOf([]any{c.Type, c.Run, c.Machine, e.Data})
	if e.Type == protocol.RPCBash {
		longer := 120 * time.Second
		if d, err := protocol.Decode[protocol.Bash](e); err == nil && d.TimeoutS != nil {
			longer = time.Duration(*d.TimeoutS) * time.Second
		}
		c.ExtendMS = longer.Milliseconds()
	}
	if e.Type == protocol.RPCSealed { // it may be any, so that it has the longest time limit after an approval
		c.ExtendMS = protocol.MaxBashTimeout.Milliseconds()
	}
	if !c.Gated {
		c.Ends = c.At + protocol.RPCTimeout.Milliseconds()
	}
	data, extra := withUser(e, who.Name)
	out := protocol.Envelope{Type: e.Type, TS: s.ts(), MachineID: c.Machine, RunID: c.Run, ID: e.ID, Enc: e.Enc, Data: data, Extra: extra}
	c.Frame = out.Append(nil)
	return c, machine, nil
}

func (c *call) sendTo(to waiter) {
	e := *c.answer
	e.Re = to.re
	to.app.push(e.Append(nil))
}

// running returns the number of running calls of a session.
func (cs *calls) running(session string) (n int) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for _, c := range cs.of {
		if c.row.Session == session {
			n++
		}
	}
	return n
}

// waiting returns the ids of the calls whose machine is not connected to this server.
func (cs *calls) waiting() (ids []string) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for id, c := range cs.of {
		if c.conn == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

func (cs *calls) forget(a *app) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for _, c := range cs.of {
		c.askers = slices.DeleteFunc(c.askers, func(one waiter) bool { return one.app == a })
	}
}

func withMember(data json.RawMessage, name string, v any) json.RawMessage {
	var all map[string]json.RawMessage
	if json.Unmarshal(data, &all) != nil {
		return data
	}
	all[name] = mustJSON(v)
	return mustJSON(all)
}
