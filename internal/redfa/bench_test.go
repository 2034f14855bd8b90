package redfa

import (
	"fmt"
	"strings"
	"testing"
)

// logText is 10 MB of a log.
func logText() string {
	var b strings.Builder
	for i := 0; b.Len() < 10_000_000; i++ {
		fmt.Fprintf(&b, "2026-%02d-%02dT%02d:%02d:%02d %s user=ann.%d@example.com took %d ms: lorem ipsum dolor sit amet consectetur\n",
			i%12+1, i%28+1, i%24, i%60, i%60, []string{"INFO", "WARN", "ERROR"}[i%3], i, i*7919%5000)
	}
	return b.String()
}

func BenchmarkAll(b *testing.B) {
	text := logText()
	for _, e := range []string{`ERROR`, `\d+`, `[a-z]+\.\d+@[a-z]+\.com`, `user=(\S+) took (\d+) ms`, `[ \n]+`, `(?i)fatal|panic|abort`, `\b\w+\b`} {
		b.Run(e, func(b *testing.B) {
			r, err := Compile(e)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(text)))
			n := 0
			for b.Loop() {
				r.All(text, -1, true, unpaced, func([]int) { n++ })
			}
			b.ReportMetric(float64(n)/float64(b.N), "matches")
		})
	}
}
