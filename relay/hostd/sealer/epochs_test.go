package sealer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/relay/hostd/approvals"
	"github.com/concerto-lang/concerto/relay/hostd/sealer"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
)

// sealing is a machine with an account that seals its events, without a hostd.
type sealing struct {
	*world
	s       *sealer.Sealer
	now     time.Time
	spooled int64 // the lowest epoch of the events in the spool; 0 if there are none
}

func newSealing(t *testing.T) *sealing {
	t.Helper()
	x := &sealing{world: &world{t: t, state: t.TempDir(), devices: map[string]*signer{}, changed: make(chan struct{})}, now: time.Now().UTC().Truncate(time.Millisecond)}
	x.roster, x.recovery = seal.NewAccount(seal.NewRecoveryCode(), x.now.Add(-time.Hour))
	x.add("phone", seal.Owner)
	x.add("tablet", seal.Viewer)
	host := seal.NewKeys()
	m := seal.NewMember(host, x.roster.Account(), seal.Host, machineID)
	m.User = "ada"
	x.append(x.roster.AddMember(seal.ByRecovery, x.recovery, m, time.Now()))
	x.put("keys.json", host.Marshal())
	x.put("roster.ndjson", x.roster.Text())
	x.lines = x.rosterLines()
	x.open()
	t.Cleanup(func() { _ = x.s.Close() })
	return x
}

// open starts the machine, again if it has run before.
func (x *sealing) open() {
	x.t.Helper()
	if x.s != nil {
		if err := x.s.Close(); err != nil {
			x.t.Fatal(err)
		}
	}
	var err error
	x.s, err = sealer.Open(sealer.Options{State: x.state, MachineID: machineID, Server: at(x.world), SealEvents: true, Required: true, Name: "Ada's desk", Log: slog.New(slog.DiscardHandler),
		Spooled: func(context.Context) (int64, error) { return x.spooled, nil }, Now: func() time.Time { return x.now }})
	if err != nil {
		x.t.Fatal(err)
	}
}

// reload makes the machine read the roster of the test.
func (x *sealing) reload() {
	x.t.Helper()
	x.put("roster.ndjson", x.roster.Text())
	if _, err := x.s.Reload(); err != nil {
		x.t.Fatal(err)
	}
}

func (x *sealing) sync() {
	x.t.Helper()
	if err := x.s.SyncKeys(context.Background()); err != nil {
		x.t.Fatal(err)
	}
}

// epoch returns the number of the present epoch.
func (x *sealing) epoch() int64 {
	x.t.Helper()
	k, err := x.s.Sealing(1)
	if err != nil {
		x.t.Fatal(err)
	}
	return k.Epoch.N
}

// keysOf returns the secrets that a device can open with what the server has, by epoch.
func (x *sealing) keysOf(name string) map[int64]seal.Key {
	x.t.Helper()
	d, all := x.devices[name], map[int64]seal.Key{}
	var known seal.EpochPosition
	for _, line := range x.keys.records {
		k, err := x.roster.VerifyKeyRecord(line, machineID, known)
		if err != nil {
			x.t.Fatal(err)
		}
		known = k.Position()
		if e, err := k.Open(d.id, d.keys); err == nil {
			all[e.N] = e.Secret
			if names, err := k.OpenNames(e); err != nil || names[machineID] != "Ada's desk" {
				x.t.Errorf("names of epoch %d = %v, error %v", e.N, names, err)
			}
		}
	}
	if text := x.keys.histories[d.id]; text != nil {
		epochs, err := x.roster.OpenHistory(text, machineID, d.id, d.keys)
		if err != nil {
			x.t.Fatal(err)
		}
		for _, e := range epochs {
			if had, both := all[e.N]; both && had != e.Secret {
				x.t.Errorf("epoch %d has another secret in the history", e.N)
			}
			all[e.N] = e.Secret
		}
	}
	return all
}

