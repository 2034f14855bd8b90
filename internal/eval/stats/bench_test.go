package stats

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkBootstrap computes the intervals of ten statistics of 1,000 cases.
func BenchmarkBootstrap(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 1))
	var all []Estimator
	for range 10 {
		values := make([]float64, 1000)
		for i := range values {
			values[i] = random.Float64()
		}
		all = append(all, MeanOf(values, nil, 0.95))
	}
	for b.Loop() {
		Bootstrap(1, all...)
	}
}

// BenchmarkSignFlip tests 1,000 cases.
func BenchmarkSignFlip(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 1))
	d := make([]float64, 1000)
	for i := range d {
		d[i] = random.Float64() - 0.5
	}
	for b.Loop() {
		SignFlip(d, nil, 1)
	}
}
