// Package store stores the state of the relay's server: events of runs, derived state, commands and
// decisions. Nothing is acknowledged or shown before it is committed here. The compatibility
// promise does not cover this API.
//
// One implementation supports SQLite and PostgreSQL; subpackages open them and describe differences
// in a Dialect. Every change is a transaction; events are written in batches. The state of a run
// (status, requests) is derived from its events in the order of their numbers, as soon as no
// earlier one is missing, independently of their arrival.
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

// Errors to match with errors.Is.
var (
	ErrUnknown   = errors.New("not found")
	ErrNewer     = errors.New("the database was created by a newer version")
	ErrDamaged   = errors.New("the database is damaged")
	ErrStale     = errors.New("another connection of the host has taken over")
	ErrConflict  = errors.New("the id was used for another command")
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

// Dialect describes the differences between databases.
type Dialect struct {
	Name   string
	Serial string // the type of a numbering column
	// Placeholder precedes an argument's number: "$" or "?".
	Placeholder string
	// Alone is a statement that locks the schema until the end of the transaction; "" if there is a
	// single writer.
	Alone string
	// Lock, after a SELECT, locks the row until the end of the transaction; "" if there is a single
	// writer.
	Lock string
	// Now is an expression for the database's time in Unix ms.
	Now string
	// Stamp is an expression for the transaction's number, Oldest for a number below which all
	// transactions have finished, and Newest for one that no transaction has yet; "" on a database
	// that is not shared.
	Stamp, Oldest, Newest string
	// Prepare prepares the statements for events; false if the driver does so.
	Prepare bool
	// Damaged reports whether an error means a damaged database.
	Damaged func(error) bool
	// File checks the database's file; may be nil.
	File File
}

// File checks a database file for damage.
type File interface {
	// Found returns a channel that receives an error if damage is found in use.
	Found() <-chan error
	// Stop is called before the connections are closed, RecordClosed after.
	Stop()
	RecordClosed() error
}

// New returns a store on databases for writing and reading, which may be the same, and updates the
// schema. Close closes them.
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

// prepare prepares the most frequent statements.
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

// withStamp returns a statement with the expression for the stamp.
func withStamp(text string, d Dialect) string {
	if d.Stamp == "" {
		return strings.ReplaceAll(text, "{stamp}", "0")
	}
	return strings.ReplaceAll(text, "{stamp}", d.Stamp)
}

// Damage returns a channel that receives ErrDamaged if damage is found in use.
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

// Close closes the store.
func (s *Store) Close() error {
	if s.dialect.File != nil {
		s.dialect.File.Stop()
	}
	for _, p := range s.prepared {
		_ = p.Close() // its connection is closed next
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
		_ = tx.Rollback() // the first error matters
		return err
	}
	return s.wrapError("commit", tx.Commit())
}

// database is a transaction or the connections for reading. Arguments in statements are written $N;
// statements contain no other $ or ?.
type database struct {
	of interface {
		ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error)
		QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error)
		QueryRowContext(ctx context.Context, text string, args ...any) *sql.Row
	}
	placeholder string
	prepared    func(text string) *sql.Stmt // nil outside of transactions
}

func (s *Store) reader() database { return database{of: s.read, placeholder: s.dialect.Placeholder} }

// statement returns the prepared statement for a text in a transaction, or nil.
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

// wrapError adds the attempted operation to an error, and ErrDamaged if it reports damage.
func (s *Store) wrapError(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case s.dialect.Damaged != nil && s.dialect.Damaged(err):
		return fmt.Errorf("%s: %w: %w", doing, ErrDamaged, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// Host is a machine that runs agents.
type Host struct {
	ID, Name   string
	TokenHash  string // SHA-256 in hexadecimal; "" if it has a key
	PublicKey  string
	Epoch, Gen int64
	LastSeenAt int64 // Unix ms

	// Of its connection: the server, "" for none, and the process and protocol it sent.
	Replica, Instance string
	Proto             int64
	Alive             bool // the server is alive
}

// Run is the state of a run after its events up to Prefix.
type Run struct {
	ID, HostID                       string
	Tool, Cwd, Command, Title        string
	Status                           protocol.Status
	Waits                            bool            // waits for input, independently of Status
	Meta                             json.RawMessage // the merged members of run.meta
	StartedAt, LastActiveAt, EndedAt int64           // Unix ms; 0 if not set
	ExitCode                         *int64
	Prefix                           int64 // all events up to here are stored
	Last                             int64 // the largest stored number
}

// Event is a stored event.
type Event struct {
	RunID      string
	Seq, From  int64 // From is the first number of a gap, otherwise Seq
	TS, Type   string
	Data       json.RawMessage
	Extra      json.RawMessage // unknown fields of the envelope, and enc
	ReceivedAt int64           // Unix ms
}

// Request is a request of a run.
type Request struct {
	RunID, ID string
	Seq       int64
	Data      json.RawMessage // the data of run.permission_requested
	State     string          // a state of protocol.RequestMachine
}
