package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/store"
)

// ownRefused checks that the audit log records the attempt of a run to decide its own request.
func ownRefused(t *testing.T, open Opener) {
	f := begin(t, open)
	f.openRequest("q1")
	f.mustStore(3, f.event(3, protocol.RunRefused, `{"action":"decide","request_id":"q1","by_run_id":"run_b","pid":7,"reason":"it is its own"}`))
	f.mustStore(4, f.event(4, protocol.RunRefused, `{"action":"stop","reason":"replayed: it was used","code":"replayed","device":"d_1"}`))
	lines, err := f.AuditLines(ctx, 0, 100)
	if log := strings.Join(lines, "\n"); err != nil || !strings.Contains(log, `"kind":"self_decision_refused"`) || !strings.Contains(log, `"data":{"action":"decide","by_run_id":"run_b","reason":"it is its own","request_id":"q1"}`) ||
		!strings.Contains(log, `"data":{"action":"stop","code":"replayed","device":"d_1","reason":"replayed: it was used"}`) || !strings.Contains(log, `"kind":"command_refused"`) {
		t.Errorf("audit log = %s, %v; want the refusal", log, err)
	}
}

// settled checks that events set the results of commands, in the transaction that stores the
// events.
func settled(t *testing.T, open Opener) {
	f := begin(t, open)
	f.openRequest("q1")
	ask := func(seq int64, id string) store.Incoming {
		return f.event(seq, protocol.RunPermissionRequested, `{"request_id":"`+id+`","reason":"permission","prompt":"?"}`)
	}
	f.mustStore(10, ask(3, "q2"), ask(4, "q3"), ask(5, "q4"), ask(6, "q5"), ask(7, "q6"), ask(8, "q7"), ask(9, "q8"), ask(10, "q10"))
	accept := func(c store.Command, sent bool) {
		t.Helper()
		if _, _, err := f.Accept(ctx, c); err != nil {
			t.Fatal(err)
		}
		if sent {
			if _, _, err := f.Step(ctx, "run_a", c.Kind, c.ID, "sent", ""); err != nil {
				t.Fatal(err)
			}
		}
	}
	for id, how := range map[string]string{"q1": "approve", "q2": "approve", "q3": "approve", "q5": "approve", "q10": protocol.DecisionSealed} {
		accept(decision(id, how, "eve"), true)
	}
	accept(decision("q4", "approve", "eve"), false)
	for _, id := range []string{"q6", "q7", "q8"} {
		c := decision(id, "answer", "eve")
		c.Answer, c.AnswerSHA256 = `"No"`, "aa"
		accept(c, true)
	}
	accept(input("i1", `"y"`), true)
	accept(input("i2", `"y"`), true)
	accept(input("i3", `"y"`), false)
	stop := input("s1", `{}`)
	stop.Kind = store.StopCommand
	accept(stop, true)
	appendWants := func(seq int64, typ, data string, want ...string) {
		t.Helper()
		out, err := f.Append(ctx, []store.Incoming{f.event(seq, typ, data)})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range out.Settled {
			got = append(got, fmt.Sprintf("%s %s %s %s", c.Kind, c.ID, c.State, c.Why))
		}
		if diff := cmp.Diff(want, got); diff != "" || out.Before["run_a"] != seq-1 || out.Prefixes["run_a"] != seq {
			t.Errorf("%s %s: settled commands: %s (prefixes %v, %v)", typ, data, diff, out.Before, out.Prefixes)
		}
	}
	appendWants(11, protocol.RunPermissionResolved, `{"request_id":"q1","decision":"approve"}`, "decision q1 applied ")
	appendWants(12, protocol.RunPermissionResolved, `{"request_id":"q2","decision":"deny"}`, "decision q2 rejected already_decided")
	appendWants(13, protocol.RunPermissionResolved, `{"request_id":"q3","decision":"expired"}`, "decision q3 rejected expired")
	appendWants(14, protocol.RunPermissionResolved, `{"request_id":"q4","decision":"withdrawn"}`, "decision q4 expired expired")
	appendWants(15, protocol.RunInput, `{"actor":"web","input_id":"i1","text_redacted":"","text_sha256":""}`, "input i1 applied ")
	appendWants(16, protocol.RunInput, `{"actor":"web","input_id":"q5","text_redacted":"","text_sha256":""}`, "decision q5 applied ")
	appendWants(17, protocol.RunPermissionResolved, `{"request_id":"q6","decision":"answer","answer":"No","answer_sha256":"aa"}`, "decision q6 applied ")
	appendWants(18, protocol.RunPermissionResolved, `{"request_id":"q7","decision":"answer","answer":"Yes","answer_sha256":"bb"}`, "decision q7 rejected already_decided")
	appendWants(19, protocol.RunPermissionResolved, `{"request_id":"q8","decision":"approve"}`, "decision q8 applied ") // from an older machine, which reports an answer as an approval
	appendWants(20, protocol.RunPermissionResolved, `{"request_id":"q10","decision":"deny"}`, "decision q10 applied ")
	appendWants(21, protocol.RunExited, `{"exit_code":0}`, "input i3 expired run_exited", "stop s1 applied ")
	if c, err := f.Command(ctx, "run_a", store.InputCommand, "i2"); err != nil || c.State != "sent" {
		t.Errorf("input i2 = %+v, %v; want sent", c, err) // the machine reports the result later
	}
	if c, err := f.Command(ctx, "run_a", store.InputCommand, "i1"); err != nil || c.Payload != nil {
		t.Errorf("input i1 = %+v, %v; want it without a payload", c, err)
	}
	if _, err := f.Command(ctx, "run_a", store.InputCommand, "i9"); !errors.Is(err, store.ErrUnknown) {
		t.Errorf("unknown input: error = %v, want ErrUnknown", err)
	}
	if d, err := f.Decision(ctx, "run_a", "q1"); err != nil || d.By != "eve" || d.Decision != "approve" {
		t.Errorf("decision on q1 = %+v, %v; want eve's approval", d, err)
	}
	if d, err := f.Decision(ctx, "run_a", "q9"); err != nil || d != nil {
		t.Errorf("decision on an unknown request = %+v, %v; want none", d, err)
	}
	if q, err := f.Request(ctx, "run_a", "q3"); err != nil || q.State != "expired" || q.Seq != 4 {
		t.Errorf("request q3 = %+v, %v; want expired", q, err)
	}
	if _, err := f.Request(ctx, "run_a", "q9"); !errors.Is(err, store.ErrUnknown) {
		t.Errorf("unknown request: error = %v, want ErrUnknown", err)
	}
}

