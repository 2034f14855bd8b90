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

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/relay/powercut"
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

// TestDamaged checks that a damaged file, or one that is not a database, is refused and not
// changed.
func TestDamaged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.db")
	text := []byte("this is no database, but a text that is longer than a header of one would be, so that it is looked at as one")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(context.Background(), file); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("%v", err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != string(text) {
		t.Errorf("the file is now %q (%v)", got, err)
	}
}

// TestNewer checks that a database of a newer version is refused and not changed.
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
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff(before, powercut.Files(t, filepath.Dir(file))); diff != "" {
		t.Errorf("the file was changed (-before +after):\n%.300s", diff)
	}
}

//go:embed testdata/schema2.sql
var schema2 string

// TestOld checks that a database of an earlier schema is migrated with its data.
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
