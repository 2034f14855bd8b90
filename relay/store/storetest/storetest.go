// Package storetest tests the contract of the relay's stores.
package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/store"
)

// Opener opens a database. Opening the same name again returns the stored data.
type Opener func(t *testing.T, name string) *store.Store

// Run runs all tests of the contract.
func Run(t *testing.T, open Opener) {
	for name, play := range map[string]func(t *testing.T, open Opener){
		"order": order, "holes": holes, "gaps": gaps, "begins late": beginsLate, "refused": refused, "fenced": fenced,
		"status": status, "requests": requests, "quota": quota, "random": random, "inputs": inputs, "decisions": decisions,
		"one decision": oneDecision, "writer": writer, "settled": settled, "own refused": ownRefused, "pages": pages, "lost": lost, "skipped": skipped, "overdue": overdue, "again": reopened, "hosts": machines, "kept": unknownFields,
		"history": history, "history pages": historyPages,
		"people": users, "tickets": tickets, "audit": audits, "one chain": oneChain, "removed": removed, "forgotten": forgotten,
		"replicas": replicas, "changes": changes, "sent": sent, "calls": calls,
		"pairings": pairings, "paired once": pairedOnce, "subscriptions": subscriptions, "notices": notices, "push bodies": pushBodies, "passkeys": passkeys,
		"rosters": rosters, "one roster": oneRoster, "epochs": epochs,
	} {
		t.Run(name, func(t *testing.T) { play(t, open) })
	}
}

// fixture is a store with a connected machine.
type fixture struct {
	*testing.T
	*store.Store
	gen int64
	at  int64
}

var ctx = context.Background()

func begin(t *testing.T, open Opener) *fixture {
	f := &fixture{T: t, Store: open(t, "db"), at: 1_700_000_000_000}
	t.Cleanup(func() { _ = f.Close() })
	f.gen = f.machine("host_a")
	return f
}

// machine connects a machine and returns the generation of its connection.
func (f *fixture) machine(id string) int64 {
	f.Helper()
	if _, err := f.AddMachine(ctx, store.Machine{ID: id, TokenHash: "t"}); err != nil {
		f.Fatal(err)
	}
	gen, err := f.TakeOver(ctx, store.Takeover{Machine: id, At: f.at})
	if err != nil {
		f.Fatal(err)
	}
	return gen
}

// event returns an event of run_a by host_a.
func (f *fixture) event(seq int64, typ, data string) store.Incoming {
	f.at++
	return store.Incoming{MachineID: "host_a", Gen: f.gen, At: f.at,
		Envelope: &protocol.Envelope{Type: typ, TS: "2025-01-01T00:00:00Z", RunID: "run_a", Seq: seq, Data: json.RawMessage(data)}}
}

func (f *fixture) output(seq int64) store.Incoming {
	return f.event(seq, protocol.RunOutput, fmt.Sprintf(`{"stream":"stdout","text":"%d"}`, seq))
}

// append stores events in one batch. It returns their outcomes and the prefix of run_a.
func (f *fixture) append(all ...store.Incoming) ([]store.Outcome, int64) {
	f.Helper()
	out, err := f.Append(ctx, all)
	if err != nil {
		f.Fatal(err)
	}
	return out.Outcomes, out.Prefixes["run_a"]
}

// mustStore stores events, all of which must be accepted. The prefix of run_a must then be prefix.
func (f *fixture) mustStore(prefix int64, all ...store.Incoming) {
	f.Helper()
	outcomes, got := f.append(all...)
	for i, o := range outcomes {
		if o != (store.Outcome{}) {
			f.Fatalf("outcome of event %d = %+v, want stored", all[i].Envelope.Seq, o)
		}
	}
	if got != prefix {
		f.Fatalf("prefix = %d, want %d", got, prefix)
	}
}

// seqs returns the sequence numbers of the visible events after a sequence number.
func (f *fixture) seqs(after int64) (out []int64) {
	f.Helper()
	all, err := f.Events(ctx, "run_a", after, 1000)
	if err != nil {
		f.Fatal(err)
	}
	for _, e := range all {
		out = append(out, e.Seq)
	}
	return out
}

