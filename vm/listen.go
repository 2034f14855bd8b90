package vm

import (
	"encoding/json"
	"errors"
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

// scope is an open listen. ListenBegin opens the exchange. Then messages are
// taken one after the other, until a terminal one: each jumps into its
// handler's block, which runs in the same frame. The frame's depth never
// changes, so an error that leaves a handler finds its listen by the frame.
type scope struct {
	t       *task
	l       *listen
	depth   int // of the frame
	pc      int // of ListenBegin
	window  uint8
	host    value.Slot
	decl    *Host
	started int64 // monotonic milliseconds
	number  int64 // of the exchange in the run, from 1; with Config.Detail

	deciding
	id   int64
	open bool // the exchange has been opened and not yet closed
	messages
	exchangeEnd
	next    *pendingRequest       // the request for messages on its way; nil without one
	run     *handlerRun           // the handler that runs
	spare   *handlerRun           // for the next one
	partial []byte                // texts of unhandled partial messages
	unsent  *effect.ExchangeReply // a reply that the host's queue had no room for
}

// exchangeEnd is what is known of how an exchange ends.
type exchangeEnd struct {
	err     error // how it broke, after what is in queue
	over    bool  // a terminal message is in queue: nothing comes after it
	gone    bool  // the host is gone: what it still says is read, and no request of it is handled
	dropped int64 // requests of a host that is gone and that got no answer
}

// closeTime is how long a cancelled exchange may take to close.
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
		return t.broken(err)
	}
	s.started = started
	if t.m.config.Detail {
		t.m.counts.exchanges++
		s.number = t.m.counts.exchanges
	}
	if st := s.event("listen:start", nil); st != running {
		return st
	}
	if why := f[value.PartyUnready]; !why.IsNil() {
		return t.finish(s, value.Err(why))
	}
	if s.waitsForItself() {
		return t.finish(s, s.busy())
	}
	r := t.m.openingOf(s.decl, host, prompt.S)
	switch x := *t.slot(in.a + 3); x.Kind() {
	case value.KindString:
		r.Schema = json.RawMessage(x.AsString())
	case value.KindTypeDesc:
		r.Schema = schema.Text(x.TypeDesc())
	}
	return t.request(r, &wait{kind: waitOpen, scope: s})
}

// event emits a listen event with host, duration_ms (except at the start) and
// the members that fill adds. In Execute mode it emits nothing.
func (s *scope) event(channel string, fill func(*value.Map)) status {
	if s.l.info.Execute {
		return running
	}
	m := value.NewMap(3)
	m.SetString("host", value.String(s.decl.Name))
	if channel != "listen:start" {
		now, err := s.t.now()
		if err != nil {
			return s.t.broken(err)
		}
		m.SetString("duration_ms", value.Int(now-s.started))
	}
	if fill != nil {
		fill(m)
	}
	return s.t.emit(s.output(channel, m))
}

