package stats

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// near reports whether two numbers are equal up to rounding of the table that contains want.
func near(got, want, rounding float64) bool { return math.Abs(got-want) <= rounding }

// TestNormalIsAsInTables compares quantiles with published tables, and the distribution with that
// of package math.
func TestNormalIsAsInTables(t *testing.T) {
	for p, want := range map[float64]float64{0.5: 0, 0.8: 0.841621, 0.95: 1.644854, 0.975: 1.959964, 0.995: 2.575829, 0.05: -1.644854, 0.9999: 3.719016} {
		if got := normalQuantile(p); !near(got, want, 5e-7) {
			t.Errorf("the quantile of %v is %v, want %v", p, got, want)
		}
	}
	for x := -8.5; x <= 8.5; x += 0.01 {
		if got, want := normalCDF(x), math.Erfc(-x/math.Sqrt2)/2; !near(got, want, 5e-15) {
			t.Errorf("the distribution at %v is %v, want %v", x, got, want)
		}
		if got, want := exp(-x*x/2), math.Exp(-x*x/2); !near(got/want, 1, 1e-15) {
			t.Errorf("exp(%v) is %v, want %v", -x*x/2, got, want)
		}
	}
}

// TestWilsonIsAsPublished uses table I of Newcombe 1998, "Two-sided confidence intervals for the
// single proportion: comparison of seven methods", method 3.
func TestWilsonIsAsPublished(t *testing.T) {
	for _, row := range []struct {
		successes, n int
		low, high    float64
	}{{81, 263, 0.2553, 0.3662}, {15, 148, 0.0624, 0.1605}, {0, 20, 0, 0.1611}, {1, 29, 0.0061, 0.1718}} {
		got := Wilson(row.successes, row.n, 0.95)
		if !near(got.Low, row.low, 5e-5) || !near(got.High, row.high, 5e-5) {
			t.Errorf("%d of %d: %v, want %v to %v", row.successes, row.n, *got, row.low, row.high)
		}
	}
	if got := Wilson(29, 29, 0.95); got.High != 1 || got.Low >= 1 {
		t.Errorf("29 of 29: %v, want an upper end of 1", *got)
	}
	if got := Wilson(0, 0, 0.95); got != nil {
		t.Errorf("without trials: %v, want nil", *got)
	}
}

// TestSignFlipIsAsFisherCounted uses Darwin's 15 pairs of plants. Fisher (1935, "The design of
// experiments", section 21) counted the 32,768 choices of signs: 835 of their sums exceed the
// observed one, and 28 are equal to it.
func TestSignFlipIsAsFisherCounted(t *testing.T) {
	d := []float64{-49, 67, -8, -16, -6, -23, -28, -41, -14, -29, -56, -24, -75, -60, 48}
	const want = (835 + 28.0/2) / 32768
	for _, unit := range []float64{1, 0.1, 1e-9, 1e200} { // also if the differences are rounded
		scaled := make([]float64, len(d))
		for i, x := range d {
			scaled[i] = x * unit
		}
		if got := SignFlip(scaled, nil, 0); got != want {
			t.Errorf("in units of %v: p = %v, want %v", unit, got, want)
		}
	}
	// As random flips: 13 zeros do not change the distribution of the sums.
	if got := SignFlip(append(make([]float64, 13), d...), nil, 1); !near(got, want, 0.003) {
		t.Errorf("by random flips: p = %v, want about %v", got, want)
	}
}

func TestSignFlip(t *testing.T) {
	repeated := func(x float64, n int) []float64 { return slices.Repeat([]float64{x}, n) }
	for name, c := range map[string]struct {
		d        []float64
		clusters []int
		want     float64
	}{
		"no difference":               {repeated(0, 5), nil, 1},
		"no case":                     {nil, nil, 1},
		"one case":                    {[]float64{-1}, nil, 0.25},
		"better":                      {repeated(1, 3), nil, 15.0 / 16},
		"equal up to rounding":        {[]float64{0.1 + 0.2, -0.3, 0.3, -0.3}, nil, 0.5},
		"one cluster":                 {repeated(-1, 10), make([]int, 10), 0.25},
		"two clusters":                {[]float64{-1, -2, -3}, []int{7, 7, 9}, 0.125},
		"sum of a cluster is zero":    {[]float64{-1, 1, -3}, []int{7, 7, 9}, 0.25},
		"more than 16 worse":          {repeated(-1, 17), nil, 1.0 / 20000},
		"16 worse":                    {repeated(-1, 16), nil, 0.5 / 65536},
		"more than 16 and all better": {repeated(1, 100), nil, 1},
	} {
		if got := SignFlip(c.d, c.clusters, 1); got != c.want {
			t.Errorf("%s: p = %v, want %v", name, got, c.want)
		}
	}
}

