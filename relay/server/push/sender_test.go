package push

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/relay/server/push/pushtest"
	"github.com/concerto-lang/concerto/relay/store"
	"github.com/concerto-lang/concerto/relay/store/sqlite"
)

// TestQueuedMessages checks the queue of a browser. Its messages are sent in order. A queued retry
// is dropped if a later message has the same topic. done is called once for each message. Messages
// beyond the limit are dropped without blocking.
func TestQueuedMessages(t *testing.T) {
	db, err := sqlite.Open(context.Background(), filepath.Join(t.TempDir(), "relay.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	id, err := loadIdentity(context.Background(), db, "mailto:a@b")
	if err != nil {
		t.Fatal(err)
	}
	if loaded, err := loadIdentity(context.Background(), db, "mailto:a@b"); err != nil || loaded.public != id.public {
		t.Errorf("the second load returned another key or an error: %v", err)
	}
	service := pushtest.New(t)
	came, first, last := make(chan struct{}), make(chan struct{}), make(chan struct{})
	service.Answer = func(_ string, n int) (int, http.Header) {
		switch n {
		case 1:
			came <- struct{}{}
			<-first
			return 503, nil
		case 4:
			came <- struct{}{}
			<-last
			return 410, nil
		}
		return 201, nil
	}
	paused := false
	s := &sender{id: id, client: newClient(newDialer(true).DialContext), now: time.Now, wall: time.Now, log: slog.New(slog.DiscardHandler), onUnsubscribed: func(context.Context, string) {},
		after: func(time.Duration, func()) func() bool { paused = true; return func() bool { return true } }}
	s.start(t.Context())
	b := service.Subscribe("b", id.public)
	var sub store.Subscription
	var keys struct{ Keys *store.Subscription }
	keys.Keys = &sub
	if err := json.Unmarshal([]byte(b.JSON()), &keys); err != nil {
		t.Fatal(err)
	}
	sub.Endpoint = b.Endpoint
	var over atomic.Int64
	put := func(topic, text string) {
		s.put(&message{to: &sub, topic: topic, text: []byte(fmt.Sprintf(`{"summary":%q}`, text)), urgency: "high", ends: time.Now().Add(time.Hour), done: func() { over.Add(1) }})
	}
	put("a", "first") // no other message is sent until the service has answered this one
	<-came
	put("b", "second")
	put("a", "third")
	put("a", "fourth")
	close(first)
	for _, want := range []string{"second", "fourth"} {
		if n, _ := b.Next(); n.Summary != want {
			t.Errorf("message = %q, want %q", n.Summary, want)
		}
	}
	put("x", "it waits")
	<-came
	for i := range maxQueuedOfOne + 100 {
		put(fmt.Sprint("t", i), "x")
	}
	s.stop()
	close(last)
	if n := over.Load(); n != 4+100 || b.Seen() != 4 || paused {
		t.Errorf("finished messages = %d, requests = %d, paused = %v; want 104, 4 and false", n, b.Seen(), paused)
	}
}
