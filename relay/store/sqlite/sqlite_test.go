package sqlite_test

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/testkit/powercut"
	"github.com/concerto-lang/concerto/relay/store"
	"github.com/concerto-lang/concerto/relay/store/sqlite"
	"github.com/concerto-lang/concerto/relay/store/storetest"
)

func TestStore(t *testing.T) {
	dirs := map[*testing.T]string{}
	storetest.Run(t, func(t *testing.T, name string) *store.Store {
		if dirs[t] == "" {
			dirs[t] = t.TempDir()
		}
		s, err := sqlite.Open(context.Background(), filepath.Join(dirs[t], name+" ?%41.db"))
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

// TestDamaged opens a damaged file and a file that is not a database. Both must be refused and not
// changed.
func TestDamaged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.db")
	text := []byte("this is no database, but a text that is longer than a header of one would be, so that it is looked at as one")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(context.Background(), file); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("Open = %v, want ErrDamaged", err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != string(text) {
		t.Errorf("file after the refusal = %q (%v), want it unchanged", got, err)
	}
}

// TestNewer opens a database of a newer version. It must be refused and not changed.
func TestNewer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.db")
	s, err := sqlite.Open(context.Background(), file)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite3", "file:"+file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`UPDATE meta SET schema = 1000`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	before := powercut.Files(t, filepath.Dir(file))
	if _, err := sqlite.Open(context.Background(), file); !errors.Is(err, store.ErrNewer) || !strings.Contains(err.Error(), "use a newer concerto-relay") {
		t.Errorf("Open = %v, want ErrNewer with the advice to use a newer program", err)
	}
	if diff := cmp.Diff(before, powercut.Files(t, filepath.Dir(file))); diff != "" {
		t.Errorf("the file was changed (-before +after):\n%.300s", diff)
	}
}

//go:embed testdata/schema2.sql
var schema2 string

// TestOld migrates a database with an earlier schema. Its data must remain.
func TestOld(t *testing.T) {
	file := filepath.Join(t.TempDir(), "old.db")
	db, err := sql.Open("sqlite3", "file:"+file)
	if err == nil {
		_, err = db.Exec(schema2)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(context.Background(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	storetest.Old(t, s)
}

// TestInterrupted ends a statement by its context. The store must see that this is no failure of
// the database.
func TestInterrupted(t *testing.T) {
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(t.TempDir(), "x.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	var n int
	const endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
	err = db.QueryRowContext(ctx, endless).Scan(&n)
	if !sqlite.Interrupted(err) && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want one that is recognised as an interruption", err)
	}
}
