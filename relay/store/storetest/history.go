package storetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/store"
)

// history closes requests in each of the ways that the protocol has. Each is one entry.
func history(t *testing.T, open Opener) {
	f := begin(t, open)
	ask := func(seq int64, id, more string) store.Incoming {
		return f.event(seq, protocol.RunPermissionRequested, fmt.Sprintf(`{"request_id":%q,"reason":"permission",%s}`, id, more))
	}
	f.mustStore(9, f.event(1, protocol.RunStarted, started),
		ask(2, "shell", `"prompt":"Run a command\nbecause","op_tool":"bash","op_args":{"command":"\n go test ./...\nrm -r x"}`),
		f.event(3, protocol.RunPermissionResolved, `{"request_id":"shell","decision":"approve","actor":"web","by":"ann","reason":"only this once"}`),
		ask(4, "edit", `"prompt":"Edit a.go","op_tool":"edit","diff":"--- a/a.go\n+++ b/a.go\n@@ -1 +1,2 @@\n-a\n+b\n+c\n"`),
		f.event(5, protocol.RunPermissionResolved, `{"request_id":"edit","decision":"deny","actor":"cli","by":"olga"}`),
		ask(6, "ask", `"prompt":"How many?\nSay.","questions":[{"id":"answer","question":"How many?","kind":"text"}],"from":{"kind":"question"}`),
		f.event(7, protocol.RunPermissionResolved, `{"request_id":"ask","decision":"answer","by":"ann","actor":"web","answer":"four"}`),
		ask(8, "late", `"prompt":"Call the tool \u0000 delete_user","op_tool":"delete_user","op_args":{"id":7}`),
		f.event(9, protocol.RunPermissionResolved, `{"request_id":"late","decision":"expired"}`))
	f.mustStore(14, f.event(10, protocol.RunDecision, `{"title":"Read .env","decision":"deny","actor":"rule","by":"[hosts.Coder.permissions]"}`),
		ask(11, "local", `"prompt":"Push","op_tool":"git"`),
		f.event(12, protocol.RunPermissionResolved, `{"request_id":"local","decision":"withdrawn"}`),
		f.event(13, protocol.RunDecision, `{"request_id":"local","title":"Push","line":"to main","decision":"approve","actor":"human","by":"bob"}`),
		ask(14, "open", `"prompt":"Wait","op_tool":"wait"`))
	f.mustStore(15, f.event(15, protocol.RunExited, `{"exit_code":0}`))
	all := func(q store.HistoryQuery) []*store.HistoryEntry {
		t.Helper()
		q.Limit = 100
		out, err := store.History(ctx, f.Store, q)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	row := func(id, title, line, decision, by, actor, reason, answer string) *store.HistoryEntry {
		return &store.HistoryEntry{RunID: "run_a", MachineID: "host_a", RunTitle: "t", RequestID: id, Title: title, Line: line, Decision: decision, By: by, Actor: actor, Reason: reason, Answer: answer}
	}
	want := []*store.HistoryEntry{
		row("open", "Wait", "", "withdrawn", "", "", "the run has ended", ""),
		row("local", "Push", "to main", "approve", "bob", "human", "", ""),
		row("", "Read .env", "", "deny", "[hosts.Coder.permissions]", "rule", "", ""),
		row("late", "Call the tool \ufffd delete_user", `{"id":7}`, "expired", "", "", "", ""),
		row("ask", "Answer a question", "How many?", "answer", "ann", "web", "", `"four"`),
		row("edit", "Edit a.go", "+2 −1 lines", "deny", "olga", "cli", "", ""),
		row("shell", "Run a command", "go test ./...", "approve", "ann", "web", "only this once", ""),
	}
	if diff := cmp.Diff(want, all(store.HistoryQuery{}), cmpopts.IgnoreFields(store.HistoryEntry{}, "N", "At")); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	for name, row := range map[string]struct {
		q    store.HistoryQuery
		want string
	}{
		"run": {store.HistoryQuery{Runs: []string{"run_a"}, Decision: "deny"}, " edit"}, "both runs": {store.HistoryQuery{Runs: []string{"run_b", "run_a"}, By: "ann"}, "ask shell"}, "another run": {store.HistoryQuery{Runs: []string{"run_b"}}, ""},
		"host": {store.HistoryQuery{Machine: "host_a", By: "ann"}, "ask shell"}, "another machine": {store.HistoryQuery{Machine: "host_b"}, ""},
		"decision": {store.HistoryQuery{Decision: "approve"}, "local shell"}, "rule": {store.HistoryQuery{By: "[hosts.Coder.permissions]"}, ""},
	} {
		var ids []string
		for _, e := range all(row.q) {
			ids = append(ids, e.RequestID)
		}
		if got := strings.Join(ids, " "); got != row.want {
			t.Errorf("history by %s = %q, want %q", name, got, row.want)
		}
	}
	if n, err := f.Forget(ctx, "run_a", f.at+1, f.at+1, func(int64) audit.Record {
		return audit.Record{Run: "run_a", Kind: "run_forgotten", Actor: audit.Actor{Type: "server", Name: "x"}, Data: []byte("{}")}
	}); err != nil || n != 15 {
		t.Fatal(n, err)
	}
	if left := all(store.HistoryQuery{}); len(left) > 0 {
		t.Errorf("history of a forgotten run = %+v", left)
	}
}

// historyPages reads the history in pages. Entries with the same time have a fixed order, and
// entries that are added while it reads change no later page.
func historyPages(t *testing.T, open Opener) {
	f := begin(t, open)
	f.mustStore(1, f.event(1, protocol.RunStarted, started))
	const n = 25
	add := func(from, to int) {
		t.Helper()
		var all []store.Incoming
		for i := from; i <= to; i++ {
			e := f.event(int64(i+1), protocol.RunDecision, fmt.Sprintf(`{"title":"%d","decision":"deny","actor":"rule"}`, i))
			e.At = int64(1000 + i/7) // several entries have the same time
			all = append(all, e)
		}
		f.mustStore(int64(to+1), all...)
	}
	add(1, n)
	var got []string
	for q := (store.HistoryQuery{Limit: 4, Machine: "host_a"}); ; {
		page, err := store.History(ctx, f.Store, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page {
			got = append(got, e.Title)
			q.Before, q.BeforeN = e.At, e.N
		}
		if len(page) < q.Limit {
			break
		}
		if len(got) == q.Limit {
			add(n+1, n+3)
		}
	}
	var want []string
	for i := n; i > 0; i-- {
		want = append(want, fmt.Sprint(i))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
}
