package runtime

import (
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/runtime/budget"
	"github.com/concerto-lang/concerto/runtime/budget/spent"
	"github.com/concerto-lang/concerto/runtime/hostbudget"
	"github.com/concerto-lang/concerto/runtime/llm"
)

// DayLimits limits what all runs with the same file use on a day; 0 means no limit. File is the
// open file; nil means that nothing is stored. The runtime closes it.
type DayLimits struct {
	File    *spent.File
	Tokens  int64
	CostUSD float64
}

// Shared is what runtimes with the same configuration may share: the limits on tokens and costs,
// and the rate limits and network connections of models.
type Shared struct {
	Budget *budget.Budget
	pool   *llm.Pool
}

// NewShared returns a Shared for runtimes with a configuration.
func NewShared(c *Config) *Shared { return &Shared{c.makeBudget(), &llm.Pool{}} }

// Close closes the network connections that are not in use.
func (s *Shared) Close() { s.pool.Close() }

// models returns the pool of models; nil means that nothing is shared.
func (s *Shared) models() *llm.Pool {
	if s == nil {
		return nil
	}
	return s.pool
}

// makeBudget returns the budget of a run.
func (c *Config) makeBudget() *budget.Budget {
	b := budget.NewBudget(c.Bounds.MaxTokens, c.Bounds.MaxCost)
	b.CostLimit = c.Bounds.CostLimit
	if day := &c.Bounds.Day; day.File != nil {
		b.SetDay(day.File, budget.Amount{Cost: budget.Dollars(day.CostUSD), Tokens: day.Tokens})
	}
	for i := range c.Hosts {
		hostbudget.AddHost(b, &c.Hosts[i])
	}
	return b
}

// hostBudget returns the limits of the hosts' exchanges.
func (r *Runtime) hostBudget() hostbudget.Budget {
	return hostbudget.Budget{Budget: r.budget, Cost: r.parties.HostCost}
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

// Price returns the cost of a recorded reply; see Parties.Cost.
func (r *Runtime) Price(reply *effect.AgentReply) (cost int64, ok bool) { return r.parties.Cost(reply) }

// Charge counts what earlier processes of the run have recorded.
func (r *Runtime) Charge(x effect.Use) {
	if x.Host == "" {
		r.budget.Charge(x.Connection, x.Model, x.Sum)
		return
	}
	r.hosts.CountEarlier(x.Host, x.Exchanges)
	x.FailedExchanges = 0
	r.budget.ChargeHost(x.Host, x.Sum, x.Turns)
}

// Used returns what models and hosts have used in the run so far, without failures of hosts.
func (r *Runtime) Used() models.Sum { return r.budget.Used() }

// HostUsage returns what each host has used in the run so far.
func (r *Runtime) HostUsage() []budget.HostUsage { return r.budget.HostUsage() }
