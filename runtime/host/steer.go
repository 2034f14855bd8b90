package host

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
	"github.com/concerto-lang/concerto/runtime/host/continuity"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
	"github.com/concerto-lang/concerto/runtime/keeper"
)

// turns are the turns of an exchange. A message that the host cannot receive in its current turn is
// the prompt of a later one, and only the result of the last turn ends the exchange. The lock is
// acquired before those of the inbox and of the process's translation and outbox.
type turns struct {
	totals    continuity.TurnTotals
	mu        slowLock[turnsLock]
	ended     bool                 // the terminal message of the last turn was read
	request   *effect.ExchangeOpen // request that opened the exchange
	*steering                      // nil if the exchange has not been steered
}

// steering is the state of an exchange that was steered.
type steering struct {
	count     int                      // number of messages; their IDs are t1, t2, …
	known     map[string]*steerMessage // messages with a key, by key
	sent      map[string]*steerMessage // messages that the agent has neither confirmed nor refused, by ID
	queue     []*steerMessage          // prompts of later turns
	current   *steerMessage            // prompt of the current turn; nil for that of the exchange
	interrupt *steerMessage            // ends the current turn; nil if nothing does
	timer     *time.Timer              // time limit of interrupt
	direct    []*steerMessage          // messages that were sent to the process in its current turn
}

// steerNote describes a message to a running host. The keeper stores it.
type steerNote struct {
	ID        string `json:"id"`            // ID of the message in its exchange
	Key       string `json:"key,omitempty"` // identifies the message in a durable run
	Text      string `json:"text,omitempty"`
	Interrupt bool   `json:"interrupt,omitempty"`
	Outcome   string `json:"outcome,omitempty"` // "" until it is known
	// By and Name are the sender of a message from outside the program; "" for one of the program.
	By   string `json:"by,omitempty"`
	Name string `json:"name,omitempty"`
	// Waits means that the message is the prompt of a later turn. It is set only in a beginNote.
	Waits bool `json:"waits,omitempty"`
	// Begins means that the message was sent while the exchange settled, and that the agent begins
	// a turn with it.
	Begins bool `json:"begins,omitempty"`
	// Continues means that the message is the prompt of an ExchangeContinue.
	Continues bool `json:"continues,omitempty"`
}

type steerMessage struct {
	steerNote
	settled    chan struct{} // closed when the outcome is known
	unrecorded func()        // see Message.Unrecorded
}

func newSteerMessage(n steerNote) *steerMessage {
	m := &steerMessage{steerNote: n, settled: make(chan struct{})}
	if n.Outcome != "" {
		close(m.settled)
	}
	return m
}

func (m *steerMessage) settle(outcome string) {
	m.Outcome = outcome
	close(m.settled)
}

// steeringState returns the state of a steered exchange.
func (t *turns) steeringState() *steering {
	if t.steering == nil {
		t.steering = &steering{known: map[string]*steerMessage{}, sent: map[string]*steerMessage{}}
	}
	return t.steering
}

// addKnown adds an accepted message.
func (s *steering) addKnown(m *steerMessage) {
	s.count = max(s.count, numberOf(m.ID))
	if m.Key != "" {
		s.known[m.Key] = m
	}
}

// nextID returns the ID of the next message.
func (s *steering) nextID() string { return "t" + strconv.Itoa(s.count+1) }

// numberOf returns the number in the ID of a message.
func numberOf(id string) int {
	n, _ := strconv.Atoi(id[min(1, len(id)):]) // this package has written the ID
	return n
}

// steerHost sends a message of the program to a running host.
func (h *Hosts) steerHost(ctx context.Context, r *effect.ExchangeSteer) (*effect.ExchangeSteered, error) {
	ex, err := h.lookupExchange(r.ID)
	if err != nil {
		return nil, err
	}
	if err := ex.checkRepeated(effect.IsRetry(ctx), effect.KeyOf(ctx)); err != nil {
		return nil, err
	}
	m, err := ex.addMessage(steerNote{Key: effect.KeyOf(ctx), Text: r.Text, Interrupt: r.Interrupt}, nil)
	if err != nil {
		return nil, err
	}
	outcome, err := ex.awaitOutcome(ctx, m)
	if err != nil {
		return nil, err
	}
	return &effect.ExchangeSteered{Outcome: outcome, ID: m.ID}, nil
}

