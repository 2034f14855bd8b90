package vm

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// listen is a loaded listen expression.
type listen struct {
	info     *ir.ListenInfo
	handlers []handler
}

// scope is an open listen. ListenBegin opens the exchange. It then handles messages one after the
// other until a terminal message arrives. For each message it jumps to the block of the message's
// handler, which runs in the same frame. The depth of the frame never changes, so that an error
// that leaves a handler finds its listen by the depth.
type scope struct {
	t       *task
	l       *listen
	depth   int // of the frame, in slots
	pc      int // number of the instruction ListenBegin
	window  uint8
	host    value.Slot
	decl    *Host
	started int64 // in monotonic milliseconds
	number  int64 // with Config.RecordOrigins: number of the exchange in the run, from 1

	listenDecisions
	id       int64
	further  further
	open     bool   // the exchange has been opened and not closed
	received uint32 // number of messages that have arrived, modulo 2³²
	messages
	exchangeEnd
	next    *pendingRequest       // the pending request for messages; nil if there is none
	run     *handlerRun           // the running handler; nil if there is none
	spare   *handlerRun           // a finished handlerRun to reuse; nil if there is none
	partial gathered              // the texts of partial messages that have no handler
	unsent  *effect.ExchangeReply // a reply for which the host's queue had no space; nil if there is none
}

// further is the state of the further turns of an exchange.
type further struct {
	checked bool                 // the library checks the results, by a schema or by gates
	gates   *gates               // nil unless the host has gates
	turns   int64                // number of turns that have ended with a result and that the program has continued
	repairs int64                // number of those whose result did not fit the schema
	opening *effect.ExchangeOpen // the request that has opened the exchange first; nil unless it may wait for a limit of the host's plan
	prompt  string               // the prompt that was sent last
	plan    *planWait            // the last wait for such a limit; nil for none
	waits   bool                 // the exchange is being closed, and then waits
	window  string               // the period of the last plan_limit; "" for none
	misfit  string               // what does not fit in the result of the turn that has ended; "" if a gate has not passed
}

// exchangeEnd describes how an exchange ends.
type exchangeEnd struct {
	err     error // the error of a failed exchange; the listen ends with it after the queued messages
	over    bool  // a terminal message is queued, so that no message follows
	exited  bool  // the host has exited: its queued messages are still handled, except those that need an answer
	dropped int64 // number of messages of an exited host that needed an answer and received none
}

// closeTime is the maximum time for closing a cancelled exchange.
const closeTime = 5 * time.Second

func opListenBegin(t *task, in *ins) status {
	host, prompt := *t.slot(in.a + 1), t.slot(in.a+2).Str()
	if host.Kind() != value.KindHost || prompt == nil {
		return t.badOperand(in)
	}
	f := host.Party()
	s := &scope{t: t, l: &t.m.image.blockAt(t.pc()).fn.listens[in.imm], depth: t.depth(), pc: t.pc(), window: in.a,
		host: host, decl: &t.m.image.hostDecls[f.Index()]}
	started, err := t.now()
	if err != nil {
		return t.failRun(err)
	}
	s.started = started
	if t.m.config.RecordOrigins {
		t.m.counts.exchanges++
		s.number = t.m.counts.exchanges
	}
	if st := s.event("listen:start", nil); st != running {
		return st
	}
	if why := f[value.PartyUnready]; !why.IsNil() {
		return t.finishListen(s, value.Err(why))
	}
	if s.waitsForItself() {
		return t.finishListen(s, s.busyError())
	}
	r := t.m.openingOf(s.decl, host, prompt.S)
	r.Within = outerExchanges(t)
	switch x := *t.slot(in.a + 3); x.Kind() {
	case value.KindString:
		r.Schema = json.RawMessage(x.AsString())
	case value.KindTypeDesc:
		r.Schema = schema.Text(x.TypeDesc())
	}
	if !f[value.PartyGates].IsNil() {
		s.further.gates = &gates{}
	}
	s.further.checked = len(r.Schema) > 0 || s.further.gates != nil
	if s.decl.MaxWait <= 0 {
		return t.request(r, &wait{kind: waitOpen, scope: s})
	}
	s.further.opening, s.further.prompt = r, r.Prompt
	if until := t.m.planLimits[s.decl.Name]; until > 0 {
		now, err := wallTime(t)
		if err != nil {
			return t.failRun(err)
		}
		if now < until {
			return awaitPlan(t, s, &planWait{opening: r, until: until})
		}
	}
	return t.request(r, &wait{kind: waitOpen, scope: s})
}

