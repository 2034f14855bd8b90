package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// The results of a check.
const (
	OK   = "ok"
	Warn = "warn"
	Fail = "fail"
)

// Check is the result of one check of an engine.
type Check struct {
	Name   string  `json:"name"`
	State  string  `json:"state"` // OK, Warn or Fail
	Text   string  `json:"text"`
	Action *string `json:"action"` // what to do; nil if nothing
}

// WorkerState describes a live worker.
type WorkerState struct {
	ID          string   `json:"id"`
	Machine     string   `json:"machine"`
	PID         int      `json:"pid"`
	Version     string   `json:"version"`
	VMVersion   int      `json:"vm_version"`
	Queues      []string `json:"queues"`
	Concurrency int      `json:"concurrency"`
	Running     int      `json:"running"` // number of its runs
	Secrets     []string `json:"secrets"`
	LeaseUntil  string   `json:"lease_until"`
	Draining    bool     `json:"draining"`
}

// Report is the result of checking an engine. Numbers and Schema are nil if they are not known.
type Report struct {
	OK          bool          `json:"ok"` // no check has failed
	Engine      string        `json:"engine"`
	Schema      *int          `json:"schema"`
	Server      string        `json:"server"`
	RoundTripMS float64       `json:"round_trip_ms"`
	ClockMS     float64       `json:"clock_ms"` // difference of the server's clock to this machine's
	Checks      []Check       `json:"checks"`
	Workers     []WorkerState `json:"workers"`
}

func (r *Report) add(name, state, action, format string, args ...any) {
	c := Check{Name: name, State: state, Text: fmt.Sprintf(format, args...)}
	if action != "" {
		c.Action = &action
	}
	r.Checks, r.OK = append(r.Checks, c), r.OK && state != Fail
}

// Report checks the engine. The error is that of a statement which should succeed.
func (e *Engine) Report(ctx context.Context) (*Report, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	r := &Report{OK: true, Engine: e.address, Checks: []Check{}, Workers: []WorkerState{}}
	var number int
	var now time.Time
	var fsync, standbys string
	best := time.Duration(math.MaxInt64)
	for range 5 { // the first statement may open the connection
		sent := time.Now()
		if err := e.pool.QueryRow(ctx, `SELECT current_setting('server_version'), current_setting('server_version_num')::integer, clock_timestamp(), current_setting('fsync'), current_setting('synchronous_standby_names')`).
			Scan(&r.Server, &number, &now, &fsync, &standbys); err != nil {
			return nil, err
		}
		if took := time.Since(sent); took < best {
			best = took
			r.ClockMS = milliseconds(now.Sub(sent.Add(took / 2)))
		}
	}
	r.RoundTripMS = milliseconds(best)
	r.add("connection", OK, "", "connected to %s in %.2f ms", e.address, r.RoundTripMS)
	e.checkTLS(r)
	if number < 140000 {
		r.add("version", Fail, "upgrade the server to PostgreSQL 14 or later", "PostgreSQL %s is too old", r.Server)
	} else {
		r.add("version", OK, "", "PostgreSQL %s", r.Server)
	}
	m, err := e.CheckSchema(ctx)
	var absent *NoSchemaError
	var other *SchemaError
	switch {
	case errors.As(err, &absent):
		r.add("schema", Fail, "run concerto engine init", "%v", err)
		return r, nil
	case errors.As(err, &other):
		action := "run concerto engine upgrade"
		if other.Schema > other.Ours {
			action = "install a newer concerto"
		}
		r.add("schema", Fail, action, "%v", err)
	case isDenied(err):
		r.add("privileges", Fail, e.grant(Client), "the user of this engine may not read it")
		return r, nil
	case err != nil:
		return nil, err
	default:
		r.add("schema", OK, "", "version %d", m.Schema)
	}
	r.Schema = &m.Schema
	if err := e.checkPrivileges(ctx, r); err != nil {
		return nil, err
	}
	if math.Abs(r.ClockMS) > 1000 {
		r.add("clock", Warn, "synchronize the clocks of this machine and of the server", "the clock of this machine differs from that of the server by %.1f s; only the times that programs read are affected", r.ClockMS/1000)
	} else {
		r.add("clock", OK, "", "differs by %.1f ms", r.ClockMS)
	}
	if err := e.checkDurability(ctx, r, fsync, standbys); err != nil {
		return nil, err
	}
	if r.Workers, err = e.Workers(ctx); err != nil {
		return nil, err
	}
	if len(r.Workers) == 0 {
		r.add("workers", Warn, "start one: concerto worker", "no worker is online")
	} else {
		r.add("workers", OK, "", "%d online", len(r.Workers))
	}
	return r, e.checkWork(ctx, r)
}

func milliseconds(d time.Duration) float64 { return math.Round(float64(d.Microseconds())) / 1000 }

