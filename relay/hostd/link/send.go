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

// sender is what the goroutine knows that writes to a connection.
type sender struct {
	*session
	window  int64
	runs    map[string]*sending
	next    int // whose turn it is
	flight  int64
	results int64 // those up to this number are sent
	modern  bool  // the server has greeted
	frame   []byte

	since        time.Time // an ack was last of use, or the first event sent that waits for one
	sinceResults time.Time // likewise of results
}

// resendAfter is how long what was sent waits for its ack before it is sent again: a frame
// may have been lost though the connection lives. The server knows what it has.
const resendAfter = 10 * time.Second

// sending is a run that is sent.
type sending struct {
	at    int64              // the last seq that was sent
	first *protocol.Envelope // is to be sent before
	sent  []int64            // and not acknowledged
}

// chunk is how many events of a run are sent before it is another run's turn.
const chunk = 64

// sendAll greets, hears from where to go on, and sends until the connection ends.
func (s *session) sendAll() error {
	x := &sender{session: s, window: protocol.Window, runs: map[string]*sending{}}
	known := x.hello()
	if err := x.begin(known); err != nil {
		return err
	}
	for {
		more, err := x.round()
		if err != nil {
			return err
		}
		if more {
			continue
		}
		select {
		case <-s.wake:
		case <-s.l.o.Spool.Committed():
		case <-x.stalled():
			x.again()
		case g := <-s.greet: // late
			if err := x.resume(known, g); err != nil {
				return err
			}
		case <-s.ctx.Done():
			return context.Cause(s.ctx)
		}
	}
}

// stalled hears when what was sent has waited for too long; nil when nothing waits.
func (x *sender) stalled() <-chan time.Time {
	first := x.since
	if x.flight == 0 || x.waiting() && x.sinceResults.Before(first) {
		first = x.sinceResults
	}
	if x.flight == 0 && !x.waiting() {
		return nil
	}
	return x.l.o.Clock.After(first.Add(resendAfter).Sub(x.l.o.Clock.Now()))
}

// waiting says whether results wait for their acks.
func (x *sender) waiting() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.session.results) > 0
}

// again has all be sent again that has waited for too long.
func (x *sender) again() {
	now := x.l.o.Clock.Now()
	if x.flight > 0 && now.Sub(x.since) >= resendAfter {
		x.l.o.Log.Warn("the server does not acknowledge events: they are sent again", "events", x.flight)
		for id, s := range x.runs {
			if len(s.sent) > 0 {
				r, _ := x.l.o.Spool.Run(id)
				s.at, s.sent = r.Acked, nil
			}
		}
		x.flight = 0
	}
	if x.waiting() && now.Sub(x.sinceResults) >= resendAfter {
		x.mu.Lock()
		x.session.results = map[string][]int64{}
		x.mu.Unlock()
		x.results = 0
	}
}

// hello says who this is, and which runs there are: those that live first, as a server that
// does not hear of a run takes it for lost.
func (x *sender) hello() []spool.Run {
	o := &x.l.o
	var alive, over []spool.Run
	for _, r := range o.Spool.Runs() {
		if r.Ended {
			over = append(over, r)
		} else {
			alive = append(alive, r)
		}
	}
	known := append(alive, over...)
	known = known[:min(len(known), protocol.RunsInHello)]
	epoch := o.Spool.Epoch()
	data := protocol.HelloData{Protocol: protocol.Version, Agent: o.Agent, Name: o.Name, Features: o.Features, Instance: o.Instance, Epoch: &epoch, Runs: []protocol.RunAt{}}
	for _, r := range known {
		data.Runs = append(data.Runs, protocol.RunAt{RunID: r.ID, LastSeq: r.Last})
	}
	e := x.l.envelope(protocol.Hello, data)
	x.mu.Lock()
	x.out = append([]told{{Envelope: e}}, x.out...)
	x.mu.Unlock()
	return known
}

// begin sends the hello and waits for the server's, for a while.
func (x *sender) begin(known []spool.Run) error {
	if err := x.told(); err != nil {
		return err
	}
	select {
	case g := <-x.greet:
		return x.resume(known, g)
	case <-x.l.o.Clock.After(x.greetedWithin()):
	case <-x.ctx.Done():
		return context.Cause(x.ctx)
	}
	if x.l.greets.Load() || x.proof != nil {
		return errors.New("the server greets no more: its greeting may be lost")
	}
	x.l.note(State{Connected: true, Protocol: 1, Since: x.l.o.Clock.Now()})
	x.l.o.Log.Info("connected", "protocol", 1)
	for _, r := range known {
		after, err := x.l.o.Spool.Unanswered(x.ctx, r.ID)
		if err != nil {
			return err
		}
		x.runs[r.ID] = &sending{at: after}
	}
	return nil
}

