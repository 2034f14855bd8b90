package sqlitestore

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// Schema describes a kind of database that contains no stores.
type Schema struct {
	Application int64    // the application_id in SQLite's file header
	Format      int64    // the user_version
	Tables      []string // definitions of all tables and indexes
	On          Options  // Disk and VFS; nothing else is used
}

// IsRefused reports whether an error of OpenDatabase, or of a statement, means that the file is
// damaged, or belongs to another program or a newer version. The file was not changed.
func IsRefused(err error) bool {
	return errors.As(err, new(refusal)) || errors.Is(err, sqlite3.CORRUPT) || errors.Is(err, sqlite3.NOTADB)
}

// IsFull reports whether an error means that the disk is full.
func IsFull(err error) bool {
	return errors.Is(err, sqlite3.FULL) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// IsReadOnly reports whether an error means that the file must not be written.
func IsReadOnly(err error) bool {
	return errors.Is(err, sqlite3.READONLY) || errors.Is(err, fs.ErrPermission)
}

// Database is an open database. It is safe for concurrent use.
type Database struct {
	mu   sync.Mutex
	conn *sqlite3.Conn
}

// OpenDatabase opens a database, and creates it if it does not exist. A statement waits so long for
// other processes.
func OpenDatabase(path string, s Schema, wait time.Duration) (*Database, error) {
	for since := time.Now(); ; time.Sleep(time.Millisecond) {
		// SQLite does not wait in all situations, such as the change of the journal's mode.
		conn, err := s.open(path, wait)
		switch {
		case err == nil:
			return &Database{conn: conn}, nil
		case !errors.Is(err, sqlite3.BUSY) || time.Since(since) > wait:
			return nil, err
		}
	}
}

// Close closes the database.
func (d *Database) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.conn.Close()
}

// Transaction calls do. When it returns, either all changes of do are on disk, or none. do must not
// use the database except by t.
func (d *Database) Transaction(do func(t *Transaction) error) (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	tx, err := d.conn.BeginImmediate()
	if err != nil {
		return err
	}
	defer tx.End(&err)
	return do(&Transaction{d.conn})
}

// Transaction executes statements.
type Transaction struct{ conn *sqlite3.Conn }

// Row is a row of a result.
type Row struct{ s *sqlite3.Stmt }

// Text returns the text in a column, or "" for NULL.
func (r Row) Text(i int) string { return r.s.ColumnText(i) }

// Int returns the integer in a column.
func (r Row) Int(i int) int64 { return r.s.ColumnInt64(i) }

// TextOrNil returns the text in a column, or nil for NULL.
func (r Row) TextOrNil(i int) *string {
	if r.s.ColumnType(i) == sqlite3.NULL {
		return nil
	}
	text := r.s.ColumnText(i)
	return &text
}

// Run executes a statement, and calls row, which may be nil, for each row of its result. Each
// argument is a string, a *string, an int64 or a bool.
func (t *Transaction) Run(sql string, row func(Row) error, args ...any) (err error) {
	s, _, err := t.conn.Prepare(sql)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for i, a := range args {
		var err error
		switch a := a.(type) {
		case string:
			err = s.BindText(i+1, a)
		case *string:
			if a != nil { // parameters are NULL at first
				err = s.BindText(i+1, *a)
			}
		case int64:
			err = s.BindInt64(i+1, a)
		case bool:
			err = s.BindBool(i+1, a)
		default:
			panic(fmt.Sprintf("a statement's argument is a %T", a))
		}
		if err != nil {
			return err
		}
	}
	for s.Step() {
		if row == nil {
			continue
		}
		if err := row(Row{s}); err != nil {
			return err
		}
	}
	return s.Err()
}

