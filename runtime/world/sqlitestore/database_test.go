package sqlitestore

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
)

var counter = Schema{Application: 0x436f6e63 + 100, Format: 2, Tables: []string{`CREATE TABLE count (n INTEGER NOT NULL, note TEXT) STRICT`}}

// TestDatabase counts with several connections, which are opened at once. A transaction that fails
// changes nothing.
func TestDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "count.db")
	var wait sync.WaitGroup
	for range 6 {
		wait.Go(func() {
			d, err := OpenDatabase(path, counter, time.Minute)
			if err != nil {
				t.Error(err)
				return
			}
			defer d.Close()
			for range 5 {
				err := d.Transaction(func(tx *Transaction) error {
					return tx.Run(`INSERT INTO count VALUES (?, ?)`, nil, int64(1), (*string)(nil))
				})
				if err != nil {
					t.Error(err)
				}
			}
			why := errors.New("no")
			if err := d.Transaction(func(tx *Transaction) error {
				return errors.Join(tx.Run(`INSERT INTO count VALUES (?, ?)`, nil, int64(100), "x"), why)
			}); !errors.Is(err, why) {
				t.Errorf("a transaction that fails: %v", err)
			}
		})
	}
	wait.Wait()
	d, err := OpenDatabase(path, counter, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	total := int64(0)
	if err := d.Transaction(func(tx *Transaction) error {
		return tx.Run(`SELECT sum(n), max(note) FROM count`, func(r Row) error {
			total = r.Int(0)
			if r.TextOrNil(1) != nil || r.Text(1) != "" {
				t.Errorf("a note remains: %q", r.Text(1))
			}
			return nil
		})
	}); err != nil || total != 30 {
		t.Errorf("the sum is %d, %v; want 30", total, err)
	}
}

// TestDatabaseInterrupted opens a file whose creation was interrupted after all of it was written,
// and before its journal was removed. SQLite then undoes the creation.
func TestDatabaseInterrupted(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.db")
	create := `BEGIN; PRAGMA application_id = ` + strconv.FormatInt(counter.Application, 10) + `; PRAGMA user_version = 2; ` + counter.Tables[0] + `; `
	part := func(name, sql, file string) []byte {
		t.Helper()
		conn, err := sqlite3.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.Exec(create + sql); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil || len(text) == 0 {
			t.Fatalf("%s has %d bytes: %v", file, len(text), err)
		}
		return text
	}
	whole := part("whole.db", `COMMIT`, "whole.db")
	// A small cache makes SQLite write the journal before the transaction ends.
	journal := part("half.db", `PRAGMA cache_size = 2; PRAGMA cache_spill = 2;
		WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 5000) INSERT INTO count SELECT n, hex(randomblob(50)) FROM c`, "half.db-journal")
	if err := errors.Join(os.WriteFile(path, whole, 0o600), os.WriteFile(path+"-journal", journal, 0o600)); err != nil {
		t.Fatal(err)
	}
	d, err := OpenDatabase(path, counter, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Transaction(func(tx *Transaction) error {
		return tx.Run(`SELECT count(*) FROM count`, func(r Row) error {
			if r.Int(0) != 0 {
				t.Errorf("%d rows", r.Int(0))
			}
			return nil
		})
	}); err != nil {
		t.Error(err)
	}
}

// TestDatabaseRefused opens files that are damaged, newer or of another kind. They must not change.
func TestDatabaseRefused(t *testing.T) {
	newer, other, tables := counter, counter, counter
	newer.Format = 3
	other.Application++
	tables.Tables = []string{`CREATE TABLE other (n INTEGER NOT NULL) STRICT`}
	for name, write := range map[string]Schema{"newer": newer, "other": other, "tables": tables} {
		path := filepath.Join(t.TempDir(), "x.db")
		d, err := OpenDatabase(path, write, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if d, err := OpenDatabase(path, counter, time.Minute); !IsRefused(err) {
			t.Errorf("%s: %v, %v", name, d, err)
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
			t.Errorf("%s: the file has changed, %v", name, err)
		}
	}
}
