package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"time"

	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/internal/text/jcs"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/store"
)

func stateOf(c *store.Command, why string) protocol.State {
	return protocol.State{ID: c.ID, Kind: c.Kind, RunID: c.RunID, State: c.State, Error: why, By: c.By}
}

// payload is the stored form of a command until it is final.
type payload struct {
	Type  string            `json:"type"`
	Data  json.RawMessage   `json:"data"`
	Enc   json.RawMessage   `json:"enc,omitempty"`
	Extra []protocol.Member `json:"extra,omitempty"`
}

// checkCommand validates an app's command, unless it is encrypted.
func checkCommand(e *protocol.Envelope) *Failure {
	if e.Enc != nil && !protocol.Find(e.Type).IsSealed() {
		return nil
	}
	if why := protocol.Check(e); why != nil {
		return refuse(why.Code, "%s", why.Why)
	}
	return nil
}

// refusePlain returns a failure if the server could read a message, and accepts only sealed ones.
// Machines report by a plain gap that they have lost their events, and their time by rpc.host.info.
func (c *Config) refusePlain(e *protocol.Envelope) *Failure {
	switch {
	case !c.Sealed, e.Enc == nil && (e.Type == protocol.RunGap || e.Type == protocol.RPCMachineInfo):
		return nil
	case e.Enc == nil:
		return refuse(protocol.SealedRequired, "%s is not sealed, and this server accepts only what it cannot read", e.Type)
	}
	var err error
	if m := protocol.Find(e.Type); m != nil && m.Kind != protocol.Event {
		_, err = seal.ParseSealedCommand(e.Data)
	} else {
		err = (&seal.SealedEvent{Type: e.Type, TS: e.TS, Run: e.RunID, Seq: max(e.Seq, 1)}).Parse(e.Enc, e.Data)
	}
	if err != nil {
		return refuse(protocol.BadMessage, "%s: %v", e.Type, err)
	}
	return nil
}

// requireID returns an id from the data of a message. If the data is encrypted, it returns the id
// of the envelope.
func requireID(e *protocol.Envelope, id string) (string, *Failure) {
	if id == "" && e.Enc != nil {
		id = e.ID
	}
	if !protocol.IsID(id) {
		return "", refuse(protocol.BadMessage, "%s: missing id", e.Type)
	}
	return id, nil
}

// command performs a message of an app. It returns nil for a command that is not stored. from is
// the app's connection and may be nil.
func (s *Server) command(ctx context.Context, who *auth.Identity, e *protocol.Envelope, from *app) (*store.Command, *Failure) {
	if f := s.config.refusePlain(e); f != nil {
		return nil, f
	}
	run, err := s.visible(ctx, who.Sees, e.RunID)
	if err != nil {
		return nil, s.failed(err, protocol.UnknownRun)
	}
	if e.Type == protocol.RunSendKeys || e.Type == protocol.RunResize {
		return nil, s.forward(ctx, run, e, from)
	}
	c, f := s.commandOf(ctx, who, run, e)
	if f != nil {
		return nil, f
	}
	c.Keeper = s.peers.id
	unfollow := s.commands.follow(keyOf(c), from)
	if c.IsSecret() {
		s.commands.hold(secretOf(c), c.Payload)
		c.Payload = nil
	}
	out, fresh, err := s.store.Accept(ctx, *c)
	if c.IsSecret() && !fresh {
		s.commands.hold(secretOf(c), nil)
	}
	if err != nil {
		unfollow()
		return nil, s.failed(err, protocol.UnknownRequest)
	}
	if !fresh {
		s.commands.catchUp(out, from)
		return out, nil
	}
	s.commands.notify(out, "")
	if h := s.machines.get(run.MachineID); h != nil && h.isReady() {
		h.deliver()
	} else {
		s.peers.notify(checkMachines)
	}
	if now, err := s.store.Command(ctx, c.RunID, c.Kind, c.ID); err == nil {
		out = now
	}
	return out, nil
}

// notifyState reports the state of a command to the apps at this server, and notifies the other
// servers.
func (s *Server) notifyState(c *store.Command, why string) {
	s.commands.notify(c, why)
	s.peers.notify(checkCommands)
}

// readsSecret reports whether a run waits for a secret, such as a password at its terminal. Its
// inputs must then not be stored.
func (s *Server) readsSecret(ctx context.Context, run string) (bool, error) {
	all, err := s.store.Requests(ctx, run)
	return slices.ContainsFunc(all, isSecret), err
}

// isSecret reports whether the answer to a request must not be stored.
func isSecret(q *store.Request) bool {
	var asked protocol.PermissionRequested
	return json.Unmarshal(q.Data, &asked) == nil && asked.IsSecret() // those of a sealed run are not known
}

