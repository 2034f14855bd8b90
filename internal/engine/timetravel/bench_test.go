package timetravel_test

import (
	"strings"
	"testing"
)

// BenchmarkBack moves back by an effect, and by a line, at the end of a run of 50,000 effects: of
// one that waits in between and so has snapshots, and of one that never waits.
func BenchmarkBack(b *testing.B) {
	waits := strings.ReplaceAll(program, "0..40", "0..12500")
	computes := strings.NewReplacer("std::time::sleep(0)", `emit("n", n)`, "await ", "", "async ", "").Replace(waits)
	for name, text := range map[string]string{"waits": waits, "computes": computes} {
		b.Run(name, func(b *testing.B) {
			r := recording(b, text)
			s, err := r.Look()
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			n := int64(len(r.Effects))
			if n < 50_000 {
				b.Fatalf("only %d effects", n)
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
