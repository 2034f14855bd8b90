package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// file is a database with its only connection in this process.
type file struct {
	options *Options
	name    string // name of the file in the program
	path    string

	turn chan struct{} // lock of capacity one, held by the current request; protects the fields below
	conn *sqlite3.Conn // nil while the file is closed
	// statements contains the prepared statements by their text. sections contains the ids of the
	// stores and scopes in the database.
	statements map[string]*sqlite3.Stmt
	sections   map[effect.Store]int64
	// sectionsRead: sectionsFit has been called; old: the file has format 1
	sectionsRead, old bool
	inside            bool      // the request runs within a transaction that has begun
	began             time.Time // start of the current request
}

// runOperation waits for the lock and runs an operation.
func (f *file) runOperation(ctx context.Context, k effect.Kind, op operation) (effect.Result, error) {
	if effect.IsNoWait(ctx) {
		select {
		case f.turn <- struct{}{}:
		default:
			return nil, effect.ErrWaits
		}
	} else {
		select {
		case f.turn <- struct{}{}:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	defer func() { <-f.turn }()
	f.began = time.Time{}
	for tries := 0; ; tries++ {
		// SQLite does not call busy in all situations. If it could not begin or commit the
		// operation, nothing has changed, and the whole operation is repeated.
		result, err := f.attempt(ctx, k, op)
		if !errors.Is(err, sqlite3.BUSY) || !f.busy(ctx, tries) {
			return result, err
		}
	}
}

// attempt runs an operation, after opening the file if necessary.
func (f *file) attempt(ctx context.Context, k effect.Kind, op operation) (effect.Result, error) {
	if f.conn == nil {
		if err := f.openFile(ctx); err != nil {
			return nil, err
		}
	}
	f.conn.SetInterrupt(ctx)
	if key := effect.KeyOf(ctx); key != "" {
		return f.onceOnly(key, effect.KeysBefore(ctx), k, op)
	}
	return op(f)
}

// busy is called when another connection holds a lock. It waits for a moment and reports whether
// the caller should try again.
func (f *file) busy(ctx context.Context, tries int) bool {
	if effect.IsNoWait(ctx) {
		return false
	}
	now := time.Now()
	if f.began.IsZero() {
		f.began = now
	}
	if now.Sub(f.began) >= f.options.Wait {
		return false
	}
	pause := time.NewTimer(min(time.Millisecond<<min(tries, 5), 20*time.Millisecond))
	defer pause.Stop()
	select {
	case <-pause.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// closeConnection closes the connection. SQLite then writes the log into the file if this was the
// last connection to it.
func (f *file) closeConnection() error {
	if f.conn == nil {
		return nil
	}
	f.conn.SetInterrupt(context.Background())
	var errs []error
	for _, s := range f.statements {
		errs = append(errs, s.Close())
	}
	errs = append(errs, f.conn.Close())
	f.conn, f.statements, f.sections, f.sectionsRead = nil, nil, nil, false
	return errors.Join(errs...)
}

// runStatement executes a statement. Each argument is a string, a []byte or an int64. For every row
// of the result it calls row, which may be nil.
func (f *file) runStatement(sql string, row func(*sqlite3.Stmt), args ...any) error {
	s := f.statements[sql]
	if s == nil {
		var err error
		if s, _, err = f.conn.PrepareFlags(sql, sqlite3.PREPARE_PERSISTENT); err != nil {
			return err
		}
		f.statements[sql] = s
	}
	for i, a := range args {
		var err error
		switch a := a.(type) {
		case string:
			err = s.BindText(i+1, a)
		case []byte:
			err = s.BindRawText(i+1, a)
		case int64:
			err = s.BindInt64(i+1, a)
		default:
			panic(fmt.Sprintf("a statement's argument is a %T", a))
		}
		if err != nil {
			return err
		}
	}
	for s.Step() {
		if row != nil {
			row(s)
		}
	}
	err := s.Err()
	if reset := s.Reset(); err == nil {
		err = reset
	}
	return err
}

// transaction calls do. When transaction returns, either all changes of do are on disk or none.
func (f *file) transaction(do func() error) error { return f.runTransaction("BEGIN IMMEDIATE", do) }

// snapshot calls do. All reads of do see the database at the same moment.
func (f *file) snapshot(do func() error) error { return f.runTransaction("BEGIN", do) }

func (f *file) runTransaction(begin string, do func() error) error {
	if f.inside {
		return do()
	}
	if err := f.runStatement(begin, nil); err != nil {
		return err
	}
	err := do()
	if err == nil {
		err = f.runStatement("COMMIT", nil)
	}
	if err != nil {
		f.rollback()
	}
	return err
}

// rollback undoes a transaction, unless SQLite has already done so.
func (f *file) rollback() {
	clear(f.sections) // the transaction may have created some of the sections
	old := f.conn.SetInterrupt(context.Background())
	if !f.conn.GetAutocommit() {
		_ = f.runStatement("ROLLBACK", nil)
	}
	f.conn.SetInterrupt(old)
}

const (
	sqlSection    = `SELECT id FROM section WHERE kind = ? AND name = ? AND scope = ?`
	sqlAddSection = `INSERT INTO section (kind, name, scope, sum) VALUES (?, ?, ?, ?)`
)

// section returns the id of a store or scope. ok is false if nothing was ever stored in it.
func (f *file) section(at effect.Store) (id int64, ok bool, err error) {
	if id, ok = f.sections[at]; ok {
		return id, true, nil
	}
	err = f.runStatement(sqlSection, func(s *sqlite3.Stmt) { id, ok = s.ColumnInt64(0), true }, at.Kind, at.Name, at.Scope)
	switch {
	case err != nil:
	case ok:
		f.sections[at] = id
	default:
		err = f.sectionsFit()
	}
	return id, ok, err
}

// sectionToWrite is like section, but creates a missing section. It must be called within a
// transaction.
func (f *file) sectionToWrite(at effect.Store) (int64, error) {
	id, ok, err := f.section(at)
	if ok || err != nil {
		return id, err
	}
	if err := f.runStatement(sqlAddSection, nil, at.Kind, at.Name, at.Scope, sum(at.Kind, at.Name, at.Scope)); err != nil {
		return 0, err
	}
	id = f.conn.LastInsertRowID()
	f.sections[at] = id
	return id, nil
}
