// Package store stores the state of the relay's server: events of runs, state derived from events,
// commands and decisions. The server acknowledges and shows nothing before it is committed here.
//
// One implementation supports SQLite and PostgreSQL. Subpackages open the databases and describe
// their differences in a Dialect. Every change is a transaction, and events are written in batches.
// The state of a run (status, requests) is derived from its events in the order of their sequence
// numbers. An event is applied as soon as no earlier event is missing, whatever the order of
// arrival.
package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// Errors of this package. Match them with errors.Is.
var (
	ErrUnknown   = errors.New("not found")
	ErrNewer     = errors.New("the database was created by a newer version")
	ErrDamaged   = errors.New("the database is damaged")
	ErrStale     = errors.New("another connection of the machine has taken over")
	ErrConflict  = errors.New("the id was used for another command")
	ErrRoster    = errors.New("the roster has another line with this number")
	ErrDecided   = errors.New("the request is already decided")
	ErrChanged   = errors.New("the request's arguments have changed since the decision")
	ErrHasExited = errors.New("the run has ended")
)

// Store is a database. It is safe for concurrent use.
type Store struct {
	write, read *sql.DB
	dialect     Dialect
	insertRun   string
	updateRun   string
	prepared    map[string]*sql.Stmt
}

// Dialect describes how a database differs from others.
type Dialect struct {
	Name   string
	Serial string // type of a column with automatic numbers
	// Placeholder is the prefix of an argument's number in statements: "$" or "?".
	Placeholder string
	// Alone is a statement that locks the schema until the end of the transaction. It is "" if the
	// database has only one writer.
	Alone string
	// Lock is appended to a SELECT to lock the selected rows until the end of the transaction. It
	// is "" if the database has only one writer.
	Lock string
	// Now is an SQL expression for the database's time in Unix ms.
	Now string
	// Stamp, Oldest and Newest are SQL expressions for transaction numbers, which increase. Stamp
	// is the number of the current transaction. All transactions with numbers below Oldest have
	// finished. No transaction has the number Newest yet. They are "" if the database is not
	// shared.
	Stamp, Oldest, Newest string
	// Prepare is set if the store must prepare the statements for events. It is false if the driver
	// caches prepared statements.
	Prepare bool
	// Damaged reports whether an error means that the database is damaged.
	Damaged func(error) bool
	// Interrupted reports whether the context of a statement has ended it; nil if the errors of the
	// driver wrap that of the context.
	Interrupted func(error) bool
	// File checks the database's file for damage; may be nil.
	File File
}

// File checks a database file for damage.
type File interface {
	// Found returns a channel that receives an error if damage is found while the file is in use.
	Found() <-chan error
	// Stop is called before the connections are closed, and RecordClosed afterwards.
	Stop()
	RecordClosed() error
}

// New returns a store and updates the schema. write and read are the databases for writing and
// reading; they may be the same. Close closes both.
func New(ctx context.Context, write, read *sql.DB, d Dialect) (*Store, error) {
	s := &Store{write: write, read: read, dialect: d, prepared: map[string]*sql.Stmt{}, insertRun: withStamp(insertRun, d), updateRun: withStamp(updateRun, d)}
	err := s.migrate(ctx)
	if err == nil && d.Prepare {
		err = s.prepare(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// prepare prepares the most frequent statements if the dialect requires that.
func (s *Store) prepare(ctx context.Context) error {
	for _, text := range []string{insertEvent, s.updateRun} {
		p, err := s.write.PrepareContext(ctx, s.reader().text(text))
		if err != nil {
			return s.wrapError("prepare a statement", err)
		}
		s.prepared[text] = p
	}
	return nil
}

// withStamp returns a statement in which the dialect's expression for the stamp is inserted.
func withStamp(text string, d Dialect) string {
	if d.Stamp == "" {
		return strings.ReplaceAll(text, "{stamp}", "0")
	}
	return strings.ReplaceAll(text, "{stamp}", d.Stamp)
}

// Damage returns a channel that receives ErrDamaged if damage is found while the database is in
// use.
func (s *Store) Damage() <-chan error {
	if s.dialect.File == nil {
		return nil
	}
	return s.dialect.File.Found()
}

// Ping returns an error if the database does not answer.
func (s *Store) Ping(ctx context.Context) error {
	var one int
	if err := s.read.QueryRowContext(ctx, "SELECT 1").Scan(&one); err != nil {
		return s.wrapError("reach the database", err)
	}
	return nil
}

// Close closes the store and its databases.
func (s *Store) Close() error {
	if s.dialect.File != nil {
		s.dialect.File.Stop()
	}
	for _, p := range s.prepared {
		_ = p.Close() // ignore the error: the connection is closed next
	}
	err := s.write.Close()
	if s.read != s.write {
		err = errors.Join(err, s.read.Close())
	}
	if s.dialect.File != nil && err == nil {
		err = s.dialect.File.RecordClosed()
	}
	return err
}

// change runs do in a transaction.
func (s *Store) change(ctx context.Context, do func(tx database) error) error {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return s.wrapError("begin", err)
	}
	if err := do(database{tx, s.dialect.Placeholder, func(text string) *sql.Stmt { return s.statement(ctx, tx, text) }}); err != nil {
		_ = tx.Rollback() // ignore the error: do has already failed
		return err
	}
	return s.wrapError("commit", tx.Commit())
}

// database runs statements, either in a transaction or on the connections for reading. Arguments in
// a statement are written as $1, $2 and so on. A statement contains no other $ or ?.
type database struct {
	of interface {
		ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error)
		QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error)
		QueryRowContext(ctx context.Context, text string, args ...any) *sql.Row
	}
	placeholder string
	prepared    func(text string) *sql.Stmt // returns a prepared statement; nil outside of transactions
}