// forward sends a machine a command that is not stored. The command is lost if the machine is not
// connected. If a connected machine has not yet sent its hello, the command waits for the hello; if
// it is refused then, from receives the refusal.
func (s *Server) forward(ctx context.Context, run *store.Run, e *protocol.Envelope, from *app) *Failure {
	if run.Status == protocol.StatusExited {
		return refuse(protocol.RunHasExited, "run %s has ended", run.ID)
	}
	out := protocol.Envelope{Type: e.Type, TS: s.ts(), MachineID: run.MachineID, RunID: run.ID, ID: e.ID, Enc: e.Enc, Data: e.Data, Extra: e.Extra}
	frame := out.Append(nil)
	if h := s.machines.get(run.MachineID); h != nil {
		waits, f := h.whenReady(func() {
			if f := h.forward(e.Type, frame); f != nil {
				from.refuse(e, f)
			}
		})
		if waits || f != nil {
			return f
		}
		return h.forward(e.Type, frame)
	}
	machine, err := s.store.Machine(ctx, run.MachineID)
	switch {
	case err != nil || !s.peers.isElsewhere(machine):
		return refuse(protocol.MachineOffline, "machine %s is not connected", run.MachineID)
	case machine.Proto < int64(protocol.Find(e.Type).Since):
		return refuse(protocol.UnknownType, "machine %s does not support %s", run.MachineID, e.Type)
	}
	return s.peers.forward(ctx, machine, frame)
}

// forward sends a frame if the machine is connected and its protocol version supports the message
// type.
func (h *machine) forward(typ string, frame []byte) *Failure {
	switch {
	case h.socket.closed.Load():
		return refuse(protocol.MachineOffline, "machine %s is not connected", h.id)
	case !h.socket.speaks2() && protocol.Find(typ).Since > 1:
		return refuse(protocol.UnknownType, "machine %s does not support %s", h.id, typ)
	}
	h.socket.push(frame)
	return nil
}

func (s *Server) ts() string { return protocol.Timestamp(s.clock.Now()) }

// commandOf converts a message to a stored command.
func (s *Server) commandOf(ctx context.Context, who *auth.Identity, run *store.Run, e *protocol.Envelope) (*store.Command, *Failure) {
	now, secret := s.now(), false
	c := &store.Command{RunID: run.ID, By: who.Name, Created: now, Expires: now + protocol.InputTTL.Milliseconds()}
	var content any // the content; a repeated command must have the same
	var f *Failure
	switch e.Type {
	case protocol.RunSendInput:
		d, err := protocol.Decode[protocol.SendInput](e)
		if err != nil {
			return nil, refuse(protocol.BadMessage, "%s: %v", e.Type, err)
		}
		if c.ID, f = requireID(e, d.InputID); f != nil {
			return nil, f
		}
		c.Kind, content = store.InputCommand, d.Text
		if d.Host != "" || d.Workspace != "" {
			content = []string{d.Text, d.Host, d.Workspace}
		}
		if d.TTLS != nil {
			c.Expires = now + *d.TTLS*1000
		}
		if secret, err = s.readsSecret(ctx, run.ID); err != nil {
			return nil, s.failed(err, protocol.Internal)
		}
	case protocol.RunStop:
		c.Kind, c.ID, content = store.StopCommand, e.ID, e.Data
		if !protocol.IsID(c.ID) {
			c.ID = rand.Text()
		}
	case protocol.RunDecide:
		c.Kind, c.Decision = store.DecisionCommand, protocol.DecisionSealed
		if c.ID, f = requireID(e, ""); f != nil {
			return nil, f
		}
		if _, f := s.request(ctx, run.ID, c.ID); f != nil {
			return nil, f
		}
		c.Expires = now + protocol.DecisionTTL.Milliseconds()
	case protocol.RunApprove, protocol.RunDeny:
		d, err := protocol.Decode[protocol.Decide](e)
		if err != nil {
			return nil, refuse(protocol.BadMessage, "%s: %v", e.Type, err)
		}
		if c.ID, f = requireID(e, d.RequestID); f != nil {
			return nil, f
		}
		c.Kind, c.ArgsSHA256 = store.DecisionCommand, d.ArgsSHA256
		decision := map[string]string{protocol.RunApprove: protocol.DecisionApprove, protocol.RunDeny: protocol.DecisionDeny}[e.Type]
		content = []any{decision, d.Answer, d.Answers, d.Text, d.Scope}
		q, f := s.request(ctx, run.ID, c.ID)
		if f != nil {
			return nil, f
		}
		setDecision(c, q, decision, &d)
		secret = isSecret(q)
		c.Expires = s.decisionExpiry(ctx, q, now)
	}
	if e.Enc != nil {
		content = []any{e.Type, e.Data}
	}
	if secret {
		c.NameSecret()
	} else {
		c.SHA256 = hashOf(content)
	}
	c.Audit = []audit.Record{who.Record(c.Kind, run.ID, map[string]any{"id": c.ID}, auditData(c))}
	data, extra := withUser(e, who.Name)
	c.Payload = mustJSON(payload{e.Type, data, e.Enc, extra})
	return c, nil
}

