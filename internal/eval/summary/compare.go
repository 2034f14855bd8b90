package summary

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/concerto-lang/concerto/internal/eval/result"
	"github.com/concerto-lang/concerto/internal/eval/stats"
)

// Comparison compares a metric of a result with the baseline, over the cases that have a value on
// both sides and the same content. Differences are positive if the result is better.
type Comparison struct {
	Name         string   `json:"name"` // name of the eval
	Variant      *string  `json:"variant"`
	Against      string   `json:"against"` // path of the baseline
	Metric       string   `json:"metric"`
	Cases        int      `json:"cases"`
	OnlyCurrent  []string `json:"only_current"`  // ids of cases with a value only here
	OnlyBaseline []string `json:"only_baseline"` // ids of cases with a value only in the baseline
	Changed      []string `json:"changed"`       // ids of cases with other content
	Current      *float64 `json:"current"`       // mean over the compared cases
	Baseline     *float64 `json:"baseline"`      // mean over the compared cases
	Difference   *float64 `json:"difference"`
	CI           *Ends    `json:"ci"`
	Level        float64  `json:"level"`
	P            float64  `json:"p"`
	PHolm        *float64 `json:"p_holm"`
	Margin       float64  `json:"margin"`
	Gate         bool     `json:"gate"`
	Verdict      *string  `json:"verdict"`
	CasesNeeded  *int     `json:"cases_needed"`
	Drops        []Drop   `json:"-"` // cases that are worse, the worst first
}

// Drop is a case whose mean is worse than in the baseline.
type Drop struct {
	Case              string
	Baseline, Current float64
	Loss              float64
	Why               string // a reason from the result; "" without one
}

// comparison is a Comparison with the data for its verdict.
type comparison struct {
	Comparison
	d []float64 // differences by case; negative is worse
}

// compare compares the metrics of a pair.
func (b *batch) compare(p Pair, metrics []*metric, cases []*evalCase, alpha float64) ([]*comparison, error) {
	refuse := func(format string, args ...any) error {
		return &NotComparableError{p.Current.Path, p.Baseline.Path, fmt.Sprintf(format, args...)}
	}
	baseline := casesOf(p.Baseline.Result)
	before := map[string]*evalCase{}
	for _, c := range baseline {
		before[c.id] = c
	}
	if !slices.ContainsFunc(cases, func(c *evalCase) bool { return before[c.id] != nil && sameContent(c, before[c.id]) }) {
		return nil, refuse("they have no case in common")
	}
	var all []*comparison
	if err := checkMetrics(p, metrics); err != nil {
		return nil, err
	}
	for _, m := range metrics {
		if !m.isBuiltin && p.Baseline.Result.Metric(m.Name) == nil {
			continue
		}
		c := &comparison{Comparison: Comparison{
			Name: p.Current.Result.Name, Variant: textOrNil(p.Current.Result.Variant), Against: p.Baseline.Path,
			Metric: m.Name, Gate: m.Gate, Margin: m.Margin,
			Level: 1 - 2*alpha, OnlyCurrent: []string{}, OnlyBaseline: []string{}, Changed: []string{},
		}}
		current, base := meansOf(cases, m), meansOf(baseline, m)
		for _, side := range []struct {
			values *caseMeans
			path   string
		}{{current, p.Current.Path}, {base, p.Baseline.Path}} {
			if m.isBuiltin && m.Name != nameFailed && len(side.values.means) == 0 {
				return nil, refuse("no sample in %s has a value of %s", side.path, m.Name)
			}
		}
		b.pairCases(c, m, current, base, uint64(p.Current.Result.Seed))
		all = append(all, c)
	}
	return all, nil
}

// checkMetrics returns an error if the baseline lacks a metric that decides, or has another kind of
// it.
func checkMetrics(p Pair, metrics []*metric) error {
	for _, m := range metrics {
		if m.isBuiltin {
			continue
		}
		why := ""
		switch other := p.Baseline.Result.Metric(m.Name); {
		case other == nil && m.Gate:
			why = fmt.Sprintf("the baseline has no metric %q, which decides the verdict (--gate names the metrics that do)", m.Name)
		case other != nil && other.Kind != m.Kind:
			why = fmt.Sprintf("the metric %q is a %s, and in the baseline a %s", m.Name, m.Kind, other.Kind)
		}
		if why != "" {
			return &NotComparableError{p.Current.Path, p.Baseline.Path, why}
		}
	}
	return nil
}

