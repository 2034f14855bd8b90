package vm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// A hostStream is an exchange that the program reads itself, message by message: a host's stream
// (spec/09-listen.md). The library contains the loop. This file handles events that occur while the
// program is processing a message: the host withdraws a message, or a question's time limit
// expires.
//
// The task that opened the stream owns it. If that task ends by an error, the VM closes the stream.
type hostStream struct {
	messages
	gates   *gates // the library runs them on the result, and then ends the stream; nil without gates
	turns   int64  // number of turns that have ended with a result and that the program has continued
	by      *task  // the task that opened it
	decl    *Host
	id      int64  // ID of the exchange
	session string // the last session that the host named; "" if none
	// name of the workspace in which the host works; "" if none
	workspace string
	opening   *effect.ExchangeOpen // the request that has opened the exchange first
	prompt    string               // as in further, like plan and window
	plan      *planWait
	window    string
	err       error           // the error of a failed exchange; the program receives it after the queued messages
	over      bool            // the program has received the terminal message
	next      *pendingRequest // the pending request for messages; nil if there is none
	effect    int64           // number of the last request for messages
	waiting   []*task
	asks      asks // the messages whose answer the host awaits
	closed    bool
	reason    string // the reason for closing the exchange when the pending request returns; "" if it stays open
}

// hostStreams are the open streams, in the order in which they were opened.
type hostStreams struct {
	open  []*hostStream
	asked []*hostStream // streams of which the program has received a message that the host can still withdraw; park notifies them
}

// ask is a message that the program has received and may answer.
type ask struct {
	of       *hostStream
	typ, id  string
	waits    bool            // the host awaits the answer
	answered string          // the reason why the message can no longer be answered; "" while it can
	timer    *pendingRequest // timer of the question's time limit; nil if there is none
	work     work            // the race that computes the answer
	decision *openDecision
}

// The reasons why a message cannot be answered. The program receives them as the code of HostError.
const (
	askAnswered  = "answered"
	askWithdrawn = "withdrawn"
	askTimeout   = "timeout"
	askClosed    = "closed"
	askNone      = "none"
)

// streamOf returns the stream of a resource, or nil if the resource is not a stream.
func (l *hostStreams) streamOf(h openResource) *hostStream {
	if h.closing.Kind() != effect.KindExchangeClose {
		return nil
	}
	for _, x := range l.open {
		if x.id == h.id {
			return x
		}
	}
	return nil
}

// hostStreamIn returns the stream that argument i represents.
func (a *Args) hostStreamIn(i int) *hostStream {
	if h := a.Slot(i).Handle(); h != nil {
		if x, ok := h.Object.(*hostStream); ok {
			return x
		}
	}
	a.WrongKind(i, "a HostStream")
	return nil
}

// OpenHostStream opens an exchange with the host in argument 0 for the program's own loop. It
// returns a value that the functions below accept as argument 0.
func (a *Args) OpenHostStream(prompt string) (value.Slot, error) {
	m, d := a.run(), a.Host(0)
	if d.isOccupiedBy(m.sched.current) {
		return value.Nil, d.busyError()
	}
	r := m.openingOf(d, a.Slot(0), prompt)
	r.Within = outerExchanges(m.sched.current)
	x := &hostStream{decl: d, session: r.Session, workspace: r.Workspace, opening: r, prompt: r.Prompt}
	if !a.Party(0)[value.PartyGates].IsNil() {
		x.gates = &gates{}
	}
	return a.AskToOpen(r,
		func(effect.Result) (value.Slot, error) { return value.NewHandle("HostExchange", d.Name, x), nil },
		func(result effect.Result) (int64, effect.Request) {
			x.by, x.id = m.sched.current, result.(*effect.ExchangeOpened).ID
			m.hostStreams.open = append(m.hostStreams.open, x)
			return x.id, &effect.ExchangeClose{ID: x.id}
		})
}

