package host

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/concerto-lang/concerto/runtime/world/clock"
)

// TestPausedClockStopsTimers pauses the run's clock. During the pause, no timeout or heartbeat may
// expire, and messages of the host must still be delivered.
func TestPausedClockStopsTimers(t *testing.T) {
	for limit, ends := range map[string]string{
		"timeout":   "HostError: host 'w' timed out after 10 seconds",
		"heartbeat": "HostError: host 'w' sent nothing for 3 seconds",
	} {
		synctest.Test(t, func(t *testing.T) {
			c := Config{Timeout: 10}
			if limit == "heartbeat" {
				c = Config{Timeout: 10, Upkeep: Upkeep{Heartbeat: 3}}
			}
			b := newBubble(t, c, func(h *memHost) {
				h.readLine()
				time.Sleep(30 * time.Minute)
				h.writeLine(`{"type":"progress","message":"late"}`)
				h.hang()
			})
			clock := clock.NewPausableClock()
			b.opts.Clock = clock
			id := b.openExchange()
			time.Sleep(time.Second)
			clock.Pause()
			time.Sleep(time.Hour)
			clock.Resume()
			went := time.Now()
			b.expectMessage(id, `progress {"message":"late"}`)
			b.expectMessage(id, ends)
			if after := time.Since(went); after < 2*time.Second || after > 10*time.Second {
				t.Errorf("limit %s: the exchange ended %v after the clock resumed, want between 2s and 10s", limit, after)
			}
			b.closeExchange(id, "")
		})
	}
}
