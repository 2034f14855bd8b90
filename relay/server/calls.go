package server

import (
	"errors"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/store"
)

// step moves a call on, if its machine allows it.
func step(c *store.Call, on string) {
	if to, ok := protocol.RPCMachine.Next(c.State, on); ok {
		c.State = to
	}
}

// moveCall changes a call in the store, and tells who waits here when it is answered.
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
		s.others.tell(lookCalls)
	}
	return row
}

// learn takes in what the store has of a call, and tells its answer to who waits here.
func (s *Server) learn(row *store.Call) {
	s.calls.mu.Lock()
	defer s.calls.mu.Unlock()
	c := s.calls.of[row.ID]
	switch {
	case c == nil:
	case row.Answer == "":
		ended := c.row.Ends
		if c.row = *row; ended != row.Ends {
			s.calls.limit(c)
		}
	default:
		c.ends(row)
		s.calls.limit(c)
		delete(s.calls.of, row.ID)
		for _, a := range c.askers {
			c.tell(a)
		}
		c.askers = nil
	}
}

// answers is a change that gives a call the server's own answer.
func (s *Server) answers(c *store.Call, code protocol.RPCCode, why string) {
	c.Answer = string(s.failedCall(c.ID, c.Type, c.Run, code, why).Append(nil))
}

// answered takes a host's answer, of a call that was sent from here.
func (cs *calls) answered(s *Server, h *host, e *protocol.Envelope) {
	request, _ := idsOf(e)
	if request == "" {
		request = e.Re // of one that is encrypted
	}
	cs.mu.Lock()
	c := cs.of[request]
	takes := c != nil && c.conn == h && !c.taken
	starts, by := false, ""
	if takes {
		c.taken = true
		starts, by = c.row.Type == "rpc.run.start", c.row.By
	}
	cs.mu.Unlock()
	if !takes {
		return // nobody waits for it
	}
	out := *e
	out.ID, out.Re = "", ""
	if d, err := protocol.Decode[protocol.Response](e); err == nil && e.Enc == nil && !d.OK && d.ErrorCode == "" {
		out.Data = withMember(e.Data, "error_code", protocol.Internal) // a host of the seed's has none
	}
	s.moveCall(request, func(c *store.Call) {
		step(c, "begun")
		step(c, "answered")
		c.Answer = string(out.Append(nil))
	})
	if starts {
		s.startedBy(by, &out)
	}
}

// later does something with calls when what was to be done before is done.
func (cs *calls) later(s *Server, do func()) {
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

// seen follows what events say of calls that wait for an approval.
func (cs *calls) seen(s *Server, all []store.Incoming) {
	for i := range all {
		e := all[i].Envelope
		if e.Type != protocol.RunPermissionRequested && e.Type != protocol.RunPermissionResolved {
			continue
		}
		request, _ := idsOf(e)
		cs.mu.Lock()
		c := cs.of[request]
		follows := c != nil && c.row.Gated && c.row.Host == all[i].HostID
		cs.mu.Unlock()
		if !follows {
			continue
		}
		asked, approved := e.Type == protocol.RunPermissionRequested, store.Text(e.Data, "decision") == "approve"
		cs.later(s, func() {
			s.moveCall(request, func(c *store.Call) {
				switch ends := s.now() + protocol.RPCTimeout.Milliseconds(); {
				case asked:
					step(c, "gated")
				case approved:
					step(c, "approved")
					c.Ends = ends + c.LongerMS
				default:
					c.Ends = ends // the host says what that means
				}
			})
		})
	}
}

// late answers a call whose time is over.
func (s *Server) late(c *store.Call) {
	if c.Ends > 0 && c.Ends <= s.now() {
		s.answers(c, protocol.Timeout, "the host has not answered in time")
	}
}

// lost ends the calls of which nobody knows whether a host that is gone does them; the others
// it is asked again.
func (cs *calls) lost(s *Server, h *host) {
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
		cs.later(s, func() {
			s.moveCall(id, func(c *store.Call) {
				if c.Gen == gen {
					s.maybeDone(c)
				}
			})
		})
	}
}

// maybeDone answers a gated call whose host is gone, unless it waits for its approval.
func (s *Server) maybeDone(c *store.Call) {
	if c.Gated && c.Gen != 0 && c.State != "waiting" {
		step(c, "host lost, gated")
		s.answers(c, protocol.RPCCode(protocol.Internal), "indeterminate: the host was lost while it did this")
	}
}

// again asks a host what is to be asked of it over this connection: what was not asked before, and
// what an older connection was asked and may be asked twice.
func (cs *calls) again(s *Server, h *host) {
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
			if s.maybeDone(c); c.Answer != "" {
				return
			}
			if c.Gen != 0 && !c.Gated {
				step(c, "host lost")
			}
			push, c.Gen = !c.Gated || c.Gen == 0, gen
		})
		if row == nil || row.Answer != "" || row.Gen != gen {
			continue
		}
		cs.mu.Lock()
		c := cs.open(row)
		c.conn, c.taken = h, false
		cs.mu.Unlock()
		if push {
			h.socket.push(row.Frame)
		}
	}
}

// sweep ends calls whose time is over, or whose host is gone, whoever asked for them.
func (cs *calls) sweep(s *Server) {
	now := s.now()
	all, err := s.store.Late(s.ctx, now)
	if err == nil && now-cs.swept >= forgetEach.Milliseconds() {
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
			if s.late(c); c.Answer == "" && c.Gen == gen {
				s.maybeDone(c)
			}
		})
	}
}
