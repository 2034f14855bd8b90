// Package spent stores what runs use on a day, in a SQLite file that the runs share.
package spent

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/localowner"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/runtime/budget"
	"github.com/concerto-lang/concerto/runtime/world/sqlitestore"
)

// schema describes the file; application is "Cons". A row of used is what a run has used on a day.
// A row of hold is the reservation of a running call or exchange; its use is included in used.
// Costs are in units of 10⁻¹² US dollars.
var schema = sqlitestore.Schema{Application: 0x436f6e73, Format: 1, Tables: []string{
	`CREATE TABLE used (run TEXT NOT NULL, day TEXT NOT NULL, cost INTEGER NOT NULL, tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, PRIMARY KEY (run, day)) STRICT, WITHOUT ROWID`,
	`CREATE TABLE hold (run TEXT NOT NULL, name TEXT NOT NULL, day TEXT NOT NULL, model INTEGER NOT NULL, owner TEXT NOT NULL, cost INTEGER NOT NULL, tokens INTEGER NOT NULL, ` +
		`used_cost INTEGER NOT NULL, used_in INTEGER NOT NULL, used_out INTEGER NOT NULL, PRIMARY KEY (run, name)) STRICT, WITHOUT ROWID`,
}}

// lockWait is the time for which a transaction waits for other processes.
const lockWait = 10 * time.Second

// RefusedError means that the file is damaged or was written by a newer version. It was not
// changed.
type RefusedError struct {
	Path string
	Err  error
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("could not use %s, the file of [limits] day_file: %v", e.Path, e.Err)
}

// Unwrap returns the reason.
func (e *RefusedError) Unwrap() error { return e.Err }

// File is the open file of a run. It is safe for concurrent use and implements budget.Days.
type File struct {
	db    *sqlitestore.Database
	path  string
	run   string
	owner string
	now   func() time.Time
}

// Open opens the file, and creates it if it does not exist. now returns the local time.
func Open(path, run string, now func() time.Time) (*File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("could not create the directory of %s: %w", path, err)
	}
	db, err := sqlitestore.OpenDatabase(path, schema, lockWait)
	f := &File{db: db, path: path, run: run, now: now}
	if err != nil {
		return nil, f.failure(err)
	}
	owner, err := jsonwrite.Encode(localowner.Here().Numbered(time.Now().UnixNano()))
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	f.owner = string(owner)
	return f, nil
}

// Close closes the file. Reservations remain.
func (f *File) Close() error { return f.db.Close() }

func (f *File) failure(err error) error {
	switch {
	case err == nil:
		return nil
	case sqlitestore.IsRefused(err):
		return &RefusedError{f.path, err}
	case sqlitestore.IsFull(err):
		return fmt.Errorf("could not write %s: the disk is full", f.path)
	case sqlitestore.IsReadOnly(err):
		return fmt.Errorf("could not write %s: %w", f.path, err)
	}
	return fmt.Errorf("%s: %w", f.path, err)
}

// today returns the current day. All use of this day and of later ones counts for it, so that the
// use of a day remains counted if the clock is set back.
func (f *File) today() string { return f.now().Format(time.DateOnly) }

func (f *File) transaction(do func(t *sqlitestore.Transaction) error) error {
	return f.failure(f.db.Transaction(do))
}

// Update implements budget.Days.
func (f *File) Update(do func(*budget.Day)) error {
	return f.transaction(func(t *sqlitestore.Transaction) error {
		d, err := f.totals(t)
		if err != nil {
			return err
		}
		do(d)
		if d.Hold == nil {
			return nil
		}
		h := d.Hold
		return t.Run(`INSERT INTO hold VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, 0) ON CONFLICT DO UPDATE SET day = excluded.day, owner = excluded.owner, cost = excluded.cost, tokens = excluded.tokens`,
			nil, f.run, h.Key, f.today(), h.Model, f.owner, int64(h.Amount.Cost), h.Amount.Tokens)
	})
}

// totals returns the totals of the current day.
func (f *File) totals(t *sqlitestore.Transaction) (*budget.Day, error) {
	d := &budget.Day{}
	err := t.Run(`SELECT coalesce(sum(cost), 0), coalesce(sum(tokens_in + tokens_out), 0) FROM used WHERE day >= ?`, func(r sqlitestore.Row) error {
		d.Used = budget.Amount{Cost: budget.Money(r.Int(0)), Tokens: r.Int(1)}
		return nil
	}, f.today())
	if err != nil {
		return nil, err
	}
	exited := map[string]bool{f.owner: false}
	return d, t.Run(`SELECT owner, model, sum(max(cost - used_cost, 0)), sum(max(tokens - used_in - used_out, 0)), run FROM hold WHERE day >= ? GROUP BY run, owner, model ORDER BY run`, func(r sqlitestore.Row) error {
		owner, held := r.Text(0), budget.Amount{Cost: budget.Money(r.Int(2)), Tokens: r.Int(3)}
		if _, known := exited[owner]; !known {
			exited[owner] = hasExited(owner)
		}
		to := &d.HeldHosts
		switch {
		case exited[owner]:
			to = &d.Lost
			if run := r.Text(4); held != (budget.Amount{}) && !slices.Contains(d.LostRuns, run) {
				d.LostRuns = append(d.LostRuns, run)
			}
		case r.Int(1) != 0:
			to = &d.HeldModels
		}
		*to = budget.Amount{Cost: to.Cost + held.Cost, Tokens: to.Tokens + held.Tokens}
		return nil
	}, f.today())
}

// hasExited reports whether the process that stored a reservation has exited, also by a restart of
// this machine.
func hasExited(owner string) bool {
	var o journal.Owner
	if json.Unmarshal([]byte(owner), &o) != nil {
		return false
	}
	here := localowner.Here()
	return localowner.HasExited(o) || o.Machine == here.Machine && o.Boot != here.Boot
}

