package sqlitestore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/process/disk"
)

// Marks of Concerto's databases in SQLite's file header: application is the application_id
// ("Conc"), format the user_version.
const (
	application = 0x436f6e63
	format      = 2
	queueFormat = 3 // of a file that has contained a queue, which needs queueTables
)

// tables contains the definitions of all tables and indexes of a database. A section is a store or
// a scope of a store. Entries are ordered by their ids. The words of identifiers and the keys of
// ledgers are stored in folded form.
var tables = []string{
	`CREATE TABLE section (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, scope TEXT NOT NULL` + sumColumn + `, UNIQUE (kind, name, scope)) STRICT`,
	`CREATE TABLE entry (id INTEGER PRIMARY KEY, section INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL` + sumColumn + `, UNIQUE (section, key)) STRICT`,
	`CREATE TABLE message (section INTEGER NOT NULL, id INTEGER NOT NULL, role TEXT NOT NULL, content TEXT NOT NULL` + sumColumn + `, PRIMARY KEY (section, id)) STRICT, WITHOUT ROWID`,
	`CREATE TABLE record (id INTEGER PRIMARY KEY, section INTEGER NOT NULL, identifier TEXT NOT NULL, keys TEXT NOT NULL, value TEXT NOT NULL` + sumColumn + `, UNIQUE (section, identifier)) STRICT`,
	`CREATE TABLE word (section INTEGER NOT NULL, word TEXT NOT NULL, record INTEGER NOT NULL, PRIMARY KEY (section, word, record)) STRICT, WITHOUT ROWID`,
	`CREATE TABLE record_key (section INTEGER NOT NULL, key TEXT NOT NULL, record INTEGER NOT NULL, PRIMARY KEY (section, key, record)) STRICT, WITHOUT ROWID`,
	`CREATE INDEX entry_order ON entry (section, id)`,
	`CREATE INDEX record_order ON record (section, id)`,
}

// readThrough is the maximum size, in bytes, of a file that is read completely each time it is
// opened.
const readThrough = 1 << 20

// openFile opens the file, and creates it if it does not exist.
func (f *file) openFile(ctx context.Context) error {
	if f.options.InMemory {
		return f.connect(":memory:", readWrite, func() error { return f.prepare(ctx, 0, false) })
	}
	at, err := f.options.locate(f.path)
	if err != nil {
		return err
	}
	size, err := at.inspect(whose)
	if err != nil {
		return err
	}
	verified := false
	if size > 0 && !at.hasLog() {
		// Reading an unused file in this mode creates no files next to it.
		before := at.stamp()
		err := f.connect(at.immutable(), readOnly, func() error { return f.verifyDatabase(size) })
		if err != nil && before.isCurrent(at) {
			return err
		}
		if verified = err == nil; verified {
			_ = f.closeConnection() // the connection has written nothing
		}
	}
	if err := at.create(); err != nil {
		return err
	}
	return f.connect(at.private(), readWrite, func() error { return f.prepare(ctx, size, verified) })
}

// How SQLite opens a database.
const (
	readOnly  = sqlite3.OPEN_READONLY | sqlite3.OPEN_URI
	readWrite = sqlite3.OPEN_READWRITE | sqlite3.OPEN_CREATE | sqlite3.OPEN_URI
)

// location is the place of a database.
type location struct {
	path  string // absolute
	name  string // in its directory
	files disk.Files
	vfs   string // see Options.VFS
}

// locate returns the location of the database with a path.
func (o *Options) locate(path string) (location, error) {
	path, err := filepath.Abs(path)
	return location{path, filepath.Base(path), o.Disk.At(filepath.Dir(path)), o.VFS}, err
}

