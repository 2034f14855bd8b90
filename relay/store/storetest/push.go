package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/concerto-lang/concerto/internal/record/audit"
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

// pushBodies stores the bodies of sealed events only while a browser is subscribed, and deletes
// them. A subscription without devices leaves those that are stored.
func pushBodies(t *testing.T, open Opener) {
	f := begin(t, open)
	event := func(seq int64, typ, data string) store.Incoming {
		in := f.event(seq, typ, data)
		in.Envelope.Enc, in.Push = json.RawMessage(`{"epoch":3,"v":1}`), map[string]string{"d_phone": fmt.Sprint("body ", seq)}
		return in
	}
	f.mustStore(2, event(1, protocol.RunStarted, `{"ct":"A","prev":""}`), event(2, protocol.RunPermissionRequested, `{"ct":"A","prev":"","request_id":"q1"}`))
	if err := f.subscribe("https://a", "ann"); err != nil {
		t.Fatal(err)
	}
	f.mustStore(4, event(3, protocol.RunPermissionRequested, `{"ct":"A","prev":"","request_id":"q2"}`), event(4, protocol.RunPermissionResolved, `{"ct":"A","prev":"","request_id":"q2"}`))
	want := func(request, typ, body string) {
		t.Helper()
		got, err := store.ReadPushBodies(ctx, f.Store, "run_a", request, typ)
		if err != nil || (got == nil) != (body == "") || got != nil && (got.Epoch != 3 || got.Bodies["d_phone"] != body) {
			t.Errorf("bodies of %s %s = %+v, %v; want %q", typ, request, got, err, body)
		}
	}
	want("q1", protocol.RunPermissionRequested, "") // no browser was subscribed
	want("q2", protocol.RunPermissionRequested, "body 3")
	want("q2", protocol.RunPermissionResolved, "body 4")
	if err := store.RemovePushBodies(ctx, f.Store, "run_a", "q2"); err != nil {
		t.Fatal(err)
	}
	want("q2", protocol.RunPermissionResolved, "")
	for _, row := range []struct{ sent, want []string }{{[]string{"d_1"}, []string{"d_1"}}, {nil, []string{"d_1"}}, {[]string{}, nil}, {nil, nil}} {
		if err := f.AddSubscription(ctx, store.Subscription{Endpoint: "https://a", User: "ann", Devices: row.sent}, 2); err != nil {
			t.Fatal(err)
		}
		if all, err := f.Subscriptions(ctx); err != nil || len(all) != 1 || !slices.Equal(all[0].Devices, row.want) {
			t.Errorf("devices after %v = %+v, %v; want %v", row.sent, all, err, row.want)
		}
	}
}

// passkeys stores and removes passkeys. They belong to their user, also for the same device, and
// end with the user.
func passkeys(t *testing.T, open Opener) {
	f := begin(t, open)
	put := func(user, device, text string, want error) {
		t.Helper()
		record := audit.Record{Kind: "passkey_stored", Actor: audit.Actor{Type: "user", Name: user}}
		if err := store.PutPasskey(ctx, f.Store, "a_1", user, store.Passkey{Device: device, Text: text}, 2, 1, record); !errors.Is(err, want) {
			t.Errorf("%s of %s: error = %v, want %v", device, user, err, want)
		}
	}
	expect := func(user string, want ...store.Passkey) {
		t.Helper()
		if all, err := store.Passkeys(ctx, f.Store, "a_1", user); err != nil || !slices.Equal(all, want) {
			t.Errorf("passkeys of %s = %+v, %v; want %+v", user, all, err, want)
		}
	}
	put("ann", "d_1", "one", nil)
	put("bob", "d_1", "of bob", nil)
	put("ann", "d_2", "two", nil)
	put("ann", "d_3", "three", store.ErrTooMany)
	put("ann", "d_1", "another", nil)
	expect("ann", store.Passkey{Device: "d_1", Text: "another"}, store.Passkey{Device: "d_2", Text: "two"})
	put("ann", "d_1", "", nil)
	expect("ann", store.Passkey{Device: "d_2", Text: "two"})
	expect("bob", store.Passkey{Device: "d_1", Text: "of bob"})
	for _, u := range []store.User{{Name: "ann", Role: "owner", Hash: "h"}, {Name: "bob", Role: "owner", Hash: "h"}} {
		if _, err := f.PutUser(ctx, u, 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.RemoveUser(ctx, "bob", 1); err != nil {
		t.Fatal(err)
	}
	expect("bob")
	expect("ann", store.Passkey{Device: "d_2", Text: "two"})
}
