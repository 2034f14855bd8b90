package sealer_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
)

// invite starts a share of run_a for an approver, granted by a device, and returns the secret of
// its link. Each name is a browser that opens the link.
func (w *world) invite(by string, names ...string) *seal.Key {
	w.t.Helper()
	secret := seal.NewShareSecret()
	grant, err := w.roster.NewGrant(w.devices[by].keys, seal.Grant{Host: machineID, Share: secret.ShareID(), Runs: []string{"run_a"}, Page: seal.PageServer}, time.Now(), time.Now().Add(time.Hour))
	if err != nil {
		w.t.Fatal(err)
	}
	if got, err := w.sealer.StartShare(w.t.Context(), w.shareStart(secret, grant), w.devices[by].id); err != nil || got.Role != seal.Approver || got.Guest != "" {
		w.t.Fatalf("share = %+v, error %v", got, err)
	}
	for _, name := range names {
		keys := seal.NewKeys()
		w.devices[name] = &signer{id: keys.Public().DeviceID(), keys: keys, inputs: map[string]int64{}}
	}
	return &secret
}

func (w *world) shareStart(secret seal.Key, grant []byte) protocol.ShareStart {
	w.t.Helper()
	read, err := secret.ShareKey().MarshalText()
	if err != nil {
		w.t.Fatal(err)
	}
	guest, err := secret.GuestKey().MarshalText()
	if err != nil {
		w.t.Fatal(err)
	}
	return protocol.ShareStart{ShareID: secret.ShareID(), Key: string(read), Runs: []string{"run_a"}, TTLS: 3600, Guest: string(guest), Grant: grant}
}

// approve approves a request of run_a through a link, and returns the code of the refusal.
func (w *world) approve(by string, link *seal.Key, id string, change func(c *command)) protocol.Code {
	w.t.Helper()
	c := command{typ: protocol.RunApprove, run: "run_a", data: `{"request_id":"` + id + `"}`, by: by, link: link}
	if change != nil {
		change(&c)
	}
	e, refused := protocol.Parse(w.frame(c))
	if refused != nil {
		w.t.Fatal(refused)
	}
	a := w.sealer.Admit(w.t.Context(), &e, true)
	if a.Command == nil {
		return a.Code
	}
	d, err := protocol.Decode[protocol.Decide](a.Command)
	var user string
	if err := errors.Join(err, json.Unmarshal(a.Command.Extra[0].Value, &user)); err != nil {
		w.t.Fatal(err)
	}
	a.Done(w.Decide(w.t.Context(), a, user, d))
	return ""
}

// TestGuests lets the first browser that uses the link of an approver decide the requests of its
// runs, also after a restart, and nothing else, until the link ends.
func TestGuests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ask("run_a", "q1")
	w.ask("run_a", "q2")
	w.ask("run_b", "q3")
	link := w.invite("phone", "ann", "bob")
	refused := func(what string, got, want protocol.Code) {
		t.Helper()
		if got != want {
			t.Errorf("%s: code %q, want %q", what, got, want)
		}
	}
	refused("for a session", w.approve("ann", link, "q1", func(c *command) { c.data = `{"request_id":"q1","scope":"session"}` }), protocol.Forbidden)
	refused("of another run", w.approve("ann", link, "q3", func(c *command) { c.run = "run_b" }), protocol.Forbidden)
	refused("an input", w.approve("ann", link, "", func(c *command) { c.typ, c.data = protocol.RunSendInput, `{"input_id":"i1","text":"x"}` }), protocol.Forbidden)
	refused("an RPC", w.approve("ann", link, "", func(c *command) {
		c.typ, c.run, c.data = protocol.RPCShareList, "", `{"rpc_type":"rpc.share.list","request_id":"r1","host_id":"host_a"}`
	}), protocol.Forbidden)
	refused("the grant changed", w.approve("ann", link, "q1", func(c *command) { c.change = func(s *seal.Statement) { s.ArgsSHA256 = strings.Repeat("cd", 32) } }), protocol.ArgsChanged)
	other := seal.NewShareSecret()
	refused("an unknown link", w.approve("ann", &other, "q1", nil), protocol.UnknownDevice)
	if all := w.sealer.Shares(); all[0].Guest != "" {
		t.Errorf("a refused command has used the link: %+v", all)
	}

	refused("the first browser", w.approve("ann", link, "q1", nil), "")
	refused("another browser", w.approve("bob", link, "q2", nil), protocol.UnknownDevice)
	if all := w.sealer.Shares(); all[0].Guest != w.devices["ann"].id {
		t.Errorf("shares = %+v", all)
	}
	w.stop()
	w.start()
	w.ask("run_a", "q2")
	refused("another browser after a restart", w.approve("bob", link, "q2", nil), protocol.UnknownDevice)
	w.devices["ann"].counter--
	refused("a replayed counter", w.approve("ann", link, "q2", nil), protocol.Replayed)
	refused("the first browser after a restart", w.approve("ann", link, "q2", nil), "")
	w.mu.Lock()
	effects := slices.Clone(w.effects)
	w.mu.Unlock()
	if want := []string{"approve run_a q1   by guest of ada", "approve run_a q2   by guest of ada"}; !slices.Equal(effects, want) {
		t.Errorf("effects = %q, want %q", effects, want)
	}
	n := 0
	for line := range strings.Lines(w.ledger()) {
		var r struct {
			Kind string
			Time time.Time
			Data struct {
				Args string `json:"args_sha256"`
				Seal seal.Signed
			}
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if r.Kind != "decision" {
			continue
		}
		n++
		if s, m, err := w.roster.VerifyDecision(r.Data.Seal, r.Time, r.Data.Args); err != nil || s.Device != w.devices["ann"].id || m.User != "guest of ada" {
			t.Errorf("record %s: by %+v, %v", line, m, err)
		}
	}
	if n != 2 {
		t.Errorf("the ledger has %d decisions, want 2", n)
	}

	w.ask("run_a", "q4")
	if _, err := w.sealer.EndShare(link.ShareID()); err != nil {
		t.Fatal(err)
	}
	refused("after the end of the link", w.approve("ann", link, "q4", nil), protocol.UnknownDevice)
	expired := w.invite("phone", "eve")
	w.mu.Lock()
	w.skew = time.Hour
	w.mu.Unlock()
	refused("after the link has expired", w.approve("eve", expired, "q4", nil), protocol.UnknownDevice)
}

