package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/concerto-lang/concerto/internal/text/hexsum"
)

// Needs contains what a program requires of workers.
type Needs struct {
	Secrets []string // names of environment variables
	// Orphan is the time after which a run that is pinned to a machine without workers may leave
	// it.
	Orphan time.Duration
}

// Submitted is a run to store.
type Submitted struct {
	ID       string
	Program  string          // name of the main file
	IR       []byte          // compiled program
	Start    json.RawMessage // what the worker needs to start it; two submissions with the same text are the same
	Queue    string
	Priority int
	Key      string
	At       time.Time     // time at which it becomes ready; zero means now
	Delay    time.Duration // time from now at which it becomes ready
	Needs    Needs
	Schedule string // schedule that has created it; "" for none
}

// OtherStartError means that a run with this id exists and was submitted with another program or
// other arguments.
type OtherStartError struct{ Run string }

func (e *OtherStartError) Error() string {
	return fmt.Sprintf("run %s already exists with different arguments", e.Run)
}

// Submit stores runs: all of them or none. created reports for each run whether it is new: a run
// that exists with the same program and start is not stored again. The error is an
// *OtherStartError, or an error of the database.
func (e *Engine) Submit(ctx context.Context, all []Submitted) (created []bool, err error) {
	for range 3 {
		created, err = e.submit(ctx, all)
		if answer, ok := errors.AsType[*pgconn.PgError](err); !ok || answer.Code != "23503" { // prune has deleted the program
			break
		}
	}
	return created, err
}

func (e *Engine) submit(ctx context.Context, all []Submitted) (created []bool, err error) {
	err = e.inTx(ctx, func(tx pgx.Tx) error {
		created = created[:0]
		stored := map[string]bool{}
		for _, x := range all {
			sum := hexsum.SHA256(x.IR)
			if !stored[sum] {
				if err := putProgram(ctx, tx, x.IR, x.Needs); err != nil {
					return err
				}
				stored[sum] = true
			}
			var at *time.Time
			if !x.At.IsZero() {
				at = &x.At
			}
			var schedule *string
			if x.Schedule != "" {
				schedule = &x.Schedule
			}
			tag, err := tx.Exec(ctx, `INSERT INTO concerto.runs (id, program, ir, start, queue, priority, key, ready_at, needs, schedule)
				VALUES ($1, $2, $3, $4, $5, $6, $7, coalesce($8, clock_timestamp() + $9), $10, $11) ON CONFLICT DO NOTHING`,
				x.ID, x.Program, sum, string(x.Start), x.Queue, x.Priority, x.Key, at, x.Delay, list(x.Needs.Secrets), schedule)
			if err != nil {
				return err
			}
			isNew := tag.RowsAffected() > 0
			if !isNew {
				same := false
				err := tx.QueryRow(ctx, `SELECT ir = $2 AND start::text = $3 FROM concerto.runs WHERE id = $1`, x.ID, sum, string(x.Start)).Scan(&same)
				if err != nil && !errors.Is(err, pgx.ErrNoRows) { // removed since
					return err
				}
				if !same {
					return &OtherStartError{x.ID}
				}
			}
			created = append(created, isNew)
		}
		_, err := tx.Exec(ctx, `SELECT pg_notify('concerto', $1)`, all[0].ID)
		return err
	})
	if err != nil {
		return nil, err
	}
	return created, nil
}