// wasCancelled emits the end of a listen whose task, or handler around it, is cancelled.
// Nothing is emitted once the run itself is over.
func (s *scope) wasCancelled() {
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

// output is an emit about the exchange.
func (s *scope) output(channel string, payload *value.Map) *effect.Emit {
	e := &effect.Emit{Channel: channel, Payload: value.AppendJSON(nil, payload.Slot())}
	if s.number != 0 {
		e.From = &effect.From{Task: s.t.id, Exchange: s.number}
	}
	return e
}

// opened goes on when the exchange is open.
func (t *task) opened(w *wait) status {
	s := w.scope
	if w.refused && w.err != nil {
		return t.finish(s, s.busy())
	}
	var e *effect.Error
	if errors.As(w.err, &e) {
		return t.finish(s, value.Err(programError(e)))
	}
	t.hold(w)
	return t.pump(s)
}

// hold gives an exchange that has been opened to the task, which closes it
// however it ends.
func (t *task) hold(w *wait) {
	w.scope.id, w.scope.open = w.result.(*effect.ExchangeOpened).ID, true
	t.scopes = append(t.scopes, w.scope)
	t.entered(SpanListen, w.scope.decl.Name)
}

// pump takes messages until one needs a handler, one ends the listen, or none
// is left. It runs in the frame of the listen.
func (t *task) pump(s *scope) status {
	for {
		if s.unsent != nil {
			return t.send(s)
		}
		if len(s.queue) == 0 {
			if s.err != nil {
				return t.lost(s)
			}
			if t.cancelled() {
				return raising
			}
			if s.next == nil && t.alone() {
				var c completion
				t.m.stats.Requests++
				s.effect = t.m.stats.Requests
				c.result, c.err = t.performWaiting(&effect.ExchangeNext{ID: s.id})
				s.arrived(c)
				continue
			}
			s.fetch()
			return t.park(&wait{kind: waitMessages, scope: s})
		}
		if t.m.memory.limit > 0 && t.budget < 0 { // handlers alone never come to a tick
			t.budget = budget
			if !t.m.memory.look(0) {
				return t.outOfMemory()
			}
		}
		m := &s.queue[0]
		if st := t.taken(len(m.Text)); st != running {
			return st
		}
		st, again := t.message(s, m)
		if !again {
			return st
		}
		s.drop()
	}
}

// fetch asks for the next messages, unless a request is under way, no more can
// come, or too many wait already.
func (s *scope) fetch() {
	if s.next != nil || s.err != nil || s.over || !s.open || s.full() {
		return
	}
	f := &pendingRequest{t: s.t, scope: s}
	s.t.m.start(&effect.ExchangeNext{ID: s.id}, f)
	s.next, s.effect = f, s.t.m.stats.Requests
}

// arrived takes messages that have come. Only a withdraw overtakes a running
// handler, and the loss of the exchange.
func (s *scope) arrived(c completion) {
	s.next = nil
	if c.err != nil {
		s.err = c.err
		if e, ok := errors.AsType[*effect.Error](c.err); ok {
			s.hostLost(e)
		}
		return
	}
	messages := c.result.(*effect.ExchangeMessages).Messages
	if len(s.queue) == 0 { // the result is ours, and what is queued takes the place of what was looked at
		s.queue = messages[:0]
	}
	for i := range messages {
		m := &messages[i]
		row := hostmsg.Of(m.Type)
		if row.Role == hostmsg.TakesBack && s.withdraw(m.ID) {
			continue
		}
		s.over = s.over || row.Terminal()
		s.t.m.decideArrived(s.decl, m, s.effect)
		if !s.gone || !s.dropRequest(m.Type) {
			s.add(m)
		}
	}
	if s.run != nil && s.t.wait != nil {
		s.fetch()
	}
}

// replyFailed continues after a reply that found the host gone. What the host said before it exited
// and wants no answer is still read and handled; after a timeout nothing is.
func (s *scope) replyFailed(r *effect.ExchangeReply, e *effect.Error) {
	if r != nil {
		s.dropRequest(r.InReplyTo)
	}
	s.hostLost(e)
	if timedOut(e) {
		s.next.quit()
		s.err = e
	}
}

// hostLost drops the requests of a host that is gone: the one that is being handled, those in the
// queue, and a reply that was not sent. After a timeout it drops all messages.
func (s *scope) hostLost(e *effect.Error) {
	s.gone = true
	if s.run != nil && s.run.cause == nil && (timedOut(e) || hostmsg.Of(s.run.message.Type).Waits()) {
		s.run.cancel(errLost)
		s.dropRequest(s.run.message.Type)
	}
	if s.unsent != nil {
		s.dropRequest(s.unsent.InReplyTo)
		s.unsent = nil
	}
	kept := s.queue[:0:0]
	for i := range s.queue {
		m := &s.queue[i]
		if !s.dropRequest(m.Type) && !timedOut(e) {
			kept = append(kept, *m)
			continue
		}
		s.queued -= len(m.Text)
	}
	s.queue = kept
}

// dropRequest counts a message of a host that is gone if the host waited for an answer to it.
func (s *scope) dropRequest(typ string) bool {
	waits := hostmsg.Of(typ).Waits()
	if waits {
		s.dropped++
	}
	return waits
}

// timedOut reports whether an exchange failed because its time, or that of a heartbeat, was over.
func timedOut(e *effect.Error) bool {
	code := e.Fields["code"]
	return e.Kind == "TimeoutError" || code == "timeout" || code == "heartbeat"
}

// withdraw takes back the message with this id: the one being handled, or one
// that still waits. It says whether there was such a message.
func (s *scope) withdraw(id string) bool {
	if id == "" {
		return false
	}
	if s.run != nil && s.run.message.ID == id {
		s.run.cancel(errWithdrawn)
		s.t.decideWithdrawn(s.decl, &s.run.message, s.run.hearing, s.effect)
		return true
	}
	m, found := s.takeBack(id)
	if found {
		s.t.decideWithdrawn(s.decl, &m, nil, s.effect)
	}
	return found
}

// message deals with one message; again is true when the next one may follow.
func (t *task) message(s *scope, m *effect.HostMessage) (st status, again bool) {
	s.heard = nil
	if m.Decided {
		st = t.emit(s.output(m.Type, m.Payload.Map()))
		return st, st == running
	}
	switch hostmsg.Of(m.Type).Role {
	case hostmsg.Succeeds:
		t.worked(s.decl, s.effect)
		payload := m.Payload
		if len(s.partial) > 0 {
			if st := t.takeMemory(len(s.partial)); st != running {
				return st, false
			}
			payload.Map().SetString("partial_output", value.String(string(s.partial)))
			s.partial = nil
		}
		return t.close(s, value.Ok(payload)), false
	case hostmsg.Fails:
		return t.close(s, value.Err(s.hostError(m.Payload.Map()))), false
	case hostmsg.TakesBack:
		return running, true // what it takes back has been handled already
	}
	if h := s.handler(m.Type); h != nil {
		return t.handle(s, h, m)
	}
	return t.unhandled(s, m)
}

// handler finds the block for a message type. An implicit handler is used only
// when the host has tools, or the application may have some, and the program has no
// handler of its own for the type.
func (s *scope) handler(typ string) *handler {
	var implicit *handler
	for i := range s.l.handlers {
		h := &s.l.handlers[i]
		if h.info.Type != typ {
			continue
		}
		if !h.info.Implicit {
			return h
		}
		if s.t.m.config.Application.Tools || s.t.m.toolsOf(s.host, &s.t.m.pace).Array().Len > 0 {
			implicit = h
		}
	}
	return implicit
}

// hostError is the error that a host's error message stands for.
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
	return e.With("host", value.String(s.decl.Name)).Slot()
}

