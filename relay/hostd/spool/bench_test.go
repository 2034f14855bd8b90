package spool_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/concerto-lang/concerto/relay/hostd/spool"
)

const benchEvents, benchWriters = 100_000, 250

// appendMany appends benchEvents events to a run by concurrent writers.
func appendMany(b *testing.B, s *spool.Spool) {
	var all sync.WaitGroup
	for w := range benchWriters {
		all.Go(func() {
			for i := range benchEvents / benchWriters {
				if _, err := s.Append(ctx, "run_a", output(fmt.Sprintf("line %d of writer %d\n", i, w))); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
}

func reportRate(b *testing.B) {
	b.ReportMetric(benchEvents*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkAppend commits 100,000 events.
func BenchmarkAppend(b *testing.B) {
	for name, keys := range map[string]spool.Keys{"plain": nil, "sealed": newAccount("a_1")} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				appendMany(b, open(b, filepath.Join(b.TempDir(), "spool.db"), spool.Options{Keys: keys}))
			}
			reportRate(b)
		})
	}
}

// BenchmarkReplay reads 100,000 events from the spool in batches, as a link does.
func BenchmarkReplay(b *testing.B) {
	for name, keys := range map[string]spool.Keys{"plain": nil, "sealed": newAccount("a_1")} {
		b.Run(name, func(b *testing.B) {
			s := open(b, filepath.Join(b.TempDir(), "spool.db"), spool.Options{Keys: keys})
			appendMany(b, s)
			for b.Loop() {
				if n := len(next(b, s, "run_a", 0, 64)); n < benchEvents {
					b.Fatalf("number of events = %d", n)
				}
			}
			reportRate(b)
		})
	}
}
