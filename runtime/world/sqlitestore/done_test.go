package sqlitestore

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// increment adds 1 to an entry as effect e of the durable run r_1, whose earlier effects before the
// number before are in its journal. It returns the new value.
func increment(t *testing.T, s *Stores, e, before int64) string {
	t.Helper()
	ctx := effect.WithKeysBefore(effect.WithKey(context.Background(), fmt.Sprintf("r_1-%d", e)), before)
	result, err := s.Perform(ctx, &effect.StoreAdd{Store: at("hashmap"), Key: []byte(`"n"`), By: []byte("1")})
	if err != nil {
		t.Fatal(err)
	}
	return string(result.(*effect.StoreEntries).Entries[1].Value)
}

// doneIn returns the effects that a file contains as done.
func doneIn(t *testing.T, s *Stores) string {
	t.Helper()
	var all []string
	f := s.fileAt("s.db")
	_, err := f.runOperation(t.Context(), effect.KindStoreRead, func(f *file) (effect.Result, error) {
		return nil, f.runStatement("SELECT run, effect FROM done ORDER BY effect", func(s *sqlite3.Stmt) { all = append(all, s.ColumnText(0)+"-"+s.ColumnText(1)) })
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, " ")
}

// execute executes statements on the file.
func execute(t *testing.T, s *Stores, sql string) {
	t.Helper()
	_, err := s.fileAt("s.db").runOperation(t.Context(), effect.KindStoreAdd, func(f *file) (effect.Result, error) { return nil, f.conn.Exec(sql) })
	if err != nil {
		t.Fatal(err)
	}
}

// TestDone repeats effects whose results a run has not recorded. No change is made again, also if
// other changes of the run were made since. Records that are no longer needed are removed.
func TestDone(t *testing.T) {
	s := opened(t, Options{Dir: t.TempDir()})
	for _, step := range []struct {
		e, before int64
		value     string
	}{
		{5, 5, "1"}, {7, 5, "2"}, {6, 5, "3"},
		{5, 5, "1"}, {6, 5, "3"}, {7, 6, "2"}, // repeated
		{8, 7, "4"}, {7, 7, "2"},
	} {
		if got := increment(t, s, step.e, step.before); got != step.value {
			t.Errorf("effect %d returns %s, want %s", step.e, got, step.value)
		}
	}
	if got, want := doneIn(t, s), "r_1-7 r_1-8"; got != want {
		t.Errorf("the file contains the effects %s, want %s", got, want)
	}
}

// TestFormerDone checks that an effect that an earlier version has recorded is not performed again.
func TestFormerDone(t *testing.T) {
	dir := t.TempDir()
	s := opened(t, Options{Dir: dir})
	if got := increment(t, s, 5, 5); got != "1" {
		t.Fatalf("the first value is %s", got)
	}
	execute(t, s, "DROP TABLE done; "+formerDoneTable+`; INSERT INTO done VALUES ('r_1', 5, '{"entries":[{"value":null},{"value":1}]}'), ('r_2', 9, 'null')`)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = opened(t, Options{Dir: dir})
	if got := increment(t, s, 5, 5); got != "1" {
		t.Errorf("the repeated effect returns %s, want 1", got)
	}
	if got := increment(t, s, 6, 5); got != "2" {
		t.Errorf("the next effect returns %s, want 2", got)
	}
	if got, want := doneIn(t, s), "r_1-5 r_1-6 r_2-9"; got != want {
		t.Errorf("the file contains the effects %s, want %s", got, want)
	}
}

// TestUnreadableDone checks that an effect whose recorded result cannot be read fails.
func TestUnreadableDone(t *testing.T) {
	s := opened(t, Options{Dir: t.TempDir()})
	increment(t, s, 5, 5)
	execute(t, s, "UPDATE done SET result = '{'")
	ctx := effect.WithKey(context.Background(), "r_1-5")
	if result, err := s.Perform(ctx, &effect.StoreAdd{Store: at("hashmap"), Key: []byte(`"n"`), By: []byte("1")}); err == nil {
		t.Errorf("the repeated effect returns %v, want an error", result)
	}
}