func (f *fixture) expectEvents(want ...int64) {
	f.Helper()
	if got := f.seqs(0); !slices.Equal(got, want) {
		f.Fatalf("visible events = %v, want %v", got, want)
	}
}

func (f *fixture) run() *store.Run {
	f.Helper()
	r, err := f.Store.Run(ctx, "run_a")
	if err != nil {
		f.Fatal(err)
	}
	return r
}

const started = `{"tool":"codex","cwd":"/w","command":"codex -q","title":"t"}`

func order(t *testing.T, open Opener) {
	f := begin(t, open)
	f.mustStore(1, f.event(1, protocol.RunStarted, started))
	f.mustStore(4, f.output(2), f.output(3), f.output(4))
	f.expectEvents(1, 2, 3, 4)
	if got := f.seqs(2); !slices.Equal(got, []int64{3, 4}) {
		t.Errorf("visible events after 2 = %v, want 3 and 4", got)
	}
	e, err := f.Events(ctx, "run_a", 1, 1)
	if err != nil || len(e) != 1 || string(e[0].Data) != `{"stream":"stdout","text":"2"}` || e[0].Type != protocol.RunOutput || e[0].TS != "2025-01-01T00:00:00Z" {
		t.Errorf("event 2 = %+v, %v", e, err)
	}
	r := f.run()
	if r.Tool != "codex" || r.Cwd != "/w" || r.Command != "codex -q" || r.Title != "t" || r.MachineID != "host_a" || r.Status != protocol.StatusRunning || r.Last != 4 {
		t.Errorf("run = %+v", r)
	}
}

func holes(t *testing.T, open Opener) {
	f := begin(t, open)
	f.mustStore(1, f.event(1, protocol.RunStarted, started))
	f.mustStore(1, f.output(3))
	f.mustStore(1, f.output(5), f.output(4))
	f.expectEvents(1)
	if r := f.run(); r.Last != 5 || r.Prefix != 1 {
		t.Errorf("run = %+v, want prefix 1 and last 5", r)
	}
	f.mustStore(5, f.output(2))
	f.expectEvents(1, 2, 3, 4, 5)
}

func gaps(t *testing.T, open Opener) {
	f := begin(t, open)
	gap := func(from, to int64) store.Incoming {
		return f.event(to, protocol.RunGap, fmt.Sprintf(`{"from":%d,"to":%d,"reason":"spool_full"}`, from, to))
	}
	f.mustStore(1, f.event(1, protocol.RunStarted, started))
	f.mustStore(1, f.output(8))
	f.mustStore(1, gap(3, 6)) // event 2 is missing
	f.mustStore(6, f.output(2))
	f.mustStore(8, f.output(7))
	f.expectEvents(1, 2, 6, 7, 8)
	// Events inside a gap may still arrive. They do not change the prefix.
	f.mustStore(8, f.output(4))
	f.expectEvents(1, 2, 4, 6, 7, 8)
	// Some events of a gap's range may already be stored.
	f.mustStore(8, f.event(11, protocol.RunPermissionRequested, `{"request_id":"q","reason":"choice","prompt":"?"}`))
	f.mustStore(13, gap(9, 13))
	f.expectEvents(1, 2, 4, 6, 7, 8, 11, 13)
	if open, err := f.Requests(ctx, "run_a"); err != nil || len(open) != 1 {
		t.Errorf("open requests = %v, %v; want 1", open, err)
	}
	// A gap with an invalid range is stored like any other event.
	f.mustStore(13, f.event(15, protocol.RunGap, `{"from":14,"to":99,"reason":"spool_full"}`))
}