func (x *sealing) expectKeys(name string, want ...int64) {
	x.t.Helper()
	if got := slices.Sorted(maps.Keys(x.keysOf(name))); !slices.Equal(got, want) {
		x.t.Errorf("%s has the keys of the epochs %d, want %d", name, got, want)
	}
}

// stored returns the epochs of which the machine has stored the secrets.
func (x *sealing) stored() []*seal.Epoch {
	x.t.Helper()
	var stored struct {
		Epochs []*seal.Epoch
	}
	text, err := os.ReadFile(filepath.Join(x.state, "seal", "epochs.json"))
	if err != nil || json.Unmarshal(text, &stored) != nil {
		x.t.Fatal(err, string(text))
	}
	return stored.Epochs
}

// TestEpochs begins an epoch when the machine starts, when a device is added or removed, and after
// a day. Each device has the keys of the epochs in which it is a member, and of the older ones.
func TestEpochs(t *testing.T) {
	t.Parallel()
	x := newSealing(t)
	expect := func(what string, want int64) {
		t.Helper()
		if got := x.epoch(); got != want {
			t.Errorf("%s: epoch %d, want %d", what, got, want)
		}
		x.sync()
	}
	expect("the first event", 1)
	expect("another event", 1)
	x.open()
	expect("after a restart", 2)
	x.now = x.now.Add(24*time.Hour - time.Millisecond)
	expect("before a day has passed", 2)
	x.now = x.now.Add(time.Millisecond)
	expect("after a day", 3)
	x.append(x.roster.RemoveMember(seal.ByRecovery, x.recovery, x.devices["tablet"].id, x.now))
	x.reload()
	expect("after a removal", 4)
	x.add("laptop", seal.Owner)
	x.reload()
	expect("after an addition", 5)
	x.now = x.now.Add(25 * time.Hour) // the command keys of the older epochs are deleted
	expect("after two days", 6)
	x.expectKeys("phone", 1, 2, 3, 4, 5, 6)
	x.expectKeys("tablet", 1, 2, 3)
	x.expectKeys("laptop", 1, 2, 3, 4, 5, 6)
	if err := x.s.Close(); err != nil {
		t.Fatal(err)
	}
	off, err := sealer.Open(sealer.Options{State: x.state, MachineID: machineID, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return x.now }})
	if err != nil {
		t.Fatal(err)
	}
	if k, err := off.Sealing(1); err != nil || k == nil || !k.OldRunsOnly || k.Epoch.N != 7 {
		t.Errorf("keys of a machine that does not seal new runs = %+v, error %v; want those of epoch 7 for the old runs", k, err)
	}
	x.s = off
	x.open()
	if k, err := x.s.Sealing(1); err != nil || k.OldRunsOnly || k.Epoch.N != 8 {
		t.Errorf("keys = %+v, error %v", k, err)
	}

	for _, e := range x.stored() {
		if has := len(e.Commands) > 0; has != (e.N >= 5) {
			t.Errorf("epoch %d has command keys: %v", e.N, has)
		}
	}
}

// TestOfflineEpochs publishes what the server does not have, in order, when it is back.
func TestOfflineEpochs(t *testing.T) {
	t.Parallel()
	x := newSealing(t)
	x.keys.offline = true
	for n := int64(1); n <= 5; n++ {
		if got := x.epoch(); got != n {
			t.Errorf("epoch %d, want %d", got, n)
		}
		if err := x.s.SyncKeys(context.Background()); err == nil {
			t.Error("no error, although the server is offline")
		}
		x.open()
	}
	x.keys.offline = false
	x.sync() // begins the epoch of this start
	x.expectKeys("phone", 1, 2, 3, 4, 5, 6)
	x.keys.records = nil // the server has lost them
	x.open()
	x.sync()
	x.expectKeys("phone", 1, 2, 3, 4, 5, 6, 7)
	x.keys.records = x.keys.records[:2]
	x.open()
	x.sync()
	x.expectKeys("phone", 1, 2, 3, 4, 5, 6, 7, 8)
}

