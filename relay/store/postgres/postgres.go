// Package postgres opens the relay's store in a PostgreSQL database, version 15 or later.
package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // registers "pgx"

	"github.com/concerto-lang/concerto/relay/store"
)

// The maximum numbers of open and of idle connections. Idle connections stay open, because opening
// a connection takes some milliseconds.
const connections, idle = 16, 16

// Open opens the database at a URL such as postgres://HOST/DATABASE.
func Open(ctx context.Context, url string) (*store.Store, error) {
	db, err := sql.Open("pgx", url)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(idle)
	db.SetConnMaxIdleTime(5 * time.Minute)
	s, err := store.New(ctx, db, db, store.Dialect{Name: "postgres", Placeholder: "$", Serial: "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", Lock: " FOR UPDATE",
		Now: `(extract(epoch FROM clock_timestamp()) * 1000)::bigint`, Stamp: `pg_current_xact_id()::text::bigint`, Oldest: `pg_snapshot_xmin(pg_current_snapshot())::text::bigint`,
		Newest: `pg_snapshot_xmax(pg_current_snapshot())::text::bigint`,
		Alone:  `SELECT pg_advisory_xact_lock(hashtext('concerto-relay'))`})
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	return s, nil
}
