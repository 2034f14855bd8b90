package summary

import (
	"math"
	"slices"

	"github.com/concerto-lang/concerto/internal/eval/result"
	"github.com/concerto-lang/concerto/internal/eval/stats"
)

// summarize returns the summary of a result, and its comparisons if the pair has a baseline. The
// intervals are set when the batch has run.
func (b *batch) summarize(p Pair, o Options, judged []*result.Result) (*Eval, []*comparison, error) {
	r := p.Current.Result
	cases := casesOf(r)
	e := &Eval{
		Name: r.Name, Function: r.Function, Variant: textOrNil(r.Variant), Result: p.Current.Path,
		Cases: len(cases), Repeat: r.Repeat, Samples: countSamples(r), Metrics: []*Metric{},
		Usage: UsageOf(r), Latency: LatencyOf(r),
	}
	if p.Run != nil {
		e.Cases, e.Samples.Skipped = p.Run.Cases, p.Run.Skipped
		e.Samples.Total += p.Run.Skipped
		e.Usage.Calls, e.Usage.JudgeCalls = p.Run.Calls, p.Run.JudgeCalls
	}
	for _, c := range cases {
		if r.Repeat == 0 {
			e.Repeat = max(e.Repeat, len(c.samples))
		}
	}
	metrics := metricsOf(p, o)
	for _, m := range metrics {
		summary := b.summarizeMetric(m, cases, passOf(o.Pass, e.Repeat))
		summary.Agreement = b.agreementOf(m.Name, cases)
		if summary.Agreement == nil {
			summary.Judge = b.judgeOf(m.Name, r, judged)
		}
		e.Metrics = append(e.Metrics, summary)
	}
	if p.Baseline.Result == nil {
		return e, nil, nil
	}
	comparisons, err := b.compare(p, metrics, cases, o.Alpha)
	return e, comparisons, err
}

// metricsOf returns the metrics of a result, and the built-in metrics of its report.
func metricsOf(p Pair, o Options) []*metric {
	var metrics []*metric
	for _, m := range p.Current.Result.Metrics {
		if o.Gate != nil {
			m.Gate = slices.Contains(o.Gate, m.Name)
		}
		isBuiltin := slices.Contains(builtins, m.Name) && !slices.ContainsFunc(p.Current.Result.Samples, func(s *result.Sample) bool {
			_, has := s.Scores[m.Name]
			return has
		})
		if isBuiltin { // the eval names it as a metric that decides
			builtin := newBuiltin(m.Name)
			builtin.Gate = m.Gate
			metrics = append(metrics, builtin)
			continue
		}
		metrics = append(metrics, newMetric(m))
	}
	hasFailed := slices.ContainsFunc([]Side{p.Current, p.Baseline}, func(s Side) bool {
		return s.Result != nil && countSamples(s.Result).Failed > 0
	})
	for _, name := range builtins {
		isReported := slices.Contains(o.Gate, name)
		if name == nameFailed {
			isReported = hasFailed
		}
		if isReported && p.Current.Result.Metric(name) == nil {
			metrics = append(metrics, newBuiltin(name))
		}
	}
	for _, m := range metrics {
		if o.Margin != nil && (!m.isBuiltin || m.Name == nameFailed) {
			m.Margin = *o.Margin
		}
	}
	return metrics
}

func countSamples(r *result.Result) Counts {
	var n Counts
	for _, s := range r.Samples {
		n.Total++
		switch s.Status {
		case result.StatusScored:
			n.Scored++
		case result.StatusFailed:
			n.Failed++
		case result.StatusError:
			n.Errors++
		}
		if s.Cached {
			n.Cached++
		}
	}
	return n
}

// UsageOf returns the usage of a result's samples.
func UsageOf(r *result.Result) Usage {
	var u Usage
	isUnknown := false
	add := func(to **float64, x *float64) {
		if x != nil {
			if *to == nil {
				*to = new(float64)
			}
			**to = math.Round((**to+*x)*1e12) / 1e12 // a sum of floats has further digits
		}
	}
	for _, s := range r.Samples {
		if s.TokensIn != nil {
			u.TokensIn += *s.TokensIn
		}
		if s.TokensOut != nil {
			u.TokensOut += *s.TokensOut
		}
		u.Parts = u.Parts.Plus(s.Parts)
		add(&u.CostUSD, s.CostUSD)
		add(&u.JudgeCostUSD, s.JudgeCostUSD)
		isUnknown = isUnknown || s.Calls > 0 && s.CostUSD == nil
	}
	if isUnknown { // a sum without some of the costs would mislead
		u.CostUSD = nil
	}
	return u
}

// LatencyOf returns the percentiles of the durations of a result's scored and failed samples.
func LatencyOf(r *result.Result) Latency {
	var all []float64
	for _, s := range r.Samples {
		if s.MS != nil && s.Status != result.StatusError {
			all = append(all, *s.MS)
		}
	}
	of := func(percent int) *float64 { return finiteOrNil(stats.Percentile(all, percent)) }
	return Latency{of(50), of(90), of(99)}
}

// passOf returns the numbers k of pass@k.
func passOf(chosen []int, repeat int) []int {
	if chosen == nil {
		chosen = []int{1, max(repeat, 1)}
	}
	chosen = slices.Clone(chosen)
	slices.Sort(chosen)
	return slices.Compact(chosen)
}