// TestIdleEpochs creates the keys of a device before the machine has sealed an event.
func TestIdleEpochs(t *testing.T) {
	t.Parallel()
	x := newSealing(t)
	x.sync()
	x.expectKeys("phone", 1)
	x.add("laptop", seal.Owner)
	x.reload()
	x.sync()
	x.expectKeys("laptop", 1, 2) // the first by its history
	x.sync()
	x.expectKeys("laptop", 1, 2)
	x.now = x.now.Add(25 * time.Hour)
	x.sync()
	x.expectKeys("laptop", 1, 2, 3)
}

// TestRestoredEpochs restores the machine's files from a backup. It continues after the newest key
// record of the server, which it has signed itself.
func TestRestoredEpochs(t *testing.T) {
	t.Parallel()
	x := newSealing(t)
	x.epoch()
	x.sync()
	backup := t.TempDir()
	if err := os.CopyFS(backup, os.DirFS(filepath.Join(x.state, "seal"))); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		x.open()
		x.epoch()
	}
	x.sync()
	for _, name := range []string{"epochs.json", "keys.ndjson"} {
		text, err := os.ReadFile(filepath.Join(backup, name))
		if err != nil {
			t.Fatal(err)
		}
		x.put(name, text)
	}
	x.open()
	x.sync()
	if got := x.epoch(); got != 6 {
		t.Errorf("epoch %d after the backup was restored, want 6", got)
	}
	x.sync()
	x.expectKeys("phone", 1, 2, 3, 4, 5, 6)
	x.open()
	x.sync()
	if got := x.epoch(); got != 7 {
		t.Errorf("epoch %d after a restart, want 7", got)
	}

	forged := bytes.Replace(x.keys.records[5], []byte(`"epoch":6`), []byte(`"epoch":7`), 1)
	x.keys.records = append(x.keys.records[:6:6], forged)
	x.open()
	if err := x.s.SyncKeys(context.Background()); err == nil || !strings.Contains(err.Error(), "invalid key record") {
		t.Errorf("a forged record: error = %v", err)
	}
	if got := x.epoch(); got != 8 {
		t.Errorf("epoch %d after a forged record, want 8", got)
	}
}

// TestUnstoredEpoch drops a key record whose epoch was not stored: the machine was killed between
// the two files.
func TestUnstoredEpoch(t *testing.T) {
	t.Parallel()
	x := newSealing(t)
	x.epoch()
	epochs, err := os.ReadFile(filepath.Join(x.state, "seal", "epochs.json"))
	if err != nil {
		t.Fatal(err)
	}
	x.open()
	x.epoch()
	x.put("epochs.json", epochs)
	x.open()
	if got := x.epoch(); got != 2 {
		t.Errorf("epoch = %d, want 2", got)
	}
	x.sync()
	x.expectKeys("phone", 1, 2)

	x.put("epochs.json", []byte("{"))
	if _, err := sealer.Open(sealer.Options{State: x.state, MachineID: machineID}); err == nil || !strings.Contains(err.Error(), "epochs.json is damaged") {
		t.Errorf("a damaged file: error = %v", err)
	}
}

// TestChosenRoster begins an epoch after the user has chosen another roster than that of the last
// key record.
func TestChosenRoster(t *testing.T) {
	t.Parallel()
	x := newSealing(t)
	short := x.roster.Text()
	x.add("laptop", seal.Owner)
	x.reload()
	x.epoch()
	x.roster = nil
	x.put("roster.ndjson", short)
	x.open()
	k, err := x.s.Sealing(1)
	if err != nil || k.Epoch.N != 2 {
		t.Errorf("keys = %+v, error %v; want those of epoch 2", k, err)
	}
}