// MessageFunc converts a message to a value. ask is nil if the message needs no answer.
type MessageFunc func(m *effect.HostMessage, ask value.Slot) value.Slot

// NextMessage returns the tuple (again, message). The message is nil if none has arrived. again is
// false if the stream has ended; otherwise the caller calls NextMessage again. If the exchange
// failed, NextMessage raises the error.
func (a *Args) NextMessage(convert MessageFunc) (value.Slot, error) {
	m, x := a.run(), a.hostStreamIn(0)
	next := func(effect.Result) (value.Slot, error) { return x.returnMessage(m.sched.current, convert) }
	if x.closed || x.hasMessage() {
		return next(nil)
	}
	a.asked = nativeRequest{convert: next, park: x.await}
	return value.Nil, nil
}

// hasMessage reports whether a message can be returned without waiting.
func (x *hostStream) hasMessage() bool { return len(x.queue) > 0 || x.err != nil || x.over }

// returnMessage returns the next message in the queue.
func (x *hostStream) returnMessage(t *task, convert MessageFunc) (value.Slot, error) {
	for len(x.queue) > 0 {
		m := x.queue[0]
		x.drop()
		row := hostmsg.Lookup(m.Type)
		if m.IsSteered() {
			continue
		}
		if m.Decided {
			if err := t.performEmit(&effect.Emit{Channel: m.Type, Payload: value.AppendJSON(nil, m.Payload)}); err != nil {
				return value.Nil, err
			}
			continue
		}
		if row.Role == hostmsg.Withdraws {
			continue // the message was withdrawn, and the withdrawal has been handled
		}
		x.window = cmp.Or(windowOf(&m), x.window)
		if now := m.Session(); now != "" {
			x.session = now
		}
		t.endStreamDecision()
		if row.Role == hostmsg.Succeeds {
			t.addHost(x.decl, x.effect)
		}
		v := value.Tuple(value.Bool(true), convert(&m, x.ask(t, &m, row)))
		if x.over = row.Terminal(); x.over && x.asks.live == 0 && !(x.gates != nil && row.Role == hostmsg.Succeeds) && !x.decl.isPlanLimit(&m) {
			x.close(t, "")
		}
		return v, nil
	}
	switch {
	case x.err != nil:
		err := x.err
		x.close(t, "")
		return value.Nil, err
	case x.over:
		x.close(t, "")
	}
	return value.Tuple(value.Bool(!x.closed), value.Nil), nil
}

// ask records a message that may be answered, and starts the time limit of a question. It returns
// nil for any other message.
func (x *hostStream) ask(t *task, m *effect.HostMessage, row *hostmsg.Message) value.Slot {
	if !row.Waits() && (row.IsKnown() || m.ID == "") {
		return value.Nil
	}
	k := &ask{of: x, typ: m.Type, id: m.ID, waits: row.Waits()}
	k.decision = t.beginDecision(m, true)
	if k.waits {
		x.asks.add(k)
		t.m.hostStreams.asked = append(t.m.hostStreams.asked, x)
	}
	if seconds := x.decl.QuestionTimeout; seconds > 0 && row.Timed {
		f := &pendingRequest{t: t, ask: k}
		t.m.startRequest(&effect.Sleep{Milliseconds: int64(seconds * 1000)}, f)
		k.timer = f
	}
	return value.NewHandle("HostRequest", "", k)
}

// await parks a task until a message can be returned.
func (x *hostStream) await(t *task, w *wait) status {
	for !x.hasMessage() && !x.closed {
		if t.cancelled() {
			return raising
		}
		if x.next == nil && t.isAlone() {
			var c completion
			t.m.stats.Requests++
			x.effect = t.m.stats.Requests
			c.result, c.err = t.performWaiting(&effect.ExchangeNext{ID: x.id})
			x.enqueue(t, c)
			if c.err != nil && x.err == nil {
				return t.failRun(c.err)
			}
			continue
		}
		x.fetch(t)
		x.waiting = append(x.waiting, t)
		w.request = &effect.ExchangeNext{ID: x.id}
		w.stream = x
		return t.park(w)
	}
	return t.complete(w)
}