func (s *Schema) open(path string, wait time.Duration) (*sqlite3.Conn, error) {
	at, err := s.On.locate(path)
	if err != nil {
		return nil, err
	}
	size, err := at.inspect(s.check)
	if err != nil {
		return nil, err
	}
	if size > 0 && !at.hasLog() {
		// Reading an unused file in this mode creates no files next to it.
		before := at.stamp()
		conn, err := sqlite3.OpenFlags(at.immutable(), readOnly)
		if err != nil {
			return nil, err
		}
		err = errors.Join(s.verify(conn, size), conn.Close())
		if err != nil && before.isCurrent(at) {
			return nil, err
		}
	}
	if err := at.create(); err != nil {
		return nil, err
	}
	conn, err := sqlite3.OpenFlags(at.private(), readWrite)
	if err != nil {
		return nil, err
	}
	if err := s.prepare(conn, size, wait); err != nil {
		// SQLite must not write to a refused file when the connection is closed.
		_, _ = conn.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true)
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// prepare prepares a new connection, and creates the tables of a new file.
func (s *Schema) prepare(conn *sqlite3.Conn, size int64, wait time.Duration) error {
	if err := conn.BusyTimeout(wait); err != nil {
		return err
	}
	if err := conn.Exec(`PRAGMA synchronous = FULL; PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF`); err != nil {
		return err
	}
	id, version, err := marks(conn)
	switch {
	case err != nil:
	case id == 0 && version == 0: // new, or SQLite has undone a creation that was interrupted
		err = s.create(conn)
	default:
		err = s.verify(conn, size)
	}
	if err != nil {
		return err
	}
	return conn.Exec("PRAGMA journal_mode = WAL")
}

// create creates the tables in an empty database, unless another process has created them.
func (s *Schema) create(conn *sqlite3.Conn) (err error) {
	tx, err := conn.BeginImmediate()
	if err != nil {
		return err
	}
	defer tx.End(&err)
	id, version, err := marks(conn)
	if err != nil {
		return err
	}
	if id != 0 || version != 0 {
		return s.verify(conn, 0)
	}
	for _, sql := range s.Tables {
		if err := conn.Exec(sql); err != nil {
			return err
		}
	}
	return conn.Exec(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", s.Application, s.Format))
}

// check returns the reason why a database with these marks cannot be used, or nil.
func (s *Schema) check(id, version int64) error {
	switch {
	case id != s.Application:
		return refusef("it is another database: use another file")
	case version > s.Format:
		return refusef("it was written by a newer version of Concerto (format %d, this version supports %d): upgrade Concerto, or use another file", version, s.Format)
	case version < 1:
		return damaged(fmt.Sprintf("unknown format %d", version))
	}
	return nil
}

// verify checks a database through SQLite: its marks, its tables and, in a file of at most
// readThrough bytes, every page.
func (s *Schema) verify(conn *sqlite3.Conn, size int64) error {
	id, version, err := marks(conn)
	if err == nil {
		err = s.check(id, version)
	}
	if err != nil {
		return err
	}
	found, err := column(conn, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")
	if err != nil {
		return err
	}
	want := slices.Sorted(slices.Values(s.Tables))
	if slices.Sort(found); !slices.Equal(found, want) {
		return damaged("its tables are not those of this version")
	}
	if size > readThrough {
		return nil
	}
	problems, err := column(conn, "PRAGMA quick_check(1)")
	if err == nil && !slices.Equal(problems, []string{"ok"}) {
		err = damaged(fmt.Sprint(problems))
	}
	return err
}

// marks reads application_id and user_version.
func marks(conn *sqlite3.Conn) (id, version int64, err error) {
	for sql, to := range map[string]*int64{"PRAGMA application_id": &id, "PRAGMA user_version": &version} {
		s, _, err := conn.Prepare(sql)
		if err != nil {
			return 0, 0, err
		}
		if s.Step() {
			*to = s.ColumnInt64(0)
		}
		if err := errors.Join(s.Err(), s.Close()); err != nil {
			return 0, 0, err
		}
	}
	return id, version, nil
}

// column returns the first column of a query.
func column(conn *sqlite3.Conn, sql string) (all []string, err error) {
	s, _, err := conn.Prepare(sql)
	if err != nil {
		return nil, err
	}
	for s.Step() {
		all = append(all, s.ColumnText(0))
	}
	return all, errors.Join(s.Err(), s.Close())
}
