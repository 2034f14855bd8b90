package agents

import (
	"context"
	"slices"
	"time"
)

// Report is the result of all scenarios of an agent.
type Report struct {
	Agent     string    `json:"agent"`
	Version   string    `json:"version,omitempty"`
	Date      string    `json:"date"`
	Scenarios []Result  `json:"scenarios"`
	Coverage  *Coverage `json:"coverage,omitempty"` // nil if the scenario coverage was not played
}

// Failed reports whether a scenario has failed, or the agent does not start or has unknown
// messages.
func (r *Report) Failed() bool {
	return slices.ContainsFunc(r.Scenarios, func(s Result) bool { return s.Result == Fail }) || r.Coverage != nil && len(r.Coverage.Missing) > 0
}

// Conform plays the scenarios in only, or all, and reports each result as soon as it is known. It
// first starts the agent, and plays no other scenario if that fails.
func (o *Options) Conform(ctx context.Context, only []string, report func(Result)) (*Report, error) {
	all := &Report{Agent: o.Agent.Name, Date: time.Now().UTC().Format(time.DateOnly), Scenarios: []Result{}}
	for i, s := range Scenarios() {
		isFirst := i == 0
		if !isFirst && len(only) > 0 && !slices.Contains(only, s.Name) {
			continue
		}
		r, err := o.Try(ctx, &s)
		if err != nil {
			return all, err
		}
		if isFirst && r.Result == No {
			r.Result, r.Expected = Fail, Yes
		}
		if hasFailed := isFirst && r.Result == Fail; hasFailed || !isFirst || len(only) == 0 || slices.Contains(only, s.Name) {
			all.Scenarios = append(all.Scenarios, r)
			report(r)
			if hasFailed {
				break
			}
		}
	}
	all.Version, all.Coverage = o.Version, o.coverage
	return all, nil
}
