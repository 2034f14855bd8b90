package mcp

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/concerto-lang/concerto/runtime/mcp/mcpport"
)

// TestDeafClient checks that a client that does not read its answers cannot prevent a server from
// ending.
func TestDeafClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		in, client := io.Pipe()
		unread, out := io.Pipe()
		done := make(chan error, 1)
		big := mcpport.Offer{Name: "big", Parameters: json.RawMessage(`{"type":"object"}`),
			Call: func(_ context.Context, _ json.RawMessage, report func(mcpport.Progress)) (mcpport.Result, error) {
				for i := range 2 * maxReports {
					report(mcpport.Progress{Done: float64(i + 1)}) // must not block
				}
				return mcpport.Result{Text: strings.Repeat("x", 1<<20)}, nil
			}}
		go func() { done <- serveStreams(ctx, "test", "1", mcpport.Offers{Fixed: []mcpport.Offer{big}}, in, out) }()
		go func() {
			_, _ = io.WriteString(client, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`+"\n")
			_, _ = io.WriteString(client, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"big","arguments":{},"_meta":{"progressToken":"p"}}}`+"\n")
		}()
		synctest.Wait()
		began := time.Now()
		cancel(errDone)
		if err := <-done; err != errDone || time.Since(began) > grace {
			t.Errorf("ServeStreams ended with error %v after %s", err, time.Since(began))
		}
		_ = unread.Close() // ends the goroutine that is still writing
		_ = client.Close()
		synctest.Wait()
	})
}

// TestReports checks that the oldest of too many reports are dropped, and that all others are sent
// before closeReports returns.
func TestReports(t *testing.T) {
	x := &reports{wanted: true, more: make(chan struct{}, 1)}
	for i := range maxReports + 10 {
		x.addReport(mcpport.Progress{Done: float64(i)})
	}
	x.closeReports()
	n := 0
	for p, ok := x.nextReport(); ok; p, ok = x.nextReport() {
		if want := float64(n + 10); p.Done != want {
			t.Fatalf("report %d has Done %v, want %v", n, p.Done, want)
		}
		n++
	}
	if n != maxReports {
		t.Errorf("received %d reports", n)
	}
}
