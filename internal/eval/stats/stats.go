// Package stats contains the statistics of evals, as defined in spec/49-eval.md: intervals of
// means, paired comparisons with a baseline, pass@k, and the agreement of judges with people. Its
// functions are pure. Random numbers come from a seed.
//
// A sample of n cases is a slice of n case means, in the metric's unit. Cases may belong to
// clusters: clusters[i] identifies the cluster of values[i], and nil means that each case is a
// cluster of its own. Levels, shares and p-values are between 0 and 1. Values must be finite.
//
// Results are identical on all platforms. Therefore the package uses only operations whose results
// IEEE 754 defines, in a fixed order. A conversion such as float64(x*y) prevents the compiler from
// fusing a product with a sum, also of a later statement, because the fused operation of some
// processors rounds differently. Functions such as math.Exp are not used either, because some
// platforms have their own version of them.
package stats

import (
	"math"
	"math/bits"
	"slices"
)

// Interval is a confidence interval. Both ends are in the unit of the estimated value.
type Interval struct{ Low, High float64 }

// Mean returns the arithmetic mean, or NaN without values. The sum is compensated (Neumaier 1974),
// so that the means of cases with the same scores in another order are equal.
func Mean(values []float64) float64 {
	sum, lost := 0.0, 0.0
	for _, v := range values {
		next := sum + v
		if math.Abs(sum) >= math.Abs(v) {
			lost += (sum - next) + v
		} else {
			lost += (v - next) + sum
		}
		sum = next
	}
	return (sum + lost) / float64(len(values))
}

// StandardDeviation returns the standard deviation with the divisor n-1, or NaN for n < 2.
func StandardDeviation(values []float64) float64 {
	if len(values) < 2 {
		return math.NaN()
	}
	mean, largest := Mean(values), 0.0
	for _, v := range values {
		largest = max(largest, math.Abs(v-mean))
	}
	if largest == 0 || areEqual(values) {
		return 0
	}
	sum := 0.0
	for _, v := range values {
		x := (v - mean) / largest // so that squares neither overflow nor vanish
		sum += float64(x * x)
	}
	return largest * math.Sqrt(sum/float64(len(values)-1))
}

// Percentile returns the percentile by nearest rank: the smallest value so that at least percent
// percent of the values are not larger. percent is from 1 to 100. It returns NaN without values.
func Percentile(values []float64, percent int) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(percent*len(sorted)+99)/100-1]
}

// areEqual reports whether all values are equal.
func areEqual(values []float64) bool {
	for _, v := range values {
		if v != values[0] {
			return false
		}
	}
	return true
}

// clusterSums contains the sum of the values in each cluster as integers. Sums of integers are
// exact, so they do not depend on the order of their terms, and sums of the same terms are equal.
type clusterSums struct {
	sums  []int64 // in units of 2^-exponent, in the order in which the clusters first occur
	sizes []int64 // number of cases in each cluster
	// exponent is as large as possible so that the sum of any len(sums) clusters, also of one
	// cluster several times, is below 2^62.
	exponent int
	largest  float64 // largest absolute value of a case
}

// sumClusters adds the values of each cluster.
func sumClusters(values []float64, clusters []int) clusterSums {
	var c clusterSums
	at := make([]int, len(values)) // index of each value's cluster
	if clusters == nil {
		for i := range values {
			at[i] = i
		}
		c.sizes = slices.Repeat([]int64{1}, len(values))
	} else {
		index := map[int]int{}
		for i, id := range clusters {
			n, known := index[id]
			if !known {
				n = len(index)
				index[id] = n
				c.sizes = append(c.sizes, 0)
			}
			at[i] = n
			c.sizes[n]++
		}
	}
	c.sums = make([]int64, len(c.sizes))
	for _, v := range values {
		c.largest = max(c.largest, math.Abs(v))
	}
	if c.largest == 0 {
		return c
	}
	_, exponent := math.Frexp(c.largest)
	c.exponent = 62 - exponent - bits.Len64(uint64(len(c.sizes))*uint64(slices.Max(c.sizes)))
	for i, v := range values {
		c.sums[at[i]] += int64(math.RoundToEven(math.Ldexp(v, c.exponent)))
	}
	return c
}

// areUnclustered reports whether each cluster has one case.
func (c clusterSums) areUnclustered() bool { return slices.Max(c.sizes) == 1 }
