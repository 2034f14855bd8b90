// Package store keeps what the relay's server must not lose: events of runs, what follows
// from them, commands and decisions (its API promises nothing). Nothing is acknowledged or
// shown that is not committed here.
//
// One implementation serves SQLite and PostgreSQL; the packages below open them and say in
// a Dialect where they differ. Every change is a transaction; who writes events gives many at once
// (Batch). What is told of a run (its status, its requests) follows from its events in
// the order of their seq, as soon as none before them is missing: not from the order in which they came.
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

// What cannot be; matched with errors.Is.
var (
	ErrUnknown   = errors.New("there is no such thing")
	ErrNewer     = errors.New("the database was made by a newer version")
	ErrDamaged   = errors.New("the database is damaged")
	ErrStale     = errors.New("another connection of the host has taken over")
	ErrConflict  = errors.New("the id was used for something else")
	ErrDecided   = errors.New("somebody has decided before")
	ErrChanged   = errors.New("the decision is for other arguments")
	ErrHasExited = errors.New("the run has ended")
)

// Store is a database. Safe for concurrent use.
type Store struct {
	write, read *sql.DB
	dialect     Dialect
	insertRun   string
	updateRun   string
	prepared    map[string]*sql.Stmt
}

// Dialect is where databases differ.
type Dialect struct {
	Name   string
	Serial string // the type of a column that numbers its rows
	// Placeholder is what stands before an argument's number: "$", or "?".
	Placeholder string
	// Alone is a statement after which nobody else makes the schema until the transaction
	// ends; "" where there is one writer.
	Alone string
	// Lock, after a SELECT, keeps others from changing the row until the transaction ends;
	// "" where there is one writer.
	Lock string
	// Now is the database's clock, in Unix ms.
	Now string
	// Stamp is a number of the transaction, for changes that other servers look for, and Oldest
	// one up to which all have ended as a statement sees it, and Newest one that no transaction
	// has yet; "" where one server has the database for itself.
	Stamp, Oldest, Newest string
	// Prepare has the statements of each event parsed once; false where the driver does so.
	Prepare bool
	// Damaged says whether an error tells of a damaged database.
	Damaged func(error) bool
	// File sees to it that the database's file is whole; nil when that is somebody else's.
	File File
}

// File is a database's file.
type File interface {
	// Found tells once of damage that is found while the file is used.
	Found() <-chan error
	// Stop is called before the connections are closed, Left when they are.
	Stop()
	RecordClosed() error
}

// New makes a store of databases for writing and reading, which may be one, and brings the
// schema up to date. The store closes them.
func New(ctx context.Context, write, read *sql.DB, d Dialect) (*Store, error) {
	s := &Store{write: write, read: read, dialect: d, prepared: map[string]*sql.Stmt{}, insertRun: stamped(insertRun, d), updateRun: stamped(updateRun, d)}
	err := s.migrate(ctx)
	if err == nil && d.Prepare {
		err = s.prepare(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// prepare parses what is executed most.
func (s *Store) prepare(ctx context.Context) error {
	for _, text := range []string{insertEvent, s.updateRun} {
		p, err := s.write.PrepareContext(ctx, s.reading().text(text))
		if err != nil {
			return s.told("prepare a statement", err)
		}
		s.prepared[text] = p
	}
	return nil
}

// stamped is a statement with the number of its transaction.
func stamped(text string, d Dialect) string {
	if d.Stamp == "" {
		return strings.ReplaceAll(text, "{stamp}", "0")
	}
	return strings.ReplaceAll(text, "{stamp}", d.Stamp)
}

// Damage tells once of damage that is found while the database is used; it is ErrDamaged.
func (s *Store) Damage() <-chan error {
	if s.dialect.File == nil {
		return nil
	}
	return s.dialect.File.Found()
}

// Ping reports, by its error, whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	var one int
	if err := s.read.QueryRowContext(ctx, "SELECT 1").Scan(&one); err != nil {
		return s.told("reach the database", err)
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

// change does something in a transaction.
func (s *Store) change(ctx context.Context, do func(tx database) error) error {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return s.told("begin", err)
	}
	if err := do(database{tx, s.dialect.Placeholder, func(text string) *sql.Stmt { return s.statement(ctx, tx, text) }}); err != nil {
		_ = tx.Rollback() // the first error is what counts
		return err
	}
	return s.told("commit", tx.Commit())
}

// database is a transaction, or all connections for reading. In statements an argument is $ and its
// number; no statement has a $ or a ? besides.
type database struct {
	of interface {
		ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error)
		QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error)
		QueryRowContext(ctx context.Context, text string, args ...any) *sql.Row
	}
	placeholder string
	prepared    func(text string) *sql.Stmt // nil outside of transactions
}

func (s *Store) reading() database { return database{of: s.read, placeholder: s.dialect.Placeholder} }

// statement is a prepared statement in a transaction, nil of a text that is not prepared.
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

// told is an error with what was tried; one that tells of damage is ErrDamaged, too.
func (s *Store) told(doing string, err error) error {
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
	TokenHash  string // SHA-256 in hexadecimal digits, "" when it has a key
	PublicKey  string
	Epoch, Gen int64
	LastSeenAt int64 // Unix ms

	// Of its connection: which server has it, "" for none, and which protocol and process it said.
	Replica, Instance string
	Proto             int64
	Alive             bool // that server lives
}

// Run is what is known of a run, by its events up to Prefix.
type Run struct {
	ID, HostID                       string
	Tool, Cwd, Command, Title        string
	Status                           protocol.Status
	Waits                            bool            // for an input, whatever else it does
	Meta                             json.RawMessage // run.meta's members, the last of each
	StartedAt, LastActiveAt, EndedAt int64           // Unix ms; 0 when it has not
	ExitCode                         *int64
	Prefix                           int64 // it and everything before is stored
	Last                             int64 // the greatest seq that is stored
}

// Event is a stored event.
type Event struct {
	RunID      string
	Seq, From  int64 // From is the first seq of a gap, else Seq
	TS, Type   string
	Data       json.RawMessage
	Extra      json.RawMessage // fields of the envelope that are not known, and enc
	ReceivedAt int64           // Unix ms
}

// Request is what a run asks for.
type Request struct {
	RunID, ID string
	Seq       int64
	Data      json.RawMessage // of run.permission_requested
	State     string          // of protocol.RequestMachine
}
