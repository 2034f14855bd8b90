package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/concerto-lang/concerto/internal/record/journal"
)

// HasEnded reports whether a run in a state has ended.
func HasEnded(state string) bool {
	return state == "finished" || state == "failed" || state == "continued"
}

// States contains the states of a run.
var States = []string{"ready", "running", "waiting", "finished", "failed", "continued", "held", "damaged"}

// Filter selects runs. An empty member selects all of them.
type Filter struct {
	States               []string
	Queue, Key, Schedule string
	Limit                int // 0 means no limit
}

// Row describes a run of an engine.
type Row struct {
	ID       string
	Program  string // name of the main file
	State    string
	Exit     *int
	Queue    string
	Priority int
	Key      string
	Worker   *string // the owner
	Machine  *string // that of the owner, or of the last one
	Epoch    int64
	Pin      *string
	PinnedBy *string
	Needs    []string // names of secrets
	// At is the time from which a worker may claim the run; nil if the run is neither ready nor
	// waits for a time.
	At       *time.Time
	Crashes  int
	Schedule *string
	Stopping bool
	Moved    bool // the run has lost its pin, so that files and hosts on its machine are not available
	Created  time.Time
	Started  *time.Time
	Ended    *time.Time

	// The columns below, and those of the tables queues and workers, explain why a run does not
	// progress.
	Progress   int64 // number of the last effect
	VMVersion  int
	Refusal    *string
	LeaseUntil *time.Time         // of the owner; nil if it is not registered
	Renewed    *time.Time         // last renewal of this lease
	Orphaned   bool               // no worker of the machine to which the run is pinned has been alive for long
	Answered   bool               // an answer is stored that the run has not consumed
	Questions  []journal.Question // open questions, the oldest first

	// Why lists the reasons why the run does not progress; "" if there is none.
	Why string
}

// List returns the selected runs, newest first.
func (e *Engine) List(ctx context.Context, f Filter) ([]*Row, error) {
	var limit *int // LIMIT NULL is no limit
	if f.Limit > 0 {
		limit = &f.Limit
	}
	return e.rows(ctx, `(cardinality($1::text[]) = 0 OR r.state = ANY($1)) AND ($2 = '' OR r.queue = $2) AND ($3 = '' OR r.key = $3) AND ($4 = '' OR r.schedule = $4)
		ORDER BY r.created_at DESC, r.id LIMIT $5`, list(f.States), f.Queue, f.Key, f.Schedule, limit)
}

// Show returns a run. The error is journal.ErrNoRun if there is none with this id.
func (e *Engine) Show(ctx context.Context, id string) (*Row, error) {
	all, err := e.rows(ctx, `r.id = $1`, id)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, journal.ErrNoRun
	}
	return all[0], nil
}

// rows returns runs with the reasons why they do not progress. All queries read one snapshot of the
// database. Their number does not depend on that of the runs.
func (e *Engine) rows(ctx context.Context, where string, args ...any) (all []*Row, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err = pgx.BeginTxFunc(ctx, e.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT r.id, r.program, r.state, r.exit, r.queue, r.priority, r.key, r.owner, r.machine, r.epoch, r.pin, r.pinned_by, r.needs,
				CASE WHEN r.state = 'ready' AND isfinite(r.ready_at) THEN r.ready_at WHEN r.state = 'waiting' THEN r.wake_at END,
				r.crashes, r.schedule, r.stop, r.moved, r.created_at, r.started_at, r.ended_at,
				r.progress, r.vm_version, r.refusal, w.lease_until, w.renewed_at, concerto.may_run_on('', r.pin, r.ir, clock_timestamp()), EXISTS (SELECT FROM concerto.answers a WHERE a.run = r.id)
			FROM concerto.runs r LEFT JOIN concerto.workers w ON w.id = r.owner WHERE `+where, args...)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, scanRow)
		if err != nil || len(all) == 0 {
			return err
		}
		s, err := readSituation(ctx, tx, all)
		if err != nil {
			return err
		}
		ids := make([]string, len(all))
		for i, r := range all {
			ids[i] = r.ID
		}
		questions, err := readQuestions(ctx, tx, ids)
		if err != nil {
			return err
		}
		for _, r := range all {
			r.Questions = questions[r.ID]
			r.Why = s.why(r)
		}
		return nil
	})
	return all, err
}

func scanRow(row pgx.CollectableRow) (*Row, error) {
	r := &Row{}
	return r, row.Scan(&r.ID, &r.Program, &r.State, &r.Exit, &r.Queue, &r.Priority, &r.Key, &r.Worker, &r.Machine, &r.Epoch, &r.Pin, &r.PinnedBy, &r.Needs,
		&r.At, &r.Crashes, &r.Schedule, &r.Stopping, &r.Moved, &r.Created, &r.Started, &r.Ended,
		&r.Progress, &r.VMVersion, &r.Refusal, &r.LeaseUntil, &r.Renewed, &r.Orphaned, &r.Answered)
}
