package summary

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/eval/result"
	"github.com/concerto-lang/concerto/internal/eval/stats"
)

// randomResult returns a result of up to 12 cases with random scores, rows, clusters and statuses.
func randomResult(random *rand.Rand) *result.Result {
	r := &result.Result{Header: result.Header{Eval: 1, Seed: 3, Metrics: []result.Metric{
		{Name: "correct", Kind: result.KindBool, Better: result.Higher, Gate: true, Margin: 0.05},
		{Name: "words", Kind: result.KindNumber, Better: result.Lower, Gate: true, Margin: 1},
	}}}
	for i := range 12 {
		row := json.RawMessage(nil)
		switch random.IntN(8) {
		case 0:
			continue // the case is missing
		case 1, 2, 3:
			row = json.RawMessage(fmt.Sprintf(`{"n":%d}`, random.IntN(8)/7))
		}
		for rep := range 1 + random.IntN(3) {
			s := &result.Sample{Case: fmt.Sprint("c", i), Rep: rep + 1, Row: row, Status: result.StatusScored, Scores: map[string]result.Score{}}
			if i%3 > 0 {
				s.Cluster = json.RawMessage(fmt.Sprint(i % 3))
			}
			switch random.IntN(10) {
			case 0:
				s.Status = result.StatusFailed
			case 1:
				s.Status = result.StatusError
			default:
				if random.IntN(5) > 0 {
					s.Scores["correct"] = result.BoolScore(random.IntN(3) > 0)
				}
				s.Scores["words"] = result.NumberScore(float64(random.IntN(10)) / 10)
			}
			r.Samples = append(r.Samples, s)
		}
	}
	return r
}

// plainMeans computes the case means of a metric from the definition.
func plainMeans(r *result.Result, metric string) (means map[string]float64, rows map[string]string) {
	sums, counts := map[string]float64{}, map[string]float64{}
	means, rows = map[string]float64{}, map[string]string{}
	for _, s := range r.Samples {
		rows[s.Case] = string(s.Row)
		value, has := 0.0, false
		switch {
		case s.Status == result.StatusError:
		case metric == "failed":
			has = true
			if s.Status == result.StatusFailed {
				value = 1
			}
		case s.Status == result.StatusFailed:
			has = metric == "correct"
		default:
			value, has = s.Scores[metric].Value, s.Scores[metric].Kind != ""
		}
		if has {
			sums[s.Case] += value
			counts[s.Case]++
		}
	}
	for id := range sums {
		means[id] = sums[id] / counts[id]
	}
	return means, rows
}

// plainP computes the p-value of the sign-flip test by recursion over all flips of the clusters'
// sums.
func plainP(sums []float64) float64 {
	observed := 0.0
	for _, x := range sums {
		observed += x
	}
	var count func(i int, sum float64) float64
	count = func(i int, sum float64) float64 {
		switch {
		case i < len(sums):
			return count(i+1, sum+sums[i]) + count(i+1, sum-sums[i])
		case math.Abs(sum-observed) < 1e-9:
			return 0.5
		case sum < observed:
			return 1
		}
		return 0
	}
	return count(0, 0) / math.Pow(2, float64(len(sums)))
}

func equal(got *float64, want float64) bool {
	if got == nil {
		return math.IsNaN(want)
	}
	return math.Abs(*got-want) < 1e-9
}

func average(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// TestReportIsTheDefinition compares the reports on random results with a second computation.
func TestReportIsTheDefinition(t *testing.T) {
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 0))
		current, baseline := randomResult(random), randomResult(random)
		report, err := New([]Pair{{Current: Side{"b", current}, Baseline: Side{"a", baseline}}}, Options{Alpha: 0.05})
		if err != nil {
			t.Fatal(seed, err)
		}
		for i, m := range report.Evals[0].Metrics {
			now, rows := plainMeans(current, m.Name)
			before, rowsBefore := plainMeans(baseline, m.Name)
			var all []float64
			for _, x := range now {
				all = append(all, x)
			}
			if m.N != len(now) || !equal(m.Mean, average(all)) {
				t.Fatalf("seed %d: %s has n %d and mean %v, want %d and %v", seed, m.Name, m.N, m.Mean, len(now), average(all))
			}
			var d, currents, baselines []float64
			var onlyCurrent, onlyBaseline, changed []string
			clusters := map[string]float64{}
			for n := range 12 {
				id := fmt.Sprint("c", n)
				x, isHere := now[id]
				y, isThere := before[id]
				switch {
				case !isHere && !isThere:
				case !isThere:
					onlyCurrent = append(onlyCurrent, id)
				case !isHere:
					onlyBaseline = append(onlyBaseline, id)
				case rows[id] != rowsBefore[id] && rows[id] != "" && rowsBefore[id] != "":
					changed = append(changed, id)
				default:
					difference := x - y
					if m.Better == result.Lower {
						difference = y - x
					}
					d, currents, baselines = append(d, difference), append(currents, x), append(baselines, y)
					cluster := fmt.Sprint(n % 3)
					if n%3 == 0 {
						cluster = id
					}
					clusters[cluster] += difference
				}
			}
			var sums []float64
			for _, x := range clusters {
				sums = append(sums, x)
			}
			c := report.Comparisons[i]
			if c.Metric != m.Name || c.Cases != len(d) || !equal(c.Difference, average(d)) || !equal(c.Current, average(currents)) || !equal(c.Baseline, average(baselines)) {
				t.Fatalf("seed %d: %s: %+v, want %d cases, difference %v, %v and %v", seed, m.Name, c, len(d), average(d), average(currents), average(baselines))
			}
			for _, ids := range [][2][]string{{c.OnlyCurrent, onlyCurrent}, {c.OnlyBaseline, onlyBaseline}, {c.Changed, changed}} {
				if !slices.Equal(ids[0], ids[1]) {
					t.Fatalf("seed %d: %s: %+v, want only here %q, only in the baseline %q, changed %q", seed, m.Name, c, onlyCurrent, onlyBaseline, changed)
				}
			}
			if !slices.ContainsFunc(d, func(x float64) bool { return math.Abs(x) > 1e-12 }) {
				continue // the second computation does not distinguish 0 from a rounded 0
			}
			if want := plainP(sums); math.Abs(c.P-want) > 1e-9 {
				t.Fatalf("seed %d: %s: p = %v, want %v for the clusters %v", seed, m.Name, c.P, want, sums)
			}
		}
	}
}

