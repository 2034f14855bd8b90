package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/store"
)

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// replicas checks that the store lists the live servers, that a machine belongs to the server that
// took it over last, and that the previous server receives mail about the machine.
func replicas(t *testing.T, open Opener) {
	f := begin(t, open)
	live := func(want ...string) {
		t.Helper()
		all, err := f.Replicas(ctx)
		var got []string
		for _, r := range all {
			got = append(got, r.ID+r.Key)
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("live servers: error %v, diff (-want +got):\n%s", err, diff)
		}
	}
	f.must(f.Join(ctx, store.Replica{ID: "one", Key: "1"}))
	live("one1")
	f.must(f.Join(ctx, store.Replica{ID: "two", Key: "2"}))
	if !f.Shared() {
		live("two2") // joining a database that is not shared removes the previous server
	} else {
		live("one1", "two2")
		f.must(f.RenewLease(ctx, "one"))
	}
	if err := f.RenewLease(ctx, "nobody"); !errors.Is(err, store.ErrUnknown) {
		t.Error(err)
	}
	take := func(machine, replica string) int64 {
		t.Helper()
		gen, err := f.TakeOver(ctx, store.Takeover{Machine: machine, Epoch: 7, Instance: "i", Proto: 2, Replica: replica, At: 5})
		f.must(err)
		return gen
	}
	is := func(replica string, alive bool) {
		t.Helper()
		h, err := f.Machine(ctx, "host_a")
		if err != nil || h.Replica != replica || h.Alive != alive || replica != "" && (h.Instance != "i" || h.Proto != 2 || h.Epoch != 7) {
			t.Errorf("machine = %+v, %v", h, err)
		}
	}
	mail := func(of string, want ...store.Mail) {
		t.Helper()
		got, err := f.ReceiveMail(ctx, of)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("mail: error %v, diff (-want +got):\n%s", err, diff)
		}
	}
	is("", false)
	first := take("host_a", "one")
	is("one", f.Shared())
	second := take("host_a", "two")
	is("two", true)
	mail("two")
	if f.Shared() {
		f.must(f.SendMail(ctx, "one", store.Mail{Kind: store.SealedMail, Body: "x"}))
		mail("one", store.Mail{Kind: store.MachineMail, Body: "host_a"}, store.Mail{Kind: store.SealedMail, Body: "x"})
		mail("one")
	}
	f.must(f.Disconnected(ctx, "host_a", first, 6))
	is("two", true)
	f.must(f.Disconnected(ctx, "host_a", second, 6))
	is("", false)
	take("host_a", "two")
	f.must(f.RemoveMachine(ctx, "host_a", 7))
	if f.Shared() {
		mail("two", store.Mail{Kind: store.MachineMail, Body: "host_a"})
		_, err := f.AddMachine(ctx, store.Machine{ID: "host_b", TokenHash: "t"})
		f.must(err)
		take("host_b", "nobody") // a server that is not registered
		take("host_b", "two")
		mail("nobody")
	}
	if err := f.Leave(ctx, "two"); err != nil {
		t.Fatal(err)
	}
	all, err := f.Replicas(ctx)
	if err != nil || slices.ContainsFunc(all, func(r store.Replica) bool { return r.ID == "two" }) {
		t.Errorf("live servers = %v, %v; want none that has left", all, err)
	}
}

// changes checks that a server finds all runs that other servers have changed. This also holds if
// the transactions commit in another order than they began.
func changes(t *testing.T, open Opener) {
	f := begin(t, open)
	if !f.Shared() {
		if all, next, err := f.Changes(ctx, 0); len(all) != 0 || next != 0 || err != nil {
			t.Error(all, next, err)
		}
		return
	}
	f.mustStore(1, f.event(1, protocol.RunStarted, started))
	open0, next, err := f.Unended(ctx)
	if err != nil || len(open0) != 1 || open0[0].Prefix != 1 || open0[0].Made == 0 || open0[0].Made >= next {
		t.Fatal(open0, next, err)
	}
	last, _, err := f.LastEvent(ctx)
	if err != nil || last == 0 {
		t.Fatal(last, err)
	}
	look := func(want ...string) {
		t.Helper()
		all, at, err := f.Changes(ctx, next)
		next = at
		got := []string{}
		for _, c := range all {
			got = append(got, fmt.Sprint(c.Run, c.Prefix, c.Exited))
		}
		slices.Sort(got)
		if diff := cmp.Diff(append([]string{}, want...), got); err != nil || diff != "" {
			t.Errorf("changes: error %v, diff (-want +got):\n%s", err, diff)
		}
	}
	look()
	f.mustStore(2, f.output(2))
	f.mustStore(2, f.output(4))
	look("run_a2 false")
	look()
	f.mustStore(4, f.output(3))
	other := f.event(1, protocol.RunStarted, started)
	other.Envelope.RunID = "run_b"
	f.append(other, f.event(5, protocol.RunExited, `{"exit_code":0}`))
	look("run_a5 true", "run_b1 false")
	for number, want := range map[int64]int64{last: 1, 1 << 50: 5, 0: 0} {
		if at, err := f.PrefixAt(ctx, "run_a", number, 5); err != nil || at != want {
			t.Errorf("prefix at event %d = %d, want %d (%v)", number, at, want, err)
		}
	}
	concurrentWriters(f, next)
}

