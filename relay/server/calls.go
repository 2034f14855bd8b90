package server

import (
	"errors"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/store"
)

// step applies a transition to a call. It does nothing if the transition is invalid in the call's
// state.
func step(c *store.Call, on protocol.CallEvent) {
	if to, ok := c.State.After(on); ok {
		c.State = to
	}
}

// moveCall changes a call in the store. If the call is then answered, it sends the answer to the
// callers that wait at this server.
func (s *Server) moveCall(id string, do func(*store.Call)) *store.Call {
	var was bool
	row, err := s.store.MoveCall(s.ctx, id, s.now(), func(c *store.Call) { was = true; do(c) })
	switch {
	case errors.Is(err, store.ErrUnknown):
		return nil
	case err != nil:
		if s.ctx.Err() == nil {
			s.failed(err, protocol.Internal)
		}
		return nil
	}
	s.learn(row)
	if was && row.Answer != "" {
		s.peers.notify(checkCalls)
	}
	return row
}

// learn updates a call from its stored state. If the call is answered, it sends the answer to the
// callers that wait at this server.
func (s *Server) learn(row *store.Call) {
	s.calls.mu.Lock()
	defer s.calls.mu.Unlock()
	c := s.calls.of[row.ID]
	switch {
	case c == nil:
	case row.Answer == "":
		ended := c.row.Ends
		if c.row = *row; ended != row.Ends {
			s.calls.setDeadline(c)
		}
	default:
		c.finish(row)
		s.calls.setDeadline(c)
		delete(s.calls.of, row.ID)
		for _, a := range c.askers {
			c.sendTo(a)
		}
		c.askers = nil
	}
}

// setAnswer sets an error of this server as the answer to a call.
func (s *Server) setAnswer(c *store.Call, code protocol.RPCCode, why string) {
	c.Answer = string(s.failedCall(c.ID, c.Type, c.Run, code, why).Append(nil))
}

// handleAnswer handles a machine's answer to a call.
func (cs *calls) handleAnswer(s *Server, h *machine, e *protocol.Envelope) {
	request, _ := idsOf(e)
	if request == "" {
		request = e.Re // an encrypted answer has its request id only in re
	}
	cs.mu.Lock()
	c := cs.of[request]
	waiting := c != nil && c.conn == h && !c.answered
	starts, by := false, ""
	if waiting {
		c.answered = true
		starts = c.row.Type == protocol.RPCStartRun || c.row.Type == protocol.RPCSealed && c.row.Run == ""
		by = c.row.By
	}
	cs.mu.Unlock()
	if !waiting {
		return // no caller waits for this answer
	}
	out := *e
	out.ID, out.Re = "", ""
	if d, err := protocol.Decode[protocol.Response](e); err == nil && e.Enc == nil && !d.OK && d.ErrorCode == "" {
		// Machines of protocol 1 send no error code.
		out.Data = withMember(e.Data, "error_code", protocol.Internal)
	}
	s.moveCall(request, func(c *store.Call) {
		step(c, protocol.CallBegun)
		step(c, protocol.CallAnswered)
		c.Answer = string(out.Append(nil))
	})
	if starts {
		s.reportStarted(by, &out)
	}
}

// enqueue queues do. Queued functions run one after another in a background goroutine.
func (cs *calls) enqueue(s *Server, do func()) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.queue = append(cs.queue, do)
	if cs.working {
		return
	}
	cs.working = true
	s.work.Go(func() {
		for {
			cs.mu.Lock()
			if len(cs.queue) == 0 {
				cs.working = false
				cs.mu.Unlock()
				return
			}
			do := cs.queue[0]
			cs.queue = cs.queue[1:]
			cs.mu.Unlock()
			do()
		}
	})
}

