package host

import (
	"context"
	"fmt"
	"maps"
	"sync/atomic"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
)

// Bounds holds the manifest's keys that limit the resources of a host's processes and what its
// exchanges use.
type Bounds struct {
	Limits *Limits        `json:"limits"`
	Prices *effect.Prices `json:"prices"` // of the tokens of a host that reports no cost; nil for none
}

// Limits contains [hosts.X.limits]; 0 means no limit.
type Limits struct {
	procgroup.Limits         // of each process
	CostUSD          float64 `json:"cost_usd"` // of an exchange
	Tokens           int64   `json:"tokens"`   // of an exchange
	Turns            int64   `json:"turns"`    // of an exchange
	RunCostUSD       float64 `json:"run_cost_usd"`
	RunTokens        int64   `json:"run_tokens"`
	ReserveUSD       float64 `json:"reserve_usd"`    // reserved at once; 0 means CostUSD
	ReserveTokens    int64   `json:"reserve_tokens"` // reserved at once; 0 means Tokens
}

// check returns an error if values contradict each other.
func (l *Limits) check() error {
	if l == nil {
		return nil
	}
	for _, n := range []struct {
		key     string
		reserve float64
		limit   string
		most    float64
	}{
		{"reserve_usd", l.ReserveUSD, "cost_usd", l.CostUSD}, {"reserve_usd", l.ReserveUSD, "run_cost_usd", l.RunCostUSD},
		{"reserve_tokens", float64(l.ReserveTokens), "tokens", float64(l.Tokens)}, {"reserve_tokens", float64(l.ReserveTokens), "run_tokens", float64(l.RunTokens)},
	} {
		if n.most > 0 && n.reserve > n.most {
			return fmt.Errorf("%s of its limits is greater than %s, so no exchange could start", n.key, n.limit)
		}
	}
	return nil
}

// restrict adds limits of each process; the stricter ones apply.
func (b *Bounds) restrict(l *procgroup.Limits) {
	if !l.Any() {
		return
	}
	if b.Limits == nil {
		b.Limits = &Limits{}
	}
	b.Limits.Limits = *procgroup.Stricter(&b.Limits.Limits, l)
}

// process returns the limits of each process, or nil if there are none.
func (b *Bounds) process() *procgroup.Limits {
	if b.Limits == nil || !b.Limits.Any() {
		return nil
	}
	return &b.Limits.Limits
}

// Budget limits what exchanges use. It is safe for concurrent use.
type Budget interface {
	// Open reserves what an exchange may use. It waits while other exchanges hold what it needs,
	// and calls waits once with the reason. The error is a *effect.Error that the program receives,
	// ctx's error, or that of Acquire.
	Open(ctx context.Context, q *Opening, waits func(why string)) (Reservation, error)
	// Resume reserves for an exchange that an earlier process has begun. used is what the run has
	// recorded.
	Resume(host, key string, used effect.HostUsage) (Reservation, error)
	// Resumed is called after Resume was called for each open exchange.
	Resumed() error
}

// Opening describes an exchange that is about to begin. Within are the reservations of exchanges
// that cannot end before this one. Open calls Acquire before each attempt to reserve, and Release
// before it waits and before it fails.
type Opening struct {
	Host, Key string
	Within    []Reservation
	Acquire   func(ctx context.Context) error
	Release   func()
}

// Reservation is what an exchange may use.
type Reservation interface {
	// Report sets what the exchange has used so far. The result is the error with which the
	// exchange must stop, or nil.
	Report(used effect.HostUsage) *effect.Error
	// Close ends the reservation. noCost and noTokens are true if the host has ended the exchange
	// without a report of its cost, or of its tokens. The result is what is counted instead.
	Close(noCost, noTokens bool) effect.ExchangeClosed
	// Cancel ends the reservation of an exchange that has not begun.
	Cancel()
}

// meter counts what an exchange uses. The reader of the exchange's process calls readMessage. A nil
// meter does nothing.
type meter struct {
	reservation Reservation
	hasCost     atomic.Bool // the host has reported a cost, or tokens that have prices
	hasTokens   atomic.Bool // the host has reported tokens
	used        effect.HostUsage
	warned      bool // an invalid report was logged
	charged     atomic.Pointer[effect.ExchangeClosed]
}

// openSlot waits for a slot of the host and reserves what the exchange of a request may use. at is
// its waiter in the host's queue.
func (h *Hosts) openSlot(ctx context.Context, r *effect.ExchangeOpen, at *waiter) (s *slot, m *meter, err error) {
	pool := h.pools[r.Host]
	acquire := func(ctx context.Context) (err error) {
		if at == nil {
			at = pool.enqueueWaiter(specOf(r))
		}
		s, err = pool.awaitSlot(ctx, at)
		at = nil
		return err
	}
	if h.opts.Budget == nil {
		err = acquire(ctx)
		return s, nil, err
	}
	ctx, cancel := h.closing.bound(ctx)
	defer cancel()
	waits := func(why string) { h.logf("info", pool.cfg, "%s", why) }
	q := &Opening{Host: r.Host, Key: effect.KeyOf(ctx), Acquire: acquire, Release: func() { pool.releaseSlot(s) }}
	for _, id := range r.Within {
		if ex, err := h.lookupExchange(id); err == nil && ex.inbox.meter != nil {
			q.Within = append(q.Within, ex.inbox.meter.reservation)
		}
	}
	reservation, err := h.opts.Budget.Open(ctx, q, waits)
	if err != nil {
		return nil, nil, err
	}
	return s, &meter{reservation: reservation}, nil
}

