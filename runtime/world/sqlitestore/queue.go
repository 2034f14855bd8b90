package sqlitestore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/concerto-lang/concerto/internal/data/effect"
	pure "github.com/concerto-lang/concerto/internal/data/memstore"
)

// queueTables contains the definitions of the tables for queues, which are created when the first
// queue in a file is used. The columns of task are the fields of a memstore.QueueRow; its id is
// Seq. task_wait contains the ids in Waits, and task_number the last default id of each queue.
var queueTables = []string{
	`CREATE TABLE task (id INTEGER PRIMARY KEY, section INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, state TEXT NOT NULL, priority INTEGER NOT NULL, attempts INTEGER NOT NULL, after TEXT NOT NULL, waits TEXT NOT NULL, gone TEXT NOT NULL, worker TEXT NOT NULL, claim INTEGER NOT NULL, lease INTEGER NOT NULL, since INTEGER NOT NULL, until INTEGER NOT NULL, error TEXT NOT NULL, result TEXT NOT NULL, created INTEGER NOT NULL` + sumColumn + `, UNIQUE (section, name)) STRICT`,
	`CREATE TABLE task_wait (section INTEGER NOT NULL, needed TEXT NOT NULL, task INTEGER NOT NULL, PRIMARY KEY (section, needed, task)) STRICT, WITHOUT ROWID`,
	`CREATE TABLE task_number (section INTEGER PRIMARY KEY, last INTEGER NOT NULL) STRICT`,
	`CREATE INDEX task_rank ON task (section, state, priority DESC, id)`,
	`CREATE INDEX task_until ON task (section, until) WHERE until > 0`,
	`CREATE INDEX task_since ON task (section, since) WHERE since > 0`,
}