// pages checks that events are returned in pages, and runs in the order of their ids.
func pages(t *testing.T, open Opener) {
	f := begin(t, open)
	f.mustStore(1, f.event(1, protocol.RunStarted, started))
	for seq := int64(2); seq <= 9; seq++ {
		f.mustStore(seq, f.output(seq))
	}
	f.mustStore(9, f.output(12), f.output(14))
	page := func(q store.PageQuery, more bool, want ...int64) {
		t.Helper()
		q.Run = "run_a"
		all, got, err := f.Page(ctx, q)
		var seqs []int64
		for _, e := range all {
			seqs = append(seqs, e.Seq)
		}
		if err != nil || got != more || !slices.Equal(seqs, want) {
			t.Errorf("page %+v: sequence numbers %v, more %v, error %v", q, seqs, got, err)
		}
	}
	page(store.PageQuery{Limit: 3}, true, 1, 2, 3)
	page(store.PageQuery{After: 7, Limit: 2}, false, 8, 9)
	page(store.PageQuery{After: 7, Limit: 9}, false, 8, 9)
	page(store.PageQuery{Limit: 9, Types: []string{protocol.RunStarted, protocol.RunExited}}, false, 1)
	page(store.PageQuery{After: 2, Limit: 9, Bytes: 40}, true, 3, 4)
	page(store.PageQuery{After: 2, Limit: 9, Bytes: 1}, true, 3)
	page(store.PageQuery{After: 9, Limit: 9}, false)
	holes := func(run string, want ...store.Hole) {
		t.Helper()
		got, err := f.Holes(ctx, "host_a", run)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("holes: error %v, diff (-want +got):\n%s", err, diff)
		}
	}
	holes("", store.Hole{Run: "run_a", From: 10, To: 11})
	holes("run_a", store.Hole{Run: "run_a", From: 10, To: 11})
	holes("run_z")
	f.mustStore(12, f.event(11, protocol.RunGap, `{"from":10,"to":11,"reason":"host_skipped"}`))
	holes("", store.Hole{Run: "run_a", From: 13, To: 13})
	for _, id := range []string{"run_c", "run_b"} {
		e := f.output(1)
		e.Envelope.RunID = id
		if _, err := f.Append(ctx, []store.Incoming{e}); err != nil {
			t.Fatal(err)
		}
	}
	if ids, err := f.RunIDs(ctx, "run_a", 1); err != nil || !slices.Equal(ids, []string{"run_b"}) {
		t.Errorf("run ids after run_a = %v, %v; want run_b", ids, err)
	}
	if ids, err := f.RunIDs(ctx, "", 9); err != nil || !slices.Equal(ids, []string{"run_a", "run_b", "run_c"}) {
		t.Errorf("all run ids = %v, %v", ids, err)
	}
	first, err := f.Runs(ctx, store.RunsQuery{Limit: 1})
	if err != nil || len(first) != 1 || first[0].ID != "run_b" {
		t.Fatalf("first page of runs = %+v, %v; want run_b", first, err)
	}
	rest, err := f.Runs(ctx, store.RunsQuery{Before: first[0].LastActiveAt, BeforeID: first[0].ID})
	if err != nil || len(rest) != 2 || rest[0].ID != "run_c" || rest[1].ID != "run_a" {
		t.Errorf("second page of runs = %+v, %v; want run_c and run_a", rest, err)
	}
}

