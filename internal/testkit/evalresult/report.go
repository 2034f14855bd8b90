package evalresult

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// report is the part of `--format json` that follows from the results: intervals by bootstrap and
// numbers of the command itself are missing.
type report struct {
	Evals       []*reportedEval
	Comparisons []*comparison
}

type reportedEval struct {
	Name    string
	Variant *string
	Result  string
	Repeat  int
	Samples struct{ Total, Scored, Failed, Errors, Skipped, Cached int }
	Metrics []*reportedMetric
	Usage   struct {
		TokensIn  int      `json:"tokens_in"`
		TokensOut int      `json:"tokens_out"`
		Cost      *float64 `json:"cost_usd"`
		JudgeCost *float64 `json:"judge_cost_usd"`
	}
	Latency struct{ P50, P90, P99 *float64 } `json:"latency_ms"`
}

type reportedMetric struct {
	Name, Kind, Better string
	N                  int
	Mean, SD           *float64
	CI                 []float64
	Method             string
	Pass               []pass
	Agreement          *agreement
}

type pass struct {
	K        int
	Any, All *float64
}

type agreement struct {
	Kappa *float64
	N     int
}

type comparison struct {
	Name        string
	Variant     *string
	Against     string
	Metric      string
	Cases       int
	OnlyCurrent []string `json:"only_current"`
	OnlyBase    []string `json:"only_baseline"`
	Changed     []string
	Current     *float64
	Baseline    *float64
	Difference  *float64
}

// Check compares the JSON that a command printed in directory dir with the results that it names.
func Check(dir string, text []byte) error {
	var got report
	if err := json.Unmarshal(text, &got); err != nil {
		return err
	}
	if len(got.Evals) == 0 {
		return fmt.Errorf("the report has no evals:\n%s", text)
	}
	results := map[string]*evalResult{}
	open := func(path string) (*evalResult, error) {
		name := path
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		file, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		r, err := read(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return r, nil
	}
	want := report{}
	of := map[string]string{} // paths of results by the name and the variant of the eval
	for _, e := range got.Evals {
		r, err := open(e.Result)
		if err != nil {
			return err
		}
		results[e.Result] = r
		of[nameOf(e.Name, e.Variant)] = e.Result
		want.Evals = append(want.Evals, r.report(e))
	}
	for _, c := range got.Comparisons {
		current := results[of[nameOf(c.Name, c.Variant)]]
		baseline, err := open(c.Against)
		if err != nil {
			return err
		}
		want.Comparisons = append(want.Comparisons, current.compare(baseline, c))
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 1e-9), cmpopts.EquateEmpty()); diff != "" {
		return fmt.Errorf("report (-computed again +printed):\n%s", diff)
	}
	return nil
}

func nameOf(name string, variant *string) string {
	if variant == nil {
		return name
	}
	return name + "@" + *variant
}

