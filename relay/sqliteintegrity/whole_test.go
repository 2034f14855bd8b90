package sqliteintegrity_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	_ "github.com/ncruces/go-sqlite3/driver" // as "sqlite3"

	"github.com/concerto-lang/concerto/relay/sqliteintegrity"
)

var (
	ctx       = context.Background()
	errBroken = errors.New("broken")
)

// opened is a file that is used.
type opened struct {
	*testing.T
	*sqliteintegrity.File
	db *sql.DB
}

// open opens and checks a file.
func open(t *testing.T, name string) (*opened, error) {
	t.Helper()
	connect := func() (*sql.DB, error) {
		return sql.Open("sqlite3", "file:"+name+"?_pragma=journal_mode(wal)&_pragma=wal_autocheckpoint(0)")
	}
	db, err := connect()
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	f, err := sqliteintegrity.Check(ctx, db, name, errBroken, connect)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &opened{t, f, db}, nil
}

// mustOpen opens a file in which the check at the start finds no damage.
func mustOpen(t *testing.T, name string) *opened {
	t.Helper()
	o, err := open(t, name)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func (o *opened) exec(text string) {
	o.Helper()
	if _, err := o.db.Exec(text); err != nil {
		o.Fatal(err)
	}
}

func (o *opened) close() {
	o.Helper()
	o.Stop()
	if err := errors.Join(o.db.Close(), o.RecordClosed()); err != nil {
		o.Fatal(err)
	}
}

// filled makes a file of so many kilobytes.
func filled(t *testing.T, kilobytes int) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "x.db")
	o := mustOpen(t, name)
	o.exec(`CREATE TABLE rows (id INTEGER PRIMARY KEY, x TEXT NOT NULL)`)
	o.db.SetMaxOpenConns(1)
	if _, err := o.db.Exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) INSERT INTO rows SELECT i, printf('%.1000c', 'x') FROM n`, kilobytes); err != nil {
		t.Fatal(err)
	}
	o.close()
	return name
}

// damage corrupts a page in the middle of a file; with unseen, the file's time stays.
func damage(t *testing.T, name string, unseen bool) {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	page := text[len(text)/2&^4095:]
	copy(page[:4096], strings.Repeat("\xff", 4096))
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	at := info.ModTime()
	if !unseen {
		at = at.Add(time.Second)
	}
	if err := os.Chtimes(name, at, at); err != nil {
		t.Fatal(err)
	}
}

// files are the contents of a directory's files.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		out[filepath.Base(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// refused expects that a file is not opened, and left as it is.
func refused(t *testing.T, name string) {
	t.Helper()
	before := files(t, filepath.Dir(name))
	if _, err := open(t, name); !errors.Is(err, errBroken) {
		t.Errorf("the file was not refused: %v", err)
	}
	if diff := cmp.Diff(before, files(t, filepath.Dir(name))); diff != "" {
		t.Errorf("the file was changed (-before +after):\n%.300s", diff)
	}
}

// killed returns a file as left by a killed program: a copy made while it was open. It had been
// closed before, too.
func killed(t *testing.T, name string) string {
	t.Helper()
	o := mustOpen(t, name)
	defer o.close()
	o.exec(`UPDATE rows SET x = substr(x, 2) WHERE id < 100`)
	o.exec(`PRAGMA wal_checkpoint(passive)`)
	o.exec(`UPDATE rows SET x = 'z' || x WHERE id = 200`)
	dir := t.TempDir()
	for base, text := range files(t, filepath.Dir(name)) {
		if err := os.WriteFile(filepath.Join(dir, base), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, filepath.Base(name))
}

// TestSmallFile checks that a small file is always checked and its state is not recorded.
func TestSmallFile(t *testing.T) {
	name := filled(t, 1000)
	if all := files(t, filepath.Dir(name)); len(all) != 1 {
		t.Error(len(all))
	}
	mustOpen(t, name).close()
	damage(t, name, true)
	refused(t, name)
}

// TestUnchangedFile checks that a large unchanged file is not checked again, and a damaged changed
// one is refused.
func TestUnchangedFile(t *testing.T) {
	name := filled(t, 8000)
	mustOpen(t, name).close()
	damage(t, name, true)
	mustOpen(t, name).close()
	damage(t, name, false)
	refused(t, name)
	refused(t, name)
}

// TestUnrecordedFile checks that a large file without a recorded state is checked.
func TestUnrecordedFile(t *testing.T) {
	for _, note := range []string{"", "{", `{"size":1,"modified":1,"whole":true}`} {
		name := filled(t, 8000)
		damage(t, name, true)
		err := os.Remove(name + "-left")
		if note != "" {
			err = os.WriteFile(name+"-left", []byte(note), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		refused(t, name)
	}
}

// TestFileOfKilledProgram checks that a large file of a killed program can be used at once; damage
// is found in the background and prevents the next opening.
func TestFileOfKilledProgram(t *testing.T) {
	name := killed(t, filled(t, 8000))
	o := mustOpen(t, name)
	var x string
	if err := o.db.QueryRow(`SELECT substr(x, 1, 1) FROM rows WHERE id = 200`).Scan(&x); err != nil || x != "z" {
		t.Error(x, err)
	}
	o.close()
	if len(o.Found()) > 0 {
		t.Error(<-o.Found())
	}
	mustOpen(t, name).close()

	name = killed(t, name)
	damage(t, name, false)
	o = mustOpen(t, name)
	if err := <-o.Found(); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	o.close()
	refused(t, name)
}

// TestClosedBeforeCheckEnds checks that a file closed before its check finished is checked in use
// the next time.
func TestClosedBeforeCheckEnds(t *testing.T) {
	name := killed(t, filled(t, 8000))
	damage(t, name, false)
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name+"-left", fmt.Appendf(nil, `{"size":%d,"modified":%d,"whole":false}`, info.Size(), info.ModTime().UnixNano()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(name + "-wal"); err != nil {
		t.Fatal(err)
	}
	o := mustOpen(t, name)
	if err := <-o.Found(); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	o.close()
	refused(t, name)
}
