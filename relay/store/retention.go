package store

import (
	"context"
	"fmt"

	"github.com/concerto-lang/concerto/internal/record/audit"
)

// EndedRuns returns at most limit runs that ended before a time in Unix ms and still have events,
// ordered by the time of their end.
func (s *Store) EndedRuns(ctx context.Context, before int64, limit int) (out []string, err error) {
	err = s.each(ctx, fmt.Sprintf(`SELECT id FROM runs WHERE status = 'exited' AND ended_at > 0 AND ended_at < $1 AND EXISTS (SELECT 1 FROM events WHERE run_id = runs.id)
		ORDER BY ended_at, id LIMIT %d`, limit), []any{before}, func(r row) error {
		var id string
		err := r.Scan(&id)
		out = append(out, id)
		return err
	})
	return out, err
}

// Forget deletes the events, requests, decisions and commands of a run that ended before a time.
// The run itself remains. Forget returns the number of deleted events. It is 0 if the run has not
// ended before that time. record returns the audit record to write.
func (s *Store) Forget(ctx context.Context, run string, before, at int64, record func(events int64) audit.Record) (n int64, err error) {
	err = s.change(ctx, func(tx database) error {
		done, err := tx.ExecContext(ctx, `DELETE FROM events WHERE run_id = (SELECT id FROM runs WHERE id = $1 AND status = 'exited' AND ended_at > 0 AND ended_at < $2`+s.dialect.Lock+`)`, run, before)
		if err != nil {
			return s.wrapError("delete events", err)
		}
		if n, err = done.RowsAffected(); err != nil || n == 0 {
			return s.wrapError("delete events", err)
		}
		for _, table := range []string{"requests", "decisions", "commands", "history", "push_bodies"} {
			if _, err := tx.ExecContext(ctx, `DELETE FROM `+table+` WHERE run_id = $1`, run); err != nil {
				return s.wrapError("delete "+table, err)
			}
		}
		return s.record(ctx, tx, at, []audit.Record{record(n)})
	})
	return n, err
}