// observe updates the calls that wait for an approval from stored events.
func (cs *calls) observe(s *Server, all []store.Incoming) {
	for i := range all {
		e := all[i].Envelope
		if e.Type != protocol.RunPermissionRequested && e.Type != protocol.RunPermissionResolved {
			continue
		}
		request, _ := idsOf(e)
		cs.mu.Lock()
		c := cs.of[request]
		isSealed := c != nil && c.row.Type == protocol.RPCSealed
		follows := c != nil && (c.row.Gated || isSealed) && c.row.Machine == all[i].MachineID
		cs.mu.Unlock()
		if !follows {
			continue
		}
		asked, approved := e.Type == protocol.RunPermissionRequested, store.Text(e.Data, "decision") == protocol.DecisionApprove
		cs.enqueue(s, func() {
			s.moveCall(request, func(c *store.Call) {
				switch ends := s.now() + protocol.RPCTimeout.Milliseconds(); {
				case asked:
					step(c, protocol.CallGated)
					if isSealed {
						c.Ends = 0 // it waits for its approval
					}
				case approved || isSealed: // the decision about a sealed one is not known
					step(c, protocol.CallApproved)
					c.Ends = ends + c.ExtendMS
				default:
					c.Ends = ends // not approved: the machine must answer within RPCTimeout
				}
			})
		})
	}
}

// answerExpired answers a call whose deadline has passed with an error.
func (s *Server) answerExpired(c *store.Call) {
	if c.Ends > 0 && c.Ends <= s.now() {
		s.setAnswer(c, protocol.Timeout, "the machine has not answered in time")
	}
}

// machineLost handles the calls of a lost connection. It answers those that the machine may have
// performed and that must not be repeated. The other calls remain, so that they are sent again.
func (cs *calls) machineLost(s *Server, h *machine) {
	cs.mu.Lock()
	var ids []string
	for id, c := range cs.of {
		if c.conn == h {
			c.conn = nil
			ids = append(ids, id)
		}
	}
	cs.mu.Unlock()
	gen := h.life.generation()
	for _, id := range ids {
		cs.enqueue(s, func() {
			s.moveCall(id, func(c *store.Call) {
				if c.Gen == gen {
					s.answerIndeterminate(c)
				}
			})
		})
	}
}

// answerIndeterminate answers a gated call whose machine is lost with an error, because its result
// is unknown. It does nothing if the call still waits for its approval.
func (s *Server) answerIndeterminate(c *store.Call) {
	if c.Gated && c.Gen != 0 && c.State != protocol.CallWaiting {
		step(c, protocol.CallMachineLostGated)
		s.setAnswer(c, protocol.RPCCode(protocol.Internal), "indeterminate: the machine was lost while it did this")
	}
}

// resend sends a machine the calls that were never sent, and the repeatable calls that an older
// connection sent.
func (cs *calls) resend(s *Server, h *machine) {
	all, err := s.store.CallsOf(s.ctx, h.id)
	if err != nil {
		if s.ctx.Err() == nil {
			s.failed(err, protocol.Internal)
		}
		return
	}
	gen := h.life.generation()
	for _, one := range all {
		if one.Gen == gen || h.socket.closed.Load() {
			continue
		}
		push := false
		row := s.moveCall(one.ID, func(c *store.Call) {
			if c.Gen == gen {
				return
			}
			if s.answerIndeterminate(c); c.Answer != "" {
				return
			}
			if c.Gen != 0 && !c.Gated {
				step(c, protocol.CallMachineLost)
			}
			push, c.Gen = !c.Gated || c.Gen == 0, gen
		})
		if row == nil || row.Answer != "" || row.Gen != gen {
			continue
		}
		cs.mu.Lock()
		c := cs.open(row)
		c.conn, c.answered = h, false
		cs.mu.Unlock()
		if push {
			h.socket.push(row.Frame)
		}
	}
}

// sweep answers all calls, of any server, whose deadline has passed or whose machine is lost.
func (cs *calls) sweep(s *Server) {
	now := s.now()
	all, err := s.store.OverdueCalls(s.ctx, now)
	if err == nil && now-cs.swept >= forgetInterval.Milliseconds() {
		cs.swept = now
		err = s.store.ForgetCalls(s.ctx, now)
	}
	if err != nil {
		if s.ctx.Err() == nil {
			s.failed(err, protocol.Internal)
		}
		return
	}
	for _, one := range all {
		gen := one.Gen
		s.moveCall(one.ID, func(c *store.Call) {
			if s.answerExpired(c); c.Answer == "" && c.Gen == gen {
				s.answerIndeterminate(c)
			}
		})
	}
}
