// Package sqlite opens the relay's store in a SQLite file.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"

	"github.com/ncruces/go-sqlite3"
	_ "github.com/ncruces/go-sqlite3/driver" // registers "sqlite3"

	"github.com/concerto-lang/concerto/relay/sqliteintegrity"
	"github.com/concerto-lang/concerto/relay/store"
)

// Open opens a file, and creates it if it does not exist. Commits are durable. Open returns
// store.ErrDamaged for a damaged file and store.ErrNewer for the file of a newer version, and
// changes neither. If the program that used a large file was killed, the file is checked while it
// is in use, and Store.Damage reports the result.
func Open(ctx context.Context, file string) (*store.Store, error) { return OpenOn(ctx, "os", file) }

// OpenOn is like Open for a file in the SQLite VFS with the name vfs.
func OpenOn(ctx context.Context, vfs, file string) (*store.Store, error) {
	write, err := connect(vfs, file, "immediate")
	if err != nil {
		return nil, err
	}
	write.SetMaxOpenConns(1)
	reopen := func() (*sql.DB, error) { return connect(vfs, file, "deferred") }
	checked, err := sqliteintegrity.Check(ctx, write, file, store.ErrDamaged, reopen)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", file, err), write.Close())
	}
	read, err := reopen()
	if err != nil {
		checked.Stop()
		return nil, errors.Join(err, write.Close())
	}
	dialect := store.Dialect{Name: "sqlite", Placeholder: "?", Prepare: true, Now: `CAST(unixepoch('subsec') * 1000 AS INTEGER)`, Serial: "INTEGER PRIMARY KEY AUTOINCREMENT", Damaged: sqliteintegrity.IsDamage, File: checked,
		Interrupted: interrupted}
	s, err := store.New(ctx, write, read, dialect)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", file, err)
	}
	return s, nil
}

// interrupted reports whether the context of a statement has ended it. The driver then returns this
// error of SQLite.
func interrupted(err error) bool { return errors.Is(err, sqlite3.INTERRUPT) }

func connect(vfs, file, transactions string) (*sql.DB, error) {
	name := "file:" + (&url.URL{Path: file}).EscapedPath() + "?vfs=" + vfs + "&_txlock=" + transactions
	for _, p := range []string{"busy_timeout(10000)", "journal_mode(wal)", "synchronous(full)", "foreign_keys(on)", "secure_delete(on)"} {
		name += "&_pragma=" + url.QueryEscape(p)
	}
	db, err := sql.Open("sqlite3", name)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", file, err)
	}
	return db, nil
}
