package store_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/relay/store"
	"github.com/concerto-lang/concerto/relay/store/sqlite"
)

// filled returns a store with n decisions of 1,000 runs on 10 machines by 100 people, and its
// database.
func filled(t testing.TB, n int) (*store.Store, *sql.DB) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "relay.db")
	s, err := sqlite.Open(context.Background(), file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	db, err := sql.Open("sqlite3", "file:"+file+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	_, err = db.Exec(`INSERT INTO history (run_id, request_id, host_id, at, title, line, decision, by_name, actor, reason, answer)
		WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ?)
		SELECT 'run_' || (n % 1000), 'q' || n, 'host_' || (n % 10), 1700000000000 + n, 'Run a command', 'go test ./...', CASE n % 3 WHEN 0 THEN 'deny' ELSE 'approve' END, 'user_' || (n % 100), 'web', '', '' FROM c`, n)
	if err != nil {
		t.Fatal(err)
	}
	return s, db
}

// historyQueries are the queries of the page: each filter by itself, the first page and a later
// one.
func historyQueries(n int64) map[string]store.HistoryQuery {
	at := 1_700_000_000_000 + n/2
	return map[string]store.HistoryQuery{
		"first": {}, "later": {Before: at, BeforeN: n / 2},
		"run": {Runs: []string{"run_7"}}, "run, later": {Runs: []string{"run_7"}, Before: at, BeforeN: n / 2},
		"host": {Machine: "host_7"}, "machine, later": {Machine: "host_7", Before: at, BeforeN: n / 2},
		"decision": {Decision: "deny"}, "decision, later": {Decision: "deny", Before: at, BeforeN: n / 2},
		"person": {By: "user_7"}, "person, later": {By: "user_7", Before: at, BeforeN: n / 2},
	}
}

// TestHistoryUsesIndexes explains each query. It must read an index in the order of the result,
// without sorting, so that a page costs the same for any number of decisions.
func TestHistoryUsesIndexes(t *testing.T) {
	_, db := filled(t, 10)
	for name, q := range historyQueries(10) {
		q.Limit = 100
		text, args := q.Statement()
		rows, err := db.Query("EXPLAIN QUERY PLAN "+strings.ReplaceAll(text, "$", "?"), args...)
		if err != nil {
			t.Fatal(name, err)
		}
		var plan []string
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			plan = append(plan, detail)
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
		whole := strings.Join(plan, "; ")
		if !strings.Contains(whole, "USING INDEX history_by_") || strings.Contains(whole, "TEMP B-TREE") || strings.Contains(name, "later") && !strings.Contains(whole, "SEARCH h") {
			t.Errorf("%s: plan = %s", name, whole)
		}
	}
}

// BenchmarkHistory reads pages of 1,000,000 decisions.
func BenchmarkHistory(b *testing.B) {
	const n = 1_000_000
	s, _ := filled(b, n)
	for name, q := range historyQueries(n) {
		q.Limit = 100
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if page, err := store.History(b.Context(), s, q); err != nil || len(page) != 100 {
					b.Fatal(len(page), err)
				}
			}
		})
	}
}