// close gives the process back after a terminal message; the listen then gives
// result.
func (t *task) close(s *scope, result value.Slot) status {
	return t.request(&effect.ExchangeClose{ID: s.id}, &wait{kind: waitClose, scope: s, payload: result})
}

func (t *task) closed(w *wait) status {
	w.scope.open = false
	t.leave(w.scope)
	return t.finish(w.scope, w.payload)
}

// leave takes the scope, the innermost one, off the task.
func (t *task) leave(s *scope) {
	t.scopes[len(t.scopes)-1] = nil
	t.scopes = t.scopes[:len(t.scopes)-1]
	t.leftSpan()
}

// lost ends a listen whose exchange broke.
func (t *task) lost(s *scope) status {
	var e *effect.Error
	if !errors.As(s.err, &e) {
		if t.cancelled() {
			return raising
		}
		return t.broken(s.err)
	}
	return t.close(s, value.Err(programError(e)))
}

// finish makes result what ListenBegin gives, with the event that belongs to it.
func (t *task) finish(s *scope, result value.Slot) status {
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

// leaveScope takes an error or a cancellation out of a listen: either out of
// one handler run, and the listen goes on; or out of the whole listen, whose
// exchange is then closed. on is true when unwinding goes on above the listen,
// with ip at the listen.
func (t *task) leaveScope(s *scope, r *raised) (st status, on bool) {
	if r.cancelled && r.until == s {
		t.raised = nil
		return t.runCancelled(s), false
	}
	if s.run != nil {
		s.run.finish()
		t.endHearing(s.run.hearing)
		s.run = nil
		t.leftSpan()
	}
	t.setPC(s.pc + 1)
	if s.open {
		if s.next != nil {
			s.next.quit()
			return t.park(&wait{kind: waitQuiet, scope: s}), false
		}
		reason := "cancelled"
		if !r.cancelled {
			reason = value.Message(r.value)
		}
		// Whoever cannot be told is past caring: the result does not matter.
		w := &wait{kind: waitUnwind, scope: s}
		t.m.start(&effect.ExchangeClose{ID: s.id, Reason: reason}, &pendingRequest{t: t, wait: w, closing: true})
		return t.park(w), false
	}
	t.leave(s)
	if r.cancelled {
		s.wasCancelled()
	}
	if r.cancelled || r.panicked {
		return running, true
	}
	t.raised = nil
	return t.finish(s, r.asErr()), false
}

// messages are those of an exchange that have come and wait to be dealt with.
type messages struct {
	queue  []effect.HostMessage
	queued int // in bytes of lines
}

// What may wait while the program is busy; beyond it the host's pipe fills up.
const (
	queueLimit = 4096    // messages
	queueBytes = 4 << 20 // of lines; the last batch may go beyond
)

func (q *messages) full() bool { return len(q.queue) >= queueLimit || q.queued >= queueBytes }

func (q *messages) add(m *effect.HostMessage) {
	q.queue = append(q.queue, *m)
	q.queued += len(m.Text)
}

// drop takes the first message off the queue.
func (q *messages) drop() {
	q.queued -= len(q.queue[0].Text)
	q.queue[0] = effect.HostMessage{}
	if q.queue = q.queue[1:]; len(q.queue) == 0 {
		q.queue = nil
	}
}

// takeBack removes the message with this id, and gives it, if there is one.
func (q *messages) takeBack(id string) (m effect.HostMessage, found bool) {
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

// asks are the messages that were given to the program and may be answered, in their
// order. A host may send as many as it likes, and the program leave them: none of the methods
// looks through all of them.
type asks struct {
	all  []*ask            // with some that are settled
	live int               // how many are not
	byID map[string][]*ask // the same, but those without an id
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

// find gives the first with an id that is not settled; nil when there is none.
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

// fewAsks are so few that those which are settled need not be taken out.
const fewAsks = 32

// settled hears that one is. Once most are, they are taken out.
func (l *asks) settled() {
	if l.live--; len(l.all) < fewAsks || l.live > len(l.all)/2 {
		return
	}
	kept := asks{all: make([]*ask, 0, l.live)}
	for _, k := range l.open() {
		kept.add(k)
	}
	*l = kept
}

// open are those that are not settled.
func (l *asks) open() []*ask {
	out := make([]*ask, 0, l.live)
	for _, k := range l.all {
		if k.answered == "" {
			out = append(out, k)
		}
	}
	return out
}
