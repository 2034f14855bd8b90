package server

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
	"github.com/concerto-lang/concerto/relay/store"
)

// readBody reads the body of a request as the data of a message. An empty body counts as {}.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) (map[string]json.RawMessage, *Failure) {
	body, f := read(w, r)
	if f != nil {
		return nil, f
	}
	all := map[string]json.RawMessage{}
	if len(body) > 0 && json.Unmarshal(body, &all) != nil || all == nil {
		return nil, refuse(protocol.BadMessage, "the body must be a JSON object")
	}
	return all, nil
}

// performPosted performs the body of a request as a message of the given type.
func (s *Server) performPosted(w http.ResponseWriter, r *http.Request, who *auth.Identity, typ string, data map[string]json.RawMessage) *store.Command {
	f := s.rates.allow(who.ID)
	var c *store.Command
	if f == nil {
		e := &protocol.Envelope{Type: typ, TS: s.ts(), RunID: r.PathValue("run"), Data: mustJSON(data)}
		if e.ID = store.Text(e.Data, "id"); typ != protocol.RunStop {
			e.ID = ""
		}
		if why := protocol.Check(e); why != nil {
			f = refuse(why.Code, "%s", why.Why)
		} else {
			c, f = s.command(r.Context(), who, e, nil)
		}
	}
	if f != nil {
		httpguard.Fail(w, f)
		return nil
	}
	return c
}

func (s *Server) postInput(w http.ResponseWriter, r *http.Request, who *auth.Identity) {
	data, f := s.readBody(w, r)
	if f != nil {
		httpguard.Fail(w, f)
		return
	}
	if c := s.performPosted(w, r, who, protocol.RunSendInput, data); c != nil {
		writeState(w, c)
	}
}

func (s *Server) postStop(w http.ResponseWriter, r *http.Request, who *auth.Identity) {
	data, f := s.readBody(w, r)
	if f != nil {
		httpguard.Fail(w, f)
		return
	}
	if c := s.performPosted(w, r, who, protocol.RunStop, data); c != nil {
		writeState(w, c)
	}
}

// writeState responds with the state of a command.
func writeState(w http.ResponseWriter, c *store.Command) {
	switch c.State {
	case protocol.InputSent, protocol.InputApplied:
		w.WriteHeader(http.StatusNoContent)
	case protocol.InputAccepted:
		httpguard.Answer(w, http.StatusAccepted, map[string]string{"state": string(c.State), "id": c.ID})
	case protocol.InputExpired:
		httpguard.Fail(w, refuse(protocol.Expired, "the machine was disconnected for longer than the command may wait"))
	default:
		httpguard.Answer(w, http.StatusOK, map[string]string{"state": string(c.State), "id": c.ID})
	}
}

func (s *Server) postDecision(w http.ResponseWriter, r *http.Request, who *auth.Identity) {
	data, f := s.readBody(w, r)
	if f != nil {
		httpguard.Fail(w, f)
		return
	}
	typ := map[string]string{protocol.DecisionApprove: protocol.RunApprove, protocol.DecisionAnswer: protocol.RunApprove, protocol.DecisionDeny: protocol.RunDeny}[store.Text(mustJSON(data), "decision")]
	if typ == "" {
		httpguard.Fail(w, refuse(protocol.BadMessage, "decision must be approve, deny or answer"))
		return
	}
	delete(data, "decision")
	data["request_id"] = mustJSON(r.PathValue("request"))
	if c := s.performPosted(w, r, who, typ, data); c != nil {
		httpguard.Answer(w, http.StatusOK, map[string]string{"state": string(c.State)})
	}
}

// rpcWait is the maximum time that an HTTP request waits for the answer of a call.
const rpcWait = 25 * time.Second

func (s *Server) postRPC(w http.ResponseWriter, r *http.Request, who *auth.Identity) {
	data, f := s.readBody(w, r)
	if f != nil {
		httpguard.Fail(w, f)
		return
	}
	whole := mustJSON(data)
	e := &protocol.Envelope{
		Type: store.Text(whole, "type"), TS: s.ts(), RunID: store.Text(whole, "run_id"), MachineID: store.Text(whole, "host_id"), ID: store.Text(whole, "id"),
		Enc: data["enc"], Data: data["data"],
	}
	if len(e.Data) == 0 {
		e.Data = json.RawMessage("{}")
	}
	if e.Type == "" {
		httpguard.Fail(w, refuse(protocol.BadMessage, "type must be the name of an RPC"))
		return
	}
	right, ok := auth.OfMessage(e.Type)
	m := protocol.Find(e.Type)
	if !ok || m.Kind != protocol.RPC {
		httpguard.Fail(w, refuse(protocol.UnknownType, "there is no RPC %q", e.Type))
		return
	}
	if err := s.may(r.Context(), who, right, e.RunID); err != nil {
		httpguard.Fail(w, err)
		return
	}
	if why := protocol.Check(e); why != nil {
		f = refuse(why.Code, "%s", why.Why)
	} else {
		f = s.rates.allow(who.ID)
	}
	var c *call
	if f == nil {
		c, f = s.startCall(r.Context(), who, e, nil)
	}
	if f != nil {
		httpguard.Fail(w, f)
		return
	}
	s.await(w, r, c)
}

// await responds with the answer of a call. If there is none within rpcWait, it responds that the
// call is still running.
func (s *Server) await(w http.ResponseWriter, r *http.Request, c *call) {
	over := make(chan struct{})
	stop := s.clock.After(rpcWait, func() { close(over) })
	defer stop()
	select {
	case <-c.done:
	case <-over:
	case <-r.Context().Done():
		return
	case <-s.ctx.Done():
	}
	s.calls.mu.Lock()
	answer, id, state := c.answer, c.row.ID, c.row.State
	s.calls.mu.Unlock()
	if answer == nil {
		httpguard.Answer(w, http.StatusAccepted, map[string]string{"state": string(state), "request_id": id})
		return
	}
	httpguard.Answer(w, http.StatusOK, json.RawMessage(answer.Append(nil)))
}
