package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server"
	"github.com/concerto-lang/concerto/relay/store"
	"github.com/concerto-lang/concerto/relay/store/sqlite"
)

// decided creates a database in dir with 130 decisions of run_a by ann and bob, and one of run_b by
// a rule, whose texts contain escapes and bidirectional controls.
func decided(t *testing.T, dir string) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(dir, "relay.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.AddMachine(t.Context(), store.Machine{ID: "host_a", TokenHash: "x"}); err != nil {
		t.Fatal(err)
	}
	gen, err := s.TakeOver(t.Context(), store.Takeover{Machine: "host_a", At: 1})
	if err != nil {
		t.Fatal(err)
	}
	var all []store.Incoming
	add := func(run string, seq int64, typ, data string) {
		all = append(all, store.Incoming{MachineID: "host_a", Gen: gen, At: 1_700_000_000_000 + int64(len(all))*1000,
			Envelope: &protocol.Envelope{Type: typ, TS: "2025-01-01T00:00:00Z", RunID: run, Seq: seq, Data: json.RawMessage(data)}})
	}
	add("run_a", 1, protocol.RunStarted, `{"tool":"claude","cwd":"/w","command":"claude"}`)
	add("run_b", 1, protocol.RunStarted, `{"tool":"concerto","cwd":"/w","command":"concerto run"}`)
	for i := int64(1); i <= 130; i++ {
		add("run_a", 2*i, protocol.RunPermissionRequested, fmt.Sprintf(`{"request_id":"q%d","reason":"permission","prompt":"Run a command","op_tool":"bash","op_args":{"command":"make %d"}}`, i, i))
		add("run_a", 2*i+1, protocol.RunPermissionResolved, fmt.Sprintf(`{"request_id":"q%d","decision":"approve","actor":"web","by":%q}`, i, map[bool]string{true: "bob", false: "ann"}[i%13 == 0]))
	}
	add("run_b", 2, protocol.RunDecision, `{"title":"Read \u001b[2J\u202e.env","line":"a\u001b]0;x\u0007b","decision":"deny","actor":"rule","by":"[hosts.Coder.permissions]","reason":"se\u200bcret"}`)
	if _, err := s.Append(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestDecisions lists decisions from a database and through a server, as text and as JSON, with
// filters and over several pages.
func TestDecisions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	decided(t, dir)
	db := []string{"--db", "sqlite:relay.db"}
	run(t, dir, "correct horse\n", append([]string{"user", "add", "ann", "--role", "owner"}, db...)...)
	for file, args := range map[string][]string{"viewer": {"--role", "viewer"}, "guest": {"--role", "viewer", "--runs", "run_b"}} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(run(t, dir, "", append(append([]string{"token", "create"}, args...), db...)...)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := start(t, dir, nil)
	over := []string{"--server", d.url, "--token-file", "viewer"}
	for _, where := range [][]string{db, over} {
		list := func(args ...string) string {
			return run(t, dir, "", append(append([]string{"decisions"}, where...), args...)...)
		}
		lines := strings.Split(list(), "\n")
		if len(lines) != 21 || strings.Join(strings.Fields(lines[0]), " ") != "WHEN DECISION BY RUN WHAT" {
			t.Fatalf("%v: %d lines: %s", where, len(lines), lines)
		}
		first := strings.Join(strings.Fields(lines[1])[2:], " ")
		if first != `denied [hosts.Coder.permissions] run_b Read \u{1b}[2J\u{202e}.env: a\u{1b}]0;x\u{7}b (se\u{200b}cret)` || strings.ContainsAny(strings.Join(lines, "\n"), "\x1b\x07\u202e\u200b") {
			t.Errorf("%v: newest decision = %q", where, first)
		}
		if second := strings.Join(strings.Fields(lines[2])[2:], " "); second != "approved bob run_a Run a command: make 130" {
			t.Errorf("%v: second decision = %q", where, second)
		}
		if got := strings.Count(list("--limit", "0", "--format", "ndjson"), "\n") + 1; got != 131 {
			t.Errorf("%v: %d decisions as ndjson, want 131", where, got)
		}
		var all []server.HistoryRow
		if err := json.Unmarshal([]byte(list("--limit", "120", "--by", "ann", "--format", "json")), &all); err != nil || len(all) != 120 || all[119].Line != "make 1" || all[0].MachineID != "host_a" || all[0].At != "2023-11-14T22:17:39.000Z" {
			t.Errorf("%v: decisions of ann = %d %+v, %v", where, len(all), all, err)
		}
		for want, args := range map[int][]string{10: {"--by", "bob"}, 1: {"--decision", "deny"}, 0: {"--host", "other"}, 130: {"--run", "run_a", "--limit", "1000"}} {
			if err := json.Unmarshal([]byte(list(append(args, "--format", "json")...)), &all); err != nil || len(all) != want {
				t.Errorf("%v %v: %d decisions, %v; want %d", where, args, len(all), err, want)
			}
		}
		if got := list("--host", "other"); got != "no decisions" {
			t.Errorf("%v: output without decisions = %q", where, got)
		}
	}
	if got := run(t, dir, "", "decisions", "--server", d.url, "--token-file", "guest", "--format", "ndjson"); strings.Contains(got, "run_a") || !strings.Contains(got, `"run_id":"run_b"`) {
		t.Errorf("decisions of a token for run_b = %s", got)
	}
}
