package format

import (
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/text/source"
)

// BenchmarkSource reports how many lines are formatted per second. The goal is a million lines per
// minute, which are 16,700 lines per second.
func BenchmarkSource(b *testing.B) {
	var all strings.Builder
	for _, name := range []string{"../../../stdlib/agent.conc", "../../../stdlib/host.conc", "../../../stdlib/array.conc", "../../../examples/supervise/main.conc"} {
		all.WriteString(read(b, name))
	}
	text := strings.Repeat(all.String(), 20)
	f := source.NewFile("main.conc", []byte(text))
	lines := strings.Count(text, "\n")
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if out, list := Source(f, 0); out == nil {
			b.Fatal(list.Sorted()[0].Message)
		}
	}
	b.ReportMetric(float64(lines)*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
}
