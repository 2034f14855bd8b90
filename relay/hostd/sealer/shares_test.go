package sealer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
)

// shares starts a share of run_a and returns the secret of its link.
func (x *sealing) shares(from string, ttl int64) seal.Key {
	x.t.Helper()
	secret := seal.NewShareSecret()
	key, err := secret.ShareKey().MarshalText()
	if err != nil {
		x.t.Fatal(err)
	}
	got, err := x.s.StartShare(context.Background(), protocol.ShareStart{ShareID: secret.ShareID(), Key: string(key), Runs: []string{"run_a"}, From: from, TTLS: ttl}, x.devices["phone"].id)
	if err != nil || got.ShareID != secret.ShareID() || !slices.Equal(got.Runs, []string{"run_a"}) || got.ExpiresAt == "" {
		x.t.Fatalf("share = %+v, error %v", got, err)
	}
	return secret
}

// opens checks in which epochs, up to the present one, those who have a link can open the events of
// run_a, and that they cannot open those of run_b.
func (x *sealing) opens(what string, secret seal.Key, want ...int64) {
	x.t.Helper()
	account, host, got, err := seal.OpenShare(x.keys.shares[secret.ShareID()], secret)
	if err != nil || account != x.roster.Account() || host != machineID {
		x.t.Fatalf("%s: share of %s %s, error %v", what, account, host, err)
	}
	var all []int64
	for n := int64(1); n <= x.epoch(); n++ {
		if key := got.RunKey(account, host, "run_a", n); key != nil {
			all = append(all, n)
		}
		if got.RunKey(account, host, "run_b", n) != nil {
			x.t.Errorf("%s: the link opens another run", what)
		}
	}
	if !slices.Equal(all, want) {
		x.t.Errorf("%s: the link opens the epochs %d, want %d", what, all, want)
	}
	k, err := x.s.Sealing(1)
	if err != nil {
		x.t.Fatal(err)
	}
	sealed, _, err := k.Epoch.RunKey("run_a").Seal(seal.Event{Type: "run.output", TS: "2026-03-01T14:00:00.000Z", Data: json.RawMessage(`{}`)}, seal.Chain{})
	if err != nil {
		x.t.Fatal(err)
	}
	key := got.RunKey(account, host, "run_a", k.Epoch.N)
	if key == nil {
		return
	}
	if _, err := key.Open(sealed); err != nil {
		x.t.Errorf("%s: a new event cannot be opened: %v", what, err)
	}
}

// TestShares shares a run with those who have a link: in the epochs until the share ends or
// expires, also those that begin later, and after a restart.
func TestShares(t *testing.T) {
	t.Parallel()
	x := newSealing(t)
	x.epoch()
	x.open()
	x.epoch()
	all := x.shares("start", 3600)
	x.opens("from the start", all, 1, 2)
	later := x.shares("now", 3600)
	x.opens("from now", later, 3)
	x.sync()
	x.opens("an epoch has begun", all, 1, 2, 3)
	x.open()
	x.epoch()
	x.sync()
	x.opens("after a restart", all, 1, 2, 3, 4)
	x.opens("after a restart, from now", later, 3, 4)

	if got := x.s.Shares(); len(got) != 2 || got[0].ShareID != all.ShareID() {
		t.Errorf("shares = %+v", got)
	}
	if got, err := x.s.EndShare(all.ShareID()); err != nil || got.ShareID != all.ShareID() {
		t.Errorf("end = %+v, %v", got, err)
	}
	x.sync()
	x.opens("after the end", all, 1, 2, 3, 4)
	x.opens("after the end of the other one", later, 3, 4, 5)
	x.expectKeys("phone", 1, 2, 3, 4, 5)
	if _, err := x.s.EndShare(all.ShareID()); err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("ended twice: %v", err)
	}

	x.now = x.now.Add(time.Hour)
	if got := x.s.Shares(); len(got) != 0 {
		t.Errorf("expired shares = %+v", got)
	}
	if got := x.epoch(); got != 6 {
		t.Errorf("epoch after the share has expired = %d, want 6", got)
	}
	x.sync()
	x.opens("after it has expired", later, 3, 4, 5)
}