func beginsLate(t *testing.T, open Opener) {
	f := begin(t, open)
	first := f.event(41, protocol.RunStarted, started)
	first.AnyStart = true
	f.mustStore(41, first)
	f.mustStore(42, f.output(42))
	f.expectEvents(41, 42)
	of := f.event(5, protocol.RunStarted, started) // an event of a machine whose runs begin with sequence number 1
	of.Envelope.RunID = "run_c"
	if out, err := f.Append(ctx, []store.Incoming{of}); err != nil || out.Prefixes["run_c"] != 0 {
		t.Errorf("run_c without its first event: %+v, %v; want prefix 0", out, err)
	}
	late := f.output(7)
	late.Envelope.RunID = "run_b"
	out, err := f.Append(ctx, []store.Incoming{late})
	if err != nil || out.Prefixes["run_b"] != 0 || !slices.Equal(out.Started, []string{"run_b"}) {
		t.Errorf("run_b without its first event: %+v, %v; want prefix 0", out, err)
	}
}

func refused(t *testing.T, open Opener) {
	f := begin(t, open)
	f.mustStore(2, f.event(1, protocol.RunStarted, started), f.output(2))
	same := f.event(2, protocol.RunOutput, `{"text":"2", "stream":"stdout"}`)
	other := f.event(2, protocol.RunOutput, `{"text":"two","stream":"stdout"}`)
	typ := f.event(2, protocol.RunExited, `{"text":"2","stream":"stdout"}`)
	gen := f.machine("host_b")
	foreign := f.output(3)
	foreign.MachineID, foreign.Gen = "host_b", gen
	out, prefix := f.append(same, other, typ, foreign, f.output(3))
	want := []store.Outcome{{Duplicate: true}, {Refused: protocol.SeqConflict}, {Refused: protocol.SeqConflict}, {Refused: protocol.NotOwner}, {}}
	if diff := cmp.Diff(want, out); diff != "" || prefix != 3 {
		t.Errorf("prefix = %d, outcomes (-want +got):\n%s", prefix, diff)
	}
	f.expectEvents(1, 2, 3)
}

func fenced(t *testing.T, open Opener) {
	f := begin(t, open)
	f.mustStore(1, f.event(1, protocol.RunStarted, started))
	before := f.output(2)
	f.gen = f.machine("host_a")
	out, err := f.Append(ctx, []store.Incoming{before, f.output(2)})
	if err != nil || !out.Outcomes[0].Stale || out.Outcomes[1] != (store.Outcome{}) {
		t.Errorf("outcomes = %+v, %v; want the event of the old connection stale", out, err)
	}
	f.expectEvents(1, 2)
	noMachine := f.output(3)
	noMachine.MachineID = "host_z"
	if out, _ := f.append(noMachine); !out[0].Stale {
		t.Error("an event of an unknown machine was stored")
	}
}

func status(t *testing.T, open Opener) {
	f := begin(t, open)
	seq := int64(0)
	is := func(want protocol.Status, typ, data string) {
		t.Helper()
		seq++
		f.mustStore(seq, f.event(seq, typ, data))
		if r := f.run(); r.Status != want || r.LastActiveAt != f.at && r.Status != protocol.StatusExited {
			t.Errorf("after %s: status = %s (%+v), want %s", typ, r.Status, r, want)
		}
	}
	ask := func(id string) string { return `{"request_id":"` + id + `","reason":"permission","prompt":"?"}` }
	is("running", protocol.RunStarted, started)
	is("awaiting_input", protocol.RunAwaitingInput, `{"reason":"prompt"}`)
	is("awaiting_approval", protocol.RunPermissionRequested, ask("a"))
	is("awaiting_approval", protocol.RunPermissionRequested, ask("b"))
	is("awaiting_approval", protocol.RunPermissionResolved, `{"request_id":"a","decision":"approve"}`)
	is("awaiting_input", protocol.RunPermissionResolved, `{"request_id":"b","decision":"withdrawn"}`)
	is("running", protocol.RunInput, `{"actor":"web","input_id":"i","text_redacted":"","text_sha256":""}`)
	is("running", protocol.RunMeta, `{"title":"new","labels":{"a":"b"}}`)
	is("running", protocol.RunMeta, `{"usage":{"tokens_in":1,"tokens_out":2,"cost_usd":0.5}}`)
	is("awaiting_approval", protocol.RunPermissionRequested, ask("c"))
	is("exited", protocol.RunExited, `{"exit_code":137}`)
	is("exited", protocol.RunOutput, `{"stream":"stdout","text":"a ghost"}`)
	r := f.run()
	if r.Title != "new" || r.ExitCode == nil || *r.ExitCode != 137 || r.EndedAt == 0 ||
		string(r.Meta) != `{"labels":{"a":"b"},"title":"new","usage":{"tokens_in":1,"tokens_out":2,"cost_usd":0.5}}` {
		t.Errorf("run = %+v, meta = %s", r, r.Meta)
	}
}

