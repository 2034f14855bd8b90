package mock

import (
	"context"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
)

// A host that plays a recording (`concerto host replay`) is started for real, also by a test that
// is not live, because it behaves the same every time. By the test's clock it takes no time, but
// its requests must be answered before it continues. So its next message is requested at once if no
// request is open, and otherwise when nothing else can happen.

// awaitHostMessages performs the wait for messages of a real host.
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

// countRequests counts the open requests of a real host.
func (w *World) countRequests(id int64, more int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clock.asked[id] = max(w.clock.asked[id]+more, 0)
}