// event emits an event of the listen. The event contains host, duration_ms (except at the start)
// and the members that fill adds. In Execute mode it emits nothing.
func (s *scope) event(channel string, fill func(*value.Map)) status {
	if s.l.info.Execute {
		return running
	}
	m := value.NewMap(3)
	m.SetString("host", value.String(s.decl.Name))
	if channel != "listen:start" {
		now, err := s.t.now()
		if err != nil {
			return s.t.failRun(err)
		}
		m.SetString("duration_ms", value.Int(now-s.started))
	}
	if fill != nil {
		fill(m)
	}
	return s.t.emit(s.output(channel, m))
}

// emitCancelled emits the end of a listen because its task, or the surrounding handler, was
// cancelled. It emits nothing after the end of the run.
func (s *scope) emitCancelled() {
	if s.t.m.ctxOver() || s.t.m.ending.fatal != nil {
		return
	}
	raised := s.t.raised
	s.event("listen:error", func(m *value.Map) {
		m.SetString("error", value.String("cancelled"))
		m.SetString("kind", value.String("cancelled"))
	})
	s.t.raised = raised
}

// output returns an emit whose origin is the exchange.
func (s *scope) output(channel string, payload *value.Map) *effect.Emit {
	e := &effect.Emit{Channel: channel, Payload: value.AppendJSON(nil, payload.Slot())}
	if s.number != 0 {
		e.From = &effect.From{Task: s.t.id, Exchange: s.number}
	}
	return e
}

// exchangeOpened continues the listen after the exchange was opened.
func (t *task) exchangeOpened(w *wait) status {
	s := w.scope
	if w.refused && w.err != nil {
		return t.finishListen(s, s.busyError())
	}
	var e *effect.Error
	if errors.As(w.err, &e) {
		if p := s.further.plan; p != nil && p.fallback != nil && e.Fields["code"] == "resume" {
			r := p.fallback
			p.fallback = nil
			return reopen(t, s, r)
		}
		return t.finishListen(s, value.Err(programError(e)))
	}
	t.registerExchange(w)
	return t.processMessages(s)
}

// registerExchange adds an opened exchange to the task's scopes, so that the task closes the
// exchange in every case.
func (t *task) registerExchange(w *wait) {
	w.scope.id, w.scope.open = w.result.(*effect.ExchangeOpened).ID, true
	t.scopes = append(t.scopes, w.scope)
	t.entered(Span{Kind: SpanListen, Name: w.scope.decl.Name, Exchange: w.scope.id})
}

// processMessages handles queued messages. It stops when a message starts a handler, when a message
// ends the listen, or when the queue is empty. It runs in the frame of the listen.
func (t *task) processMessages(s *scope) status {
	for {
		if s.unsent != nil {
			return t.sendReply(s)
		}
		if len(s.queue) == 0 {
			if s.err != nil {
				return t.exchangeLost(s)
			}
			if t.cancelled() {
				return raising
			}
			if s.next == nil && t.isAlone() {
				var c completion
				t.m.stats.Requests++
				s.effect = t.m.stats.Requests
				c.result, c.err = t.performWaiting(&effect.ExchangeNext{ID: s.id})
				s.enqueueMessages(c)
				continue
			}
			s.requestMessages()
			return t.park(&wait{kind: waitMessages, scope: s})
		}
		if t.m.memory.limit > 0 && t.budget < 0 { // a loop over messages never reaches a tick
			t.budget = budget
			if !t.m.memory.measure(0) {
				return t.outOfMemory()
			}
		}
		m := &s.queue[0]
		if st := t.countMemory(len(m.Text)); st != running {
			return st
		}
		st, again := t.dispatchMessage(s, m)
		if !again {
			return st
		}
		s.drop()
	}
}

// requestMessages requests the next messages. It does nothing if a request is pending, if no more
// messages can arrive, or if too many messages are queued.
func (s *scope) requestMessages() {
	if s.next != nil || s.err != nil || s.over || !s.open || s.full() {
		return
	}
	f := &pendingRequest{t: s.t, scope: s}
	s.t.m.startRequest(&effect.ExchangeNext{ID: s.id}, f)
	s.next, s.effect = f, s.t.m.stats.Requests
}