// fetch requests the next messages, unless a request is pending, no more can arrive, or too many
// are queued.
func (x *hostStream) fetch(t *task) {
	if x.next != nil || x.err != nil || x.over || x.closed || x.full() {
		return
	}
	if n := len(x.queue); n > 0 && hostmsg.Lookup(x.queue[n-1].Type).Terminal() {
		return
	}
	f := &pendingRequest{t: t, stream: x}
	t.m.startRequest(&effect.ExchangeNext{ID: x.id}, f)
	x.next, x.effect = f, t.m.stats.Requests
}

// fetchWithdrawals requests messages for the streams that have unanswered messages, so that they
// learn which messages the host has withdrawn.
func (l *hostStreams) fetchWithdrawals(t *task) {
	for _, x := range l.asked {
		if x.asks.live > 0 {
			x.fetch(t)
		}
	}
	l.asked = l.asked[:0]
}

// enqueue adds the messages that have arrived to the queue. A withdrawal takes effect before the
// messages queued earlier are read.
func (x *hostStream) enqueue(t *task, c completion) {
	x.next = nil
	for _, w := range x.waiting {
		t.m.sched.ready.push(w)
	}
	x.waiting = nil
	if x.closed {
		x.end(t)
		return
	}
	if c.err != nil {
		var e *effect.Error
		switch {
		case errors.As(c.err, &e):
			x.err = e
		case !errors.Is(c.err, context.Canceled):
			x.err = c.err
		default: // the request was cancelled together with the task that waited
			return
		}
		for _, k := range x.asks.open() {
			k.work.end()
		}
		return
	}
	all := c.result.(*effect.ExchangeMessages).Messages
	for i := range all {
		m := &all[i]
		recordOwn(t.m, x.decl, m, x.effect)
		if hostmsg.Lookup(m.Type).Role != hostmsg.Withdraws || !x.withdraw(m) {
			x.add(m)
		}
	}
	if x.asks.live > 0 {
		x.fetch(t)
	}
}

// withdraw withdraws the message that w names, whether the program has received it or it is still
// queued. It reports whether there was such a message.
func (x *hostStream) withdraw(w *effect.HostMessage) bool {
	if w.ID == "" {
		return false
	}
	if k := x.asks.find(w.ID); k != nil {
		k.markSettled(askWithdrawn)
		recordWithdrawn(x.by, x.decl, w, &effect.HostMessage{Type: k.typ, ID: k.id}, k.decision, x.effect)
		return true
	}
	m, found := x.removeByID(w.ID)
	if found {
		recordWithdrawn(x.by, x.decl, w, &m, nil, x.effect)
	}
	return found
}

// markSettled records the reason why the message can no longer be answered.
func (k *ask) markSettled(why string) {
	k.answered = why
	k.timer.cancel()
	if k.waits {
		k.of.asks.countSettled()
	}
	k.work.end()
}

// expire handles the expiry of a question's time limit.
func (k *ask) expire(t *task, err error) {
	k.timer = nil
	if err != nil || k.answered != "" {
		return
	}
	answer, problem := k.of.decl.timeoutAnswer(k.typ)
	k.markSettled(askTimeout)
	k.reply(t, effect.ByTimeout, answer, problem)
}

func (k *ask) response(by string, v json.RawMessage, problem string) *effect.ExchangeReply {
	return &effect.ExchangeReply{ID: k.of.id, InReplyTo: k.typ, AnswerTo: k.id, Value: v, Error: problem, By: by}
}