func requests(t *testing.T, open Opener) {
	f := begin(t, open)
	f.mustStore(1, f.event(1, protocol.RunStarted, started))
	are := func(want ...string) {
		t.Helper()
		all, err := f.Requests(ctx, "")
		var got []string
		for _, q := range all {
			got = append(got, q.ID)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("open requests = %v (%v), want %v", got, err, want)
		}
	}
	ask := func(seq int64, id string) store.Incoming {
		return f.event(seq, protocol.RunPermissionRequested, `{"request_id":"`+id+`","reason":"permission","prompt":"?"}`)
	}
	f.mustStore(3, ask(2, "z"), ask(3, "a"))
	are("z", "a")
	f.mustStore(3, ask(5, "held"))
	are("z", "a") // a request is open only if all events before it are stored
	f.mustStore(5, f.event(4, protocol.RunInput, `{"actor":"web","input_id":"z","text_redacted":"y","text_sha256":""}`))
	are("a", "held")
	f.mustStore(6, f.event(6, protocol.ToolResult, `{"request_id":"a","tool":"bash","actor":"web","ok":true,"duration_ms":1}`))
	are("held")
	f.mustStore(7, f.event(7, protocol.RunExited, `{"exit_code":0}`))
	are()
}

func quota(t *testing.T, open Opener) {
	f := begin(t, open)
	f.mustStore(1, f.event(1, protocol.RunStarted, started))
	for i := range int64(protocol.MaxOpenRequests + 5) {
		f.mustStore(2+i, f.event(2+i, protocol.RunPermissionRequested, fmt.Sprintf(`{"request_id":"q%d","reason":"choice","prompt":"?"}`, i)))
	}
	if all, err := f.Requests(ctx, "run_a"); err != nil || len(all) != protocol.MaxOpenRequests {
		t.Errorf("open requests = %d (%v), want the maximum", len(all), err)
	}
}

// random simulates a machine that sends, repeats and resends events in random order. The visible
// events must be those up to the first missing one, each once and in order.
func random(t *testing.T, open Opener) {
	f := begin(t, open)
	dice := rand.New(rand.NewPCG(1, 2))
	const last = 60
	have := map[int64]bool{}
	for steps := 0; len(have) < last; steps++ {
		var batch []store.Incoming
		var duplicates []bool
		for range 1 + dice.IntN(5) {
			seq := 1 + dice.Int64N(last)
			if dice.IntN(3) == 0 { // prefer the next event
				for seq = 1; have[seq]; seq++ {
				}
			}
			e := f.output(seq)
			if seq == 1 {
				e = f.event(1, protocol.RunStarted, started)
			} else if !have[1] {
				continue // a run begins with its first event
			}
			duplicates = append(duplicates, have[seq])
			have[seq] = true
			batch = append(batch, e)
		}
		if len(batch) == 0 {
			continue
		}
		want := int64(0)
		for have[want+1] {
			want++
		}
		out, prefix := f.append(batch...)
		for i, o := range out {
			if (o != store.Outcome{Duplicate: duplicates[i]}) {
				t.Fatalf("step %d: outcome of event %d = %+v", steps, batch[i].Envelope.Seq, o)
			}
		}
		if prefix != want {
			t.Fatalf("step %d: prefix = %d, want %d", steps, prefix, want)
		}
		seen := f.seqs(0)
		if int64(len(seen)) != want || want > 0 && seen[want-1] != want || !slices.IsSorted(seen) {
			t.Fatalf("step %d: visible events = %v, want 1 to %d", steps, seen, want)
		}
	}
}

func input(id, payload string) store.Command {
	return store.Command{RunID: "run_a", Kind: store.InputCommand, ID: id, Payload: json.RawMessage(payload), SHA256: "h" + payload, By: "eve", Created: 1, Expires: 2}
}