// TestGuestsOfRemoved refuses the guests of a device that was removed, and shares without a valid
// grant.
func TestGuestsOfRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ask("run_a", "q1")
	link := w.invite("cli", "ann")
	for what, change := range map[string]func(g *seal.Grant, by *string){
		"another host":  func(g *seal.Grant, _ *string) { g.Host = "host_b" },
		"other runs":    func(g *seal.Grant, _ *string) { g.Runs = []string{"run_a", "run_b"} },
		"another share": func(g *seal.Grant, _ *string) { g.Share = "s_1" },
	} {
		secret, by := seal.NewShareSecret(), "phone"
		g := seal.Grant{Host: machineID, Share: secret.ShareID(), Runs: []string{"run_a"}, Page: seal.PageServer}
		change(&g, &by)
		grant, err := w.roster.NewGrant(w.devices[by].keys, g, time.Now(), time.Now().Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.sealer.StartShare(t.Context(), w.shareStart(secret, grant), w.devices["phone"].id); err == nil || !strings.Contains(err.Error(), "the grant is for") {
			t.Errorf("a grant for %s: error = %v", what, err)
		}
	}
	secret := seal.NewShareSecret()
	if _, err := w.roster.NewGrant(w.devices["guest"].keys, seal.Grant{Host: machineID, Share: secret.ShareID(), Runs: []string{"run_a"}, Page: seal.PageServer}, time.Now(), time.Now().Add(time.Hour)); err == nil {
		t.Error("a viewer has made a grant")
	}
	if _, err := w.sealer.StartShare(t.Context(), w.shareStart(secret, []byte(`{}`)), w.devices["phone"].id); err == nil {
		t.Error("a share without a grant has begun")
	}
	w.append(w.roster.RemoveMember(seal.ByRecovery, w.recovery, w.devices["cli"].id, time.Now()))
	w.mu.Lock()
	w.lines = w.rosterLines()
	w.mu.Unlock()
	if got := w.approve("ann", link, "q1", func(c *command) { c.change = func(s *seal.Statement) { s.Roster = w.roster.Head() } }); got != protocol.UnknownDevice {
		t.Errorf("a guest of a removed device: code %q", got)
	}
}

// verifies reports whether all decisions of the ledger verify with the roster.
func (w *world) verifies() error {
	for line := range strings.Lines(w.ledger()) {
		var r struct {
			Kind string
			Time time.Time
			Data struct {
				Args string `json:"args_sha256"`
				Seal seal.Signed
			}
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return err
		}
		if r.Kind != "decision" {
			continue
		}
		if _, _, err := w.roster.VerifyDecision(r.Data.Seal, r.Time, r.Data.Args); err != nil {
			return err
		}
	}
	return nil
}