// checkRepeated returns an error if an earlier Concerto process may have sent the message with the
// key, and it is unknown whether a process that was lost has received it.
func (ex *exchange) checkRepeated(mayBeSent bool, key string) error {
	if !mayBeSent || !ex.wasLost {
		return nil
	}
	t := &ex.inbox.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.steering != nil && t.known[key] != nil {
		return nil
	}
	return ex.pool.cfg.unknownErrorf("may have received the message: its process was lost").With("code", "lost").With("recoverable", true)
}

// addMessage sends a message to the host, or queues it. A message with a known key is not sent
// again. unrecorded may be nil; see Message.Unrecorded.
func (ex *exchange) addMessage(n steerNote, unrecorded func()) (*steerMessage, error) {
	t := &ex.inbox.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.steering != nil && n.Key != "" && t.known[n.Key] != nil {
		m := t.known[n.Key]
		if m.unrecorded == nil {
			m.unrecorded = unrecorded
		}
		return m, nil
	}
	if t.ended || ex.isDone() || ex.inbox.isOver() {
		return nil, ex.pool.cfg.idleError()
	}
	s := t.steeringState()
	if n.ID == "" {
		n.ID = s.nextID()
	}
	p := ex.currentProcess()
	if ex.inbox.isLost() {
		p = nil
	}
	m := newSteerMessage(n)
	m.unrecorded = unrecorded
	switch {
	case s.interrupt != nil && s.interrupt.Text == "":
		return nil, ex.pool.cfg.idleError() // the exchange is about to fail
	case n.Interrupt:
		if err := ex.interruptTurn(s, p, m); err != nil {
			return nil, err
		}
	default:
		ex.steerTurn(s, p, m)
	}
	s.addKnown(m)
	if m.By != "" && m.Outcome != "" {
		ex.pool.hosts.addSteered(ex.inbox, p, m)
	}
	return m, nil
}

// steerTurn sends a message to the host if the host can receive it in its current turn, and queues
// it otherwise. The caller must hold the lock of the turns.
func (ex *exchange) steerTurn(s *steering, p *process, m *steerMessage) {
	if p == nil || !p.announced.steers || s.interrupt != nil {
		m.settle(effect.SteerQueued)
		s.queue = append(s.queue, m)
		if p != nil {
			p.writeNote(keeper.KindNote, lineNote{Steer: &m.steerNote})
		}
		return
	}
	s.direct = append(s.direct, m)
	switch {
	case p.cfg.protocol().Confirms:
		s.sent[m.ID] = m
		ex.inbox.setUnbounded(true) // any number of messages may precede the host's answer
	case p.settling.isOn():
		m.Begins = true
		m.settle(effect.SteerQueued)
	default:
		m.settle(effect.SteerReceived)
	}
	note := m.steerNote
	p.sendLine(line{short: steerLine(&note), frame: lineFrame{note: &lineNote{Steer: &note}}}, true)
	if m.Outcome == "" {
		p.reader.lease.recall() // the reader must read the answer, because the caller waits for it
	}
}

func steerLine(n *steerNote) []byte {
	o := jsonobject.New(hostmsg.Steer)
	o.Text("id", n.ID)
	o.Text("text", n.Text)
	return ndjson.Append(nil, o.End())
}

