package link

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coder/websocket"

	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// sender is the state of the goroutine that writes to a connection.
type sender struct {
	*session
	window     int64
	runs       map[string]*runCursor
	next       int // index of the run whose events are sent next
	inFlight   int64
	sentResult int64 // number up to which results are sent
	welcomed   bool  // the server has sent a welcome on this connection
	frame      []byte

	progressAt       time.Time // time of the last acknowledgement that made progress, or of sending the first unacknowledged event
	resultProgressAt time.Time // the corresponding time for results
}

// resendAfter is the time after which unacknowledged events are sent again, because a frame can be
// lost although the connection stays open. The server ignores duplicates.
const resendAfter = 10 * time.Second

// runCursor is the position up to which the events of a run are sent.
type runCursor struct {
	sentSeq int64              // last sent sequence number
	first   *protocol.Envelope // an event that must be sent before the others; nil if there is none
	unacked []int64            // sequence numbers that are sent but not acknowledged
}

// eventsPerTurn is the number of events that are sent of one run before it is the next run's turn.
const eventsPerTurn = 64

// sendAll sends the hello and waits for the welcome. Then it sends messages until the connection
// closes.
func (s *session) sendAll() error {
	x := &sender{session: s, window: protocol.Window, runs: map[string]*runCursor{}}
	runs := x.queueHello()
	if err := x.handshake(runs); err != nil {
		return err
	}
	for {
		more, err := x.sendRound()
		if err != nil {
			return err
		}
		if more {
			continue
		}
		select {
		case <-s.wake:
		case <-s.l.o.Spool.Committed():
		case <-x.resendTimer():
			x.resendStalled()
		case g := <-s.welcomes: // the welcome arrived after the timeout
			if err := x.resume(runs, g); err != nil {
				return err
			}
		case <-s.ctx.Done():
			return context.Cause(s.ctx)
		}
	}
}

// resendTimer returns a channel that fires when something must be sent again. It returns nil if
// everything is acknowledged.
func (x *sender) resendTimer() <-chan time.Time {
	first := x.progressAt
	if x.inFlight == 0 || x.hasUnackedResults() && x.resultProgressAt.Before(first) {
		first = x.resultProgressAt
	}
	if x.inFlight == 0 && !x.hasUnackedResults() {
		return nil
	}
	return x.l.o.Clock.After(first.Add(resendAfter).Sub(x.l.o.Clock.Now()))
}

// hasUnackedResults reports whether sent results are not acknowledged yet.
func (x *sender) hasUnackedResults() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.session.results) > 0
}

// resendStalled resets the positions of events and results that were not acknowledged in time. They
// are then sent again.
func (x *sender) resendStalled() {
	now := x.l.o.Clock.Now()
	if x.inFlight > 0 && now.Sub(x.progressAt) >= resendAfter {
		x.l.o.Log.Warn("the server does not acknowledge events: sending them again", "events", x.inFlight)
		for id, s := range x.runs {
			if len(s.unacked) > 0 {
				r, _ := x.l.o.Spool.Run(id)
				s.sentSeq, s.unacked = r.Acked, nil
			}
		}
		x.inFlight = 0
	}
	if x.hasUnackedResults() && now.Sub(x.resultProgressAt) >= resendAfter {
		x.mu.Lock()
		x.session.results = map[string][]int64{}
		x.mu.Unlock()
		x.sentResult = 0
	}
}

// queueHello queues the hello with a list of runs, and returns these runs. Live runs are first in
// the list, because the server considers a run lost that is not in the list.
func (x *sender) queueHello() []spool.Run {
	o := &x.l.o
	var alive, over []spool.Run
	for _, r := range o.Spool.Runs() {
		if r.Ended {
			over = append(over, r)
		} else {
			alive = append(alive, r)
		}
	}
	runs := append(alive, over...)
	runs = runs[:min(len(runs), protocol.RunsInHello)]
	epoch, name := o.Spool.Epoch(), o.Name
	if o.Sealed() { // devices read it in the key records
		name = ""
	}
	data := protocol.HelloData{Protocol: protocol.Version, Agent: o.Agent, Name: name, Features: o.Features, Instance: o.Instance, Epoch: &epoch, Runs: []protocol.RunAt{}, Account: o.Account()}
	for _, r := range runs {
		data.Runs = append(data.Runs, protocol.RunAt{RunID: r.ID, LastSeq: r.Last})
	}
	e := x.l.envelope(protocol.Hello, data)
	x.mu.Lock()
	x.queue = append([]queuedMessage{{Envelope: e}}, x.queue...)
	x.mu.Unlock()
	return runs
}

// handshake sends the hello and waits for the welcome, for at most welcomeTimeout.
func (x *sender) handshake(runs []spool.Run) error {
	if err := x.sendQueued(); err != nil {
		return err
	}
	select {
	case g := <-x.welcomes:
		return x.resume(runs, g)
	case <-x.l.o.Clock.After(x.welcomeTimeout()):
	case <-x.ctx.Done():
		return context.Cause(x.ctx)
	}
	switch {
	case x.l.welcomed.Load() || x.proof != nil:
		return errors.New("the server sent no welcome in time")
	case x.l.o.Sealed():
		return errSealed
	}
	x.l.setState(State{Connected: true, Protocol: 1, Since: x.l.o.Clock.Now()})
	x.l.o.Log.Info("connected", "protocol", 1)
	for _, r := range runs {
		after, err := x.l.o.Spool.ResumeUnreported(x.ctx, r.ID)
		if err != nil {
			return err
		}
		x.runs[r.ID] = &runCursor{sentSeq: after}
	}
	return nil
}

