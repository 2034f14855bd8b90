// Package sqliteintegrity sees to it that an SQLite file is whole, for the relay's server and for hostd's
// spool (its API promises nothing).
//
// Looking a file through takes 10 ms a megabyte. So a small one is looked through before anything
// is written to it, and so is a large one that somebody has changed since its program left it. One
// that is as it was left is not looked through again. One whose program was killed is looked
// through while it is used: its log is there, and a start that waited would make the program
// unreachable for the longer, the larger the file is.
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

// small is how many bytes are always looked through.
const small = 4 << 20

// leftSuffix is behind the file's name in that of the file which says how it was left.
const leftSuffix = "-left"

// File is an SQLite file that is open.
type File struct {
	name  string
	says  error // of one that is not whole
	found chan error
	stop  context.CancelFunc
	work  sync.WaitGroup

	whole, damaged bool // as was found
}

// left is how a file was left.
type left struct {
	Size     int64 `json:"size"`
	Modified int64 `json:"modified"` // Unix ns
	Whole    bool  `json:"whole"`    // it was looked through
}

func (l left) same(other left) bool { return l.Size == other.Size && l.Modified == other.Modified }

// Look looks a file through that db is a connection to, as far as it is needed; nothing is
// written. What is found is damaged, with what it is. again opens another connection, for what
// may be done while the file is used: Found tells of that.
func Look(ctx context.Context, db *sql.DB, name string, damaged error, again func() (*sql.DB, error)) (*File, error) {
	f := &File{name: name, says: damaged, found: make(chan error, 1), stop: func() {}}
	now, logged := f.now()
	was := f.left()
	known := now.Size > small && was.same(now)
	var err error
	switch f.whole = true; {
	case known && was.Whole:
		err = f.first(ctx, db)
	case known, now.Size > small && logged:
		f.whole = false
		if err = f.first(ctx, db); err == nil {
			err = f.beside(again)
		}
	default:
		err = f.all(ctx, db)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Found tells once of damage that is found while the file is used.
func (f *File) Found() <-chan error { return f.found }

// Stop ends the looking; it is called before the connections are closed.
func (f *File) Stop() {
	f.stop()
	f.work.Wait()
}

// Left notes how the file was left, when its connections are closed.
func (f *File) Left() error {
	if f.damaged {
		return nil
	}
	now, logged := f.now()
	now.Whole = f.whole
	if now.Size <= small || logged || now == f.left() {
		return nil
	}
	text, err := json.Marshal(now)
	if err == nil {
		err = os.WriteFile(f.name+leftSuffix, text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("note how %s was left: %w", f.name, err)
	}
	return nil
}

// now is how the file is; logged says that its log is there, which it is while the file is open, or
// when its program was killed.
func (f *File) now() (now left, logged bool) {
	if info, err := os.Stat(f.name); err == nil {
		now = left{Size: info.Size(), Modified: info.ModTime().UnixNano()}
	}
	info, err := os.Stat(f.name + "-wal")
	return now, err == nil && info.Size() > 0
}

// left is how the file was left; nothing that is when nobody noted it.
func (f *File) left() (was left) {
	text, err := os.ReadFile(f.name + leftSuffix)
	if err != nil || json.Unmarshal(text, &was) != nil {
		return left{Size: -1}
	}
	return was
}

// beside looks the file through while it is used.
func (f *File) beside(again func() (*sql.DB, error)) error {
	db, err := again()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	f.stop = stop
	f.work.Go(func() {
		err := f.all(ctx, db)
		f.whole = err == nil
		if errors.Is(err, f.says) {
			f.damaged = true
			_ = os.Remove(f.name + leftSuffix) // it is not there, as a rule
			f.found <- err
		}
		_ = db.Close() // nothing was written by it
	})
	return nil
}

// first looks at the file's header, and at what it says to be in it.
func (f *File) first(ctx context.Context, db *sql.DB) error {
	var n int
	return f.told(db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema`).Scan(&n))
}

// all looks the whole file through.
func (f *File) all(ctx context.Context, db *sql.DB) error {
	var said string
	if err := db.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&said); err != nil {
		return f.told(err)
	}
	if said != "ok" {
		return fmt.Errorf("%w: %s", f.says, strings.ReplaceAll(said, "\n", "; "))
	}
	return nil
}

func (f *File) told(err error) error {
	if Damaged(err) {
		return fmt.Errorf("%w: %w", f.says, err)
	}
	return err
}

// Damaged says whether an error of SQLite tells of a file that is not whole, or is no database.
func Damaged(err error) bool {
	return errors.Is(err, sqlite3.CORRUPT) || errors.Is(err, sqlite3.NOTADB)
}