// TestResultIsNoWorseThanItself compares results with themselves, also with their repetitions in
// another order.
func TestResultIsNoWorseThanItself(t *testing.T) {
	for seed := range uint64(20) {
		r := randomResult(rand.New(rand.NewPCG(seed, 1)))
		reversed := *r
		reversed.Samples = slices.Clone(r.Samples)
		slices.Reverse(reversed.Samples)
		report, err := New([]Pair{{Current: Side{"a", r}, Baseline: Side{"a", &reversed}}}, Options{Alpha: 0.05})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range report.Comparisons {
			if c.Cases > 0 && (*c.Verdict != stats.NoWorse || c.P != 1 || *c.Difference != 0) {
				t.Errorf("seed %d: %+v with the verdict %s", seed, c, *c.Verdict)
			}
		}
	}
}

// TestReportIsReproducible checks that the JSON of a report is the same for any number of
// processors.
func TestReportIsReproducible(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pairs := []Pair{{Current: Side{"b", largeResult(random, 50)}, Baseline: Side{"a", largeResult(random, 50)}}}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var first []byte
	for _, processors := range []int{1, 2, 7} {
		runtime.GOMAXPROCS(processors)
		report, err := New(pairs, Options{Alpha: 0.05, Gate: []string{"correct", nameCost, nameLatency, nameTokens}})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(report)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = text
		} else if string(text) != string(first) {
			t.Errorf("with %d processors:\n%s\nwant\n%s", processors, text, first)
		}
	}
}

// largeResult returns a result with 5 repetitions of n cases.
func largeResult(random *rand.Rand, n int) *result.Result {
	r := &result.Result{Header: result.Header{Eval: 1, Repeat: 5}}
	for _, m := range []string{"correct", "valid"} {
		r.Metrics = append(r.Metrics, result.Metric{Name: m, Kind: result.KindBool, Better: result.Higher, Gate: true, Margin: 0.05})
	}
	for _, m := range []string{"brevity", "polite"} {
		r.Metrics = append(r.Metrics, result.Metric{Name: m, Kind: result.KindNumber, Better: result.Higher, Gate: true, Margin: 0.05})
	}
	for i := range n {
		for rep := range 5 {
			ms, cost, tokens := 1000*random.Float64(), random.Float64()/100, random.Int64N(500)
			r.Samples = append(r.Samples, &result.Sample{
				Case: fmt.Sprint("ticket-", i), Rep: rep + 1, Status: result.StatusScored,
				Row: json.RawMessage(fmt.Sprintf(`{"id":"ticket-%d","text":"The program stops when I log in.","want":"bug"}`, i)),
				Scores: map[string]result.Score{
					"correct": result.BoolScore(random.IntN(10) < 7), "valid": result.BoolScore(random.IntN(10) < 9),
					"brevity": result.NumberScore(random.Float64()), "polite": result.NumberScore(random.Float64()),
				},
				MS: &ms, CostUSD: &cost, TokensIn: &tokens, TokensOut: &tokens,
			})
		}
	}
	return r
}

