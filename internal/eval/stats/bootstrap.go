package stats

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

const (
	resamples = 10_000
	// perGenerator is the number of resamples that one generator draws. Each part of this size has
	// a generator of its own, so that the result does not depend on the number of processors.
	perGenerator = 250
	// tieTolerance is the relative difference up to which two values are equal. Values that are
	// equal in exact arithmetic, such as (0.2+0.4)/2 and 0.3, differ after rounding. Genuinely
	// different values are that close only with a probability that no result would show.
	tieTolerance = 1.0 / (1 << 40)
)

// Estimator is a statistic of a sample, whose interval Bootstrap computes.
type Estimator struct {
	level float64
	// columns contains the terms of the statistic. Each column has one term for each cluster.
	columns [][]int64
	// value returns the statistic of some clusters from the sums of the columns. It returns NaN if
	// the statistic is not defined.
	value     func(sums []int64, clusters int) float64
	tolerance float64   // difference up to which two values are equal
	constant  *Interval // the interval, if all cases are equal
}

// MeanOf returns the estimator of the mean over cases, with an interval at a level.
func MeanOf(values []float64, clusters []int, level float64) Estimator {
	if len(values) == 0 {
		return Estimator{}
	}
	c := sumClusters(values, clusters)
	e := Estimator{level: level, columns: [][]int64{c.sums}, tolerance: float64(c.largest * tieTolerance)}
	e.value = func(sums []int64, n int) float64 {
		return math.Ldexp(float64(sums[0])/float64(n), -c.exponent)
	}
	if !c.areUnclustered() {
		e.columns = append(e.columns, c.sizes)
		e.value = func(sums []int64, _ int) float64 {
			return math.Ldexp(float64(sums[0])/float64(sums[1]), -c.exponent)
		}
	}
	if areEqual(values) {
		e.constant = &Interval{values[0], values[0]}
	}
	return e
}

// KappaOf returns the estimator of Cohen's kappa, with an interval at a level. Each case is a
// cluster: its judgements are drawn together.
func KappaOf(cases []Agreement, level float64) Estimator {
	e := Estimator{level: level, tolerance: tieTolerance, columns: make([][]int64, 4)}
	for _, a := range cases {
		for i, n := range a.counts() {
			e.columns[i] = append(e.columns[i], n)
		}
	}
	e.value = func(sums []int64, _ int) float64 { return kappa(sums) }
	return e
}

// clusters returns the number of clusters in the sample.
func (e Estimator) clusters() int {
	if len(e.columns) == 0 {
		return 0
	}
	return len(e.columns[0])
}

// Bootstrap returns the BCa interval of each estimator (Efron 1987, "Better bootstrap confidence
// intervals"): bias-corrected and accelerated, from 10,000 resamples of whole clusters. The ends
// are values of resamples. The interval is nil if the sample has fewer than two clusters or if the
// statistic is not defined, and [m, m] if all cases have the value m.
//
// Estimators of samples with the same number of clusters share the resamples. Drawing these takes
// most of the time, so one call for all statistics of a report is faster than many calls.
func Bootstrap(seed uint64, estimators ...Estimator) []*Interval {
	intervals := make([]*Interval, len(estimators))
	groups := map[int][]int{} // indexes of estimators by number of clusters
	for i, e := range estimators {
		switch n := e.clusters(); {
		case n < 2:
		case e.constant != nil:
			intervals[i] = &Interval{e.constant.Low, e.constant.High}
		default:
			groups[n] = append(groups[n], i)
		}
	}
	for n, group := range groups {
		values := make([][]float64, len(group))
		for i := range group {
			values[i] = make([]float64, resamples)
		}
		inParallel(resamples/perGenerator, func(part int) {
			resample(rand.NewPCG(seed, uint64(part)), n, part*perGenerator, func(at int, draws []uint32) {
				for i, e := range group {
					values[i][at] = estimators[e].evaluate(draws)
				}
			})
		})
		inParallel(len(group), func(i int) { intervals[group[i]] = estimators[group[i]].interval(values[i]) })
	}
	return intervals
}