// setDecision sets the form in which a decision is recorded. For an encrypted request this is the
// decision as sent.
func setDecision(c *store.Command, q *store.Request, sent string, d *protocol.Decide) {
	c.Decision = sent
	var asked protocol.PermissionRequested
	if json.Unmarshal(q.Data, &asked) != nil {
		return
	}
	var value json.RawMessage
	if c.Decision, value = asked.Outcome(sent, d.Answer, d.Answers); value == nil {
		return
	}
	if !asked.IsSecret() {
		c.AnswerSHA256 = hashOf(value)
		c.Answer = secret.WithoutTokens(string(protocol.ShortJSON(value, protocol.MaxAnswer)), protocol.Redacted)
	}
}

// auditData returns the audit data of a command.
func auditData(c *store.Command) map[string]any {
	all := map[string]any{}
	if !c.IsSecret() {
		all["sha256"] = c.SHA256
	}
	if c.Decision != "" {
		all["decision"] = c.Decision
	}
	if c.Answer != "" {
		all["answer"] = c.Answer
	}
	if c.ArgsSHA256 != "" {
		all["args_sha256"] = c.ArgsSHA256
	}
	return all
}

// request returns a request of a run, or a Failure if it does not exist.
func (s *Server) request(ctx context.Context, run, request string) (*store.Request, *Failure) {
	q, err := s.store.Request(ctx, run, request)
	if err == nil {
		return q, nil
	}
	f := s.failed(err, protocol.UnknownRequest)
	if f.Code == protocol.UnknownRequest {
		f.Why = "run " + run + " has no request " + request
	}
	return nil, f
}

// decisionExpiry returns the time until which a decision waits for its machine, in Unix ms. The
// request's expiry is measured by the machine's clock, so only the duration between the request's
// creation and its expiry is used.
func (s *Server) decisionExpiry(ctx context.Context, q *store.Request, now int64) int64 {
	ends := now + protocol.DecisionTTL.Milliseconds()
	at, err := time.Parse(time.RFC3339, store.Text(q.Data, "expires_at"))
	if err != nil {
		return ends
	}
	all, _, err := s.store.Page(ctx, store.PageQuery{Run: q.RunID, After: q.Seq - 1, Limit: 1})
	if err != nil || len(all) == 0 {
		return ends
	}
	asked, err := time.Parse(time.RFC3339, all[0].TS)
	if err != nil {
		return ends
	}
	return all[0].ReceivedAt + at.Sub(asked).Milliseconds()
}

// withBy adds the user's name to the data of a command.
func withBy(data json.RawMessage, name string) json.RawMessage {
	var all map[string]json.RawMessage
	if json.Unmarshal(data, &all) != nil || all == nil {
		all = map[string]json.RawMessage{}
	}
	all["by"] = mustJSON(name)
	return mustJSON(all)
}

func mustJSON(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic("server: a value of ours is no JSON: " + err.Error())
	}
	return text
}

// hashOf returns the SHA-256 of a value's canonical JSON.
func hashOf(v any) string {
	text := mustJSON(v)
	if c, err := jcs.Canonical(text); err == nil {
		text = c
	}
	return hexsum.SHA256(text)
}

// expire moves commands that were not sent before their deadline to the state expired.
func (s *Server) expire() {
	all, err := s.store.Overdue(s.ctx, s.now())
	if err != nil {
		if s.ctx.Err() == nil {
			s.failed(err, protocol.Internal)
		}
		return
	}
	for _, c := range all {
		s.step(c, protocol.OutcomeExpired, string(protocol.Expired))
	}
}

// step applies a transition to a command and notifies apps of its new state.
func (s *Server) step(c *store.Command, on protocol.Outcome, why string) (out *store.Command, ok bool) {
	out, moved, err := s.store.Step(s.ctx, c.RunID, c.Kind, c.ID, on, why)
	if err != nil {
		if s.ctx.Err() == nil {
			s.failed(err, protocol.Internal)
		}
		return nil, false
	}
	if moved {
		s.notifyState(out, why)
	}
	return out, moved
}
