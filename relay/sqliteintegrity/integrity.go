// Package sqliteintegrity checks SQLite files for damage. The relay's server and the spool of hostd
// use it.
//
// A check takes about 10 ms per megabyte. A small file is always checked before it is used. A large
// file is checked before use only if it has changed since its program closed it. If the program was
// killed, its write-ahead log still exists. The large file is then checked while it is in use,
// because a check before use would delay the start.
package sqliteintegrity

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/ncruces/go-sqlite3"
)

// small is the maximum size in bytes of a file that is always checked before use.
const small = 4 << 20

// closedSuffix is appended to the name of a database to get the name of the file that records the
// state at its last closing.
const closedSuffix = "-left"

// File is an open SQLite file.
type File struct {
	name      string
	damageErr error // the error that damage is wrapped in
	found     chan error
	stop      context.CancelFunc
	work      sync.WaitGroup

	whole, damaged bool // whether the check has passed, and whether it has found damage
}

// closedState is the state of a file when its program closed it.
type closedState struct {
	Size     int64 `json:"size"`
	Modified int64 `json:"modified"` // modification time in Unix ns
	Whole    bool  `json:"whole"`    // the file was completely checked
}

func (l closedState) equal(other closedState) bool {
	return l.Size == other.Size && l.Modified == other.Modified
}

// Check checks the file of the open connection db if necessary. It does not write to the file. It
// returns damage as an error that wraps damaged. If the file must be checked while it is in use,
// Check calls reopen to get a second connection, and Found reports the result.
func Check(ctx context.Context, db *sql.DB, name string, damaged error, reopen func() (*sql.DB, error)) (*File, error) {
	f := &File{name: name, damageErr: damaged, found: make(chan error, 1), stop: func() {}}
	now, logged := f.now()
	was := f.readClosedState()
	checked := now.Size > small && was.equal(now)
	var err error
	switch f.whole = true; {
	case checked && was.Whole:
		err = f.checkHeader(ctx, db)
	case checked, now.Size > small && logged:
		f.whole = false
		if err = f.checkHeader(ctx, db); err == nil {
			err = f.checkInBackground(reopen)
		}
	default:
		err = f.checkAll(ctx, db)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Found returns a channel that receives an error if damage is found while the file is in use.
func (f *File) Found() <-chan error { return f.found }

// Stop stops the check in the background. It must be called before the connections are closed.
func (f *File) Stop() {
	f.stop()
	f.work.Wait()
}

// RecordClosed records the state of the file. It must be called after the connections are closed.
func (f *File) RecordClosed() error {
	if f.damaged {
		return nil
	}
	now, logged := f.now()
	now.Whole = f.whole
	if now.Size <= small || logged || now == f.readClosedState() {
		return nil
	}
	text, err := json.Marshal(now)
	if err == nil {
		err = os.WriteFile(f.name+closedSuffix, text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("store the closed state of %s: %w", f.name, err)
	}
	return nil
}

// now returns the current state of the file. logged reports whether its write-ahead log exists. If
// it does, the database is open or its program was killed.
func (f *File) now() (now closedState, logged bool) {
	if info, err := os.Stat(f.name); err == nil {
		now = closedState{Size: info.Size(), Modified: info.ModTime().UnixNano()}
	}
	info, err := os.Stat(f.name + "-wal")
	return now, err == nil && info.Size() > 0
}

// readClosedState returns the recorded state. If there is none, its size is -1.
func (f *File) readClosedState() (was closedState) {
	text, err := os.ReadFile(f.name + closedSuffix)
	if err != nil || json.Unmarshal(text, &was) != nil {
		return closedState{Size: -1}
	}
	return was
}

// checkInBackground checks the file while it is in use.
func (f *File) checkInBackground(reopen func() (*sql.DB, error)) error {
	db, err := reopen()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	f.stop = stop
	f.work.Go(func() {
		err := f.checkAll(ctx, db)
		f.whole = err == nil
		if errors.Is(err, f.damageErr) {
			f.damaged = true
			_ = os.Remove(f.name + closedSuffix) // remove the recorded state of an earlier closing
			f.found <- err
		}
		_ = db.Close() // ignore the error: nothing was written
	})
	return nil
}

// checkHeader reads the file's header and schema, which fails if they are damaged.
func (f *File) checkHeader(ctx context.Context, db *sql.DB) error {
	var n int
	return f.wrapDamage(db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema`).Scan(&n))
}

// checkAll runs SQLite's check of the whole file.
func (f *File) checkAll(ctx context.Context, db *sql.DB) error {
	var result string
	if err := db.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&result); err != nil {
		return f.wrapDamage(err)
	}
	if result != "ok" {
		return fmt.Errorf("%w: %s", f.damageErr, strings.ReplaceAll(result, "\n", "; "))
	}
	return nil
}

func (f *File) wrapDamage(err error) error {
	if IsDamage(err) {
		return fmt.Errorf("%w: %w", f.damageErr, err)
	}
	return err
}

// IsDamage reports whether an SQLite error means that the file is damaged or is not a database.
func IsDamage(err error) bool {
	return errors.Is(err, sqlite3.CORRUPT) || errors.Is(err, sqlite3.NOTADB)
}