// resumeMeter reserves for an exchange that an earlier Concerto process has begun.
func (ex *exchange) resumeMeter(o *Open) {
	h := ex.pool.hosts
	if h.opts.Budget == nil {
		return
	}
	reservation, err := h.opts.Budget.Resume(o.Request.Host, o.Key, o.Used)
	if err != nil {
		h.logf("warn", ex.pool.cfg, "continues an exchange whose reservation is not stored: %v", err)
	}
	ex.inbox.meter = &meter{reservation: reservation, used: o.Used}
	ex.inbox.meter.noteReported(ex.pool.cfg.Bounds.Prices)
}

// readMessage counts the totals in a message. It returns the error with which the exchange must
// stop, or nil.
func (t *meter) readMessage(m *effect.HostMessage, p *process) *effect.Error {
	if t == nil {
		return nil
	}
	changed, invalid := t.used.AddMessage(m)
	if invalid != "" && !t.warned {
		t.warned = true
		p.hosts.logf("warn", p.cfg, "reported a value that cannot be true and is ignored: %s", invalid)
	}
	switch m.Type {
	case hostmsg.Result, hostmsg.Progress:
		if changed {
			t.addEstimate(m, p)
		}
	case hostmsg.Error:
		t.addPlanLimit(m)
	}
	if !changed {
		return nil
	}
	t.noteReported(p.cfg.Bounds.Prices)
	return t.reservation.Report(t.used)
}

func (t *meter) noteReported(prices *effect.Prices) {
	tokens := t.used.Tokens() > 0
	t.hasTokens.Store(tokens)
	t.hasCost.Store(t.used.Priced || t.used.EstimateUSD > 0 || tokens && prices != nil)
}

// planLimitCode is the code of an exchange that has failed after a limit of the host's plan was
// reached.
const planLimitCode = "plan_limit"

// addPlanLimit adds to an error message that a limit of the host's plan was reached.
func (t *meter) addPlanLimit(m *effect.HostMessage) {
	if all := m.Payload.Map(); all != nil && t.used.PlanReached {
		all.SetString("code", value.String(planLimitCode))
		if t.used.WaitUntil > 0 {
			all.SetString("wait_until", value.Int(t.used.WaitUntil))
		}
	}
}

// withPlanLimit returns an error without a code as the error of an exchange that has reached a
// limit of the host's plan, if it has reached one. The reader of the exchange's process calls it.
func (t *meter) withPlanLimit(e *effect.Error) *effect.Error {
	if t == nil || !t.used.PlanReached || e.Fields["code"] != nil {
		return e
	}
	limited := *e
	limited.Fields = maps.Clone(e.Fields)
	limited.With("code", planLimitCode)
	if t.used.WaitUntil > 0 {
		limited.With("wait_until", t.used.WaitUntil)
	}
	return &limited
}

// addEstimate adds the cost of the tokens to a message of a host that has not reported a cost.
func (t *meter) addEstimate(m *effect.HostMessage, p *process) {
	if t == nil {
		return
	}
	prices := p.cfg.Bounds.Prices
	if prices == nil || t.used.Priced || t.used.Tokens() == 0 {
		return
	}
	m.Payload.Map().SetString("cost_usd", value.Float(float64(t.used.Picodollars(prices))/models.Dollar))
	m.Payload.Map().SetString("cost_estimated", value.Bool(true))
}

// closeMeter ends the exchange's reservation. It remains if the run is suspended.
func (ex *exchange) closeMeter() {
	if t := ex.inbox.meter; t != nil && !ex.pool.hosts.suspended.Load() {
		ended := ex.inbox.hasEnded()
		charged := t.reservation.Close(ended && !t.hasCost.Load(), ended && !t.hasTokens.Load())
		t.charged.Store(&charged)
	}
}

// closed returns what is counted for the exchange in addition to the reports of its host, or nil
// if it is nothing or the exchange has not ended.
func (t *meter) closed() effect.Result {
	if t == nil {
		return nil
	}
	if x := t.charged.Load(); x != nil && *x != (effect.ExchangeClosed{}) {
		return x
	}
	return nil
}

// stopAtLimit fails the exchange because it has used what a limit allows. A host that supports
// cancellation receives a cancel message and cancel_grace to end; its process is then ended. The
// messages that the host has sent before remain.
func (ex *exchange) stopAtLimit(failure *effect.Error) {
	p := ex.currentProcess()
	if p != nil {
		p.addContext(failure)
	}
	if !ex.inbox.failAtLimit(failure) {
		return
	}
	ex.cancelWaits()
	if p != nil {
		reason, _ := failure.Fields["code"].(string)
		p.cancelWithin(reason, ex.pool.cfg.cancelGrace())
	}
	ex.releaseSlot()
}
