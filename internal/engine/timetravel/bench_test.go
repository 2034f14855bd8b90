package timetravel_test

import (
	"strings"
	"testing"
)

// BenchmarkBack measures moving back by one effect, and by one line, at the end of a run of 50,000
// effects. One of the two programs waits between its effects, the other never waits.
func BenchmarkBack(b *testing.B) {
	waits := strings.ReplaceAll(program, "0..40", "0..12500")
	computes := strings.NewReplacer("std::time::sleep(0)", `emit("n", n)`, "await ", "", "async ", "").Replace(waits)
	for name, text := range map[string]string{"waits": waits, "computes": computes} {
		b.Run(name, func(b *testing.B) {
			r := recording(b, text)
			s := r.Look()
			defer s.Close()
			n := int64(len(r.Effects))
			if n < 50_000 {
				b.Fatalf("the recording has %d effects, which are too few for the benchmark", n)
			}
			if err := s.ToEffect(n); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := s.ToEffect(s.Effects - 1); err != nil {
					b.Fatal(err)
				}
				if err := s.ToLine(s.Lines - 1); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(2*b.N), "ms/back")
		})
	}
}