const (
	taskColumns  = `name, value, state, priority, attempts, after, waits, gone, worker, claim, lease, since, until, error, result, created, sum, id`
	sqlTask      = `SELECT ` + taskColumns + ` FROM task WHERE section = ? AND name = ?`
	sqlBestTask  = `SELECT ` + taskColumns + ` FROM task WHERE section = ? AND state = 'ready' ORDER BY priority DESC, id LIMIT 1`
	sqlDueTasks  = `SELECT ` + taskColumns + ` FROM task WHERE section = ? AND until > 0 AND until <= ? ORDER BY until, id LIMIT 100`
	sqlLateTasks = `SELECT ` + taskColumns + ` FROM task WHERE section = ? AND since > 0 AND since > ? ORDER BY id LIMIT 100`
	sqlNextUntil = `SELECT until FROM task WHERE section = ? AND until > 0 AND state IN ('waiting', 'claimed') ORDER BY until LIMIT 1`
	sqlDependent = `SELECT ` + taskColumns + ` FROM task WHERE id IN (SELECT task FROM task_wait WHERE section = ? AND needed = ?) ORDER BY id`
	sqlTasks     = `SELECT ` + taskColumns + ` FROM task WHERE section = ? ORDER BY id`
	sqlTasksIn   = `SELECT ` + taskColumns + ` FROM task WHERE section = ? AND state = ? ORDER BY id`
	sqlCount     = `SELECT state, count(*) FROM task WHERE section = ? GROUP BY state`
	sqlAddTask   = `INSERT INTO task (section, name, value, state, priority, attempts, after, waits, gone, worker, claim, lease, since, until, error, result, created, sum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	sqlSetTask   = `UPDATE task SET section = ?, name = ?, value = ?, state = ?, priority = ?, attempts = ?, after = ?, waits = ?, gone = ?, worker = ?, claim = ?, lease = ?, since = ?, until = ?, error = ?, result = ?, created = ?, sum = ? WHERE id = ?`
	sqlDropTask  = `DELETE FROM task WHERE id = ?`
	sqlAddWait   = `INSERT INTO task_wait (section, needed, task) VALUES (?, ?, ?)`
	sqlDropWait  = `DELETE FROM task_wait WHERE section = ? AND needed = ? AND task = ?`
	sqlNumber    = `INSERT INTO task_number (section, last) VALUES (?, 1) ON CONFLICT (section) DO UPDATE SET last = last + 1 RETURNING last`
)

// taskRows implements memstore.QueueRows for a queue in a file, during one transaction.
type taskRows struct {
	f       *file
	at      effect.Store
	section int64
	waits   map[int64][]string // Waits of the rows that were read or written, by Seq
}

// queue returns the queue in a section.
func (f *file) queue(at effect.Store, section int64) pure.QueueOn {
	return pure.QueueOn{Rows: &taskRows{f, at, section, map[int64][]string{}}, Now: f.options.Now().UnixMilli()}
}

// changeQueue performs a request that changes a queue.
func (f *file) changeQueue(r effect.Request, at *effect.Store) (result effect.Result, err error) {
	err = f.transaction(func() error {
		section, err := f.sectionOfQueue(*at)
		if err == nil {
			result, err = f.queue(*at, section).Perform(r)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

// claimItem claims an item. If there is nothing to claim, it writes nothing, so that workers that
// try do not disturb each other.
func (f *file) claimItem(r *effect.QueueClaim) (effect.Result, error) {
	may, next, err := f.mayClaim(r.Store)
	if err != nil || !may {
		return &effect.QueueClaimed{Until: next}, err
	}
	if f.inside { // of a durable run, whose journal contains the claim
		return f.changeQueue(r, &r.Store)
	}
	// A claim need not survive a power failure, which ends the worker too: without a sync to disk,
	// the item is ready again. The next transaction with a sync includes the claim.
	if err := f.runStatement("PRAGMA synchronous = NORMAL", nil); err != nil {
		return nil, err
	}
	result, err := f.changeQueue(r, &r.Store)
	if full := f.runStatement("PRAGMA synchronous = FULL", nil); err == nil {
		err = full
	}
	return result, err
}

// mayClaim calls QueueOn.MayClaim, without writing.
func (f *file) mayClaim(at effect.Store) (may bool, next int64, err error) {
	section, ok, err := f.section(at)
	if !ok || err != nil {
		return false, 0, err
	}
	err = f.snapshot(func() error {
		may, next, err = f.queue(at, section).MayClaim()
		return err
	})
	return may, next, err
}

// readQueue reads items. It only writes if the state of an item has changed by the passing of time.
func (f *file) readQueue(r *effect.QueueGet) (result effect.Result, err error) {
	section, ok, err := f.section(r.Store)
	if !ok || err != nil {
		return &effect.QueueItems{}, err
	}
	settled := false
	err = f.snapshot(func() error {
		q := f.queue(r.Store, section)
		if settled, err = q.IsSettled(); settled && err == nil {
			result, err = q.Perform(r)
		}
		return err
	})
	if err == nil && !settled {
		return f.changeQueue(r, &r.Store)
	}
	return result, err
}

// sectionOfQueue returns the section of a queue. It creates the section, and the tables for queues,
// if they do not exist.
func (f *file) sectionOfQueue(at effect.Store) (int64, error) {
	id, ok, err := f.section(at)
	if ok || err != nil {
		return id, err
	}
	var names []string
	err = f.runStatement(`SELECT name FROM sqlite_schema WHERE type = 'table'`, func(s *sqlite3.Stmt) { names = append(names, s.ColumnText(0)) })
	if err == nil && !slices.Contains(names, "task") {
		for _, sql := range queueTables {
			if err := f.conn.Exec(sql); err != nil {
				return 0, err
			}
		}
		err = f.conn.Exec(fmt.Sprintf("PRAGMA user_version = %d", queueFormat))
	}
	if err != nil {
		return 0, err
	}
	return f.sectionToWrite(at)
}

// rows returns the rows that a statement finds.
func (x *taskRows) rows(sql string, args ...any) (all []*pure.QueueRow, err error) {
	var problem error
	err = x.f.runStatement(sql, func(s *sqlite3.Stmt) {
		r := &pure.QueueRow{Seq: s.ColumnInt64(17), Gone: s.ColumnText(7), Claim: s.ColumnInt64(9), Since: s.ColumnInt64(11), Until: s.ColumnInt64(12),
			QueueItem: effect.QueueItem{ID: s.ColumnText(0), Value: copyColumn(s, 1), State: s.ColumnText(2), Priority: s.ColumnInt64(3), Attempts: s.ColumnInt64(4),
				Worker: s.ColumnText(8), LeaseUntil: s.ColumnInt64(10), Error: s.ColumnText(13), Result: copyColumn(s, 14), Created: s.ColumnInt64(15)}}
		if len(r.Result) == 0 {
			r.Result = nil
		}
		after, waits := s.ColumnText(5), s.ColumnText(6)
		columns := x.columns(r, after, waits)
		if problem == nil && (s.ColumnInt64(16) != sum(columns...) || json.Unmarshal([]byte(after), &r.After) != nil || json.Unmarshal([]byte(waits), &r.Waits) != nil) {
			problem = refusef("the item %q of the queue %s is damaged: its checksum does not match; replace the file by a copy", r.ID, shownStore(x.at))
		}
		if len(r.After) == 0 {
			r.After = nil
		}
		x.waits[r.Seq] = r.Waits
		all = append(all, r)
	}, append([]any{x.section}, args...)...)
	if err == nil {
		err = problem
	}
	return all, err
}

// columns returns the columns of a row except sum and id, in the order of sqlAddTask.
func (x *taskRows) columns(r *pure.QueueRow, after, waits string) []any {
	return []any{x.section, r.ID, []byte(r.Value), r.State, r.Priority, r.Attempts, after, waits, r.Gone, r.Worker, r.Claim, r.LeaseUntil, r.Since, r.Until,
		r.Error, []byte(r.Result), r.Created}
}

// first returns the first row that a statement finds, or nil.
func (x *taskRows) first(sql string, args ...any) (*pure.QueueRow, error) {
	all, err := x.rows(sql, args...)
	if len(all) == 0 || err != nil {
		return nil, err
	}
	return all[0], nil
}

// Get implements memstore.QueueRows, like the methods after it.
func (x *taskRows) Get(id string) (*pure.QueueRow, error) { return x.first(sqlTask, id) }

// Put adds or replaces a row.
func (x *taskRows) Put(r *pure.QueueRow) error {
	after, err := json.Marshal(append([]string{}, r.After...))
	if err != nil {
		return err
	}
	waits, err := json.Marshal(append([]string{}, r.Waits...))
	if err != nil {
		return err
	}
	columns := x.columns(r, string(after), string(waits))
	columns = append(columns, sum(columns...))
	if r.Seq == 0 {
		err = x.f.runStatement(sqlAddTask, nil, columns...)
		r.Seq = x.f.conn.LastInsertRowID()
	} else {
		err = x.f.runStatement(sqlSetTask, nil, append(columns, r.Seq)...)
	}
	if err != nil {
		return err
	}
	return x.putWaits(r, r.Waits)
}

// putWaits replaces the ids for which a row waits.
func (x *taskRows) putWaits(r *pure.QueueRow, waits []string) error {
	before := x.waits[r.Seq]
	x.waits[r.Seq] = waits
	for _, id := range before {
		if !slices.Contains(waits, id) {
			if err := x.f.runStatement(sqlDropWait, nil, x.section, id, r.Seq); err != nil {
				return err
			}
		}
	}
	for _, id := range waits {
		if !slices.Contains(before, id) {
			if err := x.f.runStatement(sqlAddWait, nil, x.section, id, r.Seq); err != nil {
				return err
			}
		}
	}
	return nil
}

// Delete removes a row.
func (x *taskRows) Delete(r *pure.QueueRow) error {
	if err := x.putWaits(r, nil); err != nil {
		return err
	}
	return x.f.runStatement(sqlDropTask, nil, r.Seq)
}

// NextNumber returns the number for the next default id.
func (x *taskRows) NextNumber() (n int64, err error) {
	err = x.f.runStatement(sqlNumber, func(s *sqlite3.Stmt) { n = s.ColumnInt64(0) }, x.section)
	return n, err
}

// Best returns the row to claim next.
func (x *taskRows) Best() (*pure.QueueRow, error) { return x.first(sqlBestTask) }

// Due returns rows whose period has ended, or seems to begin later.
func (x *taskRows) Due(now int64) ([]*pure.QueueRow, error) {
	all, err := x.rows(sqlLateTasks, now)
	if len(all) > 0 || err != nil {
		return all, err
	}
	return x.rows(sqlDueTasks, now)
}

// NextUntil returns the earliest end of a period.
func (x *taskRows) NextUntil() (next int64, err error) {
	err = x.f.runStatement(sqlNextUntil, func(s *sqlite3.Stmt) { next = s.ColumnInt64(0) }, x.section)
	return next, err
}

// Dependents returns the rows that wait for an item.
func (x *taskRows) Dependents(id string) ([]*pure.QueueRow, error) { return x.rows(sqlDependent, id) }

// List returns rows by age.
func (x *taskRows) List(state string) ([]*pure.QueueRow, error) {
	if state == "" {
		return x.rows(sqlTasks)
	}
	return x.rows(sqlTasksIn, state)
}

// Count returns the number of rows in each state.
func (x *taskRows) Count() (map[string]int64, error) {
	counts := map[string]int64{}
	err := x.f.runStatement(sqlCount, func(s *sqlite3.Stmt) { counts[s.ColumnText(0)] = s.ColumnInt64(1) }, x.section)
	return counts, err
}

// The pauses between two queries of the file during a wait: the first, and the longest.
const (
	firstPause = 5 * time.Millisecond
	maxPause   = 50 * time.Millisecond
)

// waitForItem waits until a claim may succeed, none can succeed any more, or the time of the
// request has come. SQLite has no notifications, so it compares the number of the last change in
// the file, which takes a few microseconds, and queries the items only if it differs.
func (s *Stores) waitForItem(ctx context.Context, q *effect.QueueWait) error {
	clock, until := s.options.Clock, time.UnixMilli(q.Until)
	if q.File == "" {
		return clock.Sleep(ctx, until.Sub(s.options.Now()))
	}
	f := s.fileAt(q.File)
	var seen [2]int64
	due, pause := time.Time{}, firstPause
	for {
		now, ready := s.options.Now(), false
		_, err := f.runOperation(ctx, q.Kind(), func(f *file) (effect.Result, error) {
			at, err := f.changeNumber()
			if err != nil || at == seen && now.Before(due) {
				return nil, err
			}
			seen = at
			may, next, err := f.mayClaim(q.Store)
			ready, due = may || next == 0, time.UnixMilli(next)
			return nil, err
		})
		if err != nil {
			return f.programError(ctx, q.Store, err)
		}
		if ready || !now.Before(until) {
			return nil
		}
		if err := clock.Sleep(ctx, min(pause, due.Sub(now), until.Sub(now))); err != nil {
			return err
		}
		pause = min(2*pause, maxPause)
	}
}

// changeNumber returns numbers that differ after each change by another process or by this one.
func (f *file) changeNumber() (at [2]int64, err error) {
	err = f.runStatement("PRAGMA data_version", func(s *sqlite3.Stmt) { at[0] = s.ColumnInt64(0) })
	at[1] = f.conn.TotalChanges()
	return at, err
}
