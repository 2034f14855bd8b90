package stats

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

const (
	flips          = 20_000 // random flips of SignFlip
	maxEnumerated  = 16     // number of clusters up to which SignFlip uses all flips
	flipGenerator  = 1 << 32
	clustersInWord = 64
)

// SignFlip returns the one-sided p-value for "worse" of paired differences d, where negative ones
// are worse. Under the hypothesis that both sides are the same system, the sign of a cluster's sum
// is random. The p-value is the share of sign flips with a sum below the observed one, plus half
// the share with an equal sum (mid-p). It uses all flips for up to 16 clusters, and otherwise
// 20,000 random ones; then it is at least 1/20,000. It returns 1 if all differences are zero.
//
// Sums are those of integers, and sums that differ relatively by less than 2^-40 of the largest
// possible sum are equal.
func SignFlip(d []float64, clusters []int, seed uint64) float64 {
	if !slices.ContainsFunc(d, func(x float64) bool { return x != 0 }) {
		return 1
	}
	c := sumClusters(d, clusters)
	var observed int64
	for _, x := range c.sums {
		observed += x
	}
	var sums []int64
	least := 0.0
	if len(c.sums) <= maxEnumerated {
		sums = sumAllFlips(c.sums)
	} else {
		sums = sumRandomFlips(c.sums, seed)
		least = 1.0 / flips
	}
	const tolerance = 1 << (62 - 40)
	below, equal := 0, 0
	for _, sum := range sums {
		switch {
		case sum < observed-tolerance:
			below++
		case sum <= observed+tolerance:
			equal++
		}
	}
	return max(float64(2*below+equal)/float64(2*len(sums)), least)
}

// sumAllFlips returns the sum for each choice of signs.
func sumAllFlips(terms []int64) []int64 {
	sums := make([]int64, 1<<len(terms))
	for _, x := range terms {
		sums[0] -= x
	}
	for signs := 1; signs < len(sums); signs++ {
		// Change one sign of a choice whose sum is known.
		sums[signs] = sums[signs&(signs-1)] + 2*terms[bits.TrailingZeros(uint(signs))]
	}
	return sums
}

// sumRandomFlips returns the sums for random choices of signs. Each bit of a random number is the
// sign of a term. A table contains the sums of eight terms for each value of a byte.
func sumRandomFlips(terms []int64, seed uint64) []int64 {
	generator := rand.NewPCG(seed, flipGenerator)
	sums := make([]int64, flips)
	for word := range slices.Chunk(terms, clustersInWord) {
		var tables [8][256]int64
		for i := range tables {
			var eight [8]int64
			copy(eight[:], word[min(8*i, len(word)):])
			copy(tables[i][:], sumAllFlips(eight[:]))
		}
		for i := range sums {
			signs := generator.Uint64()
			sums[i] += tables[0][byte(signs)] + tables[1][byte(signs>>8)] +
				tables[2][byte(signs>>16)] + tables[3][byte(signs>>24)] +
				tables[4][byte(signs>>32)] + tables[5][byte(signs>>40)] +
				tables[6][byte(signs>>48)] + tables[7][byte(signs>>56)]
		}
	}
	return sums
}

// Holm returns the p-values corrected for multiple tests, in the order of p (Holm 1979, "A simple
// sequentially rejective multiple test procedure").
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case p[a] < p[b]:
			return -1
		case p[a] > p[b]:
			return 1
		}
		return 0
	})
	corrected := make([]float64, len(p))
	largest := 0.0
	for rank, i := range order {
		largest = max(largest, min(1, p[i]*float64(len(p)-rank)))
		corrected[i] = largest
	}
	return corrected
}

// The verdicts of a comparison.
const (
	NoWorse      = "no worse"
	Worse        = "worse"
	Inconclusive = "inconclusive"
)

// Verdict returns the verdict on paired differences d. interval is that of their mean at level
// 1 - 2·alpha, or nil; corrected is the p-value of SignFlip after Holm. margin is the largest
// acceptable loss, in the metric's unit.
func Verdict(d []float64, interval *Interval, corrected, margin, alpha float64) string {
	isZero := len(d) > 0 && !slices.ContainsFunc(d, func(x float64) bool { return x != 0 })
	switch {
	case isZero, interval != nil && interval.Low > -margin:
		return NoWorse
	case corrected <= alpha:
		return Worse
	}
	return Inconclusive
}

// power is the probability with which CasesNeeded finds "no worse" without a difference.
const power = 0.8

// CasesNeeded returns the number of cases in addition to those of the paired differences d with
// which the verdict would be "no worse" with a probability of 80 % if there was no difference:
// max(1, ⌈(z₁₋ₐ + z₀.₈)²·s²/margin²⌉ - n), with the standard deviation s of d. ok is false for
// margin 0, for n < 2, and if the number is not representable.
func CasesNeeded(d []float64, margin, alpha float64) (cases int, ok bool) {
	if margin == 0 || len(d) < 2 {
		return 0, false
	}
	z := normalQuantile(1-alpha) + normalQuantile(power)
	ratio := float64(z*StandardDeviation(d)) / margin
	needed := math.Ceil(float64(ratio * ratio))
	if needed > 1<<53 {
		return 0, false
	}
	return max(1, int(needed)-len(d)), true
}
