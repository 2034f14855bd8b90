// Package summary computes the report on results of evals: metrics with intervals, costs and
// latencies, and comparisons with a baseline, as spec/49-eval.md defines them. Command eval prints
// the report as the JSON of these types.
package summary

import (
	"fmt"
	"math"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/eval/result"
	"github.com/concerto-lang/concerto/internal/eval/stats"
)

// Report is the report on one or more results.
type Report struct {
	Version     int           `json:"eval"`
	Program     *string       `json:"program"`
	Seed        int64         `json:"seed"`
	Seconds     float64       `json:"seconds"` // duration of the command's samples
	Dir         string        `json:"dir"`     // directory of the results
	Exit        int           `json:"exit"`
	Verdict     *string       `json:"verdict"` // nil without a gated comparison
	Evals       []*Eval       `json:"evals"`
	Comparisons []*Comparison `json:"comparisons"`
}

// Eval summarizes a result.
type Eval struct {
	Name     string    `json:"name"`
	Function string    `json:"function"`
	Variant  *string   `json:"variant"`
	Result   string    `json:"result"` // path of the file
	Cases    int       `json:"cases"`
	Repeat   int       `json:"repeat"`
	Samples  Counts    `json:"samples"`
	Metrics  []*Metric `json:"metrics"`
	Usage    Usage     `json:"usage"`
	Latency  Latency   `json:"latency_ms"`

	Comparisons []*Comparison `json:"-"` // those of the result, at most one for each metric
}

// Counts counts samples by status.
type Counts struct {
	Total   int `json:"total"`
	Scored  int `json:"scored"`
	Failed  int `json:"failed"`
	Errors  int `json:"errors"`
	Skipped int `json:"skipped"`
	Cached  int `json:"cached"`
}

// Usage is the usage of models by the samples, cached or not. Calls and JudgeCalls count the calls
// of the command itself, which are none unless it runs samples. Costs are nil if unknown.
type Usage struct {
	Calls     int64 `json:"calls"`
	TokensIn  int64 `json:"tokens_in"`
	TokensOut int64 `json:"tokens_out"`
	models.Parts
	CostUSD      *float64 `json:"cost_usd"`
	JudgeCalls   int64    `json:"judge_calls"`
	JudgeCostUSD *float64 `json:"judge_cost_usd"`
}

// Latency contains percentiles of the durations of samples in milliseconds; nil if unknown.
type Latency struct {
	P50 *float64 `json:"p50"`
	P90 *float64 `json:"p90"`
	P99 *float64 `json:"p99"`
}

// Ends are the ends of an interval.
type Ends [2]float64

// The methods of intervals.
const (
	methodWilson = "wilson"
	methodBCa    = "bca"
	methodNone   = "none"
)

// Metric summarizes a metric of a result. N counts cases.
type Metric struct {
	Name      string     `json:"name"`
	Kind      string     `json:"kind"`
	Better    string     `json:"better"`
	N         int        `json:"n"`
	Mean      *float64   `json:"mean"`
	SD        *float64   `json:"sd"`
	CI        *Ends      `json:"ci"`
	Level     float64    `json:"level"`
	Method    string     `json:"method"`
	Pass      []*Pass    `json:"pass"`
	Judge     *Judge     `json:"judge"`
	Agreement *Agreement `json:"agreement"`
}

// Pass contains pass@k (Any) and pass^k (All) of a Bool metric; nil if no case has k repetitions.
type Pass struct {
	K     int      `json:"k"`
	Any   *float64 `json:"any"`
	AnyCI *Ends    `json:"any_ci"`
	All   *float64 `json:"all"`
	AllCI *Ends    `json:"all_ci"`
}

// The states of judges.
const (
	Validated   = "validated"
	Weak        = "weak" // kappa is below weakKappa
	Unvalidated = "unvalidated"
	weakKappa   = 0.6
)

// Judge reports how well a metric's judge agrees with people.
type Judge struct {
	Kappa *float64 `json:"kappa"`
	Cases int      `json:"cases"`
	CI    *Ends    `json:"ci"`
	State string   `json:"state"`
}

// Agreement is the agreement of a judge with people. N counts cases.
type Agreement struct {
	Kappa *float64 `json:"kappa"`
	N     int      `json:"n"`
	CI    *Ends    `json:"ci"`
}

// level is the level of the intervals of means.
const level = 0.95

// Side is a result and the path of its file.
type Side struct {
	Path   string
	Result *result.Result
}

// Pair is a result and its baseline, whose Result is nil if it is not compared. Run is set if the
// command has run the result's samples.
type Pair struct {
	Current, Baseline Side
	Run               *Run
}

