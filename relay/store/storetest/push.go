package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/store"
)

func (f *fixture) subscribe(endpoint, user string) error {
	return f.AddSubscription(ctx, store.Subscription{Endpoint: endpoint, User: user, Token: "t_" + user, P256dh: "p", Auth: "a", Created: 1}, 2)
}

// subscriptions checks the limit on subscriptions and their owners. It also checks that the first
// subscription marks open requests as sent.
func subscriptions(t *testing.T, open Opener) {
	f := begin(t, open)
	f.mustStore(2, f.event(1, protocol.RunStarted, `{"tool":"x","cwd":"/","command":"x"}`), f.event(2, protocol.RunPermissionRequested, `{"request_id":"q0","reason":"choice","prompt":"?"}`))
	for _, row := range []struct {
		endpoint, user string
		want           error
	}{
		{"https://a", "ann", nil}, {"https://b", "ann", nil}, {"https://b", "ann", nil}, {"https://c", "ann", store.ErrTooMany}, {"https://b", "bob", store.ErrConflict}, {"https://c", "bob", nil},
	} {
		if err := f.subscribe(row.endpoint, row.user); !errors.Is(err, row.want) {
			t.Errorf("%+v: error = %v", row, err)
		}
	}
	all, err := f.Subscriptions(ctx)
	if err != nil || len(all) != 3 || !reflect.DeepEqual(*all[0], store.Subscription{Endpoint: "https://a", User: "ann", Token: "t_ann", P256dh: "p", Auth: "a", Created: 1}) || all[2].User != "bob" {
		t.Errorf("subscriptions = %+v, %v", all, err)
	}
	if err := f.RemoveSubscription(ctx, "bob", "https://a"); !errors.Is(err, store.ErrUnknown) {
		t.Errorf("removal of another user's subscription = %v, want ErrUnknown", err)
	}
	for _, want := range []error{nil, store.ErrUnknown} {
		if err := f.RemoveSubscription(ctx, "", "https://a"); !errors.Is(err, want) {
			t.Errorf("removal = %v, want %v", err, want)
		}
	}
	noted, err := f.Notices(ctx, "run_a")
	if err != nil || !slices.Equal(noted, []store.Notice{{RequestID: "q0", Sent: true}}) {
		t.Errorf("notices of requests before the first subscription = %+v, %v; want q0 as sent", noted, err)
	}
	if runs, err := f.RunsToNotify(ctx); err != nil || !slices.Equal(runs, []string{"run_a"}) {
		t.Errorf("runs to notify = %v, %v; want run_a", runs, err)
	}
}

// notices lets several servers claim the messages about a request at the same time. Exactly one
// server may send the message, one the withdrawal, and one the message about the run's end.
func notices(t *testing.T, open Opener) {
	f := begin(t, open)
	f.mustStore(2, f.event(1, protocol.RunStarted, `{"tool":"x","cwd":"/","command":"x"}`), f.event(2, protocol.RunExited, `{"exit_code":0}`))
	for range 2 {
		if err := f.RecordStarter(ctx, "run_a", "ann"); err != nil {
			t.Fatal(err)
		}
	}
	if runs, err := f.RunsToNotify(ctx); err != nil || !slices.Equal(runs, []string{"run_a"}) {
		t.Errorf("runs to notify = %v, %v; want run_a", runs, err)
	}
	once := func(what string, do func() (bool, error)) {
		t.Helper()
		var all sync.WaitGroup
		var mu sync.Mutex
		n := 0
		for range 8 {
			all.Go(func() {
				did, err := do()
				mu.Lock()
				defer mu.Unlock()
				if did {
					n++
				}
				if err != nil {
					t.Error(fmt.Errorf("%s: %w", what, err))
				}
			})
		}
		all.Wait()
		if n != 1 {
			t.Errorf("%d servers may %s, want 1", n, what)
		}
	}
	once("notify", func() (bool, error) { return f.ClaimNotice(ctx, "run_a", "q1") })
	if err := f.MarkNoticeSent(ctx, "run_a", "q1"); err != nil {
		t.Error(err)
	}
	if all, err := f.Notices(ctx, "run_a"); err != nil || len(all) != 1 || !all[0].Sent {
		t.Errorf("notices = %+v, %v; want one that is sent", all, err)
	}
	once("withdraw", func() (bool, error) { return f.RemoveNotice(ctx, "run_a", "q1") })
	once("notify of the end", func() (bool, error) { user, err := f.TakeStarter(ctx, "run_a"); return user == "ann", err })
	if runs, err := f.RunsToNotify(ctx); err != nil || len(runs) != 0 {
		t.Errorf("runs to notify = %v, %v; want none", runs, err)
	}
}
