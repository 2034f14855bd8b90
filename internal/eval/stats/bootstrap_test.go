package stats

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// plainBCa computes a BCa interval in the plainest way: it copies the cases of each resample and
// jackknife sample and computes the statistic from them. It uses package math and random numbers of
// its own. cases are grouped by cluster.
func plainBCa[T any](random *rand.Rand, clusters [][]T, statistic func([]T) float64, level float64) (low, high float64) {
	const n = 20_000
	observed := statistic(slices.Concat(clusters...))
	var values []float64
	below := 0.0
	for range n {
		var sample []T
		for range clusters {
			sample = append(sample, clusters[random.IntN(len(clusters))]...)
		}
		v := statistic(sample)
		if math.IsNaN(v) {
			continue
		}
		values = append(values, v)
		switch {
		case math.Abs(v-observed) < 1e-9:
			below += 0.5
		case v < observed:
			below++
		}
	}
	slices.Sort(values)
	var leftOut []float64
	mean := 0.0
	for i := range clusters {
		v := statistic(slices.Concat(slices.Concat(clusters[:i]...), slices.Concat(clusters[i+1:]...)))
		leftOut = append(leftOut, v)
		mean += v / float64(len(clusters))
	}
	squares, cubes := 0.0, 0.0
	for _, v := range leftOut {
		squares += math.Pow(mean-v, 2)
		cubes += math.Pow(mean-v, 3)
	}
	a := cubes / (6 * math.Pow(squares, 1.5))
	quantile := func(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }
	bias := quantile(below / float64(len(values)))
	end := func(p float64) float64 {
		z := bias + quantile(p)
		share := math.Erfc(-(bias+z/(1-a*z))/math.Sqrt2) / 2
		return values[min(int(share*float64(len(values))), len(values)-1)]
	}
	return end((1 - level) / 2), end((1 + level) / 2)
}