// lost marks runs as lost that their machine does not know. A lost run is no longer lost when an
// event of it arrives.
func lost(t *testing.T, open Opener) {
	f := begin(t, open)
	f.mustStore(1, f.event(1, protocol.RunStarted, started))
	f.mustStore(2, f.event(2, protocol.RunAwaitingInput, `{"reason":"prompt"}`))
	lose := func(gen int64, runs []string, want ...string) {
		t.Helper()
		if got, err := f.MarkLost(ctx, "host_a", gen, runs); err != nil || !slices.Equal(got, want) {
			t.Errorf("lost runs = %v, %v", got, err)
		}
	}
	lose(f.gen, []string{"run_a"})
	lose(f.gen-1, nil) // an older connection changes nothing
	lose(f.gen, []string{"run_b"}, "run_a")
	lose(f.gen, nil)
	if r := f.run(); r.Status != protocol.StatusLost {
		t.Errorf("run = %+v, want lost", r)
	}
	f.mustStore(3, f.output(3))
	if r := f.run(); r.Status != protocol.StatusAwaitingInput {
		t.Errorf("run after its next event = %+v, want awaiting_input", r)
	}
	f.mustStore(4, f.event(4, protocol.RunExited, `{"exit_code":0}`))
	lose(f.gen, nil)
	for at, gen := range map[int64]int64{99: f.gen, 100: f.gen - 1} { // closing an older connection changes nothing
		if err := f.Disconnected(ctx, "host_a", gen, at); err != nil {
			t.Error(err)
		}
	}
	if h, err := f.Machine(ctx, "host_a"); err != nil || h.LastSeenAt != 99 {
		t.Errorf("machine = %+v, %v; want the time of the current connection", h, err)
	}
}

// overdue checks commands that were not sent in time. A decision is then withdrawn, and the next
// decision is ordered after the commands accepted before it.
func overdue(t *testing.T, open Opener) {
	f := begin(t, open)
	f.openRequest("q")
	late := decision("q", "approve", "eve")
	late.Expires = 50
	other := input("i", `"y"`)
	other.Expires = 60
	for _, c := range []store.Command{late, other} {
		if _, _, err := f.Accept(ctx, c); err != nil {
			t.Fatal(err)
		}
	}
	overdueAt := func(at int64, want ...string) {
		t.Helper()
		all, err := f.Overdue(ctx, at)
		var got []string
		for _, c := range all {
			got = append(got, c.ID)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("overdue commands at %d = %v, %v", at, got, err)
		}
	}
	overdueAt(49)
	overdueAt(50, "q")
	overdueAt(60, "q", "i")
	if _, moved, err := f.Step(ctx, "run_a", store.DecisionCommand, "q", "expired", ""); err != nil || !moved {
		t.Errorf("expiry of the decision: moved = %v, error = %v", moved, err)
	}
	overdueAt(60, "i")
	if q, err := f.Request(ctx, "run_a", "q"); err != nil || q.State != "open" {
		t.Errorf("request = %+v, %v; want open", q, err)
	}
	second, fresh, err := f.Accept(ctx, decision("q", "approve", "eve"))
	if err != nil || !fresh || second.N <= 2 {
		t.Errorf("second decision = %+v, fresh = %v, error = %v", second, fresh, err)
	}
	if all, err := f.Pending(ctx, "host_a", true); err != nil || len(all) != 2 || all[1].ID != "q" {
		t.Errorf("pending commands = %+v, %v; want q last", all, err)
	}
}

// skipped checks events that the server skipped with a gap. They may still arrive, and later
// readers receive them.
func skipped(t *testing.T, open Opener) {
	f := begin(t, open)
	f.mustStore(1, f.event(1, protocol.RunStarted, started))
	f.mustStore(1, f.output(6))
	f.mustStore(6, f.event(5, protocol.RunGap, `{"from":2,"to":5,"reason":"host_skipped"}`))
	f.expectEvents(1, 5, 6)
	f.mustStore(6, f.output(4))
	f.mustStore(6, f.output(5)) // in place of the gap
	f.expectEvents(1, 3, 4, 5, 6)
	f.mustStore(6, f.output(2))
	f.mustStore(6, f.output(3))
	f.expectEvents(1, 2, 3, 4, 5, 6)
	all, err := f.Events(ctx, "run_a", 0, 9)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if e.Type == protocol.RunGap || e.From != e.Seq {
			t.Errorf("event = %+v, want no gap", e)
		}
	}
	if out, _ := f.append(f.event(5, protocol.RunOutput, `{"stream":"stdout","text":"another"}`)); out[0].Refused != protocol.SeqConflict {
		t.Errorf("outcomes = %+v, want seq_conflict", out)
	}
}
