package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Output returns at most limit lines of a run's output, from line number from. The first line has
// the number 1.
func (e *Engine) Output(ctx context.Context, id string, from int64, limit int) ([]string, error) {
	return e.lines(ctx, `SELECT line FROM concerto.output WHERE run = $1 AND n >= $2 ORDER BY n LIMIT $3`, id, from, limit)
}

// Ledger returns the lines of a run's ledger.
func (e *Engine) Ledger(ctx context.Context, id string) ([]string, error) {
	return e.lines(ctx, `SELECT line FROM concerto.ledger WHERE run = $1 ORDER BY n`, id)
}

// lines returns the rows of a query with one column.
func (e *Engine) lines(ctx context.Context, sql string, args ...any) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	rows, err := e.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