// TestChosenRosterReload does the same while hostd runs, with a list of the same length. Devices
// that are only in the other list have no keys of new events.
func TestChosenRosterReload(t *testing.T) {
	t.Parallel()
	x := newSealing(t)
	x.epoch()
	x.sync()
	base := x.roster.Text()
	x.add("rogue", seal.Owner)
	x.reload()
	x.epoch()
	var err error
	if x.roster, err = seal.ParseRoster(base, "", seal.Position{}); err != nil {
		t.Fatal(err)
	}
	x.append(x.roster.RemoveMember(seal.ByRecovery, x.recovery, x.devices["tablet"].id, x.now))
	x.lines = x.rosterLines()
	x.reload() // as seal status --resolve
	k, err := x.s.Sealing(1)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"rogue", "tablet"} {
		if _, has := k.Epoch.Commands[x.devices[name].id]; has {
			t.Errorf("%s is no member, and has the keys of epoch %d", name, k.Epoch.N)
		}
	}
	// The record of epoch 2 names the other list. Epoch 3 continues that of epoch 1, which the
	// server and the phone have.
	x.sync()
	x.expectKeys("phone", 1, 3)
	x.open()
	x.epoch()
	x.sync()
	x.expectKeys("phone", 1, 3, 4)
}

// TestUnsealedMachine has an account and seals no events. Its devices have command keys, also those
// that are added later.
func TestUnsealedMachine(t *testing.T) {
	t.Parallel()
	x := newSealing(t)
	x.sync()
	if err := x.s.Close(); err != nil {
		t.Fatal(err)
	}
	var err error
	x.s, err = sealer.Open(sealer.Options{State: x.state, MachineID: machineID, Server: at(x.world), Name: "Ada's desk", Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return x.now }})
	if err != nil {
		t.Fatal(err)
	}
	x.add("laptop", seal.Owner)
	x.reload()
	x.sync()
	x.expectKeys("laptop", 1, 2)
	if k, err := x.s.Sealing(1); err != nil || !k.OldRunsOnly || x.s.Seals() {
		t.Errorf("keys = %+v, error %v, Seals() = %v", k, err, x.s.Seals())
	}
}

// TestSealedResults reports no more about sealed decisions than their states and codes: what was
// answered is not for the server.
func TestSealedResults(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	option := func(label string) protocol.Option {
		return protocol.Option{Label: label, Value: json.RawMessage(`"` + label + `"`)}
	}
	r := approvals.Request{Data: protocol.PermissionRequested{RequestID: "q1", Reason: "choice", Prompt: "Which?",
		Questions: []protocol.Question{{ID: "x", Question: "Which?", Kind: "select", Options: []protocol.Option{option("red-marker"), option("blue-marker")}}}}}
	r.Apply = func(context.Context, approvals.Decision) ([]approvals.Event, error) { return nil, nil }
	if _, err := w.approvals.Submit(context.Background(), "run_a", r); err != nil {
		t.Fatal(err)
	}
	invalid := w.frame(command{typ: protocol.RunApprove, run: "run_a", data: `{"request_id":"q1","answers":{"y":"green-marker"}}`})
	w.send(invalid)
	w.await("the first result", func() bool { return len(w.results) == 1 })
	d := localDecision(approvals.Approve)
	d.Answers = json.RawMessage(`{"x":"blue-marker"}`)
	if err := w.approvals.Decide(t.Context(), "run_a", "q1", d); err != nil { // at the machine
		t.Fatal(err)
	}
	w.send(invalid)
	w.await("the second result", func() bool { return len(w.results) == 2 })
	for i, want := range []string{"invalid_answer", "already_decided"} {
		if got := w.results[i]; got.State != protocol.InputRejected || got.Error != want+": hostd's log has the reason" {
			t.Errorf("result = %+v, want %s", got, want)
		}
	}
}

