package sqlitestore

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
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