// greetedWithin is how long the server's greeting is waited for: without one it is of the first protocol,
// which one that has to prove its key is not.
func (x *sender) greetedWithin() time.Duration {
	if x.proof != nil {
		return protocol.ProveWithin
	}
	return protocol.TakeWithin
}

// resume goes on where a server that has greeted says.
func (x *sender) resume(known []spool.Run, g greeting) error {
	if g.window > 0 {
		x.window = g.window
	}
	for _, r := range known {
		after, first, err := x.l.o.Spool.Resume(x.ctx, r.ID, g.runs[r.ID])
		if err != nil {
			return err
		}
		if first != nil {
			x.l.o.Log.Warn("the server has lost events", "run", r.ID, "from", g.runs[r.ID]+1, "to", after)
		}
		if old := x.runs[r.ID]; old != nil {
			x.flight -= int64(len(old.sent))
		}
		x.runs[r.ID] = &sending{at: after, first: first}
	}
	x.modern = true
	return nil
}

// round sends what is not kept, results, and some events of the run whose turn it is. more
// says that there may be more to send at once.
func (x *sender) round() (more bool, err error) {
	x.hear()
	if err := x.told(); err != nil {
		return false, err
	}
	if x.modern {
		if err := x.sendResults(); err != nil {
			return false, err
		}
	}
	all := x.l.o.Spool.Runs()
	for i := range all {
		r := &all[(x.next+i)%len(all)]
		sent, err := x.sendSome(r)
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

// hear takes in what the reader has heard of acks.
func (x *sender) hear() {
	x.mu.Lock()
	acks := x.acks
	x.acks = map[string]int64{}
	x.mu.Unlock()
	for run, last := range acks {
		if s := x.runs[run]; s != nil {
			n := 0
			for n < len(s.sent) && s.sent[n] <= last {
				n++
			}
			s.sent, x.flight = s.sent[n:], x.flight-int64(n)
			if n > 0 {
				x.since = x.l.o.Clock.Now()
			}
			if known, _ := x.l.o.Spool.Run(run); known.Ended && known.Acked >= known.Last && len(s.sent) == 0 {
				delete(x.runs, run)
			}
		}
	}
}

// told sends what is not kept, but for what has to wait for events.
func (x *sender) told() error {
	x.mu.Lock()
	out := x.out
	x.out = nil
	x.mu.Unlock()
	var later []told
	for i := range out {
		if x.early(&out[i]) {
			later = append(later, out[i])
			continue
		}
		if err := x.write(&out[i].Envelope); err != nil {
			return err
		}
	}
	if later != nil {
		x.mu.Lock()
		x.out = append(later, x.out...)
		x.mu.Unlock()
	}
	return nil
}

// early says that something comes after events that are about to be sent. Behind a backlog, and
// for a server that acknowledges nothing, it does not wait.
func (x *sender) early(t *told) bool {
	if t.after == 0 || x.flight >= x.window {
		return false
	}
	r, _ := x.l.o.Spool.Run(t.RunID)
	at := r.Acked
	if s := x.runs[t.RunID]; s != nil {
		at = max(at, s.at)
	}
	return at < t.after && t.after-at <= protocol.Window
}

func (x *sender) sendResults() error {
	all, err := x.l.o.Spool.Results(x.ctx, x.results)
	if err != nil {
		return err
	}
	for _, r := range all {
		x.mu.Lock()
		if len(x.session.results) == 0 {
			x.sinceResults = x.l.o.Clock.Now()
		}
		x.session.results[r.ID] = append(x.session.results[r.ID], r.N)
		x.mu.Unlock()
		e := x.l.envelope(protocol.CommandResult, r.CommandDone)
		e.RunID = r.Run
		if err := x.write(&e); err != nil {
			return err
		}
		x.results = r.N
	}
	return nil
}

// sendSome sends events of a run, as far as the window is open.
func (x *sender) sendSome(r *spool.Run) (sent bool, err error) {
	s := x.runs[r.ID]
	if s == nil {
		s = &sending{at: r.Acked}
		x.runs[r.ID] = s
	}
	room := min(chunk, x.window-x.flight)
	if room <= 0 || s.first == nil && s.at >= r.Last {
		return false, nil
	}
	if s.first != nil {
		e := *s.first
		s.first = nil
		return true, x.event(s, &e)
	}
	all, err := x.l.o.Spool.Next(x.ctx, r.ID, s.at, int(room))
	if err != nil {
		return false, err
	}
	for i := range all {
		if err := x.event(s, &all[i]); err != nil {
			return true, err
		}
	}
	return len(all) > 0, nil
}

func (x *sender) event(s *sending, e *protocol.Envelope) error {
	e.HostID = x.l.o.HostID
	s.at = e.Seq
	s.sent = append(s.sent, e.Seq)
	if x.flight++; x.flight == 1 {
		x.since = x.l.o.Clock.Now()
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
