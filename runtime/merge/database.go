package merge

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/concerto-lang/concerto/runtime/workspace"
	"github.com/concerto-lang/concerto/runtime/world/sqlitestore"
)

// schema describes the database of queues; application is "Conm". The changes of a queue are
// ordered by front, priority and place. commit_id is the change's commit; old and new are the
// target's commits while the change lands.
var schema = sqlitestore.Schema{Application: 0x436f6e6d, Format: 1, Tables: []string{
	`CREATE TABLE change (queue TEXT NOT NULL, id TEXT NOT NULL, title TEXT NOT NULL, branch TEXT NOT NULL, workspace TEXT NOT NULL, commit_id TEXT NOT NULL, state TEXT NOT NULL, priority INTEGER NOT NULL, after TEXT NOT NULL, ` +
		`front INTEGER NOT NULL, place INTEGER NOT NULL, merged TEXT, url TEXT, message TEXT NOT NULL, paths TEXT NOT NULL, conflicts_with TEXT NOT NULL, old TEXT NOT NULL, new TEXT NOT NULL, fixes INTEGER NOT NULL, run TEXT NOT NULL, PRIMARY KEY (queue, id)) STRICT`,
	`CREATE TABLE passed (tree TEXT NOT NULL, commands TEXT NOT NULL, PRIMARY KEY (tree, commands)) STRICT, WITHOUT ROWID`,
	`CREATE TABLE single (id TEXT NOT NULL, target TEXT NOT NULL, commit_id TEXT NOT NULL, old TEXT NOT NULL, new TEXT NOT NULL, PRIMARY KEY (id, target)) STRICT, WITHOUT ROWID`,
}}

// lockWait is the time for which a transaction waits for other processes.
const lockWait = 10 * time.Second

// database is the file of queues. It is safe for concurrent use.
type database struct {
	path string
	file *sqlitestore.Database
}

// tx is a transaction.
type tx = sqlitestore.Transaction

// openDatabase opens the file of queues, and creates it if it does not exist. on is where SQLite's
// files are.
func openDatabase(path string, on sqlitestore.Options) (*database, error) {
	d := &database{path: path}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, workspace.Failure(err, "", "create the directory of "+path)
	}
	s := schema
	s.On = on
	file, err := sqlitestore.OpenDatabase(path, s, lockWait)
	if err != nil {
		return nil, d.failure(err)
	}
	d.file = file
	return d, nil
}

// failure describes the failure of a statement.
func (d *database) failure(err error) error {
	switch {
	case err == nil:
		return nil
	case sqlitestore.IsRefused(err):
		return fmt.Errorf("%w: %s: %w", ErrFile, d.path, err)
	case sqlitestore.IsFull(err):
		return fail(workspace.Disk, "could not write %s: the disk is full", d.path)
	case sqlitestore.IsReadOnly(err):
		return fail(workspace.Permission, "could not write %s: %v", d.path, err)
	}
	return err
}

// transaction calls do. Either all changes of do are on disk when it returns, or none.
func (d *database) transaction(do func(t *tx) error) error {
	return d.failure(d.file.Transaction(do))
}

// hasPassed reports whether a tree has passed commands.
func (d *database) hasPassed(tree, commands string) (found bool, err error) {
	return found, d.transaction(func(t *tx) error {
		return t.Run(`SELECT 1 FROM passed WHERE tree = ? AND commands = ?`, func(sqlitestore.Row) error { found = true; return nil }, tree, commands)
	})
}

// addPassed stores that a tree has passed commands.
func (d *database) addPassed(tree, commands string) error {
	return d.transaction(func(t *tx) error { return t.Run(`INSERT OR IGNORE INTO passed VALUES (?, ?)`, nil, tree, commands) })
}

// single is the record of a merge of one workspace, which is stored before the target moves.
type single struct{ id, into, commit, old, new string }

func (d *database) setSingle(s single) error {
	return d.transaction(func(t *tx) error {
		return t.Run(`INSERT OR REPLACE INTO single VALUES (?, ?, ?, ?, ?)`, nil, s.id, s.into, s.commit, s.old, s.new)
	})
}

// single returns the latest record of a workspace's merge into a branch, or nil.
func (d *database) single(id, into string) (found *single, err error) {
	return found, d.transaction(func(t *tx) error {
		return t.Run(`SELECT commit_id, old, new FROM single WHERE id = ? AND target = ?`, func(r sqlitestore.Row) error {
			found = &single{id, into, r.Text(0), r.Text(1), r.Text(2)}
			return nil
		}, id, into)
	})
}
