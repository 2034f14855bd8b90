package worker

import (
	"context"
	"time"

	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/postgres"
)

// Engine is the database of a worker.
type Engine interface {
	// NewSession registers the worker. onRetry receives the first error of each write that is
	// repeated.
	NewSession(ctx context.Context, row postgres.WorkerRow, lease time.Duration, onRetry func(run string, err error)) (Session, error)
	FireSchedules(ctx context.Context) error
	State(ctx context.Context, run string) (state string, exit *int, err error)
}

// Session is a worker's registration in an engine; see postgres.Session.
type Session interface {
	ID() string
	Ended() context.Context
	Woken() <-chan struct{}
	Drain()
	Claim(n, maxCrashes int, refused []string) ([]postgres.Claimed, error)
	Owned() ([]postgres.Claimed, error)
	Claimed(c *postgres.Claimed) journal.Run
	Release(c *postgres.Claimed) error
	Refuse(c *postgres.Claimed, reason string, delay time.Duration) error
	Damaged(c *postgres.Claimed, reason string) error
	Close(ctx context.Context) error
}

// On returns a PostgreSQL database as the engine of workers.
func On(e *postgres.Engine) Engine { return database{e} }

type database struct{ *postgres.Engine }

func (d database) NewSession(ctx context.Context, row postgres.WorkerRow, lease time.Duration, onRetry func(run string, err error)) (Session, error) {
	s, err := d.Engine.NewSession(ctx, row, lease, onRetry)
	if err != nil {
		return nil, err // a nil *postgres.Session is not a nil Session
	}
	return s, nil
}
