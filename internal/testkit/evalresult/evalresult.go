// Package evalresult reads the results of evals and computes their statistics a second time. It is
// written from spec/49-eval.md alone and shares no code with the packages that it checks.
package evalresult

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
)

type header struct {
	Eval     int
	Name     string
	Variant  string
	Function string
	File     string
	Line     int
	Program  string
	Data     struct {
		Source string
		SHA256 string
		Cases  int
	}
	Metrics []metric
	Repeat  int
	Seed    int64
	Started string
}

type metric struct {
	Name, Kind, Better string
	Gate               *bool
	Margin             *float64
}

type sample struct {
	Case       string
	Rep        int
	Row        json.RawMessage
	Cluster    json.RawMessage
	Status     string
	Scores     map[string]any
	Why        map[string]string
	Judges     map[string]string
	Agreements map[string]struct{ Judge, Label bool }
	Error      struct{ Kind, Message, At string }
	MS         *float64
	Calls      int
	TokensIn   *int     `json:"tokens_in"`
	TokensOut  *int     `json:"tokens_out"`
	Cost       *float64 `json:"cost_usd"`
	JudgeCost  *float64 `json:"judge_cost_usd"`
	Cached     bool
	Tape       string
}

type evalResult struct {
	header
	samples []*sample
}

// read reads the result of a command that ran to its end.
func read(text []byte) (*evalResult, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	r := &evalResult{}
	if err := d.Decode(&r.header); err != nil {
		return nil, fmt.Errorf("line 1: %w", err)
	}
	for line := 2; ; line++ {
		var l struct {
			sample
			End *struct{ Exit *int }
		}
		switch err := d.Decode(&l); {
		case err != nil:
			return nil, fmt.Errorf("line %d: %w", line, err)
		case l.End != nil:
			if l.End.Exit == nil || l.Scores != nil {
				return nil, fmt.Errorf("line %d is no end", line)
			}
			if _, err := d.Token(); err != io.EOF {
				return nil, fmt.Errorf("line %d follows the end", line+1)
			}
			return r, r.checkOrder()
		}
		if err := r.check(&l.sample); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		r.samples = append(r.samples, &l.sample)
	}
}

// check checks a sample that the command wrote.
func (r *evalResult) check(s *sample) error {
	switch s.Status {
	case "scored":
		for _, m := range r.Metrics {
			score, found := s.Scores[m.Name]
			_, isBool := score.(bool)
			_, isNumber := score.(float64)
			if !found || score != nil && isBool != (m.Kind == "bool") && isNumber != (m.Kind == "number") {
				return fmt.Errorf("metric %q has the score %v", m.Name, score)
			}
		}
		if s.Error.Message != "" || len(s.Scores) != len(r.Metrics) {
			return fmt.Errorf("a scored sample has the error %q and %d of %d metrics", s.Error.Message, len(s.Scores), len(r.Metrics))
		}
	case "failed", "error":
		if s.Error.Message == "" {
			return fmt.Errorf("a sample with the status %q has no error", s.Status)
		}
	default:
		return fmt.Errorf("unknown status %q", s.Status)
	}
	if s.Case == "" || s.Row == nil || s.MS == nil || s.Tape == "" {
		return fmt.Errorf("a sample without a case, row, duration or tape")
	}
	return nil
}

// checkOrder checks that the repetitions of each case are next to each other, in order.
func (r *evalResult) checkOrder() error {
	seen := map[string]bool{}
	for i, s := range r.samples {
		isFirst := i == 0 || r.samples[i-1].Case != s.Case
		if isFirst && seen[s.Case] || s.Rep < 1 || s.Rep > r.Repeat || !isFirst && s.Rep <= r.samples[i-1].Rep {
			return fmt.Errorf("repetition %d of case %q is not in order", s.Rep, s.Case)
		}
		seen[s.Case] = true
	}
	return nil
}

// caseValues contains the values of a metric in the scored and failed samples of a case.
type caseValues struct {
	id     string
	row    json.RawMessage
	values []float64
}

// values returns the values of a metric in the cases that have one.
func (r *evalResult) values(metric, kind string) []caseValues {
	var all []caseValues
	for _, s := range r.samples {
		v, ok := value(s, metric, kind)
		if !ok || s.Status == "error" {
			continue
		}
		if n := len(all); n == 0 || all[n-1].id != s.Case {
			all = append(all, caseValues{id: s.Case, row: s.Row})
		}
		c := &all[len(all)-1]
		c.values = append(c.values, v)
	}
	return all
}

func value(s *sample, metric, kind string) (v float64, ok bool) {
	switch metric { // those that are built in
	case "failed":
		return one(s.Status == "failed"), true
	case "cost_usd":
		return known(s.Cost)
	case "latency_ms":
		return known(s.MS)
	case "tokens":
		in, _ := known(s.TokensIn)
		out, _ := known(s.TokensOut)
		return in + out, s.TokensIn != nil || s.TokensOut != nil
	}
	if s.Status == "failed" {
		return 0, kind == "bool"
	}
	switch x := s.Scores[metric].(type) {
	case bool:
		return one(x), true
	case float64:
		return x, true
	}
	return 0, false
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func known[T int | float64](p *T) (float64, bool) {
	if p == nil {
		return 0, false
	}
	return float64(*p), true
}

func mean(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

// deviation returns the standard deviation with the denominator n - 1.
func deviation(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += (x - mean(xs)) * (x - mean(xs))
	}
	return math.Sqrt(sum / float64(len(xs)-1))
}

// ratio returns the product of (c-i)/(n-i) for i below k: C(c, k) / C(n, k).
func ratio(c, n, k int) float64 {
	product := 1.0
	for i := range k {
		product *= max(0, float64(c-i)) / float64(n-i)
	}
	return product
}

// passed returns pass@k and pass^k of the cases with at least k values.
func passed(all []caseValues, k int) (any, every []float64) {
	for _, of := range all {
		n, c := len(of.values), 0
		for _, v := range of.values {
			c += int(v)
		}
		if n >= k {
			any = append(any, 1-ratio(n-c, n, k))
			every = append(every, ratio(c, n, k))
		}
	}
	return any, every
}

// wilson returns Wilson's interval at 95 %.
func wilson(p, n float64) []float64 {
	const z = 1.959963984540054
	center := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return []float64{max(0, center-half), min(1, center+half)}
}

// kappa returns Cohen's kappa of all samples with an agreement, or NaN, and the number of cases.
func (r *evalResult) kappa(metric string) (k float64, cases int) {
	var judge, label, same, n float64
	ids := map[string]bool{}
	for _, s := range r.samples {
		a, ok := s.Agreements[metric]
		if !ok || s.Status != "scored" {
			continue
		}
		ids[s.Case] = true
		n++
		judge += one(a.Judge)
		label += one(a.Label)
		same += one(a.Judge == a.Label)
	}
	chance := judge/n*label/n + (n-judge)/n*(n-label)/n
	return (same/n - chance) / (1 - chance), len(ids)
}

// rank returns a percentile by nearest rank, or NaN.
func rank(xs []float64, percent float64) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	slices.Sort(xs)
	return xs[int(math.Ceil(percent/100*float64(len(xs))))-1]
}