// Run is what a command did to get a result. Skipped is the number of samples that were not started
// because a budget was used up. Calls and JudgeCalls count the calls that were made.
type Run struct {
	Cases             int // number of selected cases
	Skipped           int
	Calls, JudgeCalls int64
}

// Options are options of New.
type Options struct {
	Gate   []string // names of the metrics that decide the verdict; nil for those of the results
	Margin *float64 // margin of all metrics in the unit of the result; nil for those of the results
	Alpha  float64  // 0 < Alpha < 0.5
	// MaxErrors is the number of samples with errors that are accepted in all results.
	MaxErrors int
	// Pass contains the numbers k of pass@k; nil means 1 and the number of repetitions.
	Pass []int
	// Judged are other results in the directory. Like the current results, they validate judges.
	Judged []*result.Result
}

// New returns the report on results. It returns an error if a result cannot be compared with its
// baseline.
func New(pairs []Pair, o Options) (*Report, error) {
	r := &Report{Version: result.Version, Evals: []*Eval{}, Comparisons: []*Comparison{}}
	judged := slices.Clone(o.Judged)
	for _, p := range pairs {
		judged = append(judged, p.Current.Result)
	}
	errorSamples, isIncomplete := 0, false
	var comparisons []*comparison
	for i, p := range pairs {
		current := p.Current.Result
		if i == 0 {
			r.Seed = current.Seed
			r.Program = textOrNil(current.Program)
		} else if r.Program != nil && *r.Program != current.Program {
			r.Program = nil
		}
		var b batch
		e, found, err := b.summarize(p, o, judged)
		if err != nil {
			return nil, err
		}
		b.run(uint64(current.Seed))
		r.Evals = append(r.Evals, e)
		for _, c := range found {
			e.Comparisons = append(e.Comparisons, &c.Comparison)
		}
		r.Comparisons = append(r.Comparisons, e.Comparisons...)
		comparisons = append(comparisons, found...)
		errorSamples += e.Samples.Errors
		isIncomplete = isIncomplete || e.Samples.Skipped > 0 || current.End != nil && current.End.Exit == exitErrors
	}
	decide(comparisons, o.Alpha)
	r.conclude(isIncomplete || errorSamples > o.MaxErrors)
	if r.Exit == 0 && slices.ContainsFunc(r.Evals, func(e *Eval) bool { return e.Samples.Total > 0 && e.Samples.Failed == e.Samples.Total }) {
		r.Exit = exitWorse
	}
	return r, nil
}

func textOrNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// The exit codes of a report.
const (
	exitWorse        = 1
	exitErrors       = 2
	exitInconclusive = 3
)

// verdictError is the verdict of a report on results with errors.
const verdictError = "error"

// conclude sets the verdict and the exit code.
func (r *Report) conclude(hasErrors bool) {
	found := map[string]bool{}
	for _, c := range r.Comparisons {
		if c.Verdict != nil {
			found[*c.Verdict] = true
		}
	}
	set := func(exit int, verdict string) { r.Exit, r.Verdict = exit, &verdict }
	switch {
	case found[stats.Worse]:
		set(exitWorse, stats.Worse)
	case hasErrors:
		set(exitErrors, verdictError)
	case found[stats.Inconclusive]:
		set(exitInconclusive, stats.Inconclusive)
	case found[stats.NoWorse]:
		set(0, stats.NoWorse)
	}
}

// batch collects estimators, so that one call computes all intervals.
type batch struct {
	estimators []stats.Estimator
	targets    [][]**Ends // where each interval is stored
}

// add adds an estimator. run stores its interval in each target.
func (b *batch) add(e stats.Estimator, targets ...**Ends) {
	b.estimators = append(b.estimators, e)
	b.targets = append(b.targets, targets)
}

func (b *batch) run(seed uint64) {
	for i, interval := range stats.Bootstrap(seed, b.estimators...) {
		for _, to := range b.targets[i] {
			*to = endsOrNil(interval)
		}
	}
}

func endsOrNil(i *stats.Interval) *Ends {
	if i == nil {
		return nil
	}
	return &Ends{i.Low, i.High}
}

// finiteOrNil returns a pointer to x, or nil for NaN.
func finiteOrNil(x float64) *float64 {
	if math.IsNaN(x) {
		return nil
	}
	return &x
}

// Names returns the names that Options.Gate may contain.
func Names(pairs []Pair) []string {
	var names []string
	for _, p := range pairs {
		for _, m := range p.Current.Result.Metrics {
			if !slices.Contains(names, m.Name) {
				names = append(names, m.Name)
			}
		}
	}
	for _, name := range builtins {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// NotComparableError means that a result cannot be compared with its baseline.
type NotComparableError struct{ Current, Baseline, Why string }

func (e *NotComparableError) Error() string {
	return fmt.Sprintf("%s cannot be compared with %s: %s", e.Current, e.Baseline, e.Why)
}