// enqueueMessages adds the messages that have arrived to the queue. Only a withdrawal and the
// failure of the exchange affect the running handler before the queued messages are handled.
func (s *scope) enqueueMessages(c completion) {
	s.next = nil
	if c.err != nil {
		s.err = c.err
		if e, ok := errors.AsType[*effect.Error](c.err); ok {
			s.abandon(exchangeFailed, "")
			s.dropRequests(e)
		}
		return
	}
	messages := c.result.(*effect.ExchangeMessages).Messages
	if len(s.queue) == 0 { // only this scope uses the result, so that the slice becomes the queue without a copy
		s.queue = messages[:0]
	}
	for i := range messages {
		m := &messages[i]
		s.received++
		m.Number = s.received
		row := hostmsg.Lookup(m.Type)
		s.further.window = cmp.Or(windowOf(m), s.further.window)
		if row.Role == hostmsg.Withdraws && s.withdraw(m) {
			continue
		}
		s.over = s.over || row.Terminal()
		recordOwn(s.t.m, s.decl, m, s.effect)
		if !s.exited || !s.dropRequest(m.Type) {
			s.add(m)
		} else {
			s.t.recordUnanswered(s.decl, m, nil, s.effect, exchangeFailed)
		}
	}
	if s.run != nil && s.t.wait != nil {
		s.requestMessages()
	}
}

// replyFailed continues the listen after a reply failed because the host has exited. Messages that
// the host sent before its exit and that need no answer are still handled. After a timeout no
// message is handled.
func (s *scope) replyFailed(r *effect.ExchangeReply, e *effect.Error) {
	answered := ""
	if r != nil {
		s.dropRequest(r.InReplyTo)
		answered = r.AnswerTo
	}
	s.abandon(exchangeFailed, answered)
	s.dropRequests(e)
	if timedOut(e) {
		s.next.cancel()
		s.err = e
	}
}

// dropRequests drops the messages of an exited host that need an answer: the message that is being
// handled, the queued ones, and an unsent reply. After a timeout it drops all messages.
func (s *scope) dropRequests(e *effect.Error) {
	s.exited = true
	if s.run != nil && s.run.cause == nil && (timedOut(e) || hostmsg.Lookup(s.run.message.Type).Waits()) {
		s.run.cancel(errLost)
		s.dropRequest(s.run.message.Type)
	}
	if s.unsent != nil {
		s.dropRequest(s.unsent.InReplyTo)
		s.unsent = nil
	}
	rest := s.queue[:0:0]
	for i := range s.queue {
		m := &s.queue[i]
		if !s.dropRequest(m.Type) && !timedOut(e) {
			rest = append(rest, *m)
			continue
		}
		s.queued -= len(m.Text)
	}
	s.queue = rest
}

// dropRequest reports whether messages of type typ need an answer. If so, it counts one as dropped.
func (s *scope) dropRequest(typ string) bool {
	waits := hostmsg.Lookup(typ).Waits()
	if waits {
		s.dropped++
	}
	return waits
}

// timedOut reports whether an exchange failed because its time limit or the time limit of a
// heartbeat expired.
func timedOut(e *effect.Error) bool {
	code := e.Fields["code"]
	return e.Kind == "TimeoutError" || code == "timeout" || code == "heartbeat"
}

// withdraw withdraws the message that w names, whether it is being handled or queued. It reports
// whether there was such a message.
func (s *scope) withdraw(w *effect.HostMessage) bool {
	if w.ID == "" {
		return false
	}
	if s.run != nil && s.run.message.ID == w.ID {
		s.run.cancel(errWithdrawn)
		recordWithdrawn(s.t, s.decl, w, &s.run.message, s.run.decision, s.effect)
		return true
	}
	m, found := s.removeByID(w.ID)
	if found {
		recordWithdrawn(s.t, s.decl, w, &m, nil, s.effect)
	}
	return found
}

