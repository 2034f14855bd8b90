package serve

import (
	"runtime"
	"sync/atomic"
	"testing"
)

// A client that reconnects after its absence has begun to be handled is present afterwards:
// otherwise it would receive nothing on its new connection, and lose the tools that it registers on
// it.
func TestReconnectWhileExpiring(t *testing.T) {
	c := &client{}
	began := make(chan struct{})
	var over atomic.Bool
	c.mu.Lock()
	c.away(0, func() {
		close(began)
		for range 10_000 {
			runtime.Gosched()
		}
		over.Store(true)
	})
	c.mu.Unlock()
	<-began
	c.arrive()
	if !over.Load() {
		t.Error("the client is there while what ends with it still ends")
	}
}