// concurrentWriters runs several writers at the same time. A reader must find the last prefix of
// each run.
func concurrentWriters(f *fixture, next int64) {
	t := f.T
	t.Helper()
	const writers, each = 4, 40
	done := make(chan error, writers)
	for w := range writers {
		go func() {
			for seq := int64(1); seq <= each; seq++ {
				in := store.Incoming{MachineID: "host_a", Gen: f.gen, At: 5}
				e := protocol.New(protocol.RunOutput, time.Unix(1, 0), protocol.Output{Stream: "stdout", Text: "x"})
				e.RunID, e.Seq = fmt.Sprint("many", w), seq
				in.Envelope = &e
				if _, err := f.Append(ctx, []store.Incoming{in}); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	got := map[string]int64{}
	for left := writers; ; {
		all, at, err := f.Changes(ctx, next)
		if err != nil {
			t.Fatal(err)
		}
		next = at
		for _, c := range all {
			if c.Prefix < got[c.Run] {
				t.Errorf("prefix of %s decreased from %d to %d", c.Run, got[c.Run], c.Prefix)
			}
			got[c.Run] = c.Prefix
		}
		if left == 0 {
			break
		}
		select {
		case err := <-done:
			if left--; err != nil {
				t.Fatal(err)
			}
		default:
		}
	}
	for w := range writers {
		if got[fmt.Sprint("many", w)] != each {
			t.Errorf("prefixes = %v, want all events of each run", got)
		}
	}
}

// sent checks that a command is sent only over the current connection of its machine, that the
// reason of its rejection is stored, and that servers find the machines for which commands or calls
// wait.
func sent(t *testing.T, open Opener) {
	f := begin(t, open)
	f.openRequest("q1")
	for _, c := range []store.Command{input("i1", `"y"`), decision("q1", "approve", "eve")} {
		c.Keeper = "one"
		if _, _, err := f.Accept(ctx, c); err != nil {
			t.Fatal(err)
		}
	}
	gen, err := f.TakeOver(ctx, store.Takeover{Machine: "host_a", Replica: "one"})
	if err != nil {
		t.Fatal(err)
	}
	busy := func(of string, want ...string) {
		t.Helper()
		if got, err := f.MachinesWithWork(ctx, of); err != nil || !slices.Equal(got, want) {
			t.Errorf("machines with work = %v, %v", got, err)
		}
	}
	busy("one", "host_a")
	busy("two")
	all, err := f.Pending(ctx, "host_a", true)
	if err != nil || len(all) != 2 || all[0].Keeper != "one" {
		t.Fatal(all, err)
	}
	if _, _, err := f.Send(ctx, all[0], "host_a", gen-1); !errors.Is(err, store.ErrStale) {
		t.Error(err)
	}
	for _, c := range all {
		if c, moved, err := f.Send(ctx, c, "host_a", gen); err != nil || !moved || c.State != "sent" {
			t.Error(c, moved, err)
		}
	}
	busy("one")
	if left, err := f.Pending(ctx, "host_a", true); err != nil || len(left) != 0 {
		t.Error(left, err)
	}
	if _, _, err := f.Step(ctx, "run_a", store.DecisionCommand, "q1", "rejected", "it does not fit"); err != nil {
		t.Error(err)
	}
	got, err := f.CommandsOf(ctx, []store.CommandKey{{Run: "run_a", Kind: store.InputCommand, ID: "i1"}, {Run: "run_a", Kind: store.DecisionCommand, ID: "q1"}, {Run: "run_a", Kind: store.StopCommand, ID: "no"}})
	if err != nil || len(got) != 2 || got[0].Payload != nil {
		t.Fatal(got, err)
	}
	for _, c := range got {
		if c.Kind == store.DecisionCommand && (c.State != "rejected" || c.Why != "it does not fit") {
			t.Errorf("decision = %+v, want rejected with its reason", c)
		}
	}
}

// calls checks that an RPC is stored once for its id, and that only its first answer is stored.
func calls(t *testing.T, open Opener) {
	f := begin(t, open)
	f.must(f.Join(ctx, store.Replica{ID: "one"}))
	gen, err := f.TakeOver(ctx, store.Takeover{Machine: "host_a", Replica: "one"})
	if err != nil {
		t.Fatal(err)
	}
	record := audit.Record{Kind: "rpc", Actor: audit.Actor{Type: "user", Name: "eve"}}
	add := func(c store.Call) (*store.Call, bool) {
		t.Helper()
		c.Machine, c.State, c.Type, c.SHA256, c.Frame = "host_a", "asked", protocol.RPCBash, "s", []byte(`{"a":1}`)
		out, fresh, err := f.AddCall(ctx, c, record)
		if err != nil {
			t.Fatal(err)
		}
		return out, fresh
	}
	if c, fresh := add(store.Call{ID: "c1", At: 5, Ends: 100}); !fresh || c.ID != "c1" {
		t.Error(c)
	}
	if c, fresh := add(store.Call{ID: "c1", By: "adam"}); fresh || c.By != "" || string(c.Frame) != `{"a":1}` || c.Ends != 100 {
		t.Errorf("repeated call = %+v, want the existing call", c)
	}
	add(store.Call{ID: "c2", At: 6, Gen: gen})
	add(store.Call{ID: "c3", At: 7, Gen: gen - 1})
	ids := func(all []*store.Call, err error) (out string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range all {
			out += " " + c.ID
		}
		return out
	}
	if busy, err := f.MachinesWithWork(ctx, "one"); err != nil || !slices.Equal(busy, []string{"host_a"}) {
		t.Error(busy, err)
	}
	for want, got := range map[string]string{" c1 c2 c3": ids(f.CallsOf(ctx, "host_a")), " c3": ids(f.OverdueCalls(ctx, 99)), " c2": ids(f.Calls(ctx, []string{"c2", "c9"}))} {
		if got != want {
			t.Errorf("ids = %q, want %q", got, want)
		}
	}
	if err := f.Disconnected(ctx, "host_a", gen, 9); err != nil {
		t.Fatal(err)
	}
	if late := ids(f.OverdueCalls(ctx, 100)); len(late) != len(" c1 c2 c3") {
		t.Error(late)
	}
	answer := func(text string) (*store.Call, error) {
		return f.MoveCall(ctx, "c1", 50, func(c *store.Call) { c.State, c.Answer = "answered", text })
	}
	for range 2 {
		if c, err := answer("{}"); err != nil || c.Answer != "{}" || c.Frame != nil {
			t.Errorf("answered call = %+v, %v; want the first answer and no frame", c, err)
		}
	}
	if c, err := f.Call(ctx, "c1"); err != nil || c.State != "answered" || c.At != 50 || c.Type != protocol.RPCBash {
		t.Errorf("stored call = %+v, %v; want answered at 50", c, err)
	}
	if _, err := f.MoveCall(ctx, "no", 1, func(*store.Call) {}); !errors.Is(err, store.ErrUnknown) {
		t.Error(err)
	}
	lines, err := f.AuditLines(ctx, 0, 100)
	if err != nil || len(lines) != 3 {
		t.Errorf("audit records = %d, %v; want 3", len(lines), err)
	}
	check := func(at int64, want error) {
		t.Helper()
		if err := f.ForgetCalls(context.Background(), at); err != nil {
			t.Error(err)
		}
		if _, err := f.Call(ctx, "c1"); !errors.Is(err, want) {
			t.Error(err)
		}
	}
	check(49+protocol.RPCRetention.Milliseconds(), nil)
	check(50+protocol.RPCRetention.Milliseconds(), store.ErrUnknown)
}
