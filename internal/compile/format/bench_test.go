package format

import (
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/text/source"
)

// BenchmarkSource measures the number of lines that are formatted in a second. 16,700 lines in a
// second are a million in a minute.
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
