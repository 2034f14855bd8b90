package host

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/concerto-lang/concerto/internal/data/hostpolicy"
)

// TestDroppedDecisions checks that decisions of the rules are recorded although the program closes
// the exchange, or the exchange times out, before the program receives them.
func TestDroppedDecisions(t *testing.T) {
	const requests = 100
	for name, end := range map[string]func(b *bubble, id int64) (received int){
		"closed":    func(b *bubble, id int64) int { b.closeExchange(id, "enough"); return 0 },
		"timed out": func(b *bubble, id int64) int { time.Sleep(time.Minute); return 0 },
		"received": func(b *bubble, id int64) int {
			n := strings.Count(b.nextOutcome(id), "host:decided")
			b.closeExchange(id, "enough")
			return n
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := Config{Params: someParams, Timeout: 30}
				c.Access.Permissions = &hostpolicy.Rules{Default: "allow"}
				b := newBubble(t, c, func(h *memHost) {
					withCancel(h)
					for n := range requests {
						h.writeLine(fmt.Sprintf(`{"type":"approval","id":%d,"description":"touch x"}`, n))
						h.readLine()
					}
					h.hang()
				})
				var mu sync.Mutex
				records := map[string]int{}
				b.opts.Outside = func(d *OutsideDecision) error {
					mu.Lock()
					defer mu.Unlock()
					records[d.Verdict+string(d.ID)+d.Rules]++
					return nil
				}
				id := b.openExchange()
				synctest.Wait()
				received := end(b, id)
				time.Sleep(time.Minute)
				mu.Lock()
				defer mu.Unlock()
				if len(records)+received != requests || received < requests && records["allow99[hosts.w.permissions]"] != 1 {
					t.Errorf("%d records and %d received decisions, want %d together: %v", len(records), received, requests, records)
				}
			})
		})
	}
}