// welcomeTimeout returns how long to wait for the welcome. A server that sends none is assumed to
// speak protocol 1, unless it must prove its key.
func (x *sender) welcomeTimeout() time.Duration {
	if x.proof != nil {
		return protocol.ProofTimeout
	}
	return protocol.HelloTimeout
}

// resume sets the positions at which the server requests events.
func (x *sender) resume(runs []spool.Run, g resumePoint) error {
	if g.window > 0 {
		x.window = g.window
	}
	for _, r := range runs {
		after, first, err := x.l.o.Spool.Resume(x.ctx, r.ID, g.runs[r.ID])
		if err != nil {
			return err
		}
		if first != nil {
			x.l.o.Log.Warn("the server has lost events", "run", r.ID, "from", g.runs[r.ID]+1, "to", after)
		}
		if old := x.runs[r.ID]; old != nil {
			x.inFlight -= int64(len(old.unacked))
		}
		x.runs[r.ID] = &runCursor{sentSeq: after, first: first}
	}
	x.welcomed = true
	return nil
}

// sendRound sends the queued messages, the results, and some events of one run. more reports
// whether there may be more to send at once.
func (x *sender) sendRound() (more bool, err error) {
	x.applyAcks()
	if err := x.sendQueued(); err != nil {
		return false, err
	}
	if x.welcomed {
		if err := x.sendResults(); err != nil {
			return false, err
		}
	}
	all := x.l.o.Spool.Runs()
	for i := range all {
		r := &all[(x.next+i)%len(all)]
		sent, err := x.sendEvents(r)
		if err != nil {
			return false, err
		}
		if sent {
			x.next = (x.next + i + 1) % len(all)
			return true, nil
		}
	}
	return false, nil
}

// applyAcks applies the acknowledgements that the reader has received.
func (x *sender) applyAcks() {
	x.mu.Lock()
	acks := x.acks
	x.acks = map[string]int64{}
	x.mu.Unlock()
	for run, last := range acks {
		if s := x.runs[run]; s != nil {
			n := 0
			for n < len(s.unacked) && s.unacked[n] <= last {
				n++
			}
			s.unacked, x.inFlight = s.unacked[n:], x.inFlight-int64(n)
			if n > 0 {
				x.progressAt = x.l.o.Clock.Now()
			}
			if stored, _ := x.l.o.Spool.Run(run); stored.Ended && stored.Acked >= stored.Last && len(s.unacked) == 0 {
				delete(x.runs, run)
			}
		}
	}
}

// sendQueued sends the queued messages, except those that must wait for events.
func (x *sender) sendQueued() error {
	x.mu.Lock()
	out := x.queue
	x.queue = nil
	x.mu.Unlock()
	var later []queuedMessage
	for i := range out {
		if x.mustWait(&out[i]) {
			later = append(later, out[i])
			continue
		}
		if err := x.write(&out[i].Envelope); err != nil {
			return err
		}
	}
	if later != nil {
		x.mu.Lock()
		x.queue = append(later, x.queue...)
		x.mu.Unlock()
	}
	return nil
}

// mustWait reports whether a message must wait for events that are sent before it. A message does
// not wait for a long backlog, or for a server that acknowledges no events.
func (x *sender) mustWait(t *queuedMessage) bool {
	if t.after == 0 || x.inFlight >= x.window {
		return false
	}
	r, _ := x.l.o.Spool.Run(t.RunID)
	at := r.Acked
	if s := x.runs[t.RunID]; s != nil {
		at = max(at, s.sentSeq)
	}
	return at < t.after && t.after-at <= protocol.Window
}

func (x *sender) sendResults() error {
	all, err := x.l.o.Spool.Results(x.ctx, x.sentResult)
	if err != nil {
		return err
	}
	for _, r := range all {
		x.mu.Lock()
		if len(x.session.results) == 0 {
			x.resultProgressAt = x.l.o.Clock.Now()
		}
		x.session.results[r.ID] = append(x.session.results[r.ID], r.N)
		x.mu.Unlock()
		e := x.l.envelope(protocol.CommandResult, r.CommandDone)
		e.RunID = r.Run
		if err := x.write(&e); err != nil {
			return err
		}
		x.sentResult = r.N
	}
	return nil
}

// sendEvents sends events of a run, at most as many as the window allows. sent reports whether it
// has sent any.
func (x *sender) sendEvents(r *spool.Run) (sent bool, err error) {
	s := x.runs[r.ID]
	if s == nil {
		s = &runCursor{sentSeq: r.Acked}
		x.runs[r.ID] = s
	}
	room := min(eventsPerTurn, x.window-x.inFlight)
	if room <= 0 || s.first == nil && s.sentSeq >= r.Last {
		return false, nil
	}
	if s.first != nil {
		e := *s.first
		s.first = nil
		return true, x.sendEvent(s, &e)
	}
	all, err := x.l.o.Spool.Next(x.ctx, r.ID, s.sentSeq, int(room))
	if err != nil {
		return false, err
	}
	for i := range all {
		if err := x.sendEvent(s, &all[i]); err != nil {
			return true, err
		}
	}
	return len(all) > 0, nil
}

func (x *sender) sendEvent(s *runCursor, e *protocol.Envelope) error {
	e.MachineID = x.l.o.MachineID
	s.sentSeq = e.Seq
	s.unacked = append(s.unacked, e.Seq)
	if x.inFlight++; x.inFlight == 1 {
		x.progressAt = x.l.o.Clock.Now()
	}
	return x.write(e)
}

func (x *sender) write(e *protocol.Envelope) error {
	x.frame = e.Append(x.frame[:0])
	if err := x.conn.Write(x.ctx, websocket.MessageText, x.frame); err != nil {
		return fmt.Errorf("send to the server: %w", err)
	}
	return nil
}
