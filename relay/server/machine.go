package server

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/store"
)

// machine is one connection from a machine. There may be several, of which only the newest owns the
// machine.
type machine struct {
	srv      *Server
	socket   *socket
	id       string
	first    bool // no frame was received yet
	intake   readLimiter
	stopWait func() bool
	violated map[protocol.Code]bool // codes of the violations that are in the audit log
	proof    proving
	// hasCredentials reports whether the credentials by which the machine was authenticated are
	// still valid.
	hasCredentials func(context.Context) (bool, error)

	starting sync.Mutex
	begun    bool

	life connState

	ready gate // opens when commands can be sent to the machine
	acks  acks
	holes holes

	delivery delivery
}

// connState identifies this connection among the connections of its machine.
type connState struct {
	mu       sync.Mutex
	owner    bool // whether this connection owns the machine
	gen      int64
	epoch    int64 // epoch of the machine's state; 0 if the machine sent none
	instance string
}

// delivery is the state of sending commands to a machine.
type delivery struct {
	sending sync.Mutex // held while commands are being sent
	// older holds the numbers of unfinished commands that older connections sent. It is nil before
	// the first check.
	older   map[int64]bool
	waiting atomic.Bool // commands wait for room in the queue
	owes    atomic.Bool // another server must send the payload of some commands in older
}

func newMachine(x *socket, id string) *machine {
	h := &machine{srv: x.srv, socket: x, id: id, first: true, violated: map[protocol.Code]bool{}, intake: newIntake()}
	h.acks.of = map[string]*ack{}
	h.holes.of = map[string]*hole{}
	return h
}

func (l *connState) helloEpoch() (int64, string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.epoch, l.instance
}

// begin makes this connection the owner of the machine.
func (l *connState) begin(gen, epoch int64, instance string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gen, l.epoch, l.instance, l.owner = gen, epoch, instance, true
}

func (l *connState) isOwner() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.owner
}

// generation returns the number that identifies this connection among those of its machine.
func (l *connState) generation() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gen
}

// isReady reports whether commands can be sent.
func (h *machine) isReady() bool {
	h.ready.mu.Lock()
	defer h.ready.mu.Unlock()
	return h.ready.open
}

// acceptLegacy accepts a connection that has sent no hello within HelloTimeout. The machine then
// speaks protocol 1.
func (h *machine) acceptLegacy() {
	if !h.isReady() && !h.socket.closed.Load() {
		h.begin(nil)
	}
}

// begin makes the connection take over the machine, so that commands can be sent. hello is nil if
// the machine has sent none.
func (h *machine) begin(hello *protocol.HelloData) {
	h.starting.Lock()
	defer h.starting.Unlock()
	if h.begun && hello == nil {
		return
	}
	h.begun = true
	if h.srv.config.Sealed && (hello == nil || hello.Account == "") {
		h.socket.close(protocol.CloseForbidden, string(protocol.SealedRequired)+": create an account on the machine: concerto-relay seal init")
		return
	}
	if hello != nil || !h.life.isOwner() {
		h.claim(hello)
	}
	if h.socket.closed.Load() || !h.life.isOwner() {
		return
	}
	if hello != nil {
		h.socket.proto.Store(min(hello.Protocol, protocol.Version))
		if !h.sendWelcome(hello) {
			return
		}
	} else {
		h.holes.find(h)
	}
	h.ready.release(true)
	h.deliver()
	h.srv.calls.resend(h.srv, h)
}

// gate delays functions until commands can be sent to a machine.
type gate struct {
	mu       sync.Mutex
	open     bool
	deferred []func() // functions to call when the gate opens or the connection closes
}

// maxDeferred is the maximum number of functions that a gate delays.
const maxDeferred = 256

// whenReady defers the call of do until the connection is ready or closed, and returns true. If the
// connection is already ready or closed, it returns false and does not call do. It returns a
// Failure if the gate already holds too many functions.
func (h *machine) whenReady(do func()) (bool, *Failure) {
	g := &h.ready
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.open || h.socket.closed.Load():
		return false, nil
	case len(g.deferred) >= maxDeferred:
		return false, &Failure{Code: protocol.RateLimited, Why: "too many requests wait for machine " + h.id, After: protocol.HelloTimeout}
	}
	g.deferred = append(g.deferred, do)
	return true, nil
}

// release calls the delayed functions in order. If opens is set, it then opens the gate.
func (g *gate) release(opens bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.deferred) > 0 {
		early := g.deferred
		g.deferred = nil
		g.mu.Unlock()
		for _, do := range early {
			do()
		}
		g.mu.Lock()
	}
	g.open = g.open || opens
}