func (s *Store) reader() database { return database{of: s.read, placeholder: s.dialect.Placeholder} }

// statement returns a statement of the transaction that is prepared for a text. It returns nil if
// no statement is prepared for it.
func (s *Store) statement(ctx context.Context, tx *sql.Tx, text string) *sql.Stmt {
	if p := s.prepared[text]; p != nil {
		return tx.StmtContext(ctx, p)
	}
	return nil
}

func (d database) text(t string) string {
	if d.placeholder == "$" {
		return t
	}
	return strings.ReplaceAll(t, "$", d.placeholder)
}

func (d database) ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error) {
	if d.prepared != nil {
		if p := d.prepared(text); p != nil {
			return p.ExecContext(ctx, args...)
		}
	}
	return d.of.ExecContext(ctx, d.text(text), args...)
}

func (d database) QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	return d.of.QueryContext(ctx, d.text(text), args...)
}

func (d database) QueryRowContext(ctx context.Context, text string, args ...any) *sql.Row {
	return d.of.QueryRowContext(ctx, d.text(text), args...)
}

// wrapError adds the attempted operation to an error. If the error means that the database is
// damaged, it also adds ErrDamaged, and if the statement was interrupted, context.Canceled.
func (s *Store) wrapError(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case s.dialect.Damaged != nil && s.dialect.Damaged(err):
		return fmt.Errorf("%s: %w: %w", doing, ErrDamaged, err)
	case s.dialect.Interrupted != nil && s.dialect.Interrupted(err):
		return fmt.Errorf("%s: %w: %w", doing, context.Canceled, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// Machine is a computer on which hostd runs agents, or an engine that appears as one.
type Machine struct {
	ID, Name   string
	TokenHash  string // SHA-256 of the machine's token in hexadecimal; "" if the machine authenticates by a key
	PublicKey  string
	Epoch, Gen int64
	LastSeenAt int64 // in Unix ms

	// Replica is the server that the machine is connected to, or "". Instance identifies the
	// machine's process, as sent in its hello.
	Replica, Instance string
	Proto             int64
	Alive             bool   // the server Replica is live
	Account           string // as sent in the machine's hello; "" if it has none
}

// Run is the state of a run after its events up to Prefix.
type Run struct {
	ID, MachineID                    string
	Tool, Cwd, Command, Title        string
	Status                           protocol.Status
	Waits                            bool            // the run waits for input, whatever its Status
	Meta                             json.RawMessage // the merged members of all run.meta events
	StartedAt, LastActiveAt, EndedAt int64           // in Unix ms; 0 if unset
	ExitCode                         *int64
	Prefix                           int64 // all events up to this sequence number are stored
	Last                             int64 // the largest stored sequence number
	Sealed                           bool  // the events are sealed (relay/seal)
	Epoch                            int64 // the lowest one of the sealed events; 0 if there are none, -1 if it is unknown
}

// Event is a stored event.
type Event struct {
	RunID      string
	Seq, From  int64 // for a gap, From is its first missing number; otherwise From equals Seq
	TS, Type   string
	Data       json.RawMessage
	Extra      json.RawMessage // unknown fields of the envelope, and its enc
	ReceivedAt int64           // in Unix ms
}

// Request is a request of a run.
type Request struct {
	RunID, ID string
	Seq       int64
	Data      json.RawMessage // data of the run.permission_requested
	State     protocol.RequestState
}
