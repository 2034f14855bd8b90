package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/store"
)

func (f *fixture) subscribe(endpoint, user string) error {
	return f.AddSubscription(ctx, store.Subscription{Endpoint: endpoint, User: user, Token: "t_" + user, P256dh: "p", Auth: "a", Created: 1}, 2)
}

// subscriptions checks the limits of subscriptions and their owners, and the notifications that the
// first one starts.
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
			t.Errorf("%+v: %v", row, err)
		}
	}
	all, err := f.Subscriptions(ctx)
	if err != nil || len(all) != 3 || *all[0] != (store.Subscription{Endpoint: "https://a", User: "ann", Token: "t_ann", P256dh: "p", Auth: "a", Created: 1}) || all[2].User != "bob" {
		t.Errorf("%+v, %v", all, err)
	}
	if err := f.RemoveSubscription(ctx, "bob", "https://a"); !errors.Is(err, store.ErrUnknown) {
		t.Errorf("another's: %v", err)
	}
	for _, want := range []error{nil, store.ErrUnknown} {
		if err := f.RemoveSubscription(ctx, "", "https://a"); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	noted, err := f.Notices(ctx, "run_a")
	if err != nil || !slices.Equal(noted, []store.Notice{{RequestID: "q0", Sent: true}}) {
		t.Errorf("requests before the subscription: %+v, %v", noted, err)
	}
	if runs, err := f.RunsToNotify(ctx); err != nil || !slices.Equal(runs, []string{"run_a"}) {
		t.Errorf("%v, %v", runs, err)
	}
}

// notices checks that of many servers one notifies, one withdraws, and one notifies of the end.
func notices(t *testing.T, open Opener) {
	f := begin(t, open)
	f.mustStore(2, f.event(1, protocol.RunStarted, `{"tool":"x","cwd":"/","command":"x"}`), f.event(2, protocol.RunExited, `{"exit_code":0}`))
	for range 2 {
		if err := f.RecordStarter(ctx, "run_a", "ann"); err != nil {
			t.Fatal(err)
		}
	}
	if runs, err := f.RunsToNotify(ctx); err != nil || !slices.Equal(runs, []string{"run_a"}) {
		t.Errorf("%v, %v", runs, err)
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
			t.Errorf("%d %s", n, what)
		}
	}
	once("tell", func() (bool, error) { return f.ClaimNotice(ctx, "run_a", "q1") })
	if err := f.MarkNoticeSent(ctx, "run_a", "q1"); err != nil {
		t.Error(err)
	}
	if all, err := f.Notices(ctx, "run_a"); err != nil || len(all) != 1 || !all[0].Sent {
		t.Errorf("%+v, %v", all, err)
	}
	once("withdraw", func() (bool, error) { return f.RemoveNotice(ctx, "run_a", "q1") })
	once("notify of the end", func() (bool, error) { user, err := f.TakeStarter(ctx, "run_a"); return user == "ann", err })
	if runs, err := f.RunsToNotify(ctx); err != nil || len(runs) != 0 {
		t.Errorf("%v, %v", runs, err)
	}
}