// TestRemovedMachine seals nothing after the account has removed the machine.
func TestRemovedMachine(t *testing.T) {
	t.Parallel()
	x := newSealing(t)
	x.epoch()
	x.append(x.roster.RemoveMember(seal.ByRecovery, x.recovery, machineID, x.now))
	x.reload()
	if k, err := x.s.Sealing(1); err == nil || !strings.Contains(err.Error(), "was removed from account") {
		t.Errorf("keys = %+v, error %v", k, err)
	}
	if err := os.Remove(filepath.Join(x.state, "seal", "roster.ndjson")); err != nil {
		t.Fatal(err)
	}
	if _, err := x.s.Reload(); err != nil {
		t.Fatal(err)
	}
	if k, err := x.s.Sealing(1); err == nil || !strings.Contains(err.Error(), "has no account") {
		t.Errorf("keys without an account = %+v, error %v", k, err)
	}
}

// TestLateRecord reads a key record of before a backup only after the machine has begun its own
// epoch with the same number. It can still open what it has sealed.
func TestLateRecord(t *testing.T) {
	t.Parallel()
	x := newSealing(t)
	x.epoch()
	x.sync()
	backup := map[string][]byte{}
	for _, name := range []string{"epochs.json", "keys.ndjson"} {
		text, err := os.ReadFile(filepath.Join(x.state, "seal", name))
		if err != nil {
			t.Fatal(err)
		}
		backup[name] = text
	}
	x.open()
	x.epoch()
	x.sync()
	for name, text := range backup {
		x.put(name, text)
	}
	x.keys.offline = true
	x.open()
	k, err := x.s.Sealing(1)
	if err != nil {
		t.Fatal(err)
	}
	sealed, _, err := k.Epoch.RunKey("run_a").Seal(seal.Event{Type: "run.emit", TS: "2026-01-02T15:04:05.000Z", Data: []byte(`{}`)}, seal.Chain{})
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(sealed.Data)
	if err != nil {
		t.Fatal(err)
	}
	x.keys.offline = false
	x.sync()
	if got := x.epoch(); got != 3 {
		t.Errorf("epoch %d after the record was read, want 3", got)
	}
	x.open()
	e := &protocol.Envelope{Type: sealed.Type, TS: sealed.TS, RunID: sealed.Run, Seq: 1, Enc: []byte(`{"epoch":2,"v":1}`), Data: data}
	if err := x.s.OpenEvent(e); err != nil || e.Type != "run.emit" {
		t.Errorf("event = %+v, error %v", e, err)
	}
}

// TestRotate begins an epoch, refuses the tokens of earlier statements, and ends the shares.
func TestRotate(t *testing.T) {
	t.Parallel()
	x := newSealing(t)
	x.epoch()
	before := x.s.Token()
	link := x.shares("start", 3600)
	if st, err := x.s.Rotate(); err != nil || st.Epoch != 2 {
		t.Errorf("status = %+v, error %v", st, err)
	}
	after := x.s.Token()
	if before[:10] != after[:10] || before == after {
		t.Errorf("tokens of the same time = %s and %s", before, after)
	}
	x.open()
	if got := x.s.Token(); got != after {
		t.Errorf("token after a restart = %s, want %s", got, after)
	}
	if got := x.s.Shares(); len(got) != 0 {
		t.Errorf("shares = %+v", got)
	}
	x.sync()
	x.opens("after the rotation", link, 1)
}

// TestOpenEvent opens an event that the machine has sealed.
func TestOpenEvent(t *testing.T) {
	t.Parallel()
	x := newSealing(t)
	k, err := x.s.Sealing(1)
	if err != nil {
		t.Fatal(err)
	}
	sealed, _, err := k.Epoch.RunKey("run_a").Seal(seal.Event{Type: "run.emit", TS: "2026-01-02T15:04:05.000Z", Data: []byte(`{"channel":"c"}`)}, seal.Chain{})
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(sealed.Data)
	if err != nil {
		t.Fatal(err)
	}
	frame := func(epoch int64) *protocol.Envelope {
		return &protocol.Envelope{Type: sealed.Type, TS: sealed.TS, RunID: sealed.Run, Seq: sealed.Seq, Enc: seal.EncOf(epoch), Data: data}
	}
	x.open()
	x.epoch()
	e := frame(1)
	if err := x.s.OpenEvent(e); err != nil || e.Type != "run.emit" || string(e.Data) != `{"channel":"c"}` || e.Enc != nil {
		t.Errorf("event = %+v, error %v", e, err)
	}
	if err := x.s.OpenEvent(e); err != nil || e.Type != "run.emit" {
		t.Errorf("an event that is not sealed: %+v, error %v", e, err)
	}
	for n, want := range map[int64]string{2: "bad_signature", 3: "old_epoch", 0: "bad_message"} {
		if err := x.s.OpenEvent(frame(n)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("epoch %d: error = %v, want %s", n, err, want)
		}
	}
}