func (e *Engine) checkTLS(r *Report) {
	c := e.pool.Config().ConnConfig
	t := c.TLSConfig
	weak := "use sslmode=verify-full in the URL"
	switch {
	case isLocal(c):
		r.add("tls", OK, "", "not required for a connection on this machine")
	case t == nil:
		r.add("tls", Warn, weak, "the connection is not encrypted")
	case t.InsecureSkipVerify && t.VerifyPeerCertificate == nil && t.VerifyConnection == nil:
		r.add("tls", Warn, weak, "the connection is encrypted, but the server's certificate is not verified")
	case t.InsecureSkipVerify:
		r.add("tls", Warn, weak, "the connection is encrypted, but the server's name is not verified")
	default:
		r.add("tls", OK, "", "encrypted, at least %s, with a verified certificate", tls.VersionName(max(t.MinVersion, tls.VersionTLS12)))
	}
}

func (e *Engine) checkPrivileges(ctx context.Context, r *Report) error {
	var user string
	var owns, exist bool
	if err := e.pool.QueryRow(ctx, `SELECT current_user, pg_has_role(current_user, nspowner, 'member'), (SELECT count(*) = 3 FROM pg_roles WHERE rolname = ANY($1)) FROM pg_namespace WHERE nspname = 'concerto'`, roles).
		Scan(&user, &owns, &exist); err != nil {
		return err
	}
	name := pgx.Identifier{user}.Sanitize()
	switch {
	case !exist:
		r.add("privileges", Warn, "run concerto engine init", "the roles %s do not all exist", strings.Join(roles, ", "))
	case owns:
		r.add("privileges", Warn, "give workers and clients their own users: CREATE ROLE … LOGIN IN ROLE concerto_worker", "user %s owns the schema, and may change or delete records", name)
	default:
		rows, err := e.pool.Query(ctx, `SELECT r FROM unnest($1::text[]) r WHERE pg_has_role(current_user, r, 'member')`, roles)
		if err != nil {
			return err
		}
		has, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		r.add("privileges", OK, "", "user %s has %s", name, strings.Join(has, ", "))
	}
	return nil
}

func (e *Engine) checkDurability(ctx context.Context, r *Report, fsync, standbys string) error {
	var replicas int
	if err := e.pool.QueryRow(ctx, `SELECT count(*) FROM pg_stat_replication`).Scan(&replicas); err != nil {
		return err
	}
	switch {
	case fsync == "off":
		r.add("durability", Warn, "set fsync = on in postgresql.conf", "fsync is off: a crash of the server's machine loses records")
	case replicas > 0 && standbys == "":
		r.add("durability", Warn, "set synchronous_standby_names", "replication is asynchronous: a failover may lose records")
	default:
		r.add("durability", OK, "", "commits are synced to disk")
	}
	return nil
}

// checkWork checks whether the queues and the runs progress.
func (e *Engine) checkWork(ctx context.Context, r *Report) error {
	all, err := e.Queues(ctx)
	if err != nil {
		return err
	}
	var idle, paused []string
	for _, q := range all {
		if q.Ready > 0 && q.Workers == 0 {
			idle = append(idle, q.Queue)
		}
		if q.Paused {
			paused = append(paused, q.Queue)
		}
	}
	switch {
	case len(idle) > 0:
		r.add("queues", Warn, "start a worker: concerto worker --queue "+idle[0], "runs are ready, but no worker is online for: %s", strings.Join(idle, ", "))
	case len(paused) > 0:
		r.add("queues", Warn, "concerto queue resume "+paused[0], "paused: %s", strings.Join(paused, ", "))
	default:
		r.add("queues", OK, "", "%d", len(all))
	}
	var held, damaged int
	if err := e.pool.QueryRow(ctx, `SELECT count(*) FILTER (WHERE state = 'held'), count(*) FILTER (WHERE state = 'damaged') FROM concerto.runs WHERE ended_at IS NULL`).Scan(&held, &damaged); err != nil {
		return err
	}
	if held+damaged > 0 {
		r.add("runs", Warn, "concerto runs list --state held,damaged", "%d held, %d damaged", held, damaged)
	} else {
		r.add("runs", OK, "", "none is held or damaged")
	}
	return nil
}

// Workers returns the live workers, in the order of their ids.
func (e *Engine) Workers(ctx context.Context) ([]WorkerState, error) {
	rows, err := e.pool.Query(ctx, `SELECT w.id, w.machine, w.pid, w.version, w.vm_version, w.queues, w.concurrency, (SELECT count(*) FROM concerto.runs r WHERE r.owner = w.id), w.secrets, w.lease_until, w.draining
		FROM concerto.workers w WHERE w.lease_until > clock_timestamp() AND cardinality(w.queues) > 0 ORDER BY w.id`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (w WorkerState, err error) {
		var until time.Time
		err = row.Scan(&w.ID, &w.Machine, &w.PID, &w.Version, &w.VMVersion, &w.Queues, &w.Concurrency, &w.Running, &w.Secrets, &until, &w.Draining)
		w.LeaseUntil = TimeText(until)
		return w, err
	})
}