func (b *batch) summarizeMetric(m *metric, cases []*evalCase, pass []int) *Metric {
	v := meansOf(cases, m)
	clusters := clustersOf(v.cases)
	s := &Metric{
		Name: m.Name, Kind: m.Kind, Better: m.Better, N: len(v.means), Level: level, Method: methodNone,
		Mean: finiteOrNil(stats.Mean(v.means)), SD: finiteOrNil(stats.StandardDeviation(v.means)), Pass: []*Pass{},
	}
	isRepeated := slices.ContainsFunc(v.scores, func(scores []float64) bool { return len(scores) > 1 })
	switch {
	case len(v.means) == 0:
	case m.Kind == result.KindBool && !isRepeated && clusters == nil:
		s.Method = methodWilson
		s.CI = endsOrNil(stats.Wilson(countSuccesses(v.means), len(v.means), level))
	default:
		if len(v.means) > 1 {
			s.Method = methodBCa
		}
		b.add(stats.MeanOf(v.means, clusters, level), &s.CI)
	}
	if m.Kind == result.KindBool && !m.isBuiltin {
		for _, k := range pass {
			s.Pass = append(s.Pass, b.passAt(v, k))
		}
	}
	return s
}

// countSuccesses counts the ones in scores of a Bool metric.
func countSuccesses(scores []float64) int {
	n := 0
	for _, x := range scores {
		if x == 1 {
			n++
		}
	}
	return n
}

// passAt returns pass@k and pass^k over the cases with at least k scores.
func (b *batch) passAt(v *caseMeans, k int) *Pass {
	var cases []*evalCase
	var any, all []float64
	for i, c := range v.cases {
		if n := len(v.scores[i]); n >= k {
			cases = append(cases, c)
			any = append(any, stats.PassAny(n, countSuccesses(v.scores[i]), k))
			all = append(all, stats.PassAll(n, countSuccesses(v.scores[i]), k))
		}
	}
	p := &Pass{K: k, Any: finiteOrNil(stats.Mean(any)), All: finiteOrNil(stats.Mean(all))}
	clusters := clustersOf(cases)
	if k == 1 { // both are the share of successes
		b.add(stats.MeanOf(any, clusters, level), &p.AnyCI, &p.AllCI)
		return p
	}
	b.add(stats.MeanOf(any, clusters, level), &p.AnyCI)
	b.add(stats.MeanOf(all, clusters, level), &p.AllCI)
	return p
}

// agreementOf returns the agreement that a metric measures, or nil if it measures none.
func (b *batch) agreementOf(name string, cases []*evalCase) *Agreement {
	var counts []stats.Agreement
	for _, c := range cases {
		if n := c.countAgreements(name, ""); n != (stats.Agreement{}) {
			counts = append(counts, n)
		}
	}
	if counts == nil {
		return nil
	}
	a := &Agreement{Kappa: finiteOrNil(stats.Kappa(counts)), N: len(counts)}
	b.add(stats.KappaOf(counts, level), &a.CI)
	return a
}

// countAgreements counts the agreements of a metric in the scored samples of the case. If judge is
// not "", it counts only those of the judge with this hash.
func (c *evalCase) countAgreements(name, judge string) stats.Agreement {
	var n stats.Agreement
	for _, s := range c.samples {
		a, ok := s.Agreements[name]
		switch {
		case !ok || s.Status != result.StatusScored || judge != "" && s.Judges[name] != judge:
		case a.Judge && a.Label:
			n.Both++
		case a.Judge:
			n.OnlyJudge++
		case a.Label:
			n.OnlyLabel++
		default:
			n.Neither++
		}
	}
	return n
}

// judgeOf returns how well the judge of a metric agrees with people, or nil if the metric has no
// judge. It uses the agreements in the results judged.
func (b *batch) judgeOf(name string, r *result.Result, judged []*result.Result) *Judge {
	hash := ""
	for _, s := range r.Samples {
		switch h := s.Judges[name]; {
		case h == "" || h == hash:
		case hash == "":
			hash = h
		default:
			return &Judge{State: Unvalidated} // several judges
		}
	}
	if hash == "" {
		return nil
	}
	type judgement struct{ eval, metric, id string }
	at := map[judgement]int{} // indexes in counts
	var counts []stats.Agreement
	for _, other := range judged {
		cases := casesOf(other)
		for _, m := range other.Metrics {
			for _, c := range cases {
				n := c.countAgreements(m.Name, hash)
				if n == (stats.Agreement{}) {
					continue
				}
				of := judgement{other.Name, m.Name, c.id} // variants judge the same cases
				i, known := at[of]
				if !known {
					i = len(counts)
					at[of] = i
					counts = append(counts, stats.Agreement{})
				}
				counts[i] = stats.Agreement{
					Both: counts[i].Both + n.Both, OnlyJudge: counts[i].OnlyJudge + n.OnlyJudge,
					OnlyLabel: counts[i].OnlyLabel + n.OnlyLabel, Neither: counts[i].Neither + n.Neither,
				}
			}
		}
	}
	j := &Judge{Kappa: finiteOrNil(stats.Kappa(counts)), Cases: len(counts), State: Unvalidated}
	switch {
	case j.Kappa == nil:
	case *j.Kappa < weakKappa:
		j.State = Weak
	default:
		j.State = Validated
	}
	b.add(stats.KappaOf(counts, level), &j.CI)
	return j
}