// create creates the file if it does not exist, readable and writable only for its owner. An
// existing file retains its mode.
func (l location) create() error {
	made, err := l.files.Open(l.name, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return made.Close()
}

// private returns a URI of the database that makes SQLite create its log with the mode of the file.
func (l location) private() string { return l.address("modeof", l.path) }

// connect connects to the database and calls first. The connection stays open unless first fails.
func (f *file) connect(name string, flags sqlite3.OpenFlag, first func() error) error {
	conn, err := sqlite3.OpenFlags(name, flags)
	if err != nil {
		return err
	}
	f.conn, f.statements, f.sections = conn, map[string]*sqlite3.Stmt{}, map[effect.Store]int64{}
	if err = first(); err != nil {
		// SQLite must not write to a refused file when the connection is closed.
		_, _ = conn.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true)
		_ = f.closeConnection()
	}
	return err
}

// hasLog reports whether a database has a log or the journal of its creation, which then contains a
// part of its content. A database has a log while it is in use, or after its last process was
// killed.
func (l location) hasLog() bool {
	for _, end := range []string{"-wal", "-journal"} {
		if info, err := l.files.Stat(l.name + end); err == nil && info.Size() > 0 {
			return true
		}
	}
	return false
}

// journalMagic is the beginning of a rollback journal.
const journalMagic = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"