// TestHolmIsAsPublished uses the p-values of four hypotheses that are rejected, or not, as in the
// example for the procedure in the literature.
func TestHolmIsAsPublished(t *testing.T) {
	got := Holm([]float64{0.01, 0.04, 0.03, 0.005})
	for i, want := range []float64{0.03, 0.06, 0.06, 0.02} {
		if !near(got[i], want, 1e-12) {
			t.Errorf("Holm returns %v, want %v at %d", got, want, i)
		}
	}
}

// TestHolmIsTheDefinition compares Holm with a computation from its definition: the largest product
// of a p-value that is not larger, and the number of p-values that are not smaller than that.
func TestHolmIsTheDefinition(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		p := make([]float64, random.IntN(12))
		for i := range p {
			p[i] = float64(random.IntN(20)) / 20 // some are equal
		}
		for i, got := range Holm(p) {
			want := 0.0
			for _, smaller := range p {
				if smaller <= p[i] {
					left := 0
					for _, other := range p {
						if other >= smaller {
							left++
						}
					}
					want = max(want, min(1, float64(left)*smaller))
				}
			}
			if got != want {
				t.Fatalf("%v: corrected[%d] = %v, want %v", p, i, got, want)
			}
		}
	}
}

// TestKappaIsAsPublished uses the table of two readers of 50 proposals that textbooks compute, and
// the second computation from shares.
func TestKappaIsAsPublished(t *testing.T) {
	if got := Kappa([]Agreement{{Both: 20, OnlyJudge: 5, OnlyLabel: 10, Neither: 15}}); !near(got, 0.4, 1e-12) {
		t.Errorf("κ = %v, want 0.4", got)
	}
	for _, a := range []Agreement{{Both: 7}, {Neither: 3}, {}} {
		if got := Kappa([]Agreement{a}); !math.IsNaN(got) {
			t.Errorf("%v: κ = %v, want NaN", a, got)
		}
	}
	random := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		var cases []Agreement
		var judge, label []float64
		for range 2 + random.IntN(30) {
			j, l := random.IntN(2), random.IntN(2)
			judge, label = append(judge, float64(j)), append(label, float64(l))
			cases = append(cases, Agreement{Both: j * l, OnlyJudge: j * (1 - l), OnlyLabel: (1 - j) * l, Neither: (1 - j) * (1 - l)})
		}
		if got, want := Kappa(cases), kappaOfShares(judge, label); !near(got, want, 1e-12) && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Fatalf("%v: κ = %v, want %v", cases, got, want)
		}
	}
}

// kappaOfShares computes Cohen's kappa of ones and zeros from the shares in its definition.
func kappaOfShares(judge, label []float64) float64 {
	n, equal, j, l := float64(len(judge)), 0.0, 0.0, 0.0
	for i := range judge {
		if judge[i] == label[i] {
			equal++
		}
		j += judge[i]
		l += label[i]
	}
	chance := j/n*l/n + (1-j/n)*(1-l/n)
	if chance > 1-1e-9 {
		return math.NaN()
	}
	return (equal/n - chance) / (1 - chance)
}

// TestPassIsTheShareOfDraws compares both with quotients of binomial coefficients.
func TestPassIsTheShareOfDraws(t *testing.T) {
	quotient := func(c, n, k int) float64 {
		q, _ := new(big.Rat).SetFrac(new(big.Int).Binomial(int64(c), int64(k)), new(big.Int).Binomial(int64(n), int64(k))).Float64()
		return q
	}
	for n := 1; n <= 40; n++ {
		for c := range n + 1 {
			for k := 1; k <= n; k++ {
				anyWant, allWant := 1-quotient(n-c, n, k), quotient(c, n, k)
				if k > n-c {
					anyWant = 1
				}
				if k > c {
					allWant = 0
				}
				if got := PassAny(n, c, k); !near(got, anyWant, 1e-14) {
					t.Fatalf("PassAny(%d, %d, %d) = %v, want %v", n, c, k, got, anyWant)
				}
				if got := PassAll(n, c, k); !near(got, allWant, 1e-14) {
					t.Fatalf("PassAll(%d, %d, %d) = %v, want %v", n, c, k, got, allWant)
				}
			}
		}
	}
	if got := PassAny(1000, 1, 1000); got != 1 {
		t.Errorf("PassAny of 1000 draws is %v, want 1", got)
	}
}