// interruptTurn asks the host to end its current turn. The caller must hold the lock of the turns.
func (ex *exchange) interruptTurn(s *steering, p *process, m *steerMessage) error {
	switch c := ex.pool.cfg; {
	case p == nil:
		return c.errorf("cannot be interrupted: it is lost, and another process will continue the exchange").With("code", "lost")
	case !p.announced.cancels:
		return c.errorf("cannot be interrupted: it does not support cancel").With("code", "unsupported")
	case s.interrupt != nil && m.Text != "": // the prompt of a later turn
		m.settle(effect.SteerQueued)
		s.queue = append(s.queue, m)
		p.writeNote(keeper.KindNote, lineNote{Steer: &m.steerNote})
		return nil
	}
	m.settle(effect.SteerInterrupted)
	ex.awaitTurnEnd(s, m)
	p.sendLine(line{short: cancelLine(effect.SteerInterrupted), frame: lineFrame{note: &lineNote{Steer: &m.steerNote}}}, true)
	return nil
}

// awaitTurnEnd makes m the interruption of the current turn. If the host does not end the turn in
// time, the exchange fails.
func (ex *exchange) awaitTurnEnd(s *steering, m *steerMessage) {
	if s.interrupt == nil {
		s.timer = time.AfterFunc(ex.pool.cfg.cancelGrace(), ex.abortInterrupted)
	}
	s.interrupt = m
	ex.inbox.setUnbounded(true) // any number of messages may precede the end of the turn
}

// abortInterrupted fails an exchange whose host has not ended the interrupted turn in time.
func (ex *exchange) abortInterrupted() {
	t := &ex.inbox.turns
	t.mu.Lock()
	isWaiting := t.interrupt != nil
	t.mu.Unlock()
	if isWaiting {
		grace := effect.Seconds(ex.pool.cfg.cancelGrace().Seconds())
		ex.abort(ex.pool.cfg.unknownErrorf("did not end its turn within %s after it was interrupted", grace).With("code", "interrupted"), effect.SteerInterrupted)
	}
}

// stopInterrupt ends the wait for the end of an interrupted turn.
func (t *turns) stopInterrupt() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.steering != nil && t.interrupt != nil {
		t.timer.Stop()
		t.interrupt = nil
	}
}

