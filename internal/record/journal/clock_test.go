package journal

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestClock reads a store's clock with requests that take different times.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ahead = time.Hour
		var c clock
		// read reads the clock; the store answers after a part of the time.
		read := func(first, rest time.Duration) {
			sent := time.Now()
			time.Sleep(first)
			store := time.Now().Add(ahead).Round(0) // from the store, without a monotonic reading
			time.Sleep(rest)
			c.set(sent, store)
		}
		want := func(after string, off time.Duration) {
			t.Helper()
			if got := time.UnixMilli(c.now()).Sub(time.Now().Add(ahead)); (got - off).Abs() > time.Millisecond {
				t.Errorf("%s, the clock differs from that of the store by %v, want %v", after, got, off)
			}
		}
		read(3*time.Millisecond, time.Millisecond)
		want("after a request", time.Millisecond)
		time.Sleep(time.Minute)
		want("after a minute", time.Millisecond)
		read(0, 5*time.Second) // the process was stopped before it received the answer
		want("after an answer that took 5 s", time.Millisecond)
		read(0, 0)
		want("after a fast request", 0)
	})
}