// hasJournal reports whether SQLite undoes the last change when it opens the database. If the power
// failed during the creation, the journal is on disk, but the file's header may not be.
func (l location) hasJournal() bool {
	f, err := l.files.Open(l.name+"-journal", os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	begin := make([]byte, len(journalMagic))
	_, err = io.ReadFull(f, begin)
	return err == nil && string(begin) == journalMagic
}

// stamp is the size and the time of a file's last change.
type stamp struct{ size, time int64 }

func (l location) stamp() (s stamp) {
	if info, err := l.files.Stat(l.name); err == nil {
		s = stamp{info.Size(), info.ModTime().UnixNano()}
	}
	return s
}

// isCurrent reports whether no process has written to a database since the time of the stamp. Only
// then, the result of a read without locks is valid.
func (s stamp) isCurrent(l location) bool { return !l.hasLog() && l.stamp() == s }

// immutable returns the URI of a database for a connection that locks nothing.
func (l location) immutable() string { return l.address("immutable", "1") }

// address returns the URI of a database with a parameter for SQLite.
func (l location) address(parameter, value string) string {
	path := filepath.ToSlash(l.path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive's letter
	}
	parameters := url.Values{parameter: {value}}
	if l.vfs != "" {
		parameters.Set("vfs", l.vfs)
	}
	query := strings.ReplaceAll(parameters.Encode(), "+", "%20")
	return (&url.URL{Scheme: "file", Path: path, RawQuery: query}).String()
}

// prepare prepares a new connection for requests, and creates the tables of a new file. verified
// means that the file is already verified.
func (f *file) prepare(ctx context.Context, size int64, verified bool) error {
	if err := f.conn.BusyHandler(f.busy); err != nil {
		return err
	}
	f.conn.SetInterrupt(ctx)
	// With FULL, a transaction is on disk before the commit returns. It survives a crash of the
	// machine, and not only of the process.
	err := f.conn.Exec(`PRAGMA synchronous = FULL; PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF; PRAGMA cache_size = -16000`)
	if err != nil {
		return err
	}
	if !verified {
		id, version, err := marks(f.conn)
		if err == nil && id == 0 && version == 0 {
			err = f.create()
		} else if err == nil {
			// Another process may be adding tables.
			err = f.snapshot(func() error { return f.verifyDatabase(size) })
		}
		if err != nil {
			return err
		}
	}
	if f.old {
		if err := f.migrate(); err != nil {
			return err
		}
		f.old = false
	}
	if f.options.InMemory {
		return nil
	}
	return f.runStatement("PRAGMA journal_mode = WAL", nil)
}

// create creates the tables in an empty database, unless another process has created them.
func (f *file) create() error {
	return f.transaction(func() error {
		id, version, err := marks(f.conn)
		if err != nil {
			return err
		}
		if id != 0 || version != 0 {
			return f.verifyDatabase(0)
		}
		for _, sql := range tables {
			if err := f.conn.Exec(sql); err != nil {
				return err
			}
		}
		return f.conn.Exec(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", application, format))
	})
}

// verifyDatabase checks a database through SQLite: its marks, its tables and, in a file of at most
// readThrough bytes, every page.
func (f *file) verifyDatabase(size int64) error {
	id, version, err := marks(f.conn)
	if err == nil {
		err = whose(id, version)
	}
	if err != nil {
		return err
	}
	var found []string
	err = f.runStatement("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL", func(s *sqlite3.Stmt) { found = append(found, s.ColumnText(0)) })
	if err != nil {
		return err
	}
	var want []string
	f.old = version < format
	if version >= queueFormat {
		want = append(want, queueTables...)
	}
	for _, t := range tables {
		if f.old {
			t = formerly(t)
		}
		want = append(want, t)
	}
	for _, t := range []string{doneTable, formerDoneTable} {
		if slices.Contains(found, t) {
			want = append(want, t)
		}
	}
	slices.Sort(want)
	if slices.Sort(found); !slices.Equal(found, want) {
		return damaged("its tables are not those of a store")
	}
	if size > readThrough {
		return nil
	}
	var problem string
	err = f.runStatement("PRAGMA quick_check(1)", func(s *sqlite3.Stmt) { problem = s.ColumnText(0) })
	if err == nil && problem != "ok" {
		err = damaged(problem)
	}
	return err
}

// whose returns the reason why a database with these marks cannot be used, or nil.
func whose(id, version int64) error {
	switch {
	case id != application:
		return refusef("it is an SQLite database of another program: use another file")
	case version > queueFormat:
		return refusef("it was written by a newer version of Concerto (format %d, this version supports %d): upgrade Concerto, or use another file", version, queueFormat)
	case version < 1:
		return damaged(fmt.Sprintf("unknown format %d", version))
	}
	return nil
}

// headerSize is the length of SQLite's file header in bytes.
const headerSize = 100

// inspect checks a file before SQLite opens it. It returns the file's size in bytes, or 0 if the
// file does not exist. It refuses files that are not Concerto's databases, because SQLite would
// treat some of them as new databases, and those for whose marks check returns an error.
func (l location) inspect(check func(id, version int64) error) (size int64, err error) {
	info, err := l.files.Stat(l.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, l.inspectDirectory()
	case err != nil:
		return 0, err
	case info.IsDir():
		return 0, refusef("it is a directory: use a file in it")
	case !info.Mode().IsRegular():
		return 0, refusef("it is not a regular file: name another one")
	case info.Size() == 0:
		return 0, nil
	}
	in, err := l.files.Open(l.name, os.O_RDWR, 0) // opened for writing as well, because the file must be writable
	if err != nil {
		return 0, err
	}
	defer in.Close()
	header := make([]byte, headerSize)
	if n, err := io.ReadFull(in, header); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, err
	} else if n < headerSize || !bytes.HasPrefix(header, []byte("SQLite format 3\x00")) {
		if l.hasJournal() {
			return info.Size(), nil
		}
		return 0, refusef("it is not a database of Concerto: another program wrote it, or it is damaged; use another file, or move it away")
	}
	at := func(offset int) int64 { return int64(binary.BigEndian.Uint32(header[offset:])) }
	if err := check(at(68), at(60)); err != nil {
		return 0, err
	}
	return info.Size(), l.inspectLength(header, info.Size())
}

// inspectLength refuses a file whose end is missing. A file that has a log may be shorter than its
// header states, because the rest is in the log.
func (l location) inspectLength(header []byte, size int64) error {
	if l.hasLog() {
		return nil
	}
	page := int64(binary.BigEndian.Uint16(header[16:]))
	if page == 1 {
		page = 65536
	}
	pages := int64(binary.BigEndian.Uint32(header[28:]))
	if want := page * pages; want > size {
		return damaged(fmt.Sprintf("its last %d bytes are missing", want-size))
	}
	return nil
}

func (l location) inspectDirectory() error {
	dir := filepath.Dir(l.path)
	info, err := l.files.Stat(".")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refusef("its directory %s does not exist: create it, or use another file", dir)
	case err != nil:
		return err
	case !info.IsDir():
		return refusef("%s is not a directory: use another file", dir)
	}
	return nil
}
