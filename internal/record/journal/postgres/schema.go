package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

//go:embed schema/001.sql
var schema1 string

//go:embed schema/002.sql
var schema2 string

//go:embed schema/roles.sql
var grants string

// migrations lists the statements that create each version of the schema from the previous one. A
// migration is never changed after a release.
var migrations = []string{schema1, schema2}

// Schema is the version of the schema that this program writes.
var Schema = len(migrations)

// The group roles of an engine, from the fewest rights to the most.
const (
	Reader = "concerto_reader"
	Client = "concerto_client"
	Worker = "concerto_worker"
)

var roles = []string{Reader, Client, Worker}

// NoSchemaError means that the database contains no engine.
type NoSchemaError struct{ Database string }

func (e *NoSchemaError) Error() string {
	return fmt.Sprintf("database %s has no concerto schema; run concerto engine init", e.Database)
}

// SchemaError means that the schema of an engine does not fit this program.
type SchemaError struct {
	Schema int // version of the engine's schema
	Ours   int // version that this program writes
}

func (e *SchemaError) Error() string {
	if e.Schema < e.Ours {
		return fmt.Sprintf("schema version %d is too old for this concerto (requires %d); run concerto engine upgrade", e.Schema, e.Ours)
	}
	return fmt.Sprintf("schema version %d requires a newer concerto", e.Schema)
}

// RolesError means that the user may not create the group roles. SQL are the statements that a user
// with the right CREATEROLE must execute. The schema exists without them.
type RolesError struct{ SQL string }

func (e *RolesError) Error() string {
	return "the user of this database may not create roles; ask an administrator to execute:\n\n" + e.SQL
}

// Meta is the row of the engine's table meta.
type Meta struct {
	Schema    int
	MinSchema int    // lowest version whose programs may still write
	ID        string // random id of the engine
}

// installing is the advisory lock of Init and Upgrade. Nothing else waits for it.
const installing = `SELECT pg_advisory_xact_lock(hashtext('concerto-engine'))`

// Init creates the schema and, if withRoles is set, the group roles. created is false if the schema
// existed. The error is a *RolesError if only the roles are missing.
func (e *Engine) Init(ctx context.Context, withRoles bool) (created bool, err error) {
	err = e.inTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, installing); err != nil {
			return err
		}
		_, err := readMeta(ctx, tx)
		if absent := (*NoSchemaError)(nil); !errors.As(err, &absent) {
			return err
		}
		created = true
		for _, m := range migrations {
			if err := execute(ctx, tx, m); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	if !withRoles {
		return created, nil
	}
	err = e.createRoles(ctx)
	if isDenied(err) {
		sql, missing := missingRoles(ctx, e.pool)
		if sql == "" && missing == nil && !created {
			return false, nil // an earlier call has created the roles and granted their rights
		}
		return created, errors.Join(missing, &RolesError{sql + grants})
	}
	return created, err
}

// createRoles creates the group roles that do not exist and grants all of them their rights. The
// advisory lock belongs to one database and the roles to the whole server, so another engine's Init
// may create a role between the look and the statement. The server then reports the name as a
// duplicate once the other transaction has ended, and the next attempt finds the role.
func (e *Engine) createRoles(ctx context.Context) error {
	for {
		err := e.inTx(ctx, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, installing); err != nil {
				return err
			}
			sql, err := missingRoles(ctx, tx)
			if err != nil {
				return err
			}
			return execute(ctx, tx, sql+grants)
		})
		if !isConcurrentInit(err) {
			return err
		}
	}
}

// isConcurrentInit reports whether a statement on roles failed because another transaction changed
// the same rows: unique_violation, duplicate_object, or "tuple concurrently updated", for which the
// server has no code of its own.
func isConcurrentInit(err error) bool {
	answer, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (answer.Code == "23505" || answer.Code == "42710" ||
		answer.Code == "XX000" && strings.Contains(answer.Message, "concurrently"))
}

// missingRoles returns the statements that create the roles which do not exist. Roles belong to the
// server: another engine on it may have created them.
func missingRoles(ctx context.Context, q querier) (sql string, err error) {
	rows, err := q.Query(ctx, `SELECT r FROM unnest($1::text[]) r WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = r)`, roles)
	if err != nil {
		return "", err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "CREATE ROLE %s NOLOGIN;\n", name)
	}
	return b.String(), err
}

// Upgrade executes the migrations that the schema lacks, in one transaction. It returns the version
// before.
func (e *Engine) Upgrade(ctx context.Context) (from int, err error) {
	err = e.inTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, installing); err != nil {
			return err
		}
		m, err := readMeta(ctx, tx)
		if err != nil {
			return err
		}
		if from = m.Schema; from > Schema {
			return &SchemaError{from, Schema}
		}
		for _, migration := range migrations[from:] {
			if err := execute(ctx, tx, migration); err != nil {
				return err
			}
		}
		return nil
	})
	return from, err
}

// CheckSchema returns an error if this program cannot use the engine's schema: a *NoSchemaError or
// a *SchemaError.
func (e *Engine) CheckSchema(ctx context.Context) (Meta, error) {
	m, err := readMeta(ctx, e.pool)
	if err == nil && (m.Schema < Schema || m.MinSchema > Schema) {
		err = &SchemaError{m.Schema, Schema}
	}
	return m, err
}

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func readMeta(ctx context.Context, q querier) (m Meta, err error) {
	var database string
	var exists bool
	if err := q.QueryRow(ctx, `SELECT current_database(), to_regclass('concerto.meta') IS NOT NULL`).Scan(&database, &exists); err != nil {
		return m, err
	}
	if !exists {
		return m, &NoSchemaError{database}
	}
	err = q.QueryRow(ctx, `SELECT schema, min_schema, id FROM concerto.meta`).Scan(&m.Schema, &m.MinSchema, &m.ID)
	return m, err
}

// execute executes several statements, which may not have parameters.
func execute(ctx context.Context, tx pgx.Tx, sql string) error {
	_, err := tx.Conn().PgConn().Exec(ctx, sql).ReadAll()
	return err
}

// inTx executes do in a transaction, which it commits if do returns no error.
func (e *Engine) inTx(ctx context.Context, do func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, e.pool, do)
}

// isDenied reports whether the server has refused a statement because the user lacks a right.
func isDenied(err error) bool {
	answer, ok := errors.AsType[*pgconn.PgError](err)
	return ok && answer.Code == "42501"
}
