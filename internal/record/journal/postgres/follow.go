package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/concerto-lang/concerto/internal/record/journal"
)

// Mark identifies the state of a run for a process that follows all runs of an engine. While the
// mark is the same, nothing of the run has changed, except the reasons in Row.Why.
type Mark struct {
	ID      string
	Created time.Time
	State   string
	Groups  int64 // number of stored groups of records
	Epoch   int64
	Output  int64 // number of lines of output
	Stop    bool
	Queue   string
	Pending bool // an answer is stored that the run has not consumed
}

// Marks returns the marks of the runs that have not ended, of those that have ended after a time,
// and of those in ids. now is the time of the database, or zero if there are none.
func (e *Engine) Marks(ctx context.Context, endedAfter time.Time, ids []string) (all []Mark, now time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	rows, err := e.pool.Query(ctx, `SELECT r.id, r.created_at, r.state, r.groups, r.epoch, r.output_count, r.stop, r.queue, EXISTS (SELECT FROM concerto.answers a WHERE a.run = r.id), clock_timestamp()
		FROM concerto.runs r WHERE r.ended_at IS NULL OR r.ended_at > $1 OR r.id = ANY($2)`, endedAfter, list(ids))
	if err != nil {
		return nil, now, err
	}
	all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (m Mark, err error) {
		return m, row.Scan(&m.ID, &m.Created, &m.State, &m.Groups, &m.Epoch, &m.Output, &m.Stop, &m.Queue, &m.Pending, &now)
	})
	return all, now, err
}

// EndOf returns the time after which the newest n ended runs have ended, or the zero time if no
// more runs than that have ended.
func (e *Engine) EndOf(ctx context.Context, n int) (end time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err = e.pool.QueryRow(ctx, `SELECT ended_at FROM concerto.runs WHERE ended_at IS NOT NULL ORDER BY ended_at DESC OFFSET $1 LIMIT 1`, n).Scan(&end)
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return end, err
}

// Rows returns the runs with the given ids. Ids that no run has are ignored.
func (e *Engine) Rows(ctx context.Context, ids []string) ([]*Row, error) {
	return e.rows(ctx, `r.id = ANY($1)`, list(ids))
}

// OutputLine is a line of a run's output.
type OutputLine struct {
	Run  string
	N    int64 // number of the line; the first one has the number 1
	Line string
}

// OutputFrom returns lines of the outputs of several runs, at most limit in all, in the order of
// the runs and lines. from contains the number of the first line of each run.
func (e *Engine) OutputFrom(ctx context.Context, from map[string]int64, limit int) ([]OutputLine, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	ids, numbers := make([]string, 0, len(from)), make([]int64, 0, len(from))
	for id, n := range from {
		ids, numbers = append(ids, id), append(numbers, n)
	}
	rows, err := e.pool.Query(ctx, `SELECT o.run, o.n, o.line FROM unnest($1::text[], $2::bigint[]) x(run, n),
		LATERAL (SELECT * FROM concerto.output o WHERE o.run = x.run AND o.n >= x.n ORDER BY o.n LIMIT $3) o ORDER BY o.run, o.n LIMIT $3`, ids, numbers, limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[OutputLine])
}

// ErrNotOpen means that a run does not wait for the answer to a question.
var ErrNotOpen = errors.New("the question is not open")

// AnswerOpen stores an answer to an open question of a run, unless there is one. It sets the member
// Synced of the answer. The error is a *journal.AnsweredError, ErrNotOpen, or journal.ErrNoRun.
func (e *Engine) AnswerOpen(ctx context.Context, run, id string, a journal.Answer) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return e.inTx(ctx, func(tx pgx.Tx) error {
		// The question cannot end between the statements, because that changes the row of the run.
		// All records up to s are on the disk when the answer is.
		var s int64
		err := tx.QueryRow(ctx, `SELECT s FROM concerto.runs WHERE id = $1 FOR UPDATE`, run).Scan(&s)
		if errors.Is(err, pgx.ErrNoRows) {
			return journal.ErrNoRun
		}
		if err != nil {
			return err
		}
		var open bool
		if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM concerto.questions WHERE run = $1 AND id = $2)`, run, id).Scan(&open); err != nil {
			return err
		}
		if !open {
			return ErrNotOpen
		}
		a.Synced = uint64(s)
		return putAnswer(func(sql string, args []any, to ...any) error { return tx.QueryRow(ctx, sql, args...).Scan(to...) }, run, id, a)
	})
}