// dispatchMessage processes one message. again is true if the next message can be processed at
// once.
func (t *task) dispatchMessage(s *scope, m *effect.HostMessage) (st status, again bool) {
	s.decision = nil
	if m.IsSteered() {
		return running, true // recorded when it arrived
	}
	if m.Decided {
		st = t.emit(s.output(m.Type, m.Payload.Map()))
		return st, st == running
	}
	row := hostmsg.Lookup(m.Type)
	if row.Unhandled == hostmsg.Removed {
		s.partial.remove(m.Payload)
	}
	switch row.Role {
	case hostmsg.Succeeds:
		t.addHost(s.decl, s.effect)
		payload := m.Payload
		if text := s.partial.text; len(text) > 0 {
			if st := t.reserveMemory(len(text)); st != running {
				return st, false
			}
			payload.Map().SetString("partial_output", value.String(string(text)))
		}
		s.partial = gathered{}
		if h := s.handler(m.Type); h != nil && s.further.checked {
			return t.startHandler(s, h, m)
		}
		return t.close(s, value.Ok(payload)), false
	case hostmsg.Fails:
		return endFailed(t, s, value.Err(s.hostError(m.Payload.Map())), m.Payload.Map()), false
	case hostmsg.Withdraws:
		return running, true // withdraw has already handled the withdrawal
	}
	if h := s.handler(m.Type); h != nil {
		return t.startHandler(s, h, m)
	}
	return t.handleUnhandled(s, m)
}

// handler returns the block that handles a message type. An implicit handler for tool calls is used
// only if the program has no handler for the type, and the host has tools or the application may
// provide some.
func (s *scope) handler(typ string) *handler {
	var implicit *handler
	for i := range s.l.handlers {
		h := &s.l.handlers[i]
		if h.info.Type != typ {
			continue
		}
		if !h.info.Implicit || typ == hostmsg.Result {
			return h
		}
		if s.t.m.config.Application.Tools || s.t.m.toolsOf(s.host, &s.t.m.pace).Array().Len > 0 {
			implicit = h
		}
	}
	return implicit
}

// hostError returns the error that a host's error message describes.
func (s *scope) hostError(m *value.Map) value.Slot {
	e := &value.Error{Kind: "HostError", Message: "the host reported an error"}
	if v, ok := m.GetString("message"); ok {
		e.Message = value.Text(v)
	}
	if v, _ := m.GetString("code"); !v.IsNil() {
		e.With("code", value.String(value.Text(v)))
	}
	if v, _ := m.GetString("recoverable"); v.Kind() == value.KindBool {
		e.With("recoverable", v)
	}
	if v, _ := m.GetString("session"); v.Kind() == value.KindString {
		e.With("session", v)
	}
	if v, _ := m.GetString("tasks"); v.Kind() == value.KindArray {
		e.With("tasks", v)
	}
	if v, _ := m.GetString("result"); v.Map() != nil {
		e.With("result", v)
	}
	if v, _ := m.GetString("wait_until"); v.Kind() == value.KindInt {
		e.With("wait_until", v)
	}
	return e.With("host", value.String(s.decl.Name)).Slot()
}

// close releases the process after a terminal message. The listen then results in result.
func (t *task) close(s *scope, result value.Slot) status {
	return t.request(&effect.ExchangeClose{ID: s.id}, &wait{kind: waitClose, scope: s, payload: result})
}

func (t *task) closed(w *wait) status {
	w.scope.open = false
	t.popScope(w.scope)
	if f := &w.scope.further; f.waits {
		f.waits = false
		return awaitPlan(t, w.scope, f.plan)
	}
	return t.finishListen(w.scope, w.payload)
}

// popScope removes s, which must be the innermost scope, from the task.
func (t *task) popScope(s *scope) {
	t.scopes[len(t.scopes)-1] = nil
	t.scopes = t.scopes[:len(t.scopes)-1]
	t.leftSpan()
}

// resultChecked continues the listen after the library has checked the result of a turn. v is the
// prompt of a further turn, nil if the exchange ends with the result, or a Result with one of them
// or with the error with which the exchange fails.
func resultChecked(t *task, v value.Slot) status {
	s, m := t.endRun()
	result := m.Payload
	if v.IsResult() {
		failed := v.Variant() == value.VariantErr
		if v = value.Flatten(v.Fields()[0]); failed {
			return t.close(s, value.Err(v))
		}
	}
	if v.IsNil() {
		return t.close(s, value.Ok(s.further.gates.withProofs(result)))
	}
	s.further.prompt = v.AsString()
	r := &effect.ExchangeContinue{ID: s.id, Prompt: s.further.prompt, Reason: effect.ContinueGate}
	if s.further.misfit != "" {
		r.Reason = effect.ContinueSchema
	}
	return t.request(r, &wait{kind: waitContinue, scope: s, payload: result})
}

