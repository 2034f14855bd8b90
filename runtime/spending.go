package runtime

import (
	"context"
	"errors"
	"fmt"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime/budget"
	"github.com/concerto-lang/concerto/runtime/budget/spent"
	"github.com/concerto-lang/concerto/runtime/host"
)

// DayLimits limits what all runs with the same file use on a day; 0 means no limit. File is the
// open file; nil means that nothing is stored. The runtime closes it.
type DayLimits struct {
	File    *spent.File
	Tokens  int64
	CostUSD float64
}

// makeBudget returns the budget of a run.
func (c *Config) makeBudget() *budget.Budget {
	b := budget.NewBudget(c.Bounds.MaxTokens, c.Bounds.MaxCost)
	if day := &c.Bounds.Day; day.File != nil {
		b.SetDay(day.File, budget.Amount{Cost: budget.Dollars(day.CostUSD), Tokens: day.Tokens})
	}
	for i := range c.Hosts {
		addHost(b, &c.Hosts[i])
	}
	return b
}

// addHost adds the limits of a host to the budget.
func addHost(b *budget.Budget, h *host.Config) {
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

// hostBudget implements host.Budget with the budget of the run.
type hostBudget struct {
	budget  *budget.Budget
	parties *Parties
}

// Open implements host.Budget.
func (b hostBudget) Open(ctx context.Context, q *host.Opening, waits func(string)) (host.Reservation, error) {
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
	x, err := b.budget.OpenExchange(ctx, r, waits)
	switch {
	case err == nil:
		return reservation{x, q.Host, b.parties}, nil
	case ended || ctx.Err() != nil:
		return nil, err
	}
	return nil, hostError(q.Host, err)
}

// Resume implements host.Budget.
func (b hostBudget) Resume(name, key string, used effect.HostUsage) (host.Reservation, error) {
	x, err := b.budget.ResumeExchange(name, key, b.parties.use(name, &used))
	return reservation{x, name, b.parties}, err
}

// Resumed implements host.Budget.
func (b hostBudget) Resumed() error { return b.budget.Resumed() }

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
	parties  *Parties
}

// Report implements host.Reservation.
func (r reservation) Report(used effect.HostUsage) *effect.Error {
	refused := r.exchange.Report(r.parties.use(r.host, &used))
	if refused == nil {
		return nil
	}
	e := hostError(r.host, refused)
	e.Status = effect.Unknown // the host may have done a part of the work
	return e
}

// Close implements host.Reservation.
func (r reservation) Close(silent bool) { r.exchange.Close(silent) }

// use returns the use of an exchange with the cost of its tokens.
func (c *Parties) use(host string, used *effect.HostUsage) budget.Use {
	return budget.Use{Cost: budget.Money(c.HostCost(host, used)), In: used.TokensIn, Out: used.TokensOut, Turns: used.Turns}
}

// HostCost returns the cost of an exchange in units of 10⁻¹² US dollars.
func (c *Parties) HostCost(host string, used *effect.HostUsage) int64 {
	var prices *effect.Prices
	for i := range c.Hosts {
		if c.Hosts[i].Name == host {
			prices = c.Hosts[i].Bounds.Prices
		}
	}
	return used.Picodollars(prices)
}

// HostCost returns the cost of an exchange in units of 10⁻¹² US dollars.
func (r *Runtime) HostCost(host string, used *effect.HostUsage) int64 {
	return r.parties.HostCost(host, used)
}

// UsedByHost counts what a host has used in earlier processes of the run. cost is in units of 10⁻¹²
// US dollars.
func (r *Runtime) UsedByHost(host string, exchanges, cost, in, out, turns int64) {
	r.budget.ChargeHost(host, exchanges, budget.Use{Cost: budget.Money(cost), In: in, Out: out, Turns: turns})
}

// HostUsage returns what each host has used in the run so far.
func (r *Runtime) HostUsage() []budget.HostUsage { return r.budget.HostUsage() }