// Check returns an error if a result that is about to be made cannot be compared with its baseline.
// ids are the ids of its cases.
func Check(p Pair, o Options, ids []string) error {
	if err := checkMetrics(p, metricsOf(p, o)); err != nil {
		return err
	}
	for _, s := range p.Baseline.Result.Samples {
		if slices.Contains(ids, s.Case) {
			return nil
		}
	}
	return &NotComparableError{p.Current.Path, p.Baseline.Path, "they have no case in common"}
}

// sameContent reports whether the rows of a case are equal. A missing row matches any content.
func sameContent(a, b *evalCase) bool {
	return a.content == "" || b.content == "" || a.content == b.content
}

// pairCases pairs the cases of both sides and computes their differences.
func (b *batch) pairCases(c *comparison, m *metric, current, base *caseMeans, seed uint64) {
	index := map[string]int{}
	for i, other := range base.cases {
		index[other.id] = i
	}
	var cases []*evalCase
	var now, before []float64
	for i, this := range current.cases {
		j, found := index[this.id]
		delete(index, this.id)
		switch {
		case !found:
			c.OnlyCurrent = append(c.OnlyCurrent, this.id)
		case !sameContent(this, base.cases[j]):
			c.Changed = append(c.Changed, this.id)
		default:
			cases = append(cases, this)
			now, before = append(now, current.means[i]), append(before, base.means[j])
			d := current.means[i] - base.means[j]
			if m.Better == result.Lower {
				d = base.means[j] - current.means[i]
			}
			c.d = append(c.d, d)
			if d < 0 {
				c.Drops = append(c.Drops, Drop{this.id, base.means[j], current.means[i], -d, this.reason(m)})
			}
		}
	}
	for _, other := range base.cases {
		if _, left := index[other.id]; left {
			c.OnlyBaseline = append(c.OnlyBaseline, other.id)
		}
	}
	slices.SortStableFunc(c.Drops, func(x, y Drop) int { return cmp.Compare(y.Loss, x.Loss) })
	c.Cases = len(c.d)
	c.Current, c.Baseline, c.Difference = finiteOrNil(stats.Mean(now)), finiteOrNil(stats.Mean(before)), finiteOrNil(stats.Mean(c.d))
	if m.isBuiltin && m.Name != nameFailed && c.Baseline != nil {
		c.Margin = builtinMargin * *c.Baseline
	}
	clusters := clustersOf(cases)
	c.P = stats.SignFlip(c.d, clusters, seed)
	b.add(stats.MeanOf(c.d, clusters, c.Level), &c.CI)
}

// reason returns why the case has low scores of a metric: the error of a failed sample, or the
// reason of the sample with the worst score that has one.
func (c *evalCase) reason(m *metric) string {
	why, worst := "", 0.0
	for _, s := range c.samples {
		if s.Status == result.StatusFailed && s.Error != nil {
			return s.Error.Message
		}
		v, ok := m.score(s)
		if m.Better == result.Lower {
			v = -v
		}
		if text := s.Why[m.Name]; ok && text != "" && (why == "" || v < worst) {
			why, worst = text, v
		}
	}
	return why
}

// decide corrects the p-values of the gated comparisons and sets their verdicts.
func decide(all []*comparison, alpha float64) {
	var gated []*comparison
	var p []float64
	for _, c := range all {
		if c.Gate {
			gated = append(gated, c)
			p = append(p, c.P)
		}
	}
	for i, corrected := range stats.Holm(p) {
		c := gated[i]
		var interval *stats.Interval
		if c.CI != nil {
			interval = &stats.Interval{Low: c.CI[0], High: c.CI[1]}
		}
		verdict := stats.Verdict(c.d, interval, corrected, c.Margin, alpha)
		c.PHolm, c.Verdict = &corrected, &verdict
		if needed, ok := stats.CasesNeeded(c.d, c.Margin, alpha); ok && verdict == stats.Inconclusive {
			c.CasesNeeded = &needed
		}
	}
}