// reply sends an answer to a message. The program does not wait for the sending to finish.
func (k *ask) reply(t *task, by string, v json.RawMessage, problem string) {
	r := k.response(by, v, problem)
	t.m.stats.Requests++
	if err := t.recordReply(k.of.decl.Name, value.Nil, k.decision, r, t.programPlace); err != nil {
		t.m.fail(err)
		return
	}
	if _, err := t.performEffect(t.m.requests.atOnce, r); errors.Is(err, effect.ErrWaits) && !k.of.closed {
		t.m.stats.Requests--
		t.m.startRequest(r, &pendingRequest{t: t})
	} // any other failure is reported with the host's next message
}

// Refusal returns the code of the reason why the message of the ask in argument 1 cannot be
// answered, or "" if it can.
func (a *Args) Refusal() string {
	m, x := a.run(), a.hostStreamIn(0)
	m.poll(m.sched.current, m.journaled.moment()) // a withdrawal may have arrived
	k := a.ask()
	switch {
	case k == nil || k.of != x:
		return askNone
	case k.answered == "" && x.closed:
		return askClosed
	}
	return k.answered
}

// Until returns the ask in argument 1 as an element of a race, which ends when the answer is no
// longer needed.
func (a *Args) Until() value.Slot {
	k := a.ask()
	if k == nil {
		a.WrongKind(1, "a message to answer")
		return value.Nil
	}
	return value.NewHandle("Task", "", bound{ask: k})
}

func (a *Args) ask() *ask {
	if h := a.Slot(1).Handle(); h != nil {
		k, _ := h.Object.(*ask)
		return k
	}
	return nil
}

// Answer answers the message of the ask in argument 1 with v, or with the error problem if problem
// is not "". The caller must have checked that Refusal returns "". For by see effect.ExchangeReply.
func (a *Args) Answer(by string, v json.RawMessage, problem string) (value.Slot, error) {
	k := a.ask()
	if k.answered != "" {
		return value.Nil, nil
	}
	k.markSettled(askAnswered)
	a.asked = nativeRequest{convert: Nothing, park: func(t *task, w *wait) status {
		r := k.response(by, v, problem)
		t.m.stats.Requests++ // counts the request for the reply, whose number ask uses
		err := t.recordReply(k.of.decl.Name, value.Nil, k.decision, r, t.programPlace)
		t.m.stats.Requests--
		if err != nil {
			return t.decisionFailed(err)
		}
		return t.ask(r, w)
	}}
	return value.Nil, nil
}

// Session returns the last session that the host named, or "" if there is none.
func (a *Args) Session() string { return a.hostStreamIn(0).session }

// Leave closes the stream.
func (a *Args) Leave(reason string) { a.hostStreamIn(0).close(a.run().sched.current, reason) }

// close ends the exchange. Messages whose answer the host still awaits receive an error, and the
// host receives the reason. If a request for messages is pending, the exchange ends when that
// request returns.
func (x *hostStream) close(t *task, reason string) {
	if x.closed {
		return
	}
	x.closed, x.reason = true, reason
	m := t.m
	for i := range x.queue {
		t.recordUnanswered(x.decl, &x.queue[i], nil, x.effect, exchangeClosed)
	}
	x.messages, x.err = messages{}, nil
	m.hostStreams.open = slices.DeleteFunc(m.hostStreams.open, func(o *hostStream) bool { return o == x })
	m.openResources.release(t, effect.KindExchangeClose, x.id)
	for _, k := range x.asks.open() {
		k.markSettled(askClosed)
		k.reply(t, effect.ByNone, nil, "the program did not answer the "+k.typ)
	}
	if x.next != nil {
		x.next.cancel()
		return
	}
	x.end(t)
}

// end releases the exchange's process. It does not wait for the release to finish.
func (x *hostStream) end(t *task) {
	t.m.stats.Requests++
	_, _ = t.performEffect(context.WithoutCancel(t.m.requests.ctx), &effect.ExchangeClose{ID: x.id, Reason: x.reason})
}

// closeHostStreams closes the open streams after the last task has ended.
func (m *VM) closeHostStreams() {
	for len(m.hostStreams.open) > 0 {
		x := m.hostStreams.open[0]
		x.close(x.by, "")
	}
}
