// Package hostbudget limits what the exchanges with hosts use. It connects package host with the
// budget of a run.
package hostbudget

import (
	"context"
	"errors"
	"fmt"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime/budget"
	"github.com/concerto-lang/concerto/runtime/host"
)

// AddHost adds the limits of a host to the budget.
func AddHost(b *budget.Budget, h *host.Config) {
	l := budget.HostLimits{Section: h.Connector}
	if own := h.Bounds.Limits; own != nil {
		l.Exchange = budget.Amount{Cost: budget.Dollars(own.CostUSD), Tokens: own.Tokens}
		l.Run = budget.Amount{Cost: budget.Dollars(own.RunCostUSD), Tokens: own.RunTokens}
		l.Reserve = budget.Amount{Cost: budget.Dollars(own.ReserveUSD), Tokens: own.ReserveTokens}
		l.Turns = own.Turns
	}
	own := l
	own.Section = ""
	l.Silent = (h.Transport == "" || h.Transport == "stdio") && own == budget.HostLimits{} && h.Bounds.Prices == nil
	b.AddHost(h.Name, l)
}

// Budget implements host.Budget with the budget of a run. Cost returns the cost of an exchange in
// units of 10⁻¹² US dollars.
type Budget struct {
	Budget *budget.Budget
	Cost   func(host string, used *effect.HostUsage) int64
}

// Open implements host.Budget.
func (b Budget) Open(ctx context.Context, q *host.Opening, waits func(string)) (host.Reservation, error) {
	r := budget.Request{Host: q.Host, Key: q.Key, Release: q.Release}
	for _, outer := range q.Within {
		r.Within = append(r.Within, outer.(reservation).exchange)
	}
	ended := false // Acquire has failed
	r.Acquire = func(ctx context.Context) error {
		err := q.Acquire(ctx)
		ended = err != nil
		return err
	}
	x, err := b.Budget.OpenExchange(ctx, r, waits)
	switch {
	case err == nil:
		return reservation{x, q.Host, b}, nil
	case ended || ctx.Err() != nil:
		return nil, err
	}
	return nil, hostError(q.Host, err)
}

// Resume implements host.Budget.
func (b Budget) Resume(name, key string, used effect.HostUsage) (host.Reservation, error) {
	x, err := b.Budget.ResumeExchange(name, key, b.use(name, &used))
	return reservation{x, name, b}, err
}

// Resumed implements host.Budget.
func (b Budget) Resumed() error { return b.Budget.Resumed() }

// hostError returns the error of an exchange that did not begin or must stop.
func hostError(name string, err error) *effect.Error {
	e := effect.Errorf("HostError", "%s", err).With("host", name)
	if refused, ok := errors.AsType[*budget.Refused](err); ok {
		e.With("code", refused.Code)
	} else {
		e.Message = fmt.Sprintf("cannot start host '%s': %s", name, err)
	}
	return e
}

// reservation implements host.Reservation.
type reservation struct {
	exchange *budget.Exchange
	host     string
	in       Budget
}

// Report implements host.Reservation.
func (r reservation) Report(used effect.HostUsage) *effect.Error {
	refused := r.exchange.Report(r.in.use(r.host, &used))
	if refused == nil {
		return nil
	}
	e := hostError(r.host, refused)
	e.Status = effect.Unknown // the host may have done a part of the work
	return e
}

// Cancel implements host.Reservation.
func (r reservation) Cancel() { r.exchange.Cancel() }

// Close implements host.Reservation.
func (r reservation) Close(noCost, noTokens bool) effect.ExchangeClosed {
	x := r.exchange.Close(noCost, noTokens)
	return effect.ExchangeClosed{TokensOut: x.Tokens, CostUSD: x.Cost.USD()}
}

// use returns the use of an exchange with the cost of its tokens.
func (b Budget) use(host string, used *effect.HostUsage) budget.Use {
	return budget.Use{Cost: budget.Money(b.Cost(host, used)), In: used.TokensIn, Out: used.TokensOut, Turns: used.Turns}
}
