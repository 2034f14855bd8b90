package server

import (
	"encoding/json"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
)

// app is the connection of an app.
type app struct {
	*socket
	who    *auth.Identity
	follow *follower
	forget func() // stops the watch of the app's credentials
	first  bool   // no frame was received yet
	budget bucket
}

// features lists the features of this server beyond those of the protocol version.
var features = []string{"cursors", "states", "rpc", protocol.FeatureSealed}

// agent returns the name and version that this server sends in messages.
func (s *Server) agent() string {
	v := s.config.Version
	if v == "" {
		v = "dev"
	}
	return "concerto-relay/" + v
}

// appSocket serves GET /ws/app. The handler returns after the upgrade, so that an idle connection
// needs only its socket and one reading goroutine.
func (s *Server) appSocket(w http.ResponseWriter, r *http.Request, who *auth.Identity) {
	if !requireUpgrade(w, r) {
		return
	}
	query := r.URL.Query()
	if follow := query.Get("follow"); follow != "" && follow != restNone {
		httpguard.Fail(w, refuse(protocol.BadMessage, "follow must be none or omitted"))
		return
	}
	a := &app{who: who, first: true, budget: bucket{rate: protocol.CommandRate, burst: protocol.CommandBurst}}
	var at atomic.Pointer[socket] // nil before the upgrade
	a.follow = s.newFollower(who.Sees, func() {
		if x := at.Load(); x != nil {
			x.kick()
		}
	})
	if query.Get("follow") != restNone {
		if err := s.peers.ready(r.Context(), true); err != nil {
			httpguard.Fail(w, s.failed(err, protocol.Internal))
			return
		}
		a.follow.followAll() // before the 101 response, because the app must receive all events stored after the response
	}
	x := s.upgrade(w, r)
	if x == nil {
		a.follow.stop()
		return
	}
	a.socket, a.forget = x, func() {}
	x.peer = a
	at.Store(x)
	a.forget = s.config.Auth.Watch(who, func() { x.close(protocol.CloseUnauthorized, "the credentials have expired or were revoked") })
	x.start(a)
	x.kick()
}

func (a *app) handle(e *protocol.Envelope) {
	first := a.first
	a.first = false
	right, ok := auth.OfMessage(e.Type)
	if !ok || e.Type == protocol.Hello && !first {
		a.refuse(e, refuse(protocol.UnknownType, "apps may not send %s", e.Type))
		return
	}
	if err := a.srv.may(a.srv.ctx, a.who, right, e.RunID); err != nil {
		a.refuse(e, a.srv.failed(err, protocol.Forbidden))
		return
	}
	if f := checkCommand(e); f != nil {
		a.refuse(e, f)
		return
	}
	if e.Type == protocol.Hello {
		a.welcome(e)
		return
	}
	if wait := a.budget.take(a.srv.clock.Now()); wait > 0 {
		a.refuse(e, &Failure{Code: protocol.RateLimited, Why: "too many commands: try again later", After: wait})
		return
	}
	if f := a.perform(e); f != nil {
		a.refuse(e, f)
	}
}

// perform performs a message of the app. It returns nil if it has performed the message or has
// begun to.
func (a *app) perform(e *protocol.Envelope) *Failure {
	switch e.Type {
	case protocol.RunSubscribe:
		a.subscribe(e)
		return nil
	case protocol.RunUnsubscribe:
		return a.unsubscribe(e)
	}
	if protocol.Find(e.Type).Kind == protocol.RPC {
		return a.srv.call(a.srv.ctx, a.who, e, a)
	}
	_, f := a.srv.command(a.srv.ctx, a.who, e, a)
	return f
}

func (a *app) welcome(e *protocol.Envelope) {
	d, err := protocol.Decode[protocol.HelloData](e)
	if err != nil {
		a.refuse(e, refuse(protocol.BadMessage, "hello: %v", err))
		return
	}
	a.proto.Store(min(d.Protocol, protocol.Version))
	w := a.srv.welcome(d.Protocol)
	w.User, w.Role = a.who.Name, string(a.who.Role)
	a.send(protocol.Welcome, &protocol.Envelope{ID: e.ID}, w)
}

