package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/record/journal"
)

// testFollow checks which runs Marks returns, that a mark differs after each change of a run, the
// lines of several outputs, and the errors of AnswerOpen.
func testFollow(t *testing.T) {
	e := prepared(t)
	ctx := t.Context()
	if all, now, err := e.Marks(ctx, time.Time{}, nil); err != nil || len(all) != 0 || !now.IsZero() {
		t.Fatal(all, now, err)
	}
	e.add(t, "old", "state = 'finished', exit = 0, ended_at = '2026-01-01'")
	e.add(t, "new", "state = 'failed', exit = 1, ended_at = '2026-01-03'")
	e.add(t, "open", "")
	e.add(t, "held", "state = 'held', output_count = 2")
	end, err := e.EndOf(ctx, 1)
	if err != nil || end.UTC().Format(time.DateOnly) != "2026-01-01" {
		t.Errorf("EndOf(1) = %s, %v", end, err)
	}
	if end, err := e.EndOf(ctx, 2); err != nil || !end.IsZero() {
		t.Errorf("EndOf(2) = %s, %v, want the zero time", end, err)
	}
	ids := func(after time.Time, ids ...string) string {
		t.Helper()
		all, now, err := e.Marks(ctx, after, ids)
		if err != nil || now.IsZero() {
			t.Fatal(now, err)
		}
		var out []string
		for _, m := range all {
			out = append(out, m.ID)
		}
		slices.Sort(out)
		return strings.Join(out, " ")
	}
	for _, c := range []struct{ got, want string }{{ids(time.Time{}), "held new old open"}, {ids(end), "held new open"}, {ids(end, "old", "none"), "held new old open"}} {
		if c.got != c.want {
			t.Errorf("Marks = %s, want %s", c.got, c.want)
		}
	}
	seen := []Mark{markOf(t, e, "open")}
	for _, change := range []string{"state = 'waiting'", "groups = 1", "output_count = 1", "stop = true", "queue = 'q'", "epoch = 3"} {
		e.mustDo(t, `UPDATE concerto.runs SET `+change+` WHERE id = 'open'`)
		m := markOf(t, e, "open")
		if slices.Contains(seen, m) {
			t.Errorf("the mark does not change with %s", change)
		}
		seen = append(seen, m)
	}
	if m := markOf(t, e, "open"); m != seen[len(seen)-1] {
		t.Errorf("the mark of an unchanged run is %+v, then %+v", seen[len(seen)-1], m)
	}

	e.mustDo(t, `INSERT INTO concerto.output SELECT run, n, run || n FROM unnest('{held,open,new}'::text[]) run, generate_series(1, 3) n`)
	lines, err := e.OutputFrom(ctx, map[string]int64{"held": 2, "open": 3, "new": 4, "none": 1}, 10)
	if want := []OutputLine{{"held", 2, "held2"}, {"held", 3, "held3"}, {"open", 3, "open3"}}; err != nil || !reflect.DeepEqual(lines, want) {
		t.Errorf("OutputFrom = %v, %v, want %v", lines, err, want)
	}
	if lines, err := e.OutputFrom(ctx, map[string]int64{"held": 1, "open": 1}, 4); err != nil || len(lines) != 4 || lines[3].Line != "open1" {
		t.Errorf("OutputFrom with a limit = %v, %v", lines, err)
	}
	if rows, err := e.Rows(ctx, []string{"open", "none"}); err != nil || len(rows) != 1 || rows[0].ID != "open" {
		t.Errorf("Rows = %v, %v", rows, err)
	}

	e.mustDo(t, `UPDATE concerto.runs SET s = 7 WHERE id = 'open'`)
	e.mustDo(t, `INSERT INTO concerto.questions VALUES ('open', 'q1', 'approve', 'null', 'Bool', NULL, '2026-01-02')`)
	yes := journal.Answer{Value: json.RawMessage(`true`), By: "ada", At: 1500}
	if err := e.AnswerOpen(ctx, "none", "q1", yes); !errors.Is(err, journal.ErrNoRun) {
		t.Errorf("AnswerOpen of no run: %v", err)
	}
	if err := e.AnswerOpen(ctx, "open", "q2", yes); !errors.Is(err, ErrNotOpen) {
		t.Errorf("AnswerOpen of no question: %v", err)
	}
	before := markOf(t, e, "open")
	if err := e.AnswerOpen(ctx, "open", "q1", yes); err != nil {
		t.Fatal(err)
	}
	if markOf(t, e, "open") == before {
		t.Error("the mark does not change with an answer")
	}
	var first *journal.AnsweredError
	if err := e.AnswerOpen(ctx, "open", "q1", journal.Answer{Value: json.RawMessage(`false`), By: "bob", At: 1600}); !errors.As(err, &first) || *first != (journal.AnsweredError{By: "ada", At: 1500}) {
		t.Errorf("second AnswerOpen: %v, want ada's answer", err)
	}
	if a, err := e.Run("open").Answer("q1"); err != nil || a == nil || string(a.Value) != "true" || a.Synced != 7 {
		t.Errorf("stored answer = %+v, %v", a, err)
	}
}

func markOf(t *testing.T, e *Engine, id string) Mark {
	t.Helper()
	all, _, err := e.Marks(context.Background(), time.Now(), []string{id})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if m.ID == id {
			return m
		}
	}
	t.Fatalf("there is no mark of run %s", id)
	return Mark{}
}
