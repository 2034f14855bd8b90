package stats

import "math"

// normalCDF returns the probability that a standard normal variable is at most x. Its absolute
// error is below 5e-15. It sums the series x + x³/3 + x⁵/(3·5) + …, whose terms are all positive.
func normalCDF(x float64) float64 {
	switch {
	case x < 0:
		return 1 - normalCDF(-x)
	case x > 9:
		return 1
	}
	sum, term := x, x
	for k := 3.0; term > sum*1e-17; k += 2 {
		term = float64(float64(term*x)*x) / k
		sum += term
	}
	density := exp(-float64(x*x)/2) / math.Sqrt(2*math.Pi)
	return min(0.5+float64(sum*density), 1)
}

// normalQuantile returns the x with normalCDF(x) = p, for 0 < p < 1, by bisection.
func normalQuantile(p float64) float64 {
	switch {
	case p == 0.5:
		return 0
	case p < 0.5:
		return -normalQuantile(1 - p)
	}
	low, high := 0.0, 9.0
	for {
		middle := (low + high) / 2
		if middle == low || middle == high {
			return high
		}
		if normalCDF(middle) < p {
			low = middle
		} else {
			high = middle
		}
	}
}

// exp returns e to the power of x, for moderate x. Its relative error is below 1e-15.
func exp(x float64) float64 {
	// x is n·ln 2 + r with |r| <= ln(2)/2. The first part of ln 2 has so few bits that n times this
	// part is exact.
	const ln2High, ln2Low = 6.93147180369123816490e-01, 1.90821492927058770002e-10
	n := math.RoundToEven(x / math.Ln2)
	r := x - float64(n*ln2High)
	r -= float64(n * ln2Low)
	sum := 1.0
	for k := 18.0; k > 0; k-- {
		sum = 1 + float64(r*sum)/k
	}
	return math.Ldexp(sum, int(n))
}
