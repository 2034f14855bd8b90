package summary

import (
	"github.com/concerto-lang/concerto/internal/eval/result"
	"github.com/concerto-lang/concerto/internal/eval/stats"
)

// The names of the built-in metrics.
const (
	nameFailed  = "failed"
	nameCost    = "cost_usd"
	nameLatency = "latency_ms"
	nameTokens  = "tokens"
)

// builtins are the names of the built-in metrics, in the order of a report.
var builtins = []string{nameFailed, nameCost, nameLatency, nameTokens}

// metric is a metric of the results, or a built-in one.
type metric struct {
	result.Metric
	isBuiltin bool
	// score returns the value of a scored or failed sample. ok is false if it has none.
	score func(s *result.Sample) (value float64, ok bool)
}

// newMetric returns a metric of a result.
func newMetric(m result.Metric) *metric {
	return &metric{Metric: m, score: func(s *result.Sample) (float64, bool) {
		if s.Status == result.StatusFailed {
			return 0, m.Kind == result.KindBool
		}
		v := s.Scores[m.Name]
		return v.Value, v.Kind != ""
	}}
}

// builtinMargin is the margin of the built-in numbers, as a share of the baseline's mean.
const builtinMargin = 0.1

// newBuiltin returns a built-in metric. The margin of a number depends on the baseline.
func newBuiltin(name string) *metric {
	m := &metric{isBuiltin: true, Metric: result.Metric{Name: name, Kind: result.KindNumber, Better: result.Lower, Gate: true}}
	valueOf := func(x *float64) (float64, bool) {
		if x == nil {
			return 0, false
		}
		return *x, true
	}
	switch name {
	case nameFailed:
		m.Kind, m.Margin = result.KindBool, result.DefaultMargin
		m.score = func(s *result.Sample) (float64, bool) {
			if s.Status == result.StatusFailed {
				return 1, true
			}
			return 0, true
		}
	case nameCost:
		m.score = func(s *result.Sample) (float64, bool) { return valueOf(s.CostUSD) }
	case nameLatency:
		m.score = func(s *result.Sample) (float64, bool) { return valueOf(s.MS) }
	case nameTokens:
		m.score = func(s *result.Sample) (float64, bool) {
			tokens := 0.0
			for _, n := range []*int64{s.TokensIn, s.TokensOut} {
				if n != nil {
					tokens += float64(*n)
				}
			}
			return tokens, s.TokensIn != nil || s.TokensOut != nil
		}
	}
	return m
}

// evalCase is a case with its samples in a result.
type evalCase struct {
	id, content, cluster string
	samples              []*result.Sample
}

// casesOf returns the cases of a result in the order of their first samples.
func casesOf(r *result.Result) []*evalCase {
	var all []*evalCase
	byID := map[string]*evalCase{}
	for _, s := range r.Samples {
		c := byID[s.Case]
		if c == nil {
			c = &evalCase{id: s.Case, cluster: s.ClusterID()}
			byID[s.Case] = c
			all = append(all, c)
		}
		if c.content == "" {
			c.content = s.Content()
		}
		c.samples = append(c.samples, s)
	}
	return all
}

// scores returns the values of a metric in the scored and failed samples of the case.
func (c *evalCase) scores(m *metric) []float64 {
	var scores []float64
	for _, s := range c.samples {
		if s.Status == result.StatusError {
			continue
		}
		if v, ok := m.score(s); ok {
			scores = append(scores, v)
		}
	}
	return scores
}

// caseMeans contains the means of the cases that have a value of a metric.
type caseMeans struct {
	cases  []*evalCase
	scores [][]float64
	means  []float64
}

func meansOf(cases []*evalCase, m *metric) *caseMeans {
	v := &caseMeans{}
	for _, c := range cases {
		if scores := c.scores(m); len(scores) > 0 {
			v.cases = append(v.cases, c)
			v.scores = append(v.scores, scores)
			v.means = append(v.means, stats.Mean(scores))
		}
	}
	return v
}

// clustersOf returns a number for the cluster of each case, or nil if no case is in a cluster.
func clustersOf(cases []*evalCase) []int {
	numbers := map[string]int{}
	clusters := make([]int, len(cases))
	for i, c := range cases {
		if c.cluster == "" {
			clusters[i] = -1 - i // a cluster of its own
			continue
		}
		n, known := numbers[c.cluster]
		if !known {
			n = len(numbers)
			numbers[c.cluster] = n
		}
		clusters[i] = n
	}
	if len(numbers) == 0 {
		return nil
	}
	return clusters
}