// TestGuestsInLedger refuses the decisions of a guest that would not verify in the ledger.
func TestGuestsInLedger(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ask("run_a", "q1")
	w.ask("run_a", "q2")
	link := w.invite("phone", "ann")
	before := func(s *seal.Statement) {
		s.Roster.N = 1
		first, _, _ := strings.Cut(string(w.roster.Text()), "\n")
		s.Roster.Hash = hexsum.SHA256([]byte(first))
	}
	for _, name := range []string{"tablet", "cli"} { // one was removed
		if got := w.approve(name, link, "q1", nil); got != protocol.UnknownDevice {
			t.Errorf("the key of the device %s: code %q", name, got)
		}
	}
	if got := w.approve("ann", link, "q1", func(c *command) { c.change = before }); got != protocol.UnknownDevice {
		t.Errorf("a line of the roster without the machine: code %q", got)
	}
	if got := w.approve("ann", link, "q2", nil); got != "" {
		t.Errorf("a guest: code %q", got)
	}
	if err := w.verifies(); err != nil {
		t.Errorf("the ledger does not verify: %v", err)
	}
}

// TestGuestAtTheEnd does not record and apply a decision that was checked before the link has
// expired, and would be recorded after that.
func TestGuestAtTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ask("run_a", "q1")
	w.ask("run_a", "q2")
	link := w.invite("phone", "ann")
	if got := w.approve("ann", link, "q1", nil); got != "" {
		t.Fatalf("a guest: code %q", got)
	}
	e, refused := protocol.Parse(w.frame(command{typ: protocol.RunApprove, run: "run_a", data: `{"request_id":"q2"}`, by: "ann", link: link}))
	if refused != nil {
		t.Fatal(refused)
	}
	a := w.sealer.Admit(t.Context(), &e, true)
	d, err := protocol.Decode[protocol.Decide](a.Command)
	if err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	w.skew = time.Hour
	w.mu.Unlock()
	if out := w.Decide(t.Context(), a, "guest of ada", d); out.State != protocol.InputRejected {
		t.Errorf("outcome = %+v", out)
	}
	if err := w.verifies(); err != nil {
		t.Errorf("the ledger does not verify: %v", err)
	}
}

// TestGuestsOfRemovedWithFastClock refuses the guests of a device that was removed, also if that
// device has added a line to the roster with a time in the future, which later lines continue.
func TestGuestsOfRemovedWithFastClock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ask("run_a", "q1")
	link := w.invite("cli", "ann")
	w.append(w.roster.SetPolicy(w.devices["cli"].id, w.devices["cli"].keys, seal.Policy{}, time.Now().AddDate(50, 0, 0)))
	w.append(w.roster.RemoveMember(seal.ByRecovery, w.recovery, w.devices["cli"].id, time.Now()))
	w.mu.Lock()
	w.lines = w.rosterLines()
	w.mu.Unlock()
	if got := w.approve("ann", link, "q1", func(c *command) { c.change = func(s *seal.Statement) { s.Roster = w.roster.Head() } }); got != protocol.UnknownDevice {
		t.Errorf("a guest of a removed device: code %q", got)
	}
}

// TestGuestsWithOtherClocks does not start a share whose grant ends too early because of a slow
// clock, and ends it with its grant otherwise.
func TestGuestsWithOtherClocks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	start := func(off time.Duration) (protocol.Share, error) {
		t.Helper()
		secret, now := seal.NewShareSecret(), time.Now().Add(off)
		grant, err := w.roster.NewGrant(w.devices["phone"].keys, seal.Grant{Host: machineID, Share: secret.ShareID(), Runs: []string{"run_a"}, Page: seal.PageServer}, now, now.Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		return w.sealer.StartShare(t.Context(), w.shareStart(secret, grant), w.devices["phone"].id)
	}
	for _, off := range []time.Duration{-time.Hour, -10 * time.Minute} {
		if _, err := start(off); err == nil || !strings.Contains(err.Error(), "clock") {
			t.Errorf("a clock with the difference %v: error = %v", off, err)
		}
	}
	for _, off := range []time.Duration{-30 * time.Second, 0, time.Hour} {
		got, err := start(off)
		if err != nil {
			t.Fatal(err)
		}
		until, err := time.Parse(time.RFC3339, got.ExpiresAt)
		if left := time.Until(until); err != nil || left > time.Hour || left < 58*time.Minute {
			t.Errorf("a clock with the difference %v: the share ends in %v", off, left)
		}
	}
}