// number returns nil for a number that is unknown.
func number(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// report computes the report that got should be. It takes from got which built-in metrics and k of
// pass@k were requested, and the number of samples that were not started.
func (r *evalResult) report(got *reportedEval) *reportedEval {
	want := &reportedEval{Name: r.Name, Result: got.Result, Repeat: r.Repeat}
	if r.Variant != "" {
		want.Variant = &r.Variant
	}
	n := &want.Samples
	n.Skipped = got.Samples.Skipped
	n.Total = n.Skipped + len(r.samples)
	var durations []float64
	isCostKnown := true
	for _, s := range r.samples {
		switch s.Status {
		case "scored":
			n.Scored++
		case "failed":
			n.Failed++
		case "error":
			n.Errors++
		}
		if s.Cached {
			n.Cached++
		}
		if s.Status != "error" {
			durations = append(durations, *s.MS)
		}
		in, _ := known(s.TokensIn)
		out, _ := known(s.TokensOut)
		want.Usage.TokensIn += int(in)
		want.Usage.TokensOut += int(out)
		want.Usage.Cost = sum(want.Usage.Cost, s.Cost)
		want.Usage.JudgeCost = sum(want.Usage.JudgeCost, s.JudgeCost)
		isCostKnown = isCostKnown && (s.Calls == 0 || s.Cost != nil)
	}
	if !isCostKnown {
		want.Usage.Cost = nil
	}
	want.Latency.P50 = number(rank(durations, 50))
	want.Latency.P90 = number(rank(durations, 90))
	want.Latency.P99 = number(rank(durations, 99))
	metrics := slices.Clone(r.Metrics)
	for _, m := range got.Metrics {
		if !slices.ContainsFunc(metrics, func(own metric) bool { return own.Name == m.Name }) {
			metrics = append(metrics, metric{Name: m.Name, Kind: m.Kind, Better: "lower"})
		}
	}
	if n.Failed > 0 && !slices.ContainsFunc(metrics, func(m metric) bool { return m.Name == "failed" }) {
		metrics = append(metrics, metric{Name: "failed", Kind: "bool", Better: "lower"})
	}
	for _, m := range metrics {
		i := slices.IndexFunc(got.Metrics, func(g *reportedMetric) bool { return g.Name == m.Name })
		if i < 0 {
			want.Metrics = append(want.Metrics, &reportedMetric{Name: m.Name})
			continue
		}
		want.Metrics = append(want.Metrics, r.summarize(m, got.Metrics[i]))
	}
	return want
}

// sum returns the sum of two numbers. One that is unknown counts as none.
func sum(a, b *float64) *float64 {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return number(*a + *b)
}

func (r *evalResult) summarize(m metric, got *reportedMetric) *reportedMetric {
	values := r.values(m.Name, m.Kind)
	var means []float64
	isSimple := m.Kind == "bool"
	for _, c := range values {
		means = append(means, mean(c.values))
		isSimple = isSimple && len(c.values) == 1
	}
	want := &reportedMetric{
		Name: m.Name, Kind: m.Kind, Better: m.Better, N: len(means), Mean: number(mean(means)), SD: number(deviation(means)),
		CI: got.CI, Method: "none",
	}
	for _, s := range r.samples {
		isSimple = isSimple && s.Cluster == nil
	}
	switch {
	case len(means) > 0 && isSimple:
		want.Method, want.CI = "wilson", wilson(mean(means), float64(len(means)))
	case len(means) > 1:
		want.Method = "bca"
		if slices.Min(means) == slices.Max(means) {
			want.CI = []float64{means[0], means[0]}
		}
	default:
		want.CI = nil
	}
	for _, p := range got.Pass {
		any, every := passed(values, p.K)
		want.Pass = append(want.Pass, pass{p.K, number(mean(any)), number(mean(every))})
	}
	if k, cases := r.kappa(m.Name); cases > 0 {
		want.Agreement = &agreement{number(k), cases}
	}
	return want
}

// compare computes what a comparison should be.
func (r *evalResult) compare(baseline *evalResult, got *comparison) *comparison {
	want := &comparison{Name: r.Name, Against: got.Against, Metric: got.Metric}
	if r.Variant != "" {
		want.Variant = &r.Variant
	}
	kind, sign := "number", 1.0
	for _, m := range r.Metrics {
		if m.Name == got.Metric {
			kind = m.Kind
			if m.Better == "lower" {
				sign = -1
			}
		}
	}
	if !slices.ContainsFunc(r.Metrics, func(m metric) bool { return m.Name == got.Metric }) {
		sign = -1 // built in
	}
	now, before := r.values(got.Metric, kind), baseline.values(got.Metric, kind)
	var current, old, differences []float64
	for _, c := range now {
		i := slices.IndexFunc(before, func(b caseValues) bool { return b.id == c.id })
		switch {
		case i < 0:
			want.OnlyCurrent = append(want.OnlyCurrent, c.id)
		case !bytes.Equal(c.row, before[i].row):
			want.Changed = append(want.Changed, c.id)
		default:
			current, old = append(current, mean(c.values)), append(old, mean(before[i].values))
			differences = append(differences, sign*(mean(c.values)-mean(before[i].values)))
		}
	}
	for _, b := range before {
		if !slices.ContainsFunc(now, func(c caseValues) bool { return c.id == b.id }) {
			want.OnlyBase = append(want.OnlyBase, b.id)
		}
	}
	want.Cases = len(differences)
	want.Current, want.Baseline, want.Difference = number(mean(current)), number(mean(old)), number(mean(differences))
	return want
}
