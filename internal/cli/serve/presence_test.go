package serve

import (
	"runtime"
	"sync/atomic"
	"testing"
)

// Who comes back while what happens in its absence has begun is there once that is over:
// it would be deaf on its new connection, and lose the tools that it registers on it.
func TestBackWhileGone(t *testing.T) {
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