// TestMarginsOfMetrics checks which margin each metric has.
func TestMarginsOfMetrics(t *testing.T) {
	r := largeResult(rand.New(rand.NewPCG(1, 3)), 10)
	r.Metrics[0].Margin = 0.25
	r.Samples[0].Status, r.Samples[0].Scores = result.StatusFailed, nil
	gate := []string{"correct", "valid", "failed", nameLatency}
	margin := 0.01
	for _, o := range []Options{{Alpha: 0.05, Gate: gate}, {Alpha: 0.05, Gate: gate, Margin: &margin}} {
		report, err := New([]Pair{{Current: Side{"b", r}, Baseline: Side{"a", r}}}, o)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, c := range report.Comparisons {
			if c.Gate {
				got[c.Metric] = c.Margin
			}
		}
		want := map[string]float64{"correct": 0.25, "valid": 0.05, "failed": 0.05}
		if o.Margin != nil {
			want = map[string]float64{"correct": 0.01, "valid": 0.01, "failed": 0.01}
		}
		want[nameLatency] = 0.1 * *report.Comparisons[len(report.Comparisons)-1].Baseline
		if !reflect.DeepEqual(got, want) {
			t.Errorf("margins %v, want %v", got, want)
		}
	}
}

// TestJudgesAreValidatedByAgreements checks the state of a metric's judge.
func TestJudgesAreValidatedByAgreements(t *testing.T) {
	read := func(lines ...string) *result.Result {
		t.Helper()
		text := `{"eval":1,"metrics":[{"name":"polite"},{"name":"agrees","kind":"bool"}]}` + "\n" + strings.Join(lines, "\n")
		r, err := result.Read("r", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	agree := func(judge, hash string, label bool) string {
		return fmt.Sprintf(`{"case":"%[1]s %[3]v","scores":{"agrees":true},"judges":{"agrees":"%[2]s"},"agreements":{"agrees":{"judge":%[1]s,"label":%[3]v}}}`, judge, hash, label)
	}
	good := read(agree("true", "f00", true), agree("false", "f00", false), agree("true", "bad", false), agree("false", "bad", true))
	judged := func(hashes ...string) *result.Result {
		var lines []string
		for i, h := range hashes {
			lines = append(lines, fmt.Sprintf(`{"case":"%d","scores":{"polite":1},"judges":{"polite":"%s"}}`, i, h))
		}
		return read(lines...)
	}
	for name, c := range map[string]struct {
		r      *result.Result
		others []*result.Result
		want   string
	}{
		"agrees":         {judged("f00", "f00"), []*result.Result{good}, "validated 1 2"},
		"disagrees":      {judged("bad"), []*result.Result{good, good}, "weak -1 2"},
		"other judge":    {judged("new"), []*result.Result{good}, "unvalidated <nil> 0"},
		"no agreements":  {judged("f00"), nil, "unvalidated <nil> 0"},
		"several judges": {judged("f00", "bad"), []*result.Result{good}, "unvalidated <nil> 0"},
		"one class":      {judged("f00"), []*result.Result{read(agree("true", "f00", true))}, "unvalidated <nil> 1"},
	} {
		report, err := New([]Pair{{Current: Side{"r", c.r}}}, Options{Judged: c.others})
		if err != nil {
			t.Fatal(err)
		}
		j := report.Evals[0].Metrics[0].Judge
		got := fmt.Sprint(j.State, " <nil> ", j.Cases)
		if j.Kappa != nil {
			got = fmt.Sprint(j.State, " ", *j.Kappa, " ", j.Cases)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	report, err := New([]Pair{{Current: Side{"good", good}}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if a := report.Evals[0].Metrics[1].Agreement; a == nil || a.N != 4 || !equal(a.Kappa, 0) || a.CI == nil || report.Evals[0].Metrics[1].Judge != nil {
		t.Errorf("agreement %+v", a)
	}
}

// TestResultsAreRefused checks that a comparison without a common case has an error of its type.
func TestResultsAreRefused(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 4))
	other := largeResult(random, 3)
	for _, s := range other.Samples {
		s.Case += "x"
	}
	_, err := New([]Pair{{Current: Side{"b", largeResult(random, 3)}, Baseline: Side{"a", other}}}, Options{Alpha: 0.05})
	if e, ok := errors.AsType[*NotComparableError](err); !ok || e.Error() != "b cannot be compared with a: they have no case in common" {
		t.Errorf("error %v", err)
	}
}

// BenchmarkCompare compares 5 repetitions of 1,000 cases with a baseline, and reads both results.
func BenchmarkCompare(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 5))
	var files [2][]byte
	for i := range files {
		text, err := largeResult(random, 1000).Encode()
		if err != nil {
			b.Fatal(err)
		}
		files[i] = text
	}
	for b.Loop() {
		var p Pair
		for i, side := range []*Side{&p.Current, &p.Baseline} {
			r, err := result.Read("r", files[i])
			if err != nil {
				b.Fatal(err)
			}
			side.Result = r
		}
		if _, err := New([]Pair{p}, Options{Alpha: 0.05, Gate: []string{"correct", "valid", "brevity", "polite", nameCost, nameLatency, nameTokens}}); err != nil {
			b.Fatal(err)
		}
	}
}
