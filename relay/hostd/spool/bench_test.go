package spool_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/concerto-lang/concerto/relay/hostd/spool"
)

// BenchmarkReplay reads 100,000 events from the spool in batches, as a link does.
func BenchmarkReplay(b *testing.B) {
	const events, writers = 100_000, 250
	s := open(b, filepath.Join(b.TempDir(), "spool.db"), spool.Options{})
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range events / writers {
				if _, err := s.Append(ctx, "run_a", output(fmt.Sprintf("line %d of writer %d\n", i, w))); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
	for b.Loop() {
		if n := len(next(b, s, "run_a", 0, 64)); n != events {
			b.Fatalf("number of events = %d", n)
		}
	}
	b.ReportMetric(float64(events)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
