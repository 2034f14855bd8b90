package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// QueueRow describes a queue.
type QueueRow struct {
	Queue       string `json:"queue"`
	Paused      bool   `json:"paused"`
	Concurrency int    `json:"concurrency"` // 0 means no limit
	PerKey      int    `json:"per_key"`     // 0 means no limit
	Ready       int    `json:"ready"`
	Running     int    `json:"running"`
	Waiting     int    `json:"waiting"`
	// OldestReadyS is the time in seconds for which the oldest run that is ready has been ready;
	// nil if none is.
	OldestReadyS *float64 `json:"oldest_ready_s"`
	Workers      int      `json:"workers"` // number of live workers that claim its runs
}

// SetQueue sets the limits of a queue. nil means no change.
func (e *Engine) SetQueue(ctx context.Context, name string, concurrency, perKey *int) error {
	return e.execute(ctx, `WITH stored AS (INSERT INTO concerto.queues (name, concurrency, per_key) VALUES ($1, coalesce($2, 0), coalesce($3, 0))
		ON CONFLICT (name) DO UPDATE SET concurrency = coalesce($2, queues.concurrency), per_key = coalesce($3, queues.per_key) RETURNING name)
		SELECT pg_notify('concerto', name) FROM stored`, name, concurrency, perKey)
}

// PauseQueue pauses or resumes a queue.
func (e *Engine) PauseQueue(ctx context.Context, name string, paused bool) error {
	return e.execute(ctx, `WITH stored AS (INSERT INTO concerto.queues (name, paused) VALUES ($1, $2)
		ON CONFLICT (name) DO UPDATE SET paused = $2 RETURNING name) SELECT pg_notify('concerto', name) FROM stored`, name, paused)
}

func (e *Engine) execute(ctx context.Context, sql string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_, err := e.pool.Exec(ctx, sql, args...)
	return err
}

// Queues returns all queues that have settings, runs or workers, in the order of their names.
func (e *Engine) Queues(ctx context.Context) ([]QueueRow, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	rows, err := e.pool.Query(ctx, `SELECT q.name, coalesce(s.paused, false), coalesce(s.concurrency, 0), coalesce(s.per_key, 0),
			coalesce(r.ready, 0), coalesce(r.running, 0), coalesce(r.waiting, 0), r.oldest,
			(SELECT count(*) FROM concerto.workers w WHERE q.name = ANY(w.queues) AND w.lease_until > clock_timestamp() AND NOT w.draining)
		FROM (SELECT name FROM concerto.queues UNION SELECT queue FROM concerto.runs WHERE ended_at IS NULL
			UNION SELECT unnest(queues) FROM concerto.workers WHERE lease_until > clock_timestamp()) q
		LEFT JOIN concerto.queues s ON s.name = q.name
		LEFT JOIN (SELECT queue, count(*) FILTER (WHERE state = 'ready') AS ready, count(*) FILTER (WHERE state = 'running') AS running,
				count(*) FILTER (WHERE state = 'waiting') AS waiting,
				extract(epoch FROM clock_timestamp() - min(ready_at) FILTER (WHERE state = 'ready' AND ready_at <= clock_timestamp()))::float8 AS oldest
			FROM concerto.runs WHERE ended_at IS NULL GROUP BY queue) r ON r.queue = q.name
		ORDER BY q.name`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[QueueRow])
}

// Prune deletes the runs that have finished or continued, and with failed also those that have
// failed, before the given age, and the programs that nothing uses. It returns the number of
// deleted runs.
func (e *Engine) Prune(ctx context.Context, age time.Duration, failed bool) (removed int, err error) {
	err = e.inTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `DELETE FROM concerto.runs WHERE ended_at < clock_timestamp() - $1::interval AND (state IN ('finished', 'continued') OR $2 AND state = 'failed')`, age, failed)
		if err != nil {
			return err
		}
		removed = int(tag.RowsAffected())
		_, err = tx.Exec(ctx, `DELETE FROM concerto.programs p WHERE NOT EXISTS (SELECT FROM concerto.runs r WHERE r.ir = p.sha256)
			AND NOT EXISTS (SELECT FROM concerto.runs r WHERE p.sha256 = ANY(r.adopted)) AND NOT EXISTS (SELECT FROM concerto.schedules s WHERE s.ir = p.sha256)`)
		return err
	})
	return removed, err
}
