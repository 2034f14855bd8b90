package stats

import (
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

const (
	cases   = 100
	repeats = 5
)

// float64(simulations) is the number of simulated comparisons. By day, a part is made.
var simulations = func() int {
	if randtest.Night() {
		return 2000
	}
	return 800
}()

// scorer returns the score of a repetition of a case with an expected score.
type scorer func(random *rand.Rand, expected float64) float64

// scoreBool is the scorer of Bool metrics.
func scoreBool(random *rand.Rand, expected float64) float64 {
	if random.Float64() < expected {
		return 1
	}
	return 0
}

// scoreNumber is a scorer of number metrics from 0 to 1.
func scoreNumber(random *rand.Rand, expected float64) float64 {
	return math.Pow(random.Float64(), 1/expected-1)
}

// scoreSkewed is a scorer of number metrics that are as skewed as durations.
func scoreSkewed(random *rand.Rand, expected float64) float64 {
	return expected * random.ExpFloat64()
}

// caseMeans returns a mean for each of the expected scores.
func caseMeans(random *rand.Rand, score scorer, expected []float64, repeats int) []float64 {
	means := make([]float64, len(expected))
	for i, p := range expected {
		sum := 0.0
		for range repeats {
			sum += score(random, p)
		}
		means[i] = sum / float64(repeats)
	}
	return means
}

// simulateVerdict returns the verdict with margin 0 on a system whose expected scores are lower by
// drop than those of the baseline, which are from 0.2 to 0.95.
func simulateVerdict(random *rand.Rand, score scorer, drop float64, seed uint64) string {
	baseline, current := make([]float64, cases), make([]float64, cases)
	for i := range baseline {
		baseline[i] = 0.2 + 0.75*random.Float64()
		current[i] = max(baseline[i]-drop, 0)
	}
	before, after := caseMeans(random, score, baseline, repeats), caseMeans(random, score, current, repeats)
	d := make([]float64, cases)
	for i := range d {
		d[i] = after[i] - before[i]
	}
	const alpha = 0.05
	interval := Bootstrap(seed, MeanOf(d, nil, 1-2*alpha))[0]
	return Verdict(d, interval, Holm([]float64{SignFlip(d, nil, seed)})[0], 0, alpha)
}

// TestCalibration simulates comparisons of the same system, of which 5 % ± 1 may be "worse", and of
// systems that are worse by 10 points, of which at least 80 % must be found.
func TestCalibration(t *testing.T) {
	randtest.RacedElsewhere(t)
	for _, c := range []struct {
		name      string
		score     scorer
		drop      float64
		low, high float64 // share of the verdict "worse"
	}{
		{"same, Bool", scoreBool, 0, 0.04, 0.06},
		{"same, number", scoreNumber, 0, 0.04, 0.06},
		{"drop of 10 points, Bool", scoreBool, 0.1, 0.8, 1},
	} {
		var worse atomic.Int64
		inParallel(simulations, func(i int) {
			if simulateVerdict(rand.New(rand.NewPCG(uint64(i), 7)), c.score, c.drop, uint64(i)) == Worse {
				worse.Add(1)
			}
		})
		share := float64(worse.Load()) / float64(simulations)
		t.Logf("%s: %.2f %% are worse", c.name, 100*share)
		if share < c.low || share > c.high {
			t.Errorf("%s: %v are worse, want %v to %v", c.name, share, c.low, c.high)
		}
	}
}

// TestCoverage simulates samples of 50 cases and checks that 93 to 97 % of the intervals of their
// means contain the true value. Intervals of strongly skewed metrics contain it less often: this is
// a known property of the bootstrap for samples of this size.
func TestCoverage(t *testing.T) {
	randtest.RacedElsewhere(t)
	const n, mean = 50, (0.2 + 0.95) / 2
	uniform := func(random *rand.Rand) float64 { return 0.2 + 0.75*random.Float64() }
	for _, c := range []struct {
		name    string
		repeats int
		score   scorer
		low     float64 // least share of the intervals
	}{
		{"Bool, 1 repetition", 1, scoreBool, 0.93},
		{"Bool, 5 repetitions", 5, scoreBool, 0.93},
		{"number", 1, scoreNumber, 0.93},
		{"skewed number", 1, scoreSkewed, 0.915},
	} {
		var covered atomic.Int64
		inParallel(simulations, func(i int) {
			random := rand.New(rand.NewPCG(uint64(i), 8))
			expected := make([]float64, n)
			for i := range expected {
				expected[i] = uniform(random)
			}
			means := caseMeans(random, c.score, expected, c.repeats)
			var interval *Interval
			if c.name == "Bool, 1 repetition" {
				interval = Wilson(int(math.Round(Mean(means)*n)), n, 0.95)
			} else {
				interval = Bootstrap(uint64(i), MeanOf(means, nil, 0.95))[0]
			}
			if interval.Low <= mean && mean <= interval.High {
				covered.Add(1)
			}
		})
		share := float64(covered.Load()) / float64(simulations)
		t.Logf("%s: %.2f %% of the intervals contain the mean", c.name, 100*share)
		if share < c.low || share > 0.97 {
			t.Errorf("%s: %v of the intervals contain the mean, want %v to 0.97", c.name, share, c.low)
		}
	}
}
