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
	_ "github.com/ncruces/go-sqlite3/driver" // registers "sqlite3"

	"github.com/concerto-lang/concerto/relay/sqliteintegrity"
)

var (
	ctx       = context.Background()
	errBroken = errors.New("broken")
)

// opened is an open database with the check of its file.
type opened struct {
	*testing.T
	*sqliteintegrity.File
	db *sql.DB
}

// open opens a file and starts its check.
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

// mustOpen opens a file whose check before use must find no damage.
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

// filled creates a database of about the given number of kilobytes.
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

// damage corrupts a page in the middle of a file. If unseen is set, the modification time of the
// file does not change.
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

// files returns the contents of the files in a directory by name.
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

// refused checks that a file is refused and not changed.
func refused(t *testing.T, name string) {
	t.Helper()
	before := files(t, filepath.Dir(name))
	if _, err := open(t, name); !errors.Is(err, errBroken) {
		t.Errorf("open of a damaged file = %v, want errBroken", err)
	}
	if diff := cmp.Diff(before, files(t, filepath.Dir(name))); diff != "" {
		t.Errorf("the file was changed (-before +after):\n%.300s", diff)
	}
}

// killed returns the file of a program that was killed. It is a copy that is made while the
// database is open. The original was also closed once before, so a closed state is recorded.
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

// TestSmallFile checks that a small file is checked at each opening, and that its state is not
// recorded.
func TestSmallFile(t *testing.T) {
	name := filled(t, 1000)
	if all := files(t, filepath.Dir(name)); len(all) != 1 {
		t.Error(len(all))
	}
	mustOpen(t, name).close()
	damage(t, name, true)
	refused(t, name)
}

// TestUnchangedFile checks that a large file is not checked again if it is unchanged, and that a
// damaged file is refused if it has changed.
func TestUnchangedFile(t *testing.T) {
	name := filled(t, 8000)
	mustOpen(t, name).close()
	damage(t, name, true)
	mustOpen(t, name).close()
	damage(t, name, false)
	refused(t, name)
	refused(t, name)
}

// TestUnrecordedFile checks a large file whose closed state is not recorded.
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

// TestFileOfKilledProgram opens the large file of a killed program. It can be used at once. The
// check in the background finds damage, and the next opening is then refused.
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

// TestClosedBeforeCheckEnds closes a file before its check in the background has finished. The file
// must be checked again in the background after the next opening.
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
