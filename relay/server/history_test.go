package server_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server"
	"github.com/concerto-lang/concerto/relay/server/servertest"
)

// TestHistory decides requests of two runs on two machines. The route must return all decisions,
// the newest first and in pages, and filter them. A token for some runs must see only those of its
// runs.
func TestHistory(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	a, b := r.Machine("host_a"), r.Machine("host_b")
	a.Begin("run_a")
	b.Begin("run_b")
	for i := int64(1); i <= 3; i++ {
		for run, machine := range map[string]*servertest.Peer{"run_a": a, "run_b": b} {
			id := fmt.Sprintf("q%d", i)
			machine.Send(protocol.RunPermissionRequested, run, 2*i, fmt.Sprintf(`{"request_id":%q,"reason":"permission","prompt":"Run a command","op_tool":"bash","op_args":{"command":"make %s"}}`, id, run))
			machine.Acked(run, 2*i)
			r.Advance(1e6)
			machine.Send(protocol.RunPermissionResolved, run, 2*i+1, fmt.Sprintf(`{"request_id":%q,"decision":%q,"by":"ann","actor":"web","reason":"because"}`, id, map[bool]string{true: "approve", false: "deny"}[i < 3]))
			machine.Acked(run, 2*i+1)
		}
	}
	a.Send(protocol.RunDecision, "run_a", 8, `{"title":"Read .env","decision":"deny","actor":"rule","by":"[hosts.Coder.permissions]"}`)
	a.Acked("run_a", 8)
	page := func(token, query string) (p server.HistoryPage) {
		t.Helper()
		status, body := r.Do(token, "GET", "/decisions?"+query, nil)
		if err := json.Unmarshal(body, &p); status != 200 || err != nil {
			t.Fatalf("%s: %d %s", query, status, body)
		}
		return p
	}
	all := page(servertest.Viewer, "")
	if len(all.Decisions) != 7 || all.Next != "" {
		t.Fatalf("decisions = %+v, want 7 on one page", all)
	}
	if first := all.Decisions[0]; first.Title != "Read .env" || first.By != "[hosts.Coder.permissions]" || first.Actor != "rule" || first.RequestID != "" {
		t.Errorf("newest decision = %+v, want that of the rule", first)
	}
	if last := all.Decisions[6]; last.Title != "Run a command" || !strings.HasPrefix(last.Line, "make run_") || last.Decision != "approve" || last.By != "ann" || last.Actor != "web" ||
		last.Reason != "because" || last.RunTitle != "t" || !strings.HasPrefix(last.MachineID, "host_") || last.RequestID != "q1" || last.At >= all.Decisions[0].At {
		t.Errorf("oldest decision = %+v", last)
	}
	var paged []server.HistoryRow
	for next := "first"; next != ""; {
		p := page(servertest.Viewer, "limit=3&before="+strings.TrimPrefix(next, "first"))
		if next = p.Next; len(p.Decisions) > 3 {
			t.Errorf("page of %d decisions", len(p.Decisions))
		}
		paged = append(paged, p.Decisions...)
	}
	if fmt.Sprint(paged) != fmt.Sprint(all.Decisions) {
		t.Errorf("pages = %+v, want the same as %+v", paged, all.Decisions)
	}
	rule := "by=" + url.QueryEscape("[hosts.Coder.permissions]")
	for _, row := range []struct {
		token, query string
		want         int
	}{
		{servertest.Viewer, "run=run_b", 3}, {servertest.Viewer, "host=host_a", 4}, {servertest.Viewer, "decision=approve", 4}, {servertest.Viewer, "by=ann", 6},
		{servertest.Viewer, rule, 1}, {servertest.Viewer, "run=run_a&decision=deny&by=ann", 1}, {servertest.Viewer, "run=none", 0},
		{"viewer:eve:run_b", "", 3}, {"viewer:eve:run_b", "limit=2", 2}, {"viewer:eve:run_?", rule, 1}, {"viewer:eve:*_b", "limit=2", 2}, {"viewer:eve:*_b", "", 3},
		{"viewer:eve:run_b", "run=run_a", 0}, {"viewer:eve:run_b", "host=host_a", 0}, {"viewer:eve:x,y", "", 0},
	} {
		if got := page(row.token, row.query); len(got.Decisions) != row.want {
			t.Errorf("%s, %s: %d decisions %+v, want %d", row.token, row.query, len(got.Decisions), got.Decisions, row.want)
		}
	}
	for _, query := range []string{"decision=maybe", "before=7", "before=x-1", "before=0-0", "limit=0", "limit=101"} {
		if status, body := r.Do(servertest.Viewer, "GET", "/decisions?"+query, nil); status != 400 {
			t.Errorf("%s: response = %d %s, want 400", query, status, body)
		}
	}
}