func inputs(t *testing.T, open Opener) {
	f := begin(t, open)
	if _, _, err := f.Accept(ctx, input("i1", `"y"`)); !errors.Is(err, store.ErrUnknown) {
		t.Errorf("input for an unknown run: error = %v, want ErrUnknown", err)
	}
	f.mustStore(1, f.event(1, protocol.RunStarted, started))
	for i, id := range []string{"i2", "i1", "i3"} {
		if c, fresh, err := f.Accept(ctx, input(id, `"y"`)); err != nil || !fresh || c.State != "accepted" || c.N != int64(i+1) {
			t.Errorf("input %s = %+v, fresh = %v, error = %v", id, c, fresh, err)
		}
	}
	if c, fresh, err := f.Accept(ctx, input("i1", `"y"`)); err != nil || fresh || c.State != "accepted" {
		t.Errorf("repeated input = %+v, fresh = %v, error = %v", c, fresh, err)
	}
	if _, _, err := f.Accept(ctx, input("i1", `"n"`)); !errors.Is(err, store.ErrConflict) {
		t.Errorf("id with another text: error = %v, want ErrConflict", err)
	}
	step := func(id string, on protocol.Outcome, want protocol.InputState, moved bool) {
		t.Helper()
		c, did, err := f.Step(ctx, "run_a", store.InputCommand, id, on, "")
		if err != nil || did != moved || c.State != want {
			t.Errorf("step of %s on %s: %+v, moved = %v, error = %v", id, on, c, did, err)
		}
	}
	step("i2", "sent", "sent", true)
	step("i2", "applied", "applied", true)
	step("i2", "rejected", "applied", false)
	step("i1", "expired", "expired", true)
	step("i1", "sent", "expired", false)
	if _, _, err := f.Step(ctx, "run_a", store.InputCommand, "nobody", "sent", ""); !errors.Is(err, store.ErrUnknown) {
		t.Errorf("step of an unknown command: error = %v, want ErrUnknown", err)
	}
	left, err := f.Pending(ctx, "host_a", false)
	if err != nil || len(left) != 1 || left[0].ID != "i3" || string(left[0].Payload) != `"y"` {
		t.Errorf("pending commands = %+v, %v; want i3", left, err)
	}
	if c, _, err := f.Accept(ctx, input("i2", `"y"`)); err != nil || c.State != "applied" || c.Payload != nil {
		t.Errorf("applied command = %+v, %v; want it without a payload", c, err)
	}
	f.mustStore(2, f.event(2, protocol.RunExited, `{"exit_code":0}`))
	if _, _, err := f.Accept(ctx, input("i9", `"y"`)); !errors.Is(err, store.ErrHasExited) {
		t.Errorf("input for an ended run: error = %v, want ErrHasExited", err)
	}
}

func decision(id, what, by string) store.Command {
	return store.Command{RunID: "run_a", Kind: store.DecisionCommand, ID: id, Payload: json.RawMessage(`{}`), SHA256: what, By: by, Decision: what, Created: 7}
}

// openRequest opens a request of run_a.
func (f *fixture) openRequest(id string) {
	f.Helper()
	f.mustStore(1, f.event(1, protocol.RunStarted, started))
	f.mustStore(2, f.event(2, protocol.RunPermissionRequested, `{"request_id":"`+id+`","reason":"permission","prompt":"?","args_sha256":"aa"}`))
}

