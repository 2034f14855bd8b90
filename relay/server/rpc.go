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

// calls are the RPCs that are not answered and that concern this server: somebody waits here for
// the answer, or the host is here. What becomes of one is the store's, so that it is answered once,
// and asked again gives that answer, whichever server is asked.
type calls struct {
	srv *Server

	mu sync.Mutex
	of map[string]*call // by their request_id

	queue   []func() // what events say of calls, in their order
	working bool
	swept   int64 // Unix ms: when those that nobody asks for again were forgotten
}

// forgetEach is how often calls are forgotten.
const forgetEach = time.Minute

// call is an RPC.
type call struct {
	row    store.Call
	conn   *host // over which it was sent from here
	taken  bool  // its answer has come, and is being stored
	askers []asker
	done   chan struct{}
	answer *protocol.Envelope
	timer  func() bool // of its end
}

// asker is a connection that waits for the answer.
type asker struct {
	app *app
	re  string
}

func newCalls(s *Server) *calls { return &calls{srv: s, of: map[string]*call{}} }

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
	row, host, f := s.newCall(ctx, who, e)
	if f != nil {
		return nil, f
	}
	if c, f := s.askedBefore(ctx, row, asker{from, e.ID}); c != nil || f != nil {
		return c, f
	}
	h := s.hosts.get(row.Host)
	here := h != nil && h.isReady()
	switch {
	case here:
		row.Gen = h.life.generation()
	case h == nil && !s.others.has(host): // one that has not said hello gets it when its time for that is over
		return nil, refuse(protocol.HostOffline, "host %s is not connected", row.Host)
	}
	if s.calls.running(row.Session) >= protocol.MaxConcurrentRPCs {
		return nil, &Failure{Code: protocol.RateLimited, Why: "too many RPCs at a time", After: time.Second}
	}
	about := map[string]any{"request_id": row.ID, "type": row.Type, "host": row.Host}
	was, fresh, err := s.store.AddCall(ctx, *row, who.Record("rpc", row.Run, about, nil))
	if err != nil {
		return nil, s.failed(err, protocol.Internal)
	}
	if !fresh {
		return s.joins(was, row, asker{from, e.ID})
	}
	c, f := s.joins(row, row, asker{from, e.ID})
	switch {
	case f != nil:
	case here:
		s.calls.sent(c, h)
		h.socket.push(row.Frame)
	case h == nil:
		s.others.tell(lookHosts)
	case h.isReady(): // since it was looked at, and may have missed the call
		s.calls.again(s, h)
	}
	return c, f
}

// askedBefore is the call of an id that was used before; nil when it was not.
func (s *Server) askedBefore(ctx context.Context, row *store.Call, a asker) (*call, *Failure) {
	s.calls.mu.Lock()
	has := s.calls.of[row.ID]
	s.calls.mu.Unlock()
	if has != nil {
		return s.joins(&has.row, row, a)
	}
	was, err := s.store.Call(ctx, row.ID)
	switch {
	case errors.Is(err, store.ErrUnknown):
		return nil, nil
	case err != nil:
		return nil, s.failed(err, protocol.Internal)
	}
	return s.joins(was, row, a)
}

// joins has somebody wait for a call that is stored, if it is what they ask for; who comes late gets
// the answer at once.
func (s *Server) joins(was, wants *store.Call, a asker) (*call, *Failure) {
	if was.SHA256 != wants.SHA256 || was.By != wants.By {
		return nil, refuse(protocol.InputConflict, "the request_id was used for another call")
	}
	s.calls.mu.Lock()
	defer s.calls.mu.Unlock()
	c := s.calls.open(was)
	switch {
	case a.app == nil:
	case c.answer != nil:
		c.tell(a)
	case !slices.Contains(c.askers, a):
		c.askers = append(c.askers, a)
	}
	return c, nil
}

// open is a call as it is known here; one that is answered is not remembered. calls.mu is held.
func (cs *calls) open(row *store.Call) *call {
	if c := cs.of[row.ID]; c != nil {
		return c
	}
	c := &call{row: *row, done: make(chan struct{})}
	if row.Answer != "" {
		c.ends(row)
		return c
	}
	cs.of[row.ID] = c
	cs.limit(c)
	return c
}

// limit ends a call when its time is over. calls.mu is held.
func (cs *calls) limit(c *call) {
	if c.timer != nil {
		c.timer()
		c.timer = nil
	}
	if c.row.Ends > 0 && c.answer == nil {
		id := c.row.ID
		c.timer = cs.srv.clock.After(time.Duration(c.row.Ends-cs.srv.now())*time.Millisecond, func() { cs.srv.moveCall(id, cs.srv.late) })
	}
}

// sent notes over which connection a call went out.
func (cs *calls) sent(c *call, h *host) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c.conn = h
}

// ends takes the answer that is stored.
func (c *call) ends(row *store.Call) {
	c.row = *row
	answer, refused := protocol.Parse([]byte(row.Answer))
	if refused != nil {
		panic("server: an answer of ours is no message: " + refused.Why)
	}
	c.answer = &answer
	close(c.done)
}

// newCall is a message as a call, and its host.
func (s *Server) newCall(ctx context.Context, who *auth.Identity, e *protocol.Envelope) (*store.Call, *store.Host, *Failure) {
	m := protocol.Find(e.Type)
	request, _ := idsOf(e)
	request, f := named(e, request)
	if f != nil {
		return nil, nil, f
	}
	c := &store.Call{ID: request, Type: e.Type, Session: who.ID, By: who.Name, Gated: m.Gated, State: "asked", At: s.now()}
	c.Host = store.Text(e.Data, "host_id")
	if !m.OfHost && (e.Type != "rpc.runs.list" || c.Host == "") {
		r, err := s.visible(ctx, who.Sees, e.RunID)
		if err != nil {
			return nil, nil, s.failed(err, protocol.UnknownRun)
		}
		c.Run, c.Host = r.ID, r.HostID
	}
	host, err := s.store.Host(ctx, c.Host)
	if err != nil {
		f := s.failed(err, protocol.UnknownHost)
		if f.Code == protocol.UnknownHost {
			f.Why = "there is no host \"" + c.Host + "\""
		}
		return nil, nil, f
	}
	c.SHA256 = hashOf([]any{c.Type, c.Run, c.Host, e.Data})
	if e.Type == "rpc.bash" {
		longer := 120 * time.Second
		if d, err := protocol.Decode[protocol.Bash](e); err == nil && d.TimeoutS != nil {
			longer = time.Duration(*d.TimeoutS) * time.Second
		}
		c.LongerMS = longer.Milliseconds()
	}
	if !c.Gated {
		c.Ends = c.At + protocol.RPCTimeout.Milliseconds()
	}
	out := protocol.Envelope{Type: e.Type, TS: s.ts(), HostID: c.Host, RunID: c.Run, ID: e.ID, Enc: e.Enc, Data: withBy(e.Data, who.Name), Extra: e.Extra}
	c.Frame = out.Append(nil)
	return c, host, nil
}

func (c *call) tell(to asker) {
	e := *c.answer
	e.Re = to.re
	to.app.push(e.Append(nil))
}

// running is how many calls of a session go on.
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

// waits gives the ids of calls whose host is not here.
func (cs *calls) waits() (ids []string) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for id, c := range cs.of {
		if c.conn == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

func (cs *calls) leave(a *app) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for _, c := range cs.of {
		c.askers = slices.DeleteFunc(c.askers, func(one asker) bool { return one.app == a })
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