// exchangeContinued continues the listen with a further turn, or ends it because no turn can begin.
func exchangeContinued(t *task, w *wait) status {
	s := w.scope
	if e, failed := errors.AsType[*effect.Error](w.err); failed {
		failure := *e
		failure.Fields = maps.Clone(e.Fields)
		failure.With("result", json.RawMessage(value.AppendJSON(nil, w.payload)))
		return t.close(s, value.Err(programError(&failure)))
	}
	s.further.turns++
	s.over = false
	if s.further.misfit != "" {
		repair := value.NewMap(3)
		repair.SetString("host", value.String(s.decl.Name))
		repair.SetString("turn", value.Int(s.further.turns))
		repair.SetString("error", value.String(s.further.misfit))
		if st := t.emit(s.output("host:repair", repair)); st != running {
			return st
		}
	}
	s.received++
	m := turnEnd(w.payload)
	m.Number = s.received
	s.add(&m)
	return t.processMessages(s)
}

// turnEnd returns the message about the end of a turn that the program continues. The totals of the
// result are those of the exchange.
func turnEnd(result value.Slot) effect.HostMessage {
	all := result.Map()
	text := ""
	if v, _ := all.GetString("text"); v.Kind() == value.KindString {
		text = v.AsString()
	}
	line, _, _ := strings.Cut(text, "\n")
	if cut := []rune(line); len(cut) > turnSummary {
		line = string(cut[:turnSummary]) + "…"
	}
	m := value.NewMap(6)
	m.SetString("message", value.String(line))
	m.SetString("stage", value.String("turn"))
	for _, name := range []string{"cost_usd", "turns", "usage", "models"} {
		if v, has := all.GetString(name); has {
			value.Share(v)
			m.SetString(name, v)
		}
	}
	payload := value.NewMap(all.Len() + 1)
	payload.SetString("type", value.String(hostmsg.Result))
	copyMembers(payload, all)
	m.SetString("payload", payload.Slot())
	return effect.HostMessage{Type: hostmsg.Progress, Payload: m.Slot()}
}

// turnSummary is the maximum length, in characters, of the message about the end of a turn.
const turnSummary = 200

// BeginRepair is called by the library while it checks the result of a turn, in which problem does
// not fit the schema. It reports whether a further turn may request the result again.
func (a *Args) BeginRepair(problem string) bool {
	s := a.run().sched.current.innermost()
	if s == nil || s.further.repairs >= s.decl.SchemaRepairs {
		return false
	}
	s.further.repairs++
	s.further.misfit = problem
	return true
}

// exchangeLost ends a listen whose exchange has failed.
func (t *task) exchangeLost(s *scope) status {
	var e *effect.Error
	if !errors.As(s.err, &e) {
		if t.cancelled() {
			return raising
		}
		return t.failRun(s.err)
	}
	m := value.NewMap(3)
	if e.Fields["code"] == planLimitCode {
		m.SetString("code", value.String(planLimitCode))
		if until, ok := e.Fields["wait_until"].(int64); ok {
			m.SetString("wait_until", value.Int(until))
		}
		if session, ok := e.Fields["session"].(string); ok {
			m.SetString("session", value.String(session))
		}
	}
	return endFailed(t, s, value.Err(programError(e)), m)
}

// endFailed closes a failed exchange. The listen then results in result, unless the exchange
// waits for a limit of the host's plan; m contains the members of the error.
func endFailed(t *task, s *scope, result value.Slot, m *value.Map) status {
	if s.decl.MaxWait > 0 {
		p, err := planWaitOf(t, s.decl, s.further.opening, s.further.prompt, s.further.plan, s.further.window, m)
		if err != nil {
			return t.failRun(err)
		}
		if p != nil {
			s.further.plan, s.further.waits = p, true
			return t.request(&effect.ExchangeClose{ID: s.id}, &wait{kind: waitClose, scope: s})
		}
	}
	return t.close(s, result)
}

// finishListen makes result the value of ListenBegin and emits the event for success or failure.
func (t *task) finishListen(s *scope, result value.Slot) status {
	t.setPC(s.pc + 1)
	*t.slot(s.window) = result
	if result.Variant() == value.VariantOk {
		return s.event("listen:complete", nil)
	}
	e := result.Fields()[0]
	return s.event("listen:error", func(m *value.Map) {
		m.SetString("error", value.String(value.Message(e)))
		if s.dropped > 0 {
			m.SetString("dropped_requests", value.Int(s.dropped))
		}
	})
}

