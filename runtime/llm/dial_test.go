package llm

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// TestConnectionsAreDialledInTurn checks that fast dials run a few at a time, and that slow dials
// delay the others by at most dialWait.
func TestConnectionsAreDialledInTurn(t *testing.T) {
	const wanted = 3 * dialsAtOnce
	for _, c := range []struct {
		name  string
		takes time.Duration
		most  int           // expected maximum number of concurrent dials
		all   time.Duration // expected time until all connections are made
	}{
		{"quick", time.Millisecond, dialsAtOnce, 3 * time.Millisecond},
		{"slow", time.Second, wanted, time.Second + dialWait},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				now, most := make(chan int, 1), 0
				now <- 0
				dial := limitDials(func(context.Context, string, string) (net.Conn, error) {
					n := <-now + 1
					most = max(most, n)
					now <- n
					time.Sleep(c.takes)
					now <- <-now - 1
					return nil, nil
				})
				done := make(chan struct{})
				for range wanted {
					go func() {
						_, _ = dial(t.Context(), "tcp", "here")
						done <- struct{}{}
					}()
				}
				for range wanted {
					<-done
				}
				if took := time.Since(start); most != c.most || took != c.all {
					t.Errorf("at most %d concurrent dials and %s in total, want %d and %s", most, took, c.most, c.all)
				}
			})
		})
	}
}