// meanOfAll is the mean of float64 values for plainBCa.
func meanOfAll(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// checkInterval compares an interval with that of plainBCa, which used other random numbers: each
// end may differ by a fifteenth of the width.
func checkInterval(t *testing.T, name string, got *Interval, low, high float64) {
	t.Helper()
	if tolerance := (high - low) / 15; got == nil || !near(got.Low, low, tolerance) || !near(got.High, high, tolerance) {
		t.Errorf("%s: %v, want about %v to %v", name, got, low, high)
	}
}

// TestBootstrapIsBCa compares intervals of skewed samples with those of plainBCa.
func TestBootstrapIsBCa(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{15, 40} {
		values := make([]float64, n)
		each := make([][]float64, n)
		for i := range values {
			values[i] = random.ExpFloat64()
			each[i] = values[i : i+1]
		}
		low, high := plainBCa(random, each, meanOfAll, 0.95)
		checkInterval(t, "by case", Bootstrap(1, MeanOf(values, nil, 0.95))[0], low, high)

		clusters := make([]int, n)
		grouped := make([][]float64, n/3+1)
		for i, v := range values {
			clusters[i] = i * i % len(grouped)
			grouped[clusters[i]] = append(grouped[clusters[i]], v)
		}
		grouped = slices.DeleteFunc(grouped, func(g []float64) bool { return len(g) == 0 })
		low, high = plainBCa(random, grouped, meanOfAll, 0.9)
		checkInterval(t, "by cluster", Bootstrap(1, MeanOf(values, clusters, 0.9))[0], low, high)
	}
	type pair struct{ judge, label float64 }
	var cases []Agreement
	var pairs [][]pair
	for range 40 {
		label := random.IntN(3) / 2
		judge := label
		if random.IntN(4) == 0 {
			judge = 1 - label
		}
		cases = append(cases, Agreement{Both: judge * label, OnlyJudge: judge * (1 - label), OnlyLabel: (1 - judge) * label, Neither: (1 - judge) * (1 - label)})
		pairs = append(pairs, []pair{{float64(judge), float64(label)}})
	}
	low, high := plainBCa(random, pairs, func(all []pair) float64 {
		var judge, label []float64
		for _, p := range all {
			judge, label = append(judge, p.judge), append(label, p.label)
		}
		return kappaOfShares(judge, label)
	}, 0.95)
	checkInterval(t, "kappa", Bootstrap(1, KappaOf(cases, 0.95))[0], low, high)
}

// TestBootstrapIsReproducible checks the bits of an interval. They are the same on all platforms,
// for any number of processors, and next to other estimators.
func TestBootstrapIsReproducible(t *testing.T) {
	var values []float64
	for i := range 101 {
		values = append(values, math.Sqrt(float64(i*i%37)))
	}
	other := MeanOf(values[1:], nil, 0.95)
	of := MeanOf(values, nil, 0.95)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	want := Interval{reproducedLow, reproducedHigh}
	for _, processors := range []int{1, 2, 5} {
		runtime.GOMAXPROCS(processors)
		for range 2 {
			if got := Bootstrap(42, other, of, of); *got[1] != want || *got[2] != want {
				t.Errorf("with %d processors: %x and %x, want %x", processors, *got[1], *got[2], want)
			}
		}
	}
	if got := *Bootstrap(43, of)[0]; got == want {
		t.Error("another seed has the same interval")
	}
}

// The ends of the interval that TestBootstrapIsReproducible expects.
const reproducedLow, reproducedHigh = 0x1.cedfeb47a5b7cp+01, 0x1.0f84a02cb19ap+02

func TestBootstrapOfSpecialSamples(t *testing.T) {
	third := 1.0 / 3
	for name, c := range map[string]struct {
		e    Estimator
		want *Interval
	}{
		"no case":           {MeanOf(nil, nil, 0.95), nil},
		"one case":          {MeanOf([]float64{1}, nil, 0.95), nil},
		"one cluster":       {MeanOf([]float64{1, 2, 3}, []int{5, 5, 5}, 0.95), nil},
		"equal cases":       {MeanOf([]float64{third, third, third}, nil, 0.95), &Interval{third, third}},
		"zeros":             {MeanOf([]float64{0, 0}, nil, 0.95), &Interval{0, 0}},
		"two cases":         {MeanOf([]float64{0, 1}, nil, 0.95), &Interval{0, 1}},
		"tiny":              {MeanOf([]float64{0, 5e-324}, nil, 0.95), &Interval{0, 5e-324}},
		"huge":              {MeanOf([]float64{-1e300, 1e300}, nil, 0.95), &Interval{-1e300, 1e300}},
		"kappa of no case":  {KappaOf(nil, 0.95), nil},
		"kappa of one":      {KappaOf([]Agreement{{Both: 1}}, 0.95), nil},
		"kappa undefined":   {KappaOf([]Agreement{{Both: 1}, {Both: 2}}, 0.95), nil},
		"kappa of two":      {KappaOf([]Agreement{{Both: 1}, {Neither: 1}}, 0.95), &Interval{1, 1}},
		"kappa of disagree": {KappaOf([]Agreement{{OnlyJudge: 1}, {OnlyLabel: 1}}, 0.95), &Interval{-1, 0}},
	} {
		got := Bootstrap(0, c.e)[0]
		if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestClustersOfCopiesChangeNothing replaces each case by a cluster of equal cases: neither the
// interval nor the p-value may become smaller.
func TestClustersOfCopiesChangeNothing(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 9))
	for _, n := range []int{10, 60} {
		var d, copies []float64
		var clusters []int
		for i := range n {
			d = append(d, float64(random.IntN(11)-6)/5)
			for range 7 {
				copies, clusters = append(copies, d[i]), append(clusters, 1000-i)
			}
		}
		if got, want := SignFlip(copies, clusters, 3), SignFlip(d, nil, 3); got != want {
			t.Errorf("%d clusters: p = %v, want %v", n, got, want)
		}
		both := Bootstrap(3, MeanOf(copies, clusters, 0.9), MeanOf(d, nil, 0.9))
		if !near(both[0].Low, both[1].Low, 1e-12) || !near(both[0].High, both[1].High, 1e-12) {
			t.Errorf("%d clusters: %v, want %v", n, *both[0], *both[1])
		}
	}
}