// sendWelcome answers a hello with a welcome. Before it sends the welcome, it marks as lost the
// runs that the machine no longer knows.
func (h *machine) sendWelcome(hello *protocol.HelloData) bool {
	w := h.srv.welcome(hello.Protocol)
	var runs []string
	for _, r := range hello.Runs {
		runs = append(runs, r.RunID)
	}
	var err error
	if w.Runs, err = h.srv.store.Prefixes(h.srv.ctx, h.id, runs); err == nil && len(hello.Runs) < protocol.RunsInHello {
		_, err = h.srv.store.MarkLost(h.srv.ctx, h.id, h.life.gen, runs)
	}
	if err != nil {
		h.srv.failed(err, protocol.Internal)
		h.socket.close(protocol.CloseInternal, "the database failed: try again later")
		return false
	}
	if auth.IsHostName(hello.Name) {
		if err := h.srv.store.NameMachine(h.srv.ctx, h.id, hello.Name, true, 0); err != nil {
			h.srv.failed(err, protocol.Internal) // not fatal: the machine's id remains its name
		}
	}
	if err := store.SetAccount(h.srv.ctx, h.srv.store, h.id, hello.Account); err != nil {
		h.srv.failed(err, protocol.Internal)
		h.socket.close(protocol.CloseInternal, "the database failed: try again later")
		return false
	}
	w.Signature = h.proof.signature
	h.intake.setBacklog(hello.Runs, w.Runs)
	h.socket.send(protocol.Welcome, nil, w)
	return true
}

func (h *machine) handle(e *protocol.Envelope) {
	if h.proof.waits != nil {
		h.prove(e)
		return
	}
	first := h.first
	h.first = false
	if first {
		h.stopWait()
	}
	if e.Type == protocol.Hello {
		h.hello(e, first)
		return
	}
	if first && !h.isReady() {
		h.begin(nil)
	}
	if h.socket.closed.Load() {
		return
	}
	if e.MachineID != "" && e.MachineID != h.id {
		h.recordViolation(e, refuse(protocol.MachineMismatch, "this connection belongs to machine %s", h.id))
		return
	}
	e.MachineID = h.id
	h.dispatch(e)
}

func (h *machine) hello(e *protocol.Envelope, first bool) {
	why := protocol.Check(e)
	d, err := protocol.Decode[protocol.HelloData](e)
	switch {
	case !first:
		h.socket.refuse(e, refuse(protocol.BadMessage, "hello must be the first frame"))
	case why != nil:
		h.socket.refuse(e, refuse(why.Code, "%s", why.Why))
	case err != nil:
		h.socket.refuse(e, refuse(protocol.BadMessage, "hello: %v", err))
	default:
		h.begin(&d)
	}
}

// dispatch handles a frame.
func (h *machine) dispatch(e *protocol.Envelope) {
	m := protocol.Find(e.Type)
	if e.Enc == nil { // the server cannot read encrypted data
		if why := protocol.Check(e); why != nil {
			h.socket.refuse(e, refuse(why.Code, "%s", why.Why))
			return
		}
	}
	switch {
	case e.Type == protocol.Heartbeat && e.Seq == 0:
	case e.Type == protocol.RPCResponse:
		h.srv.calls.handleAnswer(h.srv, h, e)
	case e.Type == protocol.CommandResult:
		h.handleResult(e)
	case m != nil && m.Kind != protocol.Event:
		h.socket.refuse(e, refuse(protocol.UnknownType, "machines may not send %s", e.Type))
	case m == nil && e.RunID == "":
		h.socket.refuse(e, refuse(protocol.UnknownType, "unknown message type %q", e.Type))
	case e.RunID == "":
		h.socket.refuse(e, refuse(protocol.BadMessage, "%s requires a run_id", e.Type))
	default:
		h.event(e)
	}
}

// event stores an event, or forwards one without a sequence number. Bodies for push messages are
// not part of what others receive.
func (h *machine) event(e *protocol.Envelope) {
	if f := h.srv.config.refusePlain(e); f != nil {
		h.socket.refuse(e, f)
		return
	}
	var push map[string]string
	if e.Enc != nil {
		bodies, rest, why := protocol.SplitPush(e.Data)
		if why != nil {
			h.socket.refuse(e, refuse(why.Code, "%s", why.Why))
			return
		}
		push, e.Data = bodies, rest
	}
	if e.Seq == 0 {
		h.live(e)
	} else {
		h.storeEvent(e, push)
	}
}

