package stats

import "math"

// Wilson returns the score interval of a proportion at a level, for a number of successes in n
// independent trials (Wilson 1927, "Probable inference, the law of succession, and statistical
// inference"). It returns nil for n = 0.
func Wilson(successes, n int, level float64) *Interval {
	if n == 0 {
		return nil
	}
	z := normalQuantile((1 + level) / 2)
	z2 := float64(z * z)
	count, p := float64(n), float64(successes)/float64(n)
	width := 1 + z2/count
	centre := (p + z2/(2*count)) / width
	variance := float64(p*(1-p))/count + z2/(4*float64(count*count))
	half := float64(z / width * math.Sqrt(variance))
	i := &Interval{centre - half, centre + half}
	if successes == 0 {
		i.Low = 0
	}
	if successes == n {
		i.High = 1
	}
	return i
}

// PassAny returns pass@k of a case: the probability that at least one of k repetitions succeeds, if
// k are drawn without replacement from n repetitions with c successes. It is 1 - C(n-c, k)/C(n, k)
// (Chen et al. 2021, "Evaluating large language models trained on code"). It requires 1 <= k <= n.
func PassAny(n, c, k int) float64 {
	if k == 1 {
		return float64(c) / float64(n)
	}
	return 1 - PassAll(n, n-c, k)
}

// PassAll returns pass^k of a case: the probability that all of k repetitions succeed, if k are
// drawn without replacement from n repetitions with c successes. It is C(c, k)/C(n, k). It requires
// 1 <= k <= n.
func PassAll(n, c, k int) float64 {
	p := 1.0
	for i := range k {
		if c <= i {
			return 0
		}
		p = p * float64(c-i) / float64(n-i)
	}
	return p
}

// Agreement counts the judgements of a case by a judge's score and a person's label.
type Agreement struct{ Both, OnlyJudge, OnlyLabel, Neither int }

// Kappa returns Cohen's kappa over all judgements, (pₒ - pₑ)/(1 - pₑ) with the observed agreement
// pₒ and the agreement pₑ that is expected by chance (Cohen 1960, "A coefficient of agreement for
// nominal scales"). It returns NaN if all scores and all labels are in one class, and without
// judgements.
func Kappa(cases []Agreement) float64 {
	var total [4]int64
	for _, a := range cases {
		for i, n := range a.counts() {
			total[i] += n
		}
	}
	return kappa(total[:])
}

func (a Agreement) counts() [4]int64 {
	return [4]int64{int64(a.Both), int64(a.OnlyJudge), int64(a.OnlyLabel), int64(a.Neither)}
}

// kappa returns Cohen's kappa of the sums of Agreement.counts. Numerator and denominator are
// multiplied by the square of the number of judgements, which makes them integers.
func kappa(n []int64) float64 {
	both, onlyJudge, onlyLabel, neither := n[0], n[1], n[2], n[3]
	all := both + onlyJudge + onlyLabel + neither
	chance := (both+onlyJudge)*(both+onlyLabel) + (onlyLabel+neither)*(onlyJudge+neither)
	if all*all == chance {
		return math.NaN()
	}
	return float64(all*(both+neither)-chance) / float64(all*all-chance)
}
