package serve

import (
	"runtime"
	"sync/atomic"
	"testing"
)

// TestReconnectWhileExpiring checks that arrive waits for a running action that handles the
// client's absence. Otherwise the client would receive nothing on its new connection, and would
// lose the tools that it registers there.
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
		t.Error("arrive returned while an action for the disconnected client was still running")
	}
}