// awaitOutcome waits until the agent has confirmed or refused a message.
func (ex *exchange) awaitOutcome(ctx context.Context, m *steerMessage) (string, error) {
	select {
	case <-m.settled:
	case <-ex.life.Done():
	case <-ex.inbox.end():
	case <-ctx.Done():
	}
	select {
	case <-m.settled: // also if the exchange has ended since then
		return m.Outcome, nil
	default:
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if f := ex.inbox.failureError(); f != nil {
		return "", f
	}
	return "", ex.pool.cfg.idleError()
}

// continueExchange sends a further prompt in an exchange whose last turn has ended with a result.
func continueExchange(ctx context.Context, h *Hosts, r *effect.ExchangeContinue) (*effect.ExchangeSteered, error) {
	ex, err := h.lookupExchange(r.ID)
	if err != nil {
		return nil, err
	}
	if err := ex.checkRepeated(effect.IsRetry(ctx), effect.KeyOf(ctx)); err != nil {
		return nil, err
	}
	m, err := ex.beginTurn(steerNote{Key: effect.KeyOf(ctx), Text: r.Prompt, Outcome: effect.SteerQueued, Continues: true})
	if err != nil {
		return nil, err
	}
	return &effect.ExchangeSteered{Outcome: m.Outcome, ID: m.ID}, nil
}

// beginTurn begins a further turn with a message of the program. A message with a known key is not
// sent again.
func (ex *exchange) beginTurn(n steerNote) (*steerMessage, error) {
	t, in := &ex.inbox.turns, ex.inbox
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.steering != nil && n.Key != "" && t.known[n.Key] != nil {
		return t.known[n.Key], nil
	}
	switch failure := in.failureError(); {
	case failure != nil:
		return nil, failure
	case !t.ended || !in.hasEnded():
		return nil, ex.pool.cfg.errorf("works on a turn of the exchange, which no prompt can continue")
	case t.totals.Limit != nil:
		return nil, t.totals.Limit
	case ex.isDone() || !ex.continueTimeout(): // the timeout has passed when the turn ended
		return nil, ex.pool.cfg.timeoutError()
	}
	if t.steering == nil { // otherwise the reader has added the totals of the turn
		t.totals.EndTurn()
	}
	s := t.steeringState()
	n.ID = s.nextID()
	m := newSteerMessage(n)
	s.addKnown(m)
	s.current, s.direct, t.ended = m, nil, false
	ex.history.RecordContinued(m.ID)
	in.reopen()
	p := ex.currentProcess()
	if p == nil || !p.isUsable() {
		in.requestProcess(true)
		return m, nil
	}
	p.silence.resetForExchange()
	p.requests.clear()
	p.lifecycle.segment.Load().reopen(p.conn.BytesSent())
	offset, _ := p.sendLine(p.nextPrompt(t.request, m), true)
	if p.lifecycle.beginTurn(offset) {
		p.notifyInbox(in)
	}
	return m, nil
}

// idleError is the error for a message to a host that is working on no exchange.
func (c *Config) idleError() *effect.Error {
	return c.errorf("is idle: the exchange has ended").With("code", "idle")
}

// interruptedError is the error of an exchange that the program has interrupted.
func (c *Config) interruptedError() *effect.Error {
	return c.errorf("was interrupted").With("code", "interrupted")
}

// settleSteered handles the agent's answers to messages. A refused message is queued.
func (r *reader) settleSteered() {
	all := r.steered
	r.steered = nil
	if r.current == nil {
		return
	}
	p, in := r.process, r.current.inbox
	t := &in.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, x := range all {
		if t.steering == nil || t.sent[x.ID] == nil {
			continue
		}
		m := t.sent[x.ID]
		delete(t.sent, x.ID)
		outcome := effect.SteerReceived
		switch m.Begins = x.Begins; {
		case x.Begins:
			outcome = effect.SteerQueued
		case !x.Accepted:
			outcome = effect.SteerQueued
			t.queue = append(t.queue, m)
		}
		m.settle(outcome)
		p.writeNote(keeper.KindNote, lineNote{Steer: &m.steerNote})
		if m.By != "" {
			p.hosts.addSteered(in, p, m)
		}
	}
	if t.steering != nil {
		in.setUnbounded(t.awaitsHost())
	}
}

// awaitsHost reports whether the agent must confirm a message or end an interrupted turn.
func (s *steering) awaitsHost() bool { return len(s.sent) > 0 || s.interrupt != nil }

// endLastTurn records the end of a turn that no other follows, unless the program continues the
// exchange. The caller must hold the lock of the turns.
func (in *inbox) endLastTurn() {
	in.turns.ended = true
	if in.exchange != nil { // otherwise it is the initialisation
		in.exchange.pauseTimeout()
	}
}

// endTurn handles a terminal message, before it is added to the batch. If another turn follows, the
// message becomes a progress message, and the host receives the next prompt. No turn follows in an
// exchange that has reached a limit: it fails with the error of the limit.
func (r *reader) endTurn(x *incomingLine) {
	t := &x.segment.inbox.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.steering
	if s == nil {
		x.segment.inbox.endLastTurn()
		return
	}
	failed := hostmsg.Lookup(x.msg.Type).Role == hostmsg.Fails
	interrupt := s.interrupt
	if interrupt != nil {
		s.timer.Stop()
		s.interrupt = nil
		r.withdrawRequests(x)
		x.segment.inbox.setUnbounded(s.awaitsHost())
	}
	t.totals.EndTurn()
	s.direct = nil
	var next *steerMessage
	switch begins := r.process.translation.beginsTurn(); {
	case x.segment.inbox.isOver():
	case interrupt != nil && interrupt.Text == "":
		r.setInterrupted(x)
	case interrupt != nil && begins:
		s.queue = append([]*steerMessage{interrupt}, s.queue...)
		r.setTurnEnd(x, t, "")
		return
	case interrupt != nil:
		next = interrupt
	case failed:
	case begins:
		r.setTurnEnd(x, t, "")
		return
	case len(s.queue) > 0:
		next, s.queue = s.queue[0], s.queue[1:]
	}
	if next == nil {
		x.segment.inbox.endLastTurn()
		if x.msg.Type == hostmsg.Result && t.totals.Ends > 1 {
			t.totals.Sums.SetIn(x.msg.Payload.Map())
		}
		return
	}
	if t.totals.Limit != nil {
		t.ended = true
		s.queue = append([]*steerMessage{next}, s.queue...)
		r.setStopped(x, t)
		return
	}
	r.setTurnEnd(x, t, next.ID)
	s.current = next
	offset, _ := r.process.sendLine(r.process.nextPrompt(t.request, next), true)
	r.process.lifecycle.beginTurn(offset)
}

// discard drops the pending and all future messages, and notifies the senders of messages that the
// program's records do not contain. It reports whether the terminal message is still missing.
func (ex *exchange) discard() (unfinished bool) {
	t := &ex.inbox.turns
	t.mu.Lock()
	var lost []*steerMessage
	if t.steering != nil && !ex.pool.hosts.suspended.Load() { // a resumed run records the messages
		for _, n := range ex.inbox.unreadSteers() {
			if m := t.known[n.Key]; m != nil {
				lost = append(lost, m)
			}
		}
	}
	dropped, unfinished := ex.inbox.discardAll()
	t.mu.Unlock()
	if p := ex.currentProcess(); p != nil {
		p.outside.recordDropped(dropped)
	}
	for _, m := range lost {
		m.notifyUnrecorded()
	}
	return unfinished
}

// logUnsent logs that the exchange has ended before messages became the prompts of later turns.
func (ex *exchange) logUnsent() {
	t := &ex.inbox.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.steering != nil && len(t.queue) > 0 && !ex.pool.hosts.suspended.Load() {
		ex.pool.hosts.logf("warn", ex.pool.cfg, "ended its exchange: %s", notSent(t.queue))
	}
}

// notSent describes messages that were queued and that no turn has received.
func notSent(queue []*steerMessage) string {
	if len(queue) == 1 {
		return "a queued message was not sent: " + strconv.Quote(queue[0].Text)
	}
	return fmt.Sprintf("%d queued messages were not sent; the first is %s", len(queue), strconv.Quote(queue[0].Text))
}

// setTurnEnd replaces a terminal message by the progress message for the end of a turn. next is the
// ID of the message that is the next prompt; "" if the agent has begun a turn by itself.
func (r *reader) setTurnEnd(x *incomingLine, t *turns, next string) {
	r.sawTerminal = true
	r.setMessage(x, continuity.TurnEnd(x.msg, r.process.sessionName(), &t.totals.Sums, next))
	x.segment.inbox.meter.addEstimate(x.msg, r.process)
}

// setStopped replaces the terminal message of a turn by the progress message for its end, and the
// error of the limit that the exchange has reached.
func (r *reader) setStopped(x *incomingLine, t *turns) {
	r.setTurnEnd(x, t, "")
	r.batch.commitMessage()
	x.msg = r.batch.nextMessage()
	o := jsonobject.New(hostmsg.Error)
	o.Text("message", t.totals.Limit.Message)
	if code, ok := t.totals.Limit.Fields["code"].(string); ok {
		o.Text("code", code)
	}
	r.setMessage(x, o.End())
}

// setInterrupted replaces a terminal message by the error of an interrupted exchange.
func (r *reader) setInterrupted(x *incomingLine) {
	o := jsonobject.New(hostmsg.Error)
	o.Text("message", r.process.cfg.interruptedError().Message)
	o.Text("code", "interrupted")
	r.setMessage(x, o.End())
}

func (r *reader) setMessage(x *incomingLine, text []byte) {
	if err := decodeMessage(x.msg, text, nil); err != nil {
		panic("host: could not parse the end of a turn: " + err.Error())
	}
}

// withdrawRequests inserts, before the message x, a withdraw message for each request of the
// interrupted turn that has no answer.
func (r *reader) withdrawRequests(x *incomingLine) {
	held := *x.msg
	for _, id := range r.process.requests.takeAll() {
		o := jsonobject.New("withdraw")
		o.Raw("id", []byte(id))
		x.msg = r.batch.nextMessage()
		r.setMessage(x, o.End())
		r.batch.commitMessage()
	}
	x.msg = r.batch.nextMessage()
	*x.msg = held
}

// nextPrompt returns the prompt of the next turn of an exchange. The conversation already contains
// the exchange's context.
func (p *process) nextPrompt(opening *effect.ExchangeOpen, m *steerMessage) line {
	r := &effect.ExchangeOpen{Prompt: m.Text, Schema: opening.Schema, Tools: opening.Tools}
	if p.announced.resumes && p.translation == nil {
		r.Session = p.sessionName()
	}
	key := ""
	if p.keeper.conn != nil {
		key = m.Key
	}
	l := p.cfg.promptWith(r, promptOptions{withTools: p.announced.wantsTools || p.cfg.SendTools, key: key, queued: true})
	if key != "" { // a resumed run may know another session than the process that sent the prompt
		l.frame.note = m.promptNote()
	}
	return l
}

// promptNote returns the note that the keeper stores with the prompt of a later turn, or nil.
func (m *steerMessage) promptNote() *lineNote {
	if m.Key == "" {
		return nil
	}
	n := &lineNote{Sum: promptSum(m.Key)}
	if m.Continues {
		n.Steer = &m.steerNote
	}
	return n
}

// promptSum identifies the prompt of a later turn by the key of its message.
func promptSum(key string) string { return "prompt " + key }

// openRequests are the requests of a process that have an ID and no answer. It exists for hosts
// that can be interrupted: the program must not wait for the answers to an interrupted turn.
type openRequests struct {
	mu  lock[openRequestsLock]
	ids []string
}

func (o *openRequests) add(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ids = append(o.ids, id)
}

func (o *openRequests) remove(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if at := slices.Index(o.ids, id); at >= 0 {
		o.ids = slices.Delete(o.ids, at, at+1)
	}
}

func (o *openRequests) takeAll() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := o.ids
	o.ids = nil
	return all
}

