package sim

import (
	"context"
	"strings"
	"sync"

	"github.com/ncruces/go-sqlite3"
)

// readerKey is the key of the process in the context of statements that pass the gate.
type readerKey struct{}

// gateReads lets each reading statement whose context has a process pass the gate, for the
// connections of all databases that are opened later. Only a goroutine that holds no mutex over its
// statements may use such a context: another goroutine that waits for the mutex is not blocked
// durably, so that the gate would wait for it.
var gateReads = sync.OnceFunc(func() {
	sqlite3.AutoExtension(func(c *sqlite3.Conn) error {
		return c.Trace(sqlite3.TRACE_STMT, func(_ sqlite3.TraceEvent, _, text any) error {
			ctx := c.GetInterrupt()
			p, ok := ctx.Value(readerKey{}).(*process)
			if sql, _ := text.(string); ok && strings.HasPrefix(sql, "SELECT") {
				g := p.world.gate
				g.passUntil(ctx, p, g.name(p, "reads "+tableOf(sql))) // a dead process cannot read
			}
			return nil
		})
	})
})

// withReader returns a context whose reading statements pass the gate as calls of p.
func withReader(ctx context.Context, p *process) context.Context {
	return context.WithValue(ctx, readerKey{}, p)
}

// tableOf returns the first table of a query.
func tableOf(sql string) string {
	_, from, _ := strings.Cut(sql, " FROM ")
	table, _, _ := strings.Cut(from, " ")
	return table
}
