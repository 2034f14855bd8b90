package spool

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"
	_ "github.com/ncruces/go-sqlite3/driver" // registers "sqlite3"

	"github.com/concerto-lang/concerto/relay/sqliteintegrity"
)

// schema is the version of the database schema.
const schema = 3

// versions has the statements that change each version of the schema, from 0, to the next one.
//
// In the row of a gap, from_seq is the first missing sequence number and data is the reason. In
// other rows, from_seq equals seq.
//
// In the row of a sealed event, type is that which the server sees, data is JSON of
// seal.SealedData, epoch is not 0, chain is JSON of the seal.Chain with the event, and reason is
// that of a gap. A sealed run has its account, the chain at its end, the last sequence number that
// needs no further head, the tag of the last event that was acknowledged and deleted, and until its
// end the title for notices.
var versions = [schema]string{`
CREATE TABLE runs (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, last INTEGER NOT NULL, acked INTEGER NOT NULL, off INTEGER NOT NULL, ended INTEGER NOT NULL,
	adopted INTEGER NOT NULL);
CREATE TABLE events (n INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER NOT NULL, seq INTEGER NOT NULL, from_seq INTEGER NOT NULL, ts TEXT NOT NULL, type TEXT NOT NULL,
	data TEXT NOT NULL, size INTEGER NOT NULL, UNIQUE (run, seq));
CREATE TABLE notes (run INTEGER NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL, data TEXT NOT NULL, PRIMARY KEY (run, kind, key)) WITHOUT ROWID;
CREATE TABLE results (n INTEGER PRIMARY KEY AUTOINCREMENT, run TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, state TEXT NOT NULL, error TEXT NOT NULL,
	UNIQUE (run, kind, id))`, `
ALTER TABLE runs ADD COLUMN account TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN chain TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN covered INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN acked_tag TEXT NOT NULL DEFAULT '';
ALTER TABLE events ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;
ALTER TABLE events ADD COLUMN chain TEXT NOT NULL DEFAULT '';
ALTER TABLE events ADD COLUMN reason TEXT NOT NULL DEFAULT ''`, `
ALTER TABLE runs ADD COLUMN title TEXT NOT NULL DEFAULT ''`}

const insertEvent = `INSERT INTO events (run, seq, from_seq, ts, type, data, size, epoch, chain, reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

// connect opens a database file in the SQLite VFS with the name vfs.
func connect(vfs, file, transactions string) (*sql.DB, error) {
	name := "file:" + (&url.URL{Path: file}).EscapedPath() + "?vfs=" + vfs + "&_txlock=" + transactions
	for _, p := range []string{"busy_timeout(10000)", "journal_mode(wal)", "synchronous(full)", "secure_delete(on)"} {
		name += "&_pragma=" + url.QueryEscape(p)
	}
	return sql.Open("sqlite3", name)
}

// checkIntegrity checks the file for damage before anything is written to it.
func (s *Spool) checkIntegrity(ctx context.Context, vfs, file string) (err error) {
	s.integrity, err = sqliteintegrity.Check(ctx, s.writeDB, file, ErrDamaged, func() (*sql.DB, error) { return connect(vfs, file, "deferred") })
	if errors.Is(err, ErrDamaged) {
		err = withRemedy(err)
	}
	return err
}

// withRemedy adds the remedy to an error that reports damage.
func withRemedy(err error) error {
	return fmt.Errorf("%w: move the file away; runs then continue with a gap", err)
}

// migrate creates the tables if they do not exist, and changes those of older versions. It returns
// the epoch of this start.
func migrate(ctx context.Context, db *sql.DB) (epoch int64, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback() // does nothing after a commit
	if _, err := tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS meta (one INTEGER PRIMARY KEY, schema INTEGER NOT NULL, epoch INTEGER NOT NULL)`); err != nil {
		return 0, err
	}
	has := 0
	err = tx.QueryRowContext(ctx, `SELECT schema, epoch FROM meta`).Scan(&has, &epoch)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		epoch = time.Now().UnixMilli()
		_, err = tx.ExecContext(ctx, `INSERT INTO meta VALUES (1, ?, ?)`, schema, epoch)
	case err != nil:
	case has > schema:
		err = fmt.Errorf("%w: its schema is %d, and this version supports %d: use a newer concerto-relay", ErrNewer, has, schema)
	default:
		epoch++
		_, err = tx.ExecContext(ctx, `UPDATE meta SET schema = ?, epoch = ?`, schema, epoch)
	}
	if err != nil {
		return 0, err
	}
	for _, statements := range versions[has:] {
		for statement := range strings.SplitSeq(statements, ";") {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return 0, err
			}
		}
	}
	return epoch, tx.Commit()
}

// isFull reports whether an error means that the disk is full. Other failed writes count as well,
// because they may also succeed later.
func isFull(err error) bool {
	return errors.Is(err, sqlite3.FULL) || errors.Is(err, sqlite3.IOERR_WRITE) || errors.Is(err, sqlite3.IOERR_FSYNC) || errors.Is(err, sqlite3.IOERR_SHMSIZE)
}