func (o *openRequests) clear() {
	o.mu.Lock()
	defer o.mu.Unlock()
	clear(o.ids)
	o.ids = o.ids[:0]
}

// noteRequest records a request of the host, or that it has withdrawn one. row is that of the
// message.
func (p *process) noteRequest(m *effect.HostMessage, row *hostmsg.Message) {
	switch {
	case m.ID == "" || !p.announced.cancels:
	case row.Waits():
		p.requests.add(m.ID)
	case row.Role == hostmsg.Withdraws:
		p.requests.remove(m.ID)
	}
}

// noteReply records that a request of the host was answered.
func (p *process) noteReply(id string) {
	if p.announced.cancels && id != "" {
		p.requests.remove(id)
	}
}

// addSteered passes to the program's records that a message from outside the program was sent. p is
// nil if the process is lost.
func (h *Hosts) addSteered(in *inbox, p *process, m *steerMessage) {
	if !in.addOwn(m.message(in.turns.request.Host), h.opts.Keeper != nil) {
		go m.notifyUnrecorded()
		return
	}
	if p != nil {
		p.reader.lease.interruptReading()
	}
}

// notifyUnrecorded notifies the sender of a message that the program's records will not contain it.
func (m *steerMessage) notifyUnrecorded() {
	if m.unrecorded != nil {
		m.unrecorded()
	}
}

// message returns the message that the records of the program receive.
func (m *steerMessage) message(host string) effect.HostMessage {
	return effect.NewSteered(&effect.SteeredNote{Key: m.Key, ID: m.ID, Host: host, Text: m.Text, Interrupt: m.Interrupt, Outcome: m.Outcome, By: m.By, Name: m.Name})
}
