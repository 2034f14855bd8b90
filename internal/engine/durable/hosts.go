package durable

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/runtime/host"
	"github.com/concerto-lang/concerto/runtime/host/continuity"
)

// Hosts are the run's hosts, whose processes continue after the run's process has exited.
type Hosts interface {
	// Resume restores the open exchanges of an earlier process.
	Resume(ctx context.Context, open []host.Open) error
	// AckJournaled reports that the lines of an exchange up to the given number are in the journal.
	AckJournaled(exchange, line int64)
}

// openExchanges contains the run's open exchanges.
type openExchanges struct {
	hosts  Hosts // nil if the hosts exit together with this process
	steers steers
	lines  hostLines

	mu  sync.Mutex
	all map[int64]*host.Open // by number of the effect that opened the exchange
	// written maps each exchange to the number of its last line that the journal's next flush
	// writes.
	written map[int64]int64
}

func (t *openExchanges) init() {
	t.all, t.written = map[int64]*host.Open{}, map[int64]int64{}
}

// SetHosts sets the hosts. It must be called before the run begins.
func (r *Run) SetHosts(h Hosts) { r.talks.hosts = h }

// recordOpening adds the exchange that an effect is about to open.
func (t *openExchanges) recordOpening(f *inFlight, q effect.Request) {
	if open, ok := q.(*effect.ExchangeOpen); ok && f.begin != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.all[f.e] = &host.Open{ID: f.e, Request: open, Since: time.UnixMilli(f.begin.Time), History: &continuity.History{}}
	}
}

// recordEnd updates the exchange that an effect has opened, used or closed.
func (t *openExchanges) recordEnd(r *Run, e int64, q effect.Request, result effect.Result, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch q := q.(type) {
	case *effect.ExchangeOpen:
		opened, ok := result.(*effect.ExchangeOpened)
		if open := t.all[e]; open != nil && ok && err == nil {
			open.Opened = opened
			open.History.RecordOpened(opened)
		} else {
			delete(t.all, e)
		}
	case *effect.ExchangeNext:
		if m, ok := result.(*effect.ExchangeMessages); ok && err == nil {
			t.recordMessages(q.ID, m)
		}
	case *effect.ExchangeReply:
		if open := t.all[q.ID]; open != nil && err == nil {
			open.Replies = append(open.Replies, q)
			open.History.RecordReply(q)
		}
	case *effect.ExchangeSteer:
		open := t.all[q.ID]
		if s, ok := result.(*effect.ExchangeSteered); ok && open != nil && err == nil {
			open.Steered = append(open.Steered, host.Steered{Key: r.effectKey(e), ID: s.ID, Text: q.Text, Interrupt: q.Interrupt, Outcome: s.Outcome})
		}
	case *effect.ExchangeContinue:
		open := t.all[q.ID]
		if s, ok := result.(*effect.ExchangeSteered); ok && open != nil && err == nil {
			open.Steered = append(open.Steered, host.Steered{Key: r.effectKey(e), ID: s.ID, Text: q.Prompt, Outcome: s.Outcome})
			open.History.RecordContinued(s.ID)
		}
	case *effect.ExchangeClose:
		delete(t.all, q.ID)
	}
}

// recordMessages adds messages of a host to the exchange that effect e has opened.
func (t *openExchanges) recordMessages(e int64, m *effect.ExchangeMessages) {
	open := t.all[e]
	if open == nil {
		return
	}
	for i := range m.Messages {
		if n := m.Messages[i].Steering(); n != nil {
			open.Steered = append(open.Steered, host.Steered{Key: n.Key, ID: n.ID, Text: n.Text, Interrupt: n.Interrupt, Outcome: n.Outcome, Outside: true})
		}
	}
	open.History.RecordMessages(m)
	if m.Lines != nil {
		open.Line = m.Lines.Last()
		if len(m.Lines.Text) > 0 {
			t.written[e] = open.Line
		}
	}
}

// resumeHosts passes the open exchanges to the hosts at the end of the replay.
func (r *Run) resumeHosts() error {
	t := &r.talks
	if t.hosts == nil {
		return nil
	}
	var open []host.Open
	for _, o := range t.all {
		x, used := *o, r.meter.Exchange(o.ID)
		if used != nil {
			x.Used, x.Over = used.HostUsage, used.Over
		}
		if x.Key = r.effectKey(x.ID); x.ID <= forkedAt(r.c.History) {
			x.History = nil // its conversation belongs to the other run
		}
		open = append(open, x)
	}
	slices.SortFunc(open, func(a, b host.Open) int { return int(a.ID - b.ID) })
	if err := t.hosts.Resume(context.Background(), open); err != nil {
		return err
	}
	for _, o := range open {
		if o.Opened != nil {
			r.numbers.setReal(effect.KindExchangeNext, o.ID, o.ID)
		}
	}
	return nil
}

// forkedAt returns the last effect that a fork has in common with the run of which it is one, or 0.
func forkedAt(h *journal.History) int64 {
	if h != nil && h.Records[0].Fork != nil {
		return h.Records[0].Fork.At
	}
	return 0
}

// flushed reports to the hosts which of their lines were written to the journal.
func (r *Run) flushed(lines map[int64]int64) {
	for e, line := range lines {
		if real, ok := r.numbers.realNumber(effect.KindExchangeNext, e); ok {
			r.talks.hosts.AckJournaled(real, line)
		}
	}
}

// takeWritten returns the numbers for the next flush and resets them; see written.
func (t *openExchanges) takeWritten() map[int64]int64 {
	if t.hosts == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.written) == 0 {
		return nil
	}
	lines := t.written
	t.written = map[int64]int64{}
	return lines
}