// answerTo opens the answer to a sealed RPC, as the device does.
func (w *world) answerTo(frame []byte, answer protocol.Envelope) (d protocol.Response) {
	w.t.Helper()
	e, _ := protocol.Parse(frame)
	c, err := seal.ParseSealedCommand(e.Data)
	if err != nil {
		w.t.Fatal(err)
	}
	present, err := w.sealer.Sealing(1)
	if err != nil {
		w.t.Fatal(err)
	}
	var sealed protocol.SealedResponse
	if err := json.Unmarshal(answer.Data, &sealed); err != nil {
		w.t.Fatal(err)
	}
	text, err := present.Epoch.OpenResponse(e.RunID, c, sealed.CT)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := json.Unmarshal(text, &d); err != nil {
		w.t.Fatal(err)
	}
	return d
}

// TestSealedRPCs refuses RPCs that the server has changed, or that contain no RPC. The reason is
// sealed if the machine could open the command.
func TestSealedRPCs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := 0
	for _, c := range []struct {
		name, typ, data string
		change          func(e *protocol.Envelope, c *seal.SealedCommand)
		by              string
		code            protocol.RPCCode
		plain           bool
	}{
		{"a viewer", protocol.RPCBash, `{"command":"x"}`, nil, "guest", "forbidden", false},
		{"a command", protocol.RunStop, `{}`, nil, "", "wrong_request", false},
		{"an RPC to the machine", protocol.RPCStartRun, `{"host_id":"host_a","tool":"t","cmd":"c"}`, nil, "", "wrong_request", false},
		{"the list of runs", protocol.RPCListRuns, `{"host_id":"host_a"}`, nil, "", "wrong_request", false},
		{"nested", protocol.RPCSealed, `{}`, nil, "", "wrong_request", false},
		{"an unknown RPC", "rpc.other", `{}`, nil, "", "wrong_request", false},
		{"another run", protocol.RPCGitDiff, `{}`, func(e *protocol.Envelope, _ *seal.SealedCommand) { e.RunID = "run_b" }, "", "bad_signature", true},
		{"another id", protocol.RPCGitDiff, `{}`, func(e *protocol.Envelope, _ *seal.SealedCommand) { e.ID = "other" }, "", "wrong_request", false},
		{"the type of the RPC", protocol.RPCGitDiff, `{}`, func(e *protocol.Envelope, _ *seal.SealedCommand) { e.Type = protocol.RPCGitDiff }, "", "wrong_request", false},
	} {
		n++
		id := fmt.Sprintf("c%d", n)
		data := strings.Replace(c.data, "{", `{"rpc_type":"`+c.typ+`","request_id":"`+id+`",`, 1)
		frame := w.frame(command{typ: "rpc.any", run: "run_a", data: strings.Replace(data, ",}", "}", 1), by: c.by, changeFrame: c.change})
		w.change(func() { w.secrets, w.answers = nil, map[string]protocol.Response{} })
		w.send(frame)
		w.await(c.name, func() bool { return len(w.secrets)+len(w.answers) > 0 })
		if len(w.answers) > 0 != c.plain {
			t.Errorf("%s: plain answers %+v", c.name, w.answers)
		}
		all := slices.Collect(maps.Values(w.answers))
		for _, s := range w.secrets {
			all = append(all, w.answerTo(frame, s))
		}
		if len(all) != 1 || all[0].OK || all[0].ErrorCode != c.code {
			t.Errorf("%s: answer = %+v, want %s", c.name, all, c.code)
		}
	}
	w.expectEffects()
}