func decisions(t *testing.T, open Opener) {
	f := begin(t, open)
	f.openRequest("q")
	if _, _, err := f.Accept(ctx, decision("other", "approve", "eve")); !errors.Is(err, store.ErrUnknown) {
		t.Errorf("decision on an unknown request: error = %v, want ErrUnknown", err)
	}
	changed := decision("q", "approve", "eve")
	changed.ArgsSHA256 = "bb"
	if _, _, err := f.Accept(ctx, changed); !errors.Is(err, store.ErrChanged) {
		t.Errorf("decision for other arguments: error = %v, want ErrChanged", err)
	}
	first := decision("q", "approve", "eve")
	first.ArgsSHA256 = "aa"
	if c, fresh, err := f.Accept(ctx, first); err != nil || !fresh || c.State != "accepted" {
		t.Errorf("first decision = %+v, fresh = %v, error = %v", c, fresh, err)
	}
	if c, fresh, err := f.Accept(ctx, first); err != nil || fresh || c.State != "accepted" {
		t.Errorf("repeated decision = %+v, fresh = %v, error = %v", c, fresh, err)
	}
	var decided *store.AlreadyDecided
	if _, _, err := f.Accept(ctx, decision("q", "deny", "adam")); !errors.As(err, &decided) || !errors.Is(err, store.ErrDecided) || decided.Was != (store.RecordedDecision{Decision: "approve", By: "eve", At: 7}) {
		t.Errorf("second decision: error = %v, want AlreadyDecided", err)
	}
	for _, on := range []protocol.Outcome{protocol.OutcomeSent, protocol.OutcomeRejected} {
		if _, moved, err := f.Step(ctx, "run_a", store.DecisionCommand, "q", on, ""); err != nil || !moved {
			t.Errorf("step on %s: moved = %v, error = %v", on, moved, err)
		}
	}
	// The machine has returned the decision, so the request can be decided again.
	if q, err := f.Requests(ctx, "run_a"); err != nil || len(q) != 1 || q[0].State != "open" {
		t.Errorf("requests = %+v, %v; want one open request", q, err)
	}
	if c, fresh, err := f.Accept(ctx, decision("q", "deny", "adam")); err != nil || !fresh || c.State != "accepted" || c.By != "adam" {
		t.Errorf("next decision = %+v, fresh = %v, error = %v", c, fresh, err)
	}
	f.mustStore(3, f.event(3, protocol.RunPermissionResolved, `{"request_id":"q","decision":"deny"}`))
	if _, _, err := f.Accept(ctx, decision("q", "approve", "eve")); !errors.Is(err, store.ErrDecided) {
		t.Errorf("decision on a decided request: error = %v, want ErrDecided", err)
	}
}

// oneDecision sends many concurrent decisions on a request. Exactly one may be accepted.
func oneDecision(t *testing.T, open Opener) {
	f := begin(t, open)
	f.openRequest("q")
	var wg sync.WaitGroup
	var mu sync.Mutex
	var won []string
	for i := range 16 {
		by := fmt.Sprint("user", i)
		wg.Go(func() {
			_, fresh, err := f.Accept(ctx, decision("q", "approve", by))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case fresh:
				won = append(won, by)
			case !errors.Is(err, store.ErrDecided):
				t.Errorf("decision of %s: error = %v, want ErrDecided", by, err)
			}
		})
	}
	wg.Wait()
	if len(won) != 1 {
		t.Errorf("users with accepted decisions = %v, want one", won)
	}
}

// writer checks that the events of many connections are stored once. Each connection receives the
// results of its events in order, and events queued before Close are committed.
func writer(t *testing.T, open Opener) {
	f := begin(t, open)
	w := f.NewWriter(nil, nil)
	const runs, each = 8, 40
	var wg sync.WaitGroup
	var mu sync.Mutex
	notified := map[string][]int64{}
	wg.Add(runs * each)
	for r := range runs {
		go func() {
			for seq := int64(1); seq <= each; seq++ {
				e := store.Incoming{MachineID: "host_a", Gen: f.gen, At: 1, Envelope: &protocol.Envelope{Type: protocol.RunOutput, TS: "2025-01-01T00:00:00Z",
					RunID: fmt.Sprint("run_", r), Seq: seq, Data: json.RawMessage(`{"stream":"stdout","text":"x"}`)}}
				w.Write(ctx, e, func(written store.Written) {
					defer wg.Done()
					mu.Lock()
					defer mu.Unlock()
					if written.Err != nil || written.Outcome != (store.Outcome{}) || written.Prefix < seq {
						t.Errorf("result of event %s %d = %+v", e.Envelope.RunID, seq, written)
					}
					notified[e.Envelope.RunID] = append(notified[e.Envelope.RunID], seq)
				})
			}
		}()
	}
	wg.Wait()
	w.Close()
	for run, seqs := range notified {
		if len(seqs) != each || !slices.IsSorted(seqs) {
			t.Errorf("results for %s arrived as %v, want them in order", run, seqs)
		}
	}
	w.Write(ctx, f.output(1), func(written store.Written) {
		if !errors.Is(written.Err, store.ErrClosed) {
			t.Errorf("result after Close = %+v, want ErrClosed", written)
		}
	})
	all, err := f.Runs(ctx, store.RunsQuery{Machine: "host_a"})
	if err != nil || len(all) != runs {
		t.Errorf("number of runs = %d, %v", len(all), err)
	}
	for _, r := range all {
		if r.Prefix != each {
			t.Errorf("run = %+v, want all events", r)
		}
	}
}

