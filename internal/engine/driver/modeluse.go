package driver

import (
	"time"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/sema"
)

// ModelUse is the use of a model by an agent. The name of the model is "" if the agent has none.
type ModelUse struct {
	models.Use
	Agent   *sema.Agent
	Section *manifest.Connection
}

// Row returns what is known about the model, or nil.
func (u *ModelUse) Row() *models.Model { return u.Section.Endpoint().Model(u.Model) }

// Price returns the price of the model at a time, or nil if it is unknown.
func (u *ModelUse) Price(at time.Time) *models.Price {
	return models.Tariff{Provider: u.Section.Provider, Address: u.Section.BaseURL, Own: u.Section.Prices}.Price(u.Model, at)
}

// Refusals returns the fields of the agent that the model refuses.
func (u *ModelUse) Refusals() []sema.Refusal { return u.Agent.Refusals(u.Row(), u.Use) }

// ModelUses returns the uses of models by the agents of a checked program, in the order of the
// sources. Those of an agent begin with its connection, and continue with the connection's
// fallbacks. Connections that the manifest does not contain have none.
func (in *Input) ModelUses(p *sema.Program) (uses []ModelUse) {
	if in.Manifest == nil || p == nil {
		return nil
	}
	all := in.universe().Connections
	for _, a := range p.Agents {
		for _, u := range a.ModelUses(all) {
			if c := in.Manifest.Connection(u.Connection); c != nil {
				uses = append(uses, ModelUse{u, a, c})
			}
		}
	}
	return uses
}

// CostLimit returns the name of the key in [limits] that limits the cost of a run, or "".
func (in *Input) CostLimit() string {
	for _, name := range []string{"max_cost_usd", "max_day_cost_usd"} {
		if in.Manifest != nil && in.Manifest.Limits.At[name].Key.End > 0 {
			return name
		}
	}
	return ""
}

// reportMissingKeys reports connections that the program uses and that lack a key.
func (in *Input) reportMissingKeys(p *sema.Program, l *diag.List) {
	reported := map[string]bool{}
	for _, u := range in.ModelUses(p) {
		c := u.Section
		if !c.LacksKey() || reported[c.Name] {
			continue
		}
		reported[c.Name] = true
		l.Add(diag.ManifestMissing.At(c.At[""].Key, "[connections.%s], used by agent `%s`, has no `api_key_env`", c.Name, u.Agent.Name).In(in.Manifest.File).
			Hint("add `api_key_env = \"…\"` with the name of the environment variable that contains the key, or a `base_url` of a server without keys"))
	}
}

// reportMissingPrices reports models without a price if the manifest limits the cost. Tests call no
// models that cost something.
func (in *Input) reportMissingPrices(p *sema.Program, l *diag.List) {
	if in.Manifest == nil || in.checks.tests || in.allowsAnyParty() {
		return
	}
	limit := in.CostLimit()
	if limit == "" {
		return
	}
	reported := map[string]bool{}
	for _, u := range in.ModelUses(p) {
		c := u.Section
		if u.Model == "" || reported[c.Name+" "+u.Model] || u.Price(time.Time{}) != nil {
			continue
		}
		reported[c.Name+" "+u.Model] = true
		l.Add(diag.NoPrice.At(c.At[""].Key, "the price of model %s, used by agent `%s`, is unknown, but [limits] %s requires it", u.Model, u.Agent.Name, limit).In(in.Manifest.File).
			Hint("add [connections.%s.prices.%q] with input and output, in US dollars for a million tokens", c.Name, u.Model))
	}
}