func TestMeanAndStandardDeviation(t *testing.T) {
	if got := Mean([]float64{1e16, 1, -1e16, 1}); got != 0.5 {
		t.Errorf("the mean is %v, want 0.5", got)
	}
	if got := StandardDeviation([]float64{2, 4, 4, 4, 5, 5, 7, 9}); !near(got, math.Sqrt(32.0/7), 1e-15) {
		t.Errorf("the standard deviation is %v, want the root of 32/7", got)
	}
	if got := StandardDeviation([]float64{1e200, -1e200}); !near(got/1e200, math.Sqrt2, 1e-15) {
		t.Errorf("the standard deviation of large values is %v", got)
	}
	if got := StandardDeviation(slices.Repeat([]float64{0.1}, 7)); got != 0 {
		t.Errorf("the standard deviation of equal values is %v, want 0", got)
	}
	if mean, sd := Mean(nil), StandardDeviation([]float64{1}); !math.IsNaN(mean) || !math.IsNaN(sd) {
		t.Errorf("without enough values: mean %v, standard deviation %v, want NaN", mean, sd)
	}
}

func TestPercentileIsByNearestRank(t *testing.T) {
	values := []float64{35, 20, 15, 50, 40}
	for percent, want := range map[int]float64{1: 15, 5: 15, 20: 15, 21: 20, 30: 20, 40: 20, 50: 35, 99: 50, 100: 50} {
		if got := Percentile(values, percent); got != want {
			t.Errorf("p%d = %v, want %v", percent, got, want)
		}
	}
	if got := Percentile(nil, 50); !math.IsNaN(got) || values[0] != 35 {
		t.Errorf("without values: %v; values %v", got, values)
	}
}

func TestVerdict(t *testing.T) {
	for name, c := range map[string]struct {
		d                        []float64
		interval                 *Interval
		corrected, margin, alpha float64
		want                     string
	}{
		"same":               {[]float64{0, 0}, &Interval{0, 0}, 1, 0, 0.05, NoWorse},
		"same, one case":     {[]float64{0}, nil, 1, 0, 0.05, NoWorse},
		"no case":            {nil, nil, 1, 0.05, 0.05, Inconclusive},
		"within the margin":  {[]float64{-0.01, 0}, &Interval{-0.04, 0}, 0.001, 0.05, 0.05, NoWorse},
		"at the margin":      {[]float64{-0.05, 0}, &Interval{-0.05, 0}, 0.2, 0.05, 0.05, Inconclusive},
		"worse at the level": {[]float64{-0.05, 0}, &Interval{-0.05, 0}, 0.05, 0.05, 0.05, Worse},
		"one case lost":      {[]float64{-1}, nil, 0.25, 0.05, 0.05, Inconclusive},
	} {
		if got := Verdict(c.d, c.interval, c.corrected, c.margin, c.alpha); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestCasesNeeded(t *testing.T) {
	d := []float64{-1, 1, 0, 0, 0}                                 // s² = 0.5
	if got, ok := CasesNeeded(d, 0.1, 0.05); !ok || got != 310-5 { // 6.1826·0.5/0.01 = 309.1
		t.Errorf("%d cases are needed (%v), want 305", got, ok)
	}
	if got, ok := CasesNeeded(d, 10, 0.05); !ok || got != 1 {
		t.Errorf("%d cases are needed (%v), want 1", got, ok)
	}
	for name, c := range map[string]struct {
		d      []float64
		margin float64
	}{"no margin": {d, 0}, "one case": {d[:1], 0.1}, "tiny margin": {d, 1e-300}} {
		if got, ok := CasesNeeded(c.d, c.margin, 0.05); ok {
			t.Errorf("%s: %d cases are needed, want none", name, got)
		}
	}
}