// live forwards an event without a sequence number, which is not stored.
func (h *machine) live(e *protocol.Envelope) {
	r, err := h.srv.store.Run(h.srv.ctx, e.RunID)
	if err == nil && r.MachineID != h.id {
		h.recordViolation(e, refuse(protocol.NotOwner, "run %s belongs to another machine", e.RunID))
		return
	}
	frame := e.Append(nil)
	h.srv.hub.live(e.RunID, e.Type, frame)
	h.srv.peers.live(e.RunID, e.Type, frame)
}

// storeEvent passes an event, with its bodies for push messages, to the store's writer. The writer
// calls handleWritten with the result.
func (h *machine) storeEvent(e *protocol.Envelope, push map[string]string) {
	h.throttle(e)
	var compact bytes.Buffer
	if json.Compact(&compact, e.Data) == nil { // the store expects compact JSON
		e.Data = compact.Bytes()
	}
	in := store.Incoming{MachineID: h.id, Gen: h.life.generation(), Envelope: e, Push: push, At: h.srv.now(), AnyStart: !h.socket.speaks2()}
	h.srv.writer.Write(h.srv.ctx, in, func(w store.Written) { h.handleWritten(e, w) })
}

// throttle delays reading from a machine that exceeds its rate limit.
func (h *machine) throttle(e *protocol.Envelope) {
	for {
		wait := h.intake.take(e, h.srv.clock.Now())
		if wait == 0 {
			return
		}
		over := make(chan struct{})
		stop := h.srv.clock.After(wait, func() { close(over) })
		select {
		case <-over:
		case <-h.srv.ctx.Done():
			stop()
			return
		}
	}
}

// handleWritten handles the result of storing an event. It is called on the writer's goroutine.
func (h *machine) handleWritten(e *protocol.Envelope, w store.Written) {
	switch {
	case w.Err != nil && h.srv.ctx.Err() != nil:
		h.socket.close(protocol.CloseRestart, "the server is restarting")
	case w.Err != nil:
		h.srv.log.Error("could not store events", slog.String("machine", h.id), slog.Any("error", w.Err))
		h.socket.close(protocol.CloseInternal, "the events were not stored: send them again")
	case w.Stale: // another connection owns the machine, or the machine has a new key
		h.socket.close(protocol.CloseSuperseded, "another connection of this machine has taken over, or it was paired again")
	case w.Refused == protocol.RateLimited:
		h.socket.refuse(e, refuse(w.Refused, "this machine has too many runs"))
	case w.Refused == protocol.NotOwner:
		h.socket.refuse(e, refuse(w.Refused, "run %s belongs to another machine", e.RunID))
	case w.Refused != "":
		h.socket.refuse(e, refuse(w.Refused, "another event of run %s has seq %d", e.RunID, e.Seq))
	default:
		if !h.socket.speaks2() {
			h.holes.stored(h, e, w.Prefix)
		}
		h.acks.stored(h, e.RunID, w.Prefix)
	}
}

// recordViolation refuses a frame that the machine may not send, and records the violation in the
// audit log.
func (h *machine) recordViolation(e *protocol.Envelope, f *Failure) {
	if !h.violated[f.Code] { // one record per code and connection, so that a flood does not fill the audit log
		h.violated[f.Code] = true
		r := audit.Record{Kind: "host_violation", Run: e.RunID, Actor: audit.Actor{Type: "host", Name: h.id}, Subject: mustJSON(map[string]string{"host": h.id}),
			Data: mustJSON(map[string]string{"code": string(f.Code)})}
		if err := h.srv.store.Record(h.srv.ctx, h.srv.now(), r); err != nil {
			h.srv.failed(err, protocol.Internal)
		}
	}
	h.srv.log.Warn("a machine sent a message that is not allowed", slog.String("machine", h.id), slog.String("code", string(f.Code)), slog.String("run", e.RunID))
	h.socket.refuse(e, f)
}

func (h *machine) writeMore() bool {
	acked := h.acks.send(h)
	if h.delivery.waiting.Swap(false) {
		h.deliver()
		return true
	}
	return acked
}

func (h *machine) closed() {
	h.stopWait()
	h.acks.stop()
	h.ready.release(false)
	if !h.srv.machines.remove(h) {
		return // another connection owns the machine
	}
	if h.srv.ctx.Err() != nil {
		return
	}
	if err := h.srv.store.Disconnected(h.srv.ctx, h.id, h.life.generation(), h.srv.now()); err != nil {
		h.srv.failed(err, protocol.Internal)
	}
	h.srv.calls.machineLost(h.srv, h)
}

func (h *machine) checkTimeouts(now time.Time) {
	if !h.socket.speaks2() {
		h.holes.sweep(h, now)
	}
}
