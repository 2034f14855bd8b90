package mock

import (
	"context"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
)

// A host that plays a recording (`concerto host replay`) behaves the same way in every run, so even
// a test that is not live starts it for real. It takes no time on the test's clock. Its requests
// must be answered before it continues. Its next message is therefore requested immediately if none
// of its requests is open, and otherwise only when no other request can be performed.

// awaitHostMessages performs a request for messages of a real host.
func (w *World) awaitHostMessages(ctx context.Context, r *effect.ExchangeNext, next effect.Performer) (effect.Result, error) {
	res, err := w.performUnmocked(ctx, r, next, nil)
	if messages, ok := res.(*effect.ExchangeMessages); ok && err == nil && messages != nil {
		for i := range messages.Messages {
			switch row := hostmsg.Lookup(messages.Messages[i].Type); {
			case row.Waits():
				w.countRequests(r.ID, 1)
			case row.Role == hostmsg.Withdraws:
				w.countRequests(r.ID, -1)
			}
		}
	}
	return res, err
}

// countRequests adds more to the number of open requests of an exchange with a real host.
func (w *World) countRequests(id int64, more int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clock.asked[id] = max(w.clock.asked[id]+more, 0)
}