// welcome returns the data of the welcome that answers a hello. theirs is the peer's protocol
// version.
func (s *Server) welcome(theirs int64) protocol.WelcomeData {
	return protocol.WelcomeData{Protocol: min(theirs, protocol.Version), Agent: s.agent(), Features: features,
		HeartbeatS: int64(protocol.PingAfter / time.Second), MaxFrame: protocol.MaxFrame, Window: protocol.Window}
}

// speaks2 reports whether the peer speaks protocol 2 or later.
func (x *socket) speaks2() bool { return x.proto.Load() >= 2 }

func (a *app) subscribe(e *protocol.Envelope) {
	d, err := protocol.Decode[protocol.Subscribe](e)
	if err != nil {
		a.refuse(e, refuse(protocol.BadMessage, "run.subscribe: %v", err))
		return
	}
	if a.srv.config.Sealed && !a.speaks2() {
		a.refuse(e, refuse(protocol.SealedRequired, "this server accepts only apps of protocol 2"))
		return
	}
	w := subscription{cursor: d.Cursor, rest: d.Rest, output: d.Output, progress: a.speaks2()}
	if a.speaks2() {
		w.re = e
	}
	if f := a.legacySubscribe(&w, &d, e); f != nil {
		a.refuse(e, f)
		return
	}
	a.follow.subscribe(a.srv.ctx, w, func(run string, why *Failure) {
		a.refuse(&protocol.Envelope{ID: e.ID, RunID: run, Data: json.RawMessage("{}")}, why)
	})
}

// legacySubscribe handles the subscription of protocol 1: follow one run from its current end. If
// replace is set, this subscription replaces the others.
func (a *app) legacySubscribe(w *subscription, d *protocol.Subscribe, e *protocol.Envelope) *Failure {
	run := d.RunID
	if run == "" && d.Cursor == nil {
		run = e.RunID
	}
	if run != "" {
		r, err := a.srv.visible(a.srv.ctx, a.who.Sees, run)
		if err != nil {
			return a.srv.failed(err, protocol.UnknownRun)
		}
		if w.cursor == nil {
			w.cursor = map[string]int64{}
		}
		if _, named := w.cursor[run]; !named {
			w.cursor[run] = r.Prefix
		}
	}
	if d.Replace != nil && *d.Replace {
		w.rest, w.replace = restNone, true
	}
	if d.IncludeOutput != nil {
		w.output = d.IncludeOutput
	}
	return nil
}

func (a *app) unsubscribe(e *protocol.Envelope) *Failure {
	d, err := protocol.Decode[protocol.Unsubscribe](e)
	if err != nil {
		return refuse(protocol.BadMessage, "run.unsubscribe: %v", err)
	}
	if len(d.Runs) == 0 && e.RunID != "" {
		d.Runs = []string{e.RunID}
	}
	a.follow.unsubscribe(d.Runs)
	return nil
}

// writeMore writes the next events.
func (a *app) writeMore() bool {
	all, err := a.follow.next(a.srv.ctx, pageEvents)
	switch {
	case a.srv.ctx.Err() != nil:
		return false
	case err == errSlowReader:
		a.close(protocol.CloseTooSlow, err.Error())
		return false
	case err != nil:
		a.srv.failed(err, protocol.Internal)
		a.close(protocol.CloseInternal, "the store cannot be read")
		return false
	}
	for i := range all {
		if frame := a.viewOf(&all[i]); frame != nil {
			a.write(frame)
		}
	}
	return len(all) > 0
}

func (a *app) closed() {
	a.forget()
	a.follow.stop()
	a.srv.commands.forget(a)
	a.srv.calls.forget(a)
}

func (a *app) checkTimeouts(time.Time) {}

// sendState sends the state of a command if the app speaks protocol 2.
func (a *app) sendState(d protocol.State) {
	if !a.speaks2() {
		return
	}
	e := protocol.New(protocol.CommandState, a.srv.clock.Now(), d)
	e.RunID = d.RunID
	a.push(e.Append(nil))
}

// idsOf returns the request and input ids in a message's data.
func idsOf(e *protocol.Envelope) (request, input string) {
	var d struct {
		RequestID any `json:"request_id"`
		InputID   any `json:"input_id"`
	}
	_ = json.Unmarshal(e.Data, &d) // invalid JSON has no ids
	request, _ = d.RequestID.(string)
	input, _ = d.InputID.(string)
	return request, input
}