// TestSharesFail starts no share whose keys could not be published, or that is invalid.
func TestSharesFail(t *testing.T) {
	t.Parallel()
	x := newSealing(t)
	q := protocol.ShareStart{ShareID: "s_1", Key: strings.Repeat("A", 43), Runs: []string{"run_a"}, TTLS: 60}
	for want, change := range map[string]func(q *protocol.ShareStart){
		"32 bytes":     func(q *protocol.ShareStart) { q.Key = "A" },
		"at least one": func(q *protocol.ShareStart) { q.Runs = nil },
		"not derived":  func(q *protocol.ShareStart) { q.ShareID = "d_1" },
		"wrong form":   func(q *protocol.ShareStart) { q.ShareID = "s_ b" },
		"is offline":   func(*protocol.ShareStart) { x.keys.offline = true },
	} {
		one := q
		change(&one)
		if _, err := x.s.StartShare(t.Context(), one, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error = %v, want %s", one, err, want)
		}
		x.keys.offline = false
	}
	if got := x.s.Shares(); len(got) != 0 {
		t.Errorf("shares = %+v", got)
	}
	x.s.EndShare("s_1")
	if _, err := x.s.StartShare(t.Context(), q, ""); err != nil {
		t.Error(err)
	}
	if _, err := x.s.StartShare(t.Context(), q, ""); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("the same share again: error = %v", err)
	}
	x.put("shares.json", []byte("{"))
	if _, err := x.s.Reload(); err == nil || !strings.Contains(err.Error(), "shares.json is damaged") {
		t.Errorf("a damaged file: error = %v", err)
	}
}

// TestSharesOfOwners refuses to share runs for devices that are not an owner's, and unsealed.
func TestSharesOfOwners(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.stop()
	w.add("operator", seal.Operator)
	w.put("roster.ndjson", w.roster.Text())
	w.lines = w.rosterLines()
	w.start()
	for i, typ := range []string{protocol.RPCShareStart, protocol.RPCShareEnd, protocol.RPCShareList} {
		data := fmt.Sprintf(`{"rpc_type":%q,"request_id":"r%d","host_id":"host_a","share_id":"s_1","key":%q,"runs":["run_a"],"ttl_s":60}`, typ, i, strings.Repeat("A", 43))
		frame := w.frame(command{typ: typ, data: data, by: "operator"})
		e, _ := protocol.Parse(frame)
		a := w.sealer.Admit(t.Context(), &e, true)
		if a.Command != nil || a.Code != protocol.Forbidden {
			t.Errorf("%s by an operator: admission = %+v", typ, a)
		}
		plain := protocol.Envelope{Type: typ, Data: json.RawMessage(data)}
		if a := w.sealer.Admit(t.Context(), &plain, true); a.Command != nil {
			t.Errorf("%s in plaintext: admission = %+v", typ, a)
		}
		frame = w.frame(command{typ: typ, data: strings.Replace(data, `"request_id":"r`, `"request_id":"o`, 1)})
		e, _ = protocol.Parse(frame)
		if a := w.sealer.Admit(t.Context(), &e, true); a.Command == nil || a.Device != w.devices["phone"].id {
			t.Errorf("%s by an owner: admission = %+v", typ, a)
		}
	}
}

// TestSharesOfRemoved ends the shares of a device that is removed: it knows their links.
func TestSharesOfRemoved(t *testing.T) {
	t.Parallel()
	x := newSealing(t)
	x.epoch()
	x.add("laptop", seal.Owner)
	x.lines = x.rosterLines()
	x.reload()
	x.sync()
	link := x.shares("start", 3600)
	x.append(x.roster.RemoveMember(x.devices["laptop"].id, x.devices["laptop"].keys, x.devices["phone"].id, x.now))
	x.lines = x.rosterLines()
	x.reload()
	x.sync()
	x.opens("after the removal", link, 1, 2)
	if got := x.s.Shares(); len(got) != 0 {
		t.Errorf("shares = %+v", got)
	}
}