// unwindScope handles an error or a cancellation that leaves a handler or the whole listen. If only
// the handler's run was cancelled, the listen continues. Otherwise the exchange is closed. on is
// true if unwinding continues outside of the listen, with ip at the listen.
func (t *task) unwindScope(s *scope, r *raised) (st status, on bool) {
	if r.cancelled && r.until == s {
		t.raised = nil
		return t.runCancelled(s), false
	}
	s.abandon(exchangeClosed, "")
	s.messages = messages{}
	if s.run != nil {
		s.run.stopTimer()
		t.endDecision(s.run.decision)
		s.run = nil
		t.leftSpan()
	}
	t.setPC(s.pc + 1)
	if s.open {
		if s.next != nil {
			s.next.cancel()
			return t.park(&wait{kind: waitQuiet, scope: s}), false
		}
		reason := "cancelled"
		if !r.cancelled {
			reason = value.Message(r.value)
		}
		// the result is ignored: if the host cannot be notified, it has exited
		w := &wait{kind: waitUnwind, scope: s}
		t.m.startRequest(&effect.ExchangeClose{ID: s.id, Reason: reason}, &pendingRequest{t: t, wait: w, closing: true})
		return t.park(w), false
	}
	t.popScope(s)
	if r.cancelled {
		s.emitCancelled()
	}
	if r.cancelled || r.panicked {
		return running, true
	}
	t.raised = nil
	err := r.asErr()
	if int(r.trace.few[0].pc) != s.pc { // the error is not one of the exchange, but of a handler
		recordHandlerErr(t, err.Ref, r)
	}
	return t.finishListen(s, err), false
}

// messages are the queued messages of an exchange.
type messages struct {
	queue  []effect.HostMessage
	queued int // size of the queued messages, in bytes of lines
}

// Limits of the queue while the program is busy. When a limit is reached, no more messages are
// requested, and the host's pipe fills up.
const (
	queueLimit = 4096    // maximum number of messages
	queueBytes = 4 << 20 // maximum size in bytes of lines; the last batch may exceed it
)

func (q *messages) full() bool { return len(q.queue) >= queueLimit || q.queued >= queueBytes }

func (q *messages) add(m *effect.HostMessage) {
	q.queue = append(q.queue, *m)
	q.queued += len(m.Text)
}

// drop removes the first message from the queue.
func (q *messages) drop() {
	q.queued -= len(q.queue[0].Text)
	q.queue[0] = effect.HostMessage{}
	if q.queue = q.queue[1:]; len(q.queue) == 0 {
		q.queue = nil
	}
}

// removeByID removes the message with this ID and returns it. found is false if there is none.
func (q *messages) removeByID(id string) (m effect.HostMessage, found bool) {
	for i := range q.queue {
		if q.queue[i].ID == id {
			m = q.queue[i]
			q.queued -= len(m.Text)
			q.queue = append(q.queue[:i:i], q.queue[i+1:]...)
			return m, true
		}
	}
	return m, false
}

// asks are the messages that the program has received and may answer, in the order of their
// arrival. A host may send any number of messages, and the program may leave all of them
// unanswered. Adding, finding and settling a message therefore must not visit all messages.
type asks struct {
	all  []*ask            // all unsettled messages, and some settled ones
	live int               // number of unsettled messages
	byID map[string][]*ask // messages that have an ID, by ID
}

func (l *asks) add(k *ask) {
	l.all = append(l.all, k)
	l.live++
	if k.id == "" {
		return
	}
	if l.byID == nil {
		l.byID = map[string][]*ask{}
	}
	l.byID[k.id] = append(l.byID[k.id], k)
}

// find returns the first unsettled message with this ID, or nil if there is none.
func (l *asks) find(id string) *ask {
	same := l.byID[id]
	for len(same) > 0 && same[0].answered != "" {
		same = same[1:]
	}
	if len(same) == 0 {
		delete(l.byID, id)
		return nil
	}
	l.byID[id] = same
	return same[0]
}

// fewAsks is the minimum number of messages for which countSettled removes settled messages.
const fewAsks = 32

// countSettled counts a settled message. If at least half of the messages are settled, it removes
// the settled ones.
func (l *asks) countSettled() {
	if l.live--; len(l.all) < fewAsks || l.live > len(l.all)/2 {
		return
	}
	open := asks{all: make([]*ask, 0, l.live)}
	for _, k := range l.open() {
		open.add(k)
	}
	*l = open
}

// open returns the unsettled messages.
func (l *asks) open() []*ask {
	out := make([]*ask, 0, l.live)
	for _, k := range l.all {
		if k.answered == "" {
			out = append(out, k)
		}
	}
	return out
}