// Report implements budget.Days.
func (f *File) Report(key string, more budget.Use, ended bool, do func(*budget.Day)) error {
	return f.transaction(func(t *sqlitestore.Transaction) error {
		if err := t.Run(`INSERT INTO used VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET cost = cost + excluded.cost, tokens_in = tokens_in + excluded.tokens_in, tokens_out = tokens_out + excluded.tokens_out`,
			nil, f.run, f.today(), int64(more.Cost), more.In, more.Out); err != nil {
			return err
		}
		hold := budget.Hold{Key: key}
		// The row has the day of its last report, so that a reservation counts for the day on which
		// it is used.
		err := t.Run(`UPDATE hold SET day = ?, used_cost = used_cost + ?, used_in = used_in + ?, used_out = used_out + ? WHERE run = ? AND name = ? RETURNING cost, tokens`, func(r sqlitestore.Row) error {
			hold.Amount = budget.Amount{Cost: budget.Money(r.Int(0)), Tokens: r.Int(1)}
			return nil
		}, f.today(), int64(more.Cost), more.In, more.Out, f.run, key)
		if err != nil {
			return err
		}
		if ended {
			return t.Run(`DELETE FROM hold WHERE run = ? AND name = ?`, nil, f.run, key)
		}
		d, err := f.totals(t)
		if err != nil {
			return err
		}
		d.Hold = &hold
		do(d)
		return t.Run(`UPDATE hold SET cost = ?, tokens = ? WHERE run = ? AND name = ?`, nil, int64(hold.Amount.Cost), hold.Amount.Tokens, f.run, key)
	})
}

// Adopt implements budget.Days.
func (f *File) Adopt(key string) (was budget.Use, err error) {
	return was, f.transaction(func(t *sqlitestore.Transaction) error {
		if err := t.Run(`SELECT used_cost, used_in, used_out FROM hold WHERE run = ? AND name = ?`, func(r sqlitestore.Row) error {
			was = budget.Use{Cost: budget.Money(r.Int(0)), In: r.Int(1), Out: r.Int(2)}
			return nil
		}, f.run, key); err != nil {
			return err
		}
		return t.Run(`UPDATE hold SET owner = ? WHERE run = ? AND name = ?`, nil, f.owner, f.run, key)
	})
}

// DropOthers implements budget.Days.
func (f *File) DropOthers() error {
	return f.transaction(func(t *sqlitestore.Transaction) error {
		return t.Run(`DELETE FROM hold WHERE run = ? AND owner <> ?`, nil, f.run, f.owner)
	})
}

// Run is what a run has used on a day.
type Run struct {
	ID     string       `json:"run"`
	Cost   budget.Money `json:"cost_usd"`
	Tokens int64        `json:"tokens"`
}

// Summary is what all runs have used on a day. Reserved is what calls and exchanges have reserved
// and not used, including those of killed runs.
type Summary struct {
	Day      string
	Used     budget.Amount
	Reserved budget.Amount
	Runs     []Run // ordered by id
	// Reservations are those of running calls and exchanges, by run.
	Reservations []Run
}

// Read returns the summary of the current day. A file that does not exist is not created.
func Read(path string, now func() time.Time) (*Summary, error) {
	s := &Summary{Day: now().Format(time.DateOnly)}
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	f, err := Open(path, "", now)
	if err != nil {
		return nil, err
	}
	err = f.transaction(func(t *sqlitestore.Transaction) error {
		d, err := f.totals(t)
		if err != nil {
			return err
		}
		s.Used = d.Used
		for _, held := range []budget.Amount{d.Lost, d.HeldHosts, d.HeldModels} {
			s.Reserved = budget.Amount{Cost: s.Reserved.Cost + held.Cost, Tokens: s.Reserved.Tokens + held.Tokens}
		}
		list := func(to *[]Run, query string) error {
			return t.Run(query, func(r sqlitestore.Row) error {
				*to = append(*to, Run{r.Text(0), budget.Money(r.Int(1)), r.Int(2)})
				return nil
			}, s.Day)
		}
		return errors.Join(list(&s.Runs, `SELECT run, sum(cost), sum(tokens_in + tokens_out) FROM used WHERE day >= ? GROUP BY run ORDER BY run`),
			list(&s.Reservations, `SELECT run, sum(max(cost - used_cost, 0)), sum(max(tokens - used_in - used_out, 0)) FROM hold WHERE day >= ? GROUP BY run ORDER BY run`))
	})
	return s, errors.Join(err, f.Close())
}

// RunningError means that a reservation belongs to a process that has not exited.
type RunningError struct{ Run string }

func (e *RunningError) Error() string {
	return "the run " + e.Run + " has a reservation of a process that may be running"
}

// Release ends the reservations of a run. Without ended, which means that the run has ended, the
// error is a *RunningError if a process that has not exited has one. It reports whether there was a
// reservation.
func Release(path, run string, ended bool, now func() time.Time) (found bool, err error) {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	f, err := Open(path, run, now)
	if err != nil {
		return false, err
	}
	err = f.transaction(func(t *sqlitestore.Transaction) error {
		running := false
		err := t.Run(`SELECT owner FROM hold WHERE run = ?`, func(r sqlitestore.Row) error {
			found = true
			running = running || !hasExited(r.Text(0))
			return nil
		}, run)
		if err != nil {
			return err
		}
		if running && !ended {
			return &RunningError{run}
		}
		return t.Run(`DELETE FROM hold WHERE run = ?`, nil, run)
	})
	return found, errors.Join(err, f.Close())
}
