package server

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/store"
)

// calls are the RPCs that go on, or have ended not long ago.
type calls struct {
	mu sync.Mutex
	of map[string]*call // by their request_id
}

// call is an RPC. Its states are protocol.RPCMachine's.
type call struct {
	id, typ   string
	run, host string
	hash      string // of what it asks for
	session   string
	by        string
	gated     bool
	longer    time.Duration // that it may take once it runs
	state     string
	frame     []byte // as the host gets it
	conn      *host  // that was asked
	askers    []asker
	done      chan struct{}
	answer    *protocol.Envelope
	ended     time.Time
	timer     func() bool
}

// asker is a connection that waits for the answer.
type asker struct {
	app *app
	re  string
}

func newCalls() *calls { return &calls{of: map[string]*call{}} }

// call asks a host for an app, which gets the answer. What the call itself is refused for is an
// answer, too.
func (s *Server) call(ctx context.Context, who *auth.Identity, e *protocol.Envelope, from *app) *Failure {
	_, f := s.ask(ctx, who, e, from)
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

// failedCall is the server's own answer to a call.
func (s *Server) failedCall(request, typ, run string, code protocol.RPCCode, why string) *protocol.Envelope {
	out := protocol.New(protocol.RPCResponse, s.clock.Now(), protocol.Response{RequestID: request, RPCType: typ, Error: why, ErrorCode: code})
	out.RunID = run
	return &out
}

// ask begins a call, or joins the one of this id.
func (s *Server) ask(ctx context.Context, who *auth.Identity, e *protocol.Envelope, from *app) (*call, *Failure) {
	c, f := s.newCall(ctx, who, e)
	if f != nil {
		return nil, f
	}
	if f := s.recordCall(ctx, who, c); f != nil {
		return nil, f
	}
	s.calls.mu.Lock()
	defer s.calls.mu.Unlock()
	if was := s.calls.of[c.id]; was != nil {
		if was.hash != c.hash || was.by != c.by {
			return nil, refuse(protocol.InputConflict, "the request_id was used for another call")
		}
		was.join(from, e.ID)
		return was, nil
	}
	h := s.hosts.get(c.host)
	if h == nil || !h.isReady() {
		return nil, refuse(protocol.HostOffline, "host %s is not connected", c.host)
	}
	if s.calls.running(c.session) >= protocol.RPCsAtOnce {
		return nil, &Failure{Code: protocol.RateLimited, Why: "too many RPCs at a time", After: time.Second}
	}
	s.calls.of[c.id] = c
	c.join(from, e.ID)
	c.step("asked")
	if !c.gated {
		s.limit(c, protocol.RPCWithin)
	}
	c.conn = h
	h.push(c.frame)
	return c, nil
}

// recordCall puts a call that is new into the audit log, before it is made.
func (s *Server) recordCall(ctx context.Context, who *auth.Identity, c *call) *Failure {
	s.calls.mu.Lock()
	was := s.calls.of[c.id]
	s.calls.mu.Unlock()
	if was != nil {
		return nil
	}
	about := map[string]any{"request_id": c.id, "type": c.typ, "host": c.host}
	if err := s.store.Record(ctx, s.now(), who.Record("rpc", c.run, about, nil)); err != nil {
		return s.failed(err, protocol.Internal)
	}
	return nil
}

// newCall is a message as a call.
func (s *Server) newCall(ctx context.Context, who *auth.Identity, e *protocol.Envelope) (*call, *Failure) {
	m := protocol.Find(e.Type)
	request, _ := idsOf(e)
	request, f := named(e, request)
	if f != nil {
		return nil, f
	}
	c := &call{id: request, typ: e.Type, session: who.ID, by: who.Name, gated: m.Gated, done: make(chan struct{})}
	c.host = store.Text(e.Data, "host_id")
	if !m.OfHost && (e.Type != "rpc.runs.list" || c.host == "") {
		r, err := s.visible(ctx, who.Sees, e.RunID)
		if err != nil {
			return nil, s.failed(err, protocol.UnknownRun)
		}
		c.run, c.host = r.ID, r.HostID
	}
	if _, err := s.store.Host(ctx, c.host); err != nil {
		f := s.failed(err, protocol.UnknownHost)
		if f.Code == protocol.UnknownHost {
			f.Why = "there is no host \"" + c.host + "\""
		}
		return nil, f
	}
	c.hash = hashOf([]any{c.typ, c.run, c.host, e.Data})
	if e.Type == "rpc.bash" {
		c.longer = 120 * time.Second
		if d, err := protocol.Decode[protocol.Bash](e); err == nil && d.TimeoutS != nil {
			c.longer = time.Duration(*d.TimeoutS) * time.Second
		}
	}
	out := protocol.Envelope{Type: e.Type, TS: s.ts(), HostID: c.host, RunID: c.run, ID: e.ID, Enc: e.Enc, Data: withBy(e.Data, who.Name), Extra: e.Extra}
	c.frame = out.Append(nil)
	return c, nil
}

// join adds who waits for the answer; who comes late gets it at once.
func (c *call) join(from *app, re string) {
	switch {
	case from == nil:
	case c.answer != nil:
		c.tell(asker{from, re})
	case !slices.Contains(c.askers, asker{from, re}):
		c.askers = append(c.askers, asker{from, re})
	}
}

func (c *call) tell(to asker) {
	e := *c.answer
	e.Re = to.re
	to.app.push(e.Append(nil))
}

func (c *call) step(on string) {
	if to, ok := protocol.RPCMachine.Next(c.state, on); ok {
		c.state = to
	}
}

// running is how many calls of a session go on.
func (cs *calls) running(session string) (n int) {
	for _, c := range cs.of {
		if c.session == session && c.answer == nil {
			n++
		}
	}
	return n
}

// limit ends a call after a time.
func (s *Server) limit(c *call, within time.Duration) {
	if c.timer != nil {
		c.timer()
	}
	c.timer = s.clock.After(within, func() {
		s.calls.mu.Lock()
		defer s.calls.mu.Unlock()
		s.finish(c, s.failedCall(c.id, c.typ, c.run, protocol.Timeout, "the host has not answered in time"))
	})
}

// finish gives a call's answer to those who wait for it. calls.mu is held.
func (s *Server) finish(c *call, answer *protocol.Envelope) {
	if c.answer != nil {
		return
	}
	c.answer, c.ended, c.frame, c.conn = answer, s.clock.Now(), nil, nil
	if c.timer != nil {
		c.timer()
	}
	close(c.done)
	for _, a := range c.askers {
		c.tell(a)
	}
	c.askers = nil
}

// answered takes a host's answer.
func (cs *calls) answered(s *Server, h *host, e *protocol.Envelope) {
	request, _ := idsOf(e)
	if request == "" {
		request = e.Re // of one that is encrypted
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c := cs.of[request]
	if c == nil || c.host != h.id {
		return // nobody waits for it
	}
	out := *e
	out.ID, out.Re = "", ""
	if d, err := protocol.Decode[protocol.Response](e); err == nil && e.Enc == nil && !d.OK && d.ErrorCode == "" {
		out.Data = withMember(e.Data, "error_code", protocol.Internal) // a host of the seed's has none
	}
	c.step("begun")
	c.step("answered")
	s.finish(c, &out)
}

func withMember(data json.RawMessage, name string, v any) json.RawMessage {
	var all map[string]json.RawMessage
	if json.Unmarshal(data, &all) != nil {
		return data
	}
	all[name] = mustJSON(v)
	return mustJSON(all)
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
		if c := cs.of[request]; c != nil && c.answer == nil && c.gated {
			if e.Type == protocol.RunPermissionRequested {
				c.step("gated")
			} else if store.Text(e.Data, "decision") == "approve" {
				c.step("approved")
				s.limit(c, protocol.RPCWithin+c.longer)
			} else {
				s.limit(c, protocol.RPCWithin) // the host says what that means
			}
		}
		cs.mu.Unlock()
	}
}

// lost ends the calls of which nobody knows whether a host that is gone does them; the others
// it is asked again.
func (cs *calls) lost(s *Server, h *host) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for _, c := range cs.of {
		if c.conn != h || c.answer != nil {
			continue
		}
		c.conn = nil
		if c.gated && c.state != "waiting" {
			c.step("host lost, gated")
			s.finish(c, s.failedCall(c.id, c.typ, c.run, protocol.RPCCode(protocol.Internal), "indeterminate: the host was lost while it did this"))
		}
	}
}

// again asks a host that is back.
func (cs *calls) again(_ *Server, h *host) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for _, c := range cs.of {
		if c.host == h.id && c.answer == nil && c.conn != h {
			c.conn = h
			if !c.gated {
				c.step("host lost")
				h.push(c.frame)
			}
		}
	}
}

func (cs *calls) leave(a *app) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for _, c := range cs.of {
		c.askers = slices.DeleteFunc(c.askers, func(one asker) bool { return one.app == a })
	}
}

// sweep forgets calls that ended long ago.
func (cs *calls) sweep(_ *Server, now time.Time) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for id, c := range cs.of {
		if c.answer != nil && now.Sub(c.ended) >= protocol.RPCRemembered {
			delete(cs.of, id)
		}
	}
}
