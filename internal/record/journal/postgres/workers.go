package postgres

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/concerto-lang/concerto/internal/record/journal"
)

// WorkerRow describes a worker to the other users of an engine.
type WorkerRow struct {
	Machine     string
	Boot        string // id of the machine's boot, and of the worker's PID namespace
	PID         int
	Version     string // of concerto
	VMVersion   int    // newest version of the VM that it executes
	Queues      []string
	Concurrency int
	// Variables contains the names of its environment variables. The engine stores only those that
	// a program needs as secrets.
	Variables []string
}

// Register adds a worker whose lease lasts for the given time from now, and returns its id.
func (e *Engine) Register(ctx context.Context, w WorkerRow, lease time.Duration) (id string, err error) {
	id = "w_" + strings.ToLower(rand.Text()[:16])
	_, err = e.pool.Exec(ctx, `WITH stored AS (INSERT INTO concerto.workers (id, machine, boot, pid, version, vm_version, queues, concurrency, secrets, lease_until)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, concerto.known_secrets($9), clock_timestamp() + $10) RETURNING machine)
		SELECT concerto.see(machine) FROM stored`,
		id, w.Machine, w.Boot, w.PID, w.Version, w.VMVersion, list(w.Queues), w.Concurrency, list(w.Variables), lease)
	return id, err
}

// Renew extends a worker's lease, for all its runs at once. draining is set from the moment at
// which the worker claims nothing more. Renew returns the time of the database. The error is
// journal.ErrLost if the lease had expired.
func (e *Engine) Renew(ctx context.Context, worker string, lease time.Duration, draining bool, variables []string) (now time.Time, err error) {
	err = e.pool.QueryRow(ctx, `WITH renewed AS (UPDATE concerto.workers SET lease_until = clock_timestamp() + $2, renewed_at = clock_timestamp(), draining = $3, secrets = concerto.known_secrets($4)
		WHERE id = $1 AND lease_until > clock_timestamp() RETURNING machine)
		SELECT clock_timestamp() FROM renewed, LATERAL concerto.see(machine)`, worker, lease, draining, list(variables)).Scan(&now)
	if errors.Is(err, pgx.ErrNoRows) {
		return now, journal.ErrLost
	}
	return now, err
}

// Unregister removes a worker that executes no run. Runs that it still owns, because its lease was
// lost, become ready: it has not crashed.
func (e *Engine) Unregister(ctx context.Context, worker string) error {
	_, err := e.pool.Exec(ctx, `WITH released AS (UPDATE concerto.runs SET state = 'ready', owner = NULL, ready_at = statement_timestamp() WHERE owner = $1 RETURNING id),
		removed AS (DELETE FROM concerto.workers WHERE id = $1) SELECT pg_notify('concerto', id) FROM released`, worker)
	return err
}

// Claimed is a run that a worker has claimed, or that has become held.
type Claimed struct {
	Run       string
	Epoch     int64
	Held      bool            // its workers have crashed too often
	TakenOver bool            // its earlier worker has died
	Begun     bool            // its journal has records
	Stop      bool            // the run must stop
	Program   string          // name of the main file
	IR        string          // SHA-256 of the compiled program, in hex
	Start     json.RawMessage // what was submitted
}

// Claim makes a worker the owner of at most n runs. A run whose workers have died maxCrashes times
// without progress becomes held. The worker does not receive the runs in refused, nor those that
// need secrets which are not in variables.
func (e *Engine) Claim(ctx context.Context, worker string, n, maxCrashes int, refused, variables []string) ([]Claimed, error) {
	rows, err := e.pool.Query(ctx, `SELECT * FROM concerto.claim($1, $2, $3, $4, $5)`, worker, n, maxCrashes, list(refused), list(variables))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Claimed])
}

// runsOf returns the runs of a worker, as Claim returns them.
func (e *Engine) runsOf(ctx context.Context, worker string) ([]Claimed, error) {
	rows, err := e.pool.Query(ctx, `SELECT id::text, epoch, false, false, s > 0, stop, program, ir, start FROM concerto.runs
		WHERE owner = $1 ORDER BY priority DESC, ready_at, id`, worker)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Claimed])
}

// State returns the state of a run, and its exit code if it has ended.
func (e *Engine) State(ctx context.Context, run string) (state string, exit *int, err error) {
	err = e.pool.QueryRow(ctx, `SELECT state, exit FROM concerto.runs WHERE id = $1`, run).Scan(&state, &exit)
	if errors.Is(err, pgx.ErrNoRows) {
		err = journal.ErrNoRun
	}
	return state, exit, err
}
