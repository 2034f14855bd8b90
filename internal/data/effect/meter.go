package effect

import (
	"errors"

	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/models"
)

// Meter computes what models and hosts have used from the results of effects, as a run receives or
// has recorded them. The zero value is ready for use.
type Meter struct {
	// Price returns the cost of a reply in units of 10⁻¹² US dollars, and whether it is known; nil
	// means the recorded cost.
	Price   func(*AgentReply) (cost int64, ok bool)
	open    map[int64]*Metered
	streams map[int64]*AgentCall
}

// Use is an entry of what a run has used, or an addition to an entry: of a model, or of a host.
type Use struct {
	Connection, Model, Host string
	models.Sum
	Turns int64 // of a host
}

// Metered is an open exchange.
type Metered struct {
	Host string
	HostUsage
	Proofs
	Over      bool // the exchange has received its last message, or has failed
	HasFailed bool // it has failed, or its host has sent an error
	charged   ExchangeClosed
}

// Exchange returns an open exchange by its number, or nil.
func (m *Meter) Exchange(id int64) *Metered { return m.open[id] }

// Failed reports whether the host, or the last gate of the exchange, has failed.
func (x *Metered) Failed() bool { return x.HasFailed || x.Failure != "" && x.Over }

// Use returns what the exchange has used so far. Messages contain the cost of tokens that have
// prices.
func (x *Metered) Use() Use {
	u := Use{Host: x.Host, Turns: x.Turns}
	u.Sum = models.Sum{Exchanges: 1, TokensIn: x.TokensIn, TokensOut: x.TokensOut + x.charged.TokensOut, Cost: x.Picodollars(nil) + picodollars(x.charged.CostUSD)}
	u.Cached = x.TokensCached
	if x.Failed() {
		u.FailedExchanges = 1
	}
	if x.charged != (ExchangeClosed{}) {
		u.Estimated = 1
	}
	return u
}

// minus returns what has been added since before.
func (u Use) minus(before *Use) Use {
	u.Exchanges -= before.Exchanges
	u.FailedExchanges -= before.FailedExchanges
	u.TokensIn -= before.TokensIn
	u.TokensOut -= before.TokensOut
	u.Cached -= before.Cached
	u.Estimated -= before.Estimated
	u.Cost -= before.Cost
	u.Turns -= before.Turns
	return u
}

// Add counts the result of an effect, and calls each with what it adds.
func (m *Meter) Add(q Request, r Result, err error, each func(Use)) {
	if errors.Is(err, ErrWaits) {
		return // the effect will be performed again
	}
	switch q := q.(type) {
	case *AgentCall:
		reply, _ := r.(*AgentReply)
		m.addCall(q, reply, err, each)
	case *StreamOpen:
		if opened, ok := r.(*StreamOpened); ok && err == nil {
			if m.streams == nil {
				m.streams = map[int64]*AgentCall{}
			}
			m.streams[opened.ID] = &q.AgentCall
			return
		}
		m.addCall(&q.AgentCall, nil, err, each)
	case *StreamNext:
		piece, _ := r.(*StreamPiece)
		if call := m.streams[q.ID]; call != nil && (err != nil || piece != nil && piece.Reply != nil) {
			delete(m.streams, q.ID)
			var reply *AgentReply
			if err == nil {
				reply = piece.Reply
			}
			m.addCall(call, reply, err, each)
		}
	case *StreamClose:
		if closed, ok := r.(*StreamClosed); ok && m.streams[q.ID] != nil {
			addFailed(closed.Failed, each)
		}
		delete(m.streams, q.ID)
	default:
		m.addExchange(q, r, err, each)
	}
}

// addCall counts the attempts at a call of a model that has ended.
func (m *Meter) addCall(q *AgentCall, reply *AgentReply, err error, each func(Use)) {
	var failed []Attempt
	switch e, ok := errors.AsType[*Error](err); {
	case reply != nil && err == nil:
		failed = reply.Failed
	case ok:
		failed = e.Attempts
	case err != nil: // the call was cancelled
		failed = []Attempt{{Connection: q.Connection, Model: q.Model}}
	}
	addFailed(failed, each)
	if reply != nil && err == nil {
		cost, ok := reply.Picodollars(), !reply.Unpriced
		if m.Price != nil {
			cost, ok = m.Price(reply)
		}
		each(Use{Connection: reply.Provider, Model: reply.Model, Sum: reply.Sum(cost, ok)})
	}
}

func addFailed(failed []Attempt, each func(Use)) {
	for i := range failed {
		if x := failed[i].Sum(); x.Calls > 0 {
			each(Use{Connection: failed[i].Connection, Model: failed[i].Model, Sum: x})
		}
	}
}

// addExchange counts the result of an effect of an exchange.
func (m *Meter) addExchange(q Request, r Result, err error, each func(Use)) {
	if q, ok := q.(*ExchangeOpen); ok {
		if opened, ok := r.(*ExchangeOpened); ok && err == nil {
			if m.open == nil {
				m.open = map[int64]*Metered{}
			}
			x := &Metered{Host: q.Host}
			m.open[opened.ID] = x
			each(x.Use())
		}
		return
	}
	n, ok := q.(Numbered)
	if !ok {
		return
	}
	x := m.open[*n.Number()]
	if x == nil {
		return
	}
	before := x.Use()
	switch q := q.(type) {
	case *ExchangeNext:
		x.receive(r, err)
	case *ExchangeContinue:
		x.Over, x.HasFailed = x.Over && err != nil, x.HasFailed && err != nil
	case *ExchangeGate:
		if o, ok := r.(*GateOutput); ok && err == nil {
			x.Proofs.Add(q, o)
		}
	case *ExchangeClose:
		delete(m.open, q.ID)
		if closed, ok := r.(*ExchangeClosed); ok && closed != nil {
			x.charged = *closed
		}
	default:
		return
	}
	if now := x.Use(); now != before {
		each(now.minus(&before))
	}
}

// receive counts messages of the host, or the failure of the exchange.
func (x *Metered) receive(r Result, err error) {
	if _, ok := errors.AsType[*Error](err); ok {
		x.Over, x.HasFailed = true, true
		return
	}
	all, ok := r.(*ExchangeMessages)
	if !ok || err != nil {
		return // the exchange was cancelled
	}
	for i := range all.Messages {
		x.AddMessage(&all.Messages[i]) // the performer has logged an invalid total
		if row := hostmsg.Lookup(all.Messages[i].Type); row.Terminal() {
			x.Over, x.HasFailed = true, row.Role == hostmsg.Fails
		}
	}
}