// inParallel calls do for the numbers from 0 to n-1, on all processors.
func inParallel(n int, do func(int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
}

// resample draws perGenerator resamples of n clusters and calls use with the number of each, from
// first on, and the indexes of its clusters.
func resample(generator *rand.PCG, n, first int, use func(at int, draws []uint32)) {
	draws := make([]uint32, n+n%2)
	for at := range perGenerator {
		for i := 0; i < len(draws); i += 2 {
			// The high and the low half each select an index. The share of an index differs by at
			// most n/2^32 from that of another.
			random := generator.Uint64()
			draws[i] = uint32((random >> 32) * uint64(n) >> 32)
			draws[i+1] = uint32((random & math.MaxUint32) * uint64(n) >> 32)
		}
		use(first+at, draws[:n])
	}
}

// evaluate returns the value of the statistic for a resample.
func (e Estimator) evaluate(draws []uint32) float64 {
	var sums [4]int64
	for c, column := range e.columns {
		var even, odd int64 // two sums, because the processor computes them at the same time
		i := 0
		for ; i+1 < len(draws); i += 2 {
			even += column[draws[i]]
			odd += column[draws[i+1]]
		}
		if i < len(draws) {
			even += column[draws[i]]
		}
		sums[c] = even + odd
	}
	return e.value(sums[:len(e.columns)], len(draws))
}

// interval returns the interval from the values of the resamples, which it sorts.
func (e Estimator) interval(values []float64) *Interval {
	values = slices.DeleteFunc(values, math.IsNaN)
	observed, leftOut := e.jackknife()
	if len(values) == 0 || math.IsNaN(observed) {
		return nil
	}
	slices.Sort(values)
	count := float64(len(values))
	below, _ := slices.BinarySearch(values, observed-e.tolerance)
	notAbove, _ := slices.BinarySearchFunc(values, observed+e.tolerance, func(v, limit float64) int {
		if v <= limit {
			return -1
		}
		return 1
	})
	share := float64(below+notAbove) / (2 * count) // below, with half of those that are equal
	bias := normalQuantile(min(max(share, 0.5/count), 1-0.5/count))
	speed := acceleration(leftOut)
	end := func(z float64) float64 { // the corrected share for the normal quantile z
		x := bias + z
		divisor := 1 - float64(speed*x)
		if divisor <= 0 {
			return math.Round(normalCDF(x))
		}
		return normalCDF(bias + x/divisor)
	}
	z := normalQuantile((1 + e.level) / 2)
	low := int(math.Floor((count + 1) * end(-z)))
	high := int(math.Ceil((count + 1) * end(z)))
	return &Interval{values[min(max(low, 1), len(values))-1], values[min(max(high, 1), len(values))-1]}
}

// jackknife returns the statistic of the sample, and those of the sample without each cluster.
func (e Estimator) jackknife() (observed float64, leftOut []float64) {
	n := e.clusters()
	totals, rest := make([]int64, len(e.columns)), make([]int64, len(e.columns))
	for c, column := range e.columns {
		for _, x := range column {
			totals[c] += x
		}
	}
	for i := range n {
		for c, column := range e.columns {
			rest[c] = totals[c] - column[i]
		}
		if v := e.value(rest, n-1); !math.IsNaN(v) {
			leftOut = append(leftOut, v)
		}
	}
	return e.value(totals, n), leftOut
}

// acceleration returns the acceleration of the BCa interval, which is a sixth of the skewness of
// the jackknife values, with the opposite sign.
func acceleration(leftOut []float64) float64 {
	mean, largest := Mean(leftOut), 0.0
	for _, v := range leftOut {
		largest = max(largest, math.Abs(mean-v))
	}
	if len(leftOut) == 0 || largest == 0 {
		return 0
	}
	squares, cubes := 0.0, 0.0
	for _, v := range leftOut {
		x := (mean - v) / largest
		squares += float64(x * x)
		cubes += float64(float64(x*x) * x)
	}
	return cubes / (6 * float64(squares*math.Sqrt(squares)))
}