// reopened opens a store again. It must contain the committed data.
func reopened(t *testing.T, open Opener) {
	f := begin(t, open)
	f.mustStore(2, f.event(1, protocol.RunStarted, started), f.output(2))
	if _, _, err := f.Accept(ctx, input("i", `"y"`)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f.Store = open(t, "db")
	f.expectEvents(1, 2)
	f.mustStore(3, f.output(3))
	if left, err := f.Pending(ctx, "host_a", false); err != nil || len(left) != 1 {
		t.Errorf("pending commands = %v, %v; want 1", left, err)
	}
}

func machines(t *testing.T, open Opener) {
	f := begin(t, open)
	was, err := f.AddMachine(ctx, store.Machine{ID: "host_a", TokenHash: "another"})
	if err != nil || was.TokenHash != "t" || was.Gen != 1 {
		t.Errorf("existing machine = %+v, %v; want its first token", was, err)
	}
	if _, err := f.TakeOver(ctx, store.Takeover{Machine: "host_a", Epoch: 100, At: 5}); err != nil {
		t.Error(err)
	}
	if _, err := f.TakeOver(ctx, store.Takeover{Machine: "host_a", Epoch: 99, At: 6}); !errors.Is(err, store.ErrStale) {
		t.Errorf("lower epoch: error = %v, want ErrStale", err)
	}
	if gen, err := f.TakeOver(ctx, store.Takeover{Machine: "host_a", Epoch: 100, At: 7}); err != nil || gen != 3 {
		t.Errorf("higher epoch: generation = %d, error = %v; want 3", gen, err)
	}
	if _, err := f.TakeOver(ctx, store.Takeover{Machine: "nobody", At: 0}); !errors.Is(err, store.ErrUnknown) {
		t.Errorf("unknown machine: error = %v, want ErrUnknown", err)
	}
	if h, err := f.Machine(ctx, "host_a"); err != nil || h.Epoch != 100 || h.LastSeenAt != 7 {
		t.Errorf("machine = %+v, %v; want epoch 100 and the time 7", h, err)
	}
	all, err := f.Machines(ctx)
	if err != nil || len(all) != 1 || all[0].ID != "host_a" {
		t.Errorf("machines = %+v, %v; want host_a", all, err)
	}
}

// unknownFields checks that unknown fields and encrypted data are returned unchanged.
func unknownFields(t *testing.T, open Opener) {
	f := begin(t, open)
	text := `{"type":"run.started","ts":"2025-01-01T00:00:00Z","run_id":"run_a","seq":1,"trace":[1,"é\u0000"],"enc":{"kid":"k"},"data":{ "ct":"` + strings.Repeat("A", 70_000) + `"}}`
	e, refusal := protocol.Parse([]byte(text))
	if refusal != nil {
		t.Fatal(refusal)
	}
	f.mustStore(1, store.Incoming{MachineID: "host_a", Gen: f.gen, Envelope: &e, At: 1})
	all, err := f.Events(ctx, "run_a", 0, 10)
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	out := all[0].Envelope("host_a")
	e.MachineID, e.Data = "host_a", all[0].Data
	if strings.Contains(string(e.Data), " ") {
		t.Errorf("data %.40s is not compact", e.Data)
	}
	if diff := cmp.Diff(string(e.Append(nil)), string(out.Append(nil))); diff != "" {
		t.Error(diff)
	}
}