// TestLargeResponse performs an RPC whose result does not fit into a frame when it is sealed, or
// has no canonical form. The device receives the reason, sealed.
func TestLargeResponse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i, c := range []struct {
		result string
		code   protocol.RPCCode
	}{
		{`"` + strings.Repeat("a", 3_200_000) + `"`, protocol.RPCCode(protocol.TooLarge)},
		{`"` + strings.Repeat("a", 4_200_000) + `"`, protocol.RPCCode(protocol.TooLarge)},
		{`1e400`, protocol.RPCCode(protocol.Internal)},
	} {
		w.change(func() { w.result = json.RawMessage(c.result) })
		frame := w.frame(command{typ: "rpc.any", run: "run_a", data: fmt.Sprintf(`{"rpc_type":"rpc.git.diff","request_id":"c%d"}`, i)})
		w.send(frame)
		w.await("the answer", func() bool { return len(w.secrets) == i+1 })
		if d := w.answerTo(frame, w.secrets[i]); d.OK || d.ErrorCode != c.code {
			t.Errorf("answer to %d = %+v, want %s", i, d, c.code)
		}
	}
}

// TestChangedCommands refuses sealed commands that the server has changed, and those of an old
// epoch.
func TestChangedCommands(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stop := command{typ: protocol.RunStop, run: "run_a", id: "s2", data: `{"signal":"term"}`}
	for _, c := range []struct {
		name, code string
		change     func(e *protocol.Envelope, c *seal.SealedCommand)
	}{
		{"another run", "bad_signature", func(e *protocol.Envelope, _ *seal.SealedCommand) { e.RunID = "run_b" }},
		{"another kind", "bad_signature", func(e *protocol.Envelope, _ *seal.SealedCommand) { e.Type = protocol.RunDecide }},
		{"another id", "wrong_request", func(e *protocol.Envelope, _ *seal.SealedCommand) { e.ID = "s3" }},
		{"another id in the data", "bad_signature", func(_ *protocol.Envelope, c *seal.SealedCommand) { c.ID = "s3" }},
		{"another device", "bad_signature", func(_ *protocol.Envelope, c *seal.SealedCommand) { c.Device = w.devices["cli"].id }},
		{"no device", "unknown_device", func(_ *protocol.Envelope, c *seal.SealedCommand) { c.Device = "d_other" }},
		{"an unknown epoch", "old_epoch", func(_ *protocol.Envelope, c *seal.SealedCommand) { c.Epoch = 9 }},
		{"a changed text", "bad_signature", func(_ *protocol.Envelope, c *seal.SealedCommand) { c.CT = "A" + c.CT[1:len(c.CT)-1] + "A" }},
		{"no text", "bad_message", func(_ *protocol.Envelope, c *seal.SealedCommand) { c.CT = "" }},
	} {
		changed := stop
		changed.changeFrame = c.change
		w.send(w.frame(changed))
		w.await(c.name, func() bool { return len(w.results) > 0 })
		w.change(func() {
			if got := w.results[0]; got.State != protocol.InputRejected || !strings.HasPrefix(got.Error, c.code) {
				t.Errorf("%s: result = %+v, want %s", c.name, got, c.code)
			}
			w.results = nil
		})
	}
	w.expectEffects()

	old := w.frame(stop)
	w.change(func() { w.skew = 24*time.Hour + time.Minute })
	if k, err := w.sealer.Sealing(1); err != nil || k.Epoch.N != 2 {
		t.Fatalf("epoch after a day = %+v, %v", k, err)
	}
	w.change(func() { w.skew *= 2 })
	w.send(old)
	w.await("a command of an old epoch", func() bool { return len(w.results) > 0 })
	if got := w.results[0]; !strings.HasPrefix(got.Error, "old_epoch") {
		t.Errorf("a command of an old epoch: %+v", got)
	}
}
