package approvals_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/relay/hostd/approvals"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// TestUnseen submits requests of which the relay has only a part. No one may approve or answer what
// no one has seen, and everyone may deny it.
func TestUnseen(t *testing.T) {
	whole := strings.Repeat("+a line\n", 20_000)
	for name, c := range map[string]struct {
		set    func(q *protocol.PermissionRequested)
		unseen bool
	}{
		"arguments": {func(q *protocol.PermissionRequested) {
			q.OpArgs = protocol.ShortJSON(json.RawMessage(`"`+whole+`"`), 64<<10)
		}, true},
		"diff":    {func(q *protocol.PermissionRequested) { q.Diff = protocol.CutDiff(whole) }, true},
		"content": {func(q *protocol.PermissionRequested) { q.OpArgs = json.RawMessage(`{"content_truncated":true}`) }, true},
		"a shown diff": {func(q *protocol.PermissionRequested) {
			q.OpArgs, q.Diff = json.RawMessage(`{"content_truncated":true}`), "+a\n"
		}, false},
		"whole": {func(q *protocol.PermissionRequested) {
			q.OpArgs, q.Diff = json.RawMessage(`{"content_truncated":false}`), "+a\n"
		}, false},
		"a question": {func(q *protocol.PermissionRequested) {
			q.OpArgs, q.From = protocol.ShortJSON(json.RawMessage(`"`+whole+`"`), 64<<10), &protocol.Origin{Kind: protocol.FromEmit}
			q.Questions = []protocol.Question{{ID: protocol.WholeAnswer, Kind: "confirm"}}
		}, true},
	} {
		w := newFixture(&spool{rows: map[string]approvals.Row{}})
		r := request("q1")
		c.set(&r.Data)
		wait := w.ask(t, r)
		err := w.Decide(context.Background(), "r", "q1", approvals.Decision{Decision: approvals.Approve, By: "ada"})
		switch {
		case c.unseen && (code(err) != protocol.Forbidden || !strings.Contains(err.Error(), "cannot be approved here: ") || !strings.HasSuffix(err.Error(), "deny it, or decide on the machine of the run")):
			t.Errorf("%s: approval = %v, want a refusal", name, err)
		case c.unseen && outcome(t, wait) != "open":
			t.Errorf("%s: the request is decided", name)
		case !c.unseen && (err != nil || outcome(t, wait) != approvals.Approve):
			t.Errorf("%s: approval = %v", name, err)
		}
		if !c.unseen {
			continue
		}
		if err := w.Decide(context.Background(), "r", "q1", approvals.Decision{Decision: approvals.Deny, By: "ada"}); err != nil || outcome(t, wait) == "open" {
			t.Errorf("%s: denial = %v", name, err)
		}
	}
}
