package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// DeniedError means that the user of a connection lacks a right. SQL is the statement with which an
// administrator grants it.
type DeniedError struct {
	Message string // of the server
	SQL     string
}

func (e *DeniedError) Error() string {
	return fmt.Sprintf("the engine does not permit this: %s; ask an administrator to execute: %s", e.Message, e.SQL)
}

// Explain replaces errors of the connection by an *UnreachableError, an *DeniedError or a
// *NoSchemaError. role is the role that the statements need; "" means the owner of the schema.
func (e *Engine) Explain(err error, role string) error {
	answer, answered := errors.AsType[*pgconn.PgError](err)
	switch {
	case errors.As(err, new(*UnreachableError)):
		return err
	case answered && answer.Code == "42501":
		return &DeniedError{answer.Message, e.grant(role)}
	case answered && answer.Code == "3F000":
		return &NoSchemaError{e.pool.Config().ConnConfig.Database}
	case answered && !isShuttingDown(answer), !answered && !isConnection(err):
		return err
	}
	return &UnreachableError{e.address, plain(err)}
}

// isConnection reports whether an error comes from the connection to a server.
func isConnection(err error) bool {
	return errors.As(err, new(*pgconn.ConnectError)) || errors.As(err, new(*net.OpError)) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, context.DeadlineExceeded) || pgconn.Timeout(err) || pgconn.SafeToRetry(err)
}

// isShuttingDown reports whether a server has answered that it starts or stops.
func isShuttingDown(answer *pgconn.PgError) bool {
	return strings.HasPrefix(answer.Code, "08") || strings.HasPrefix(answer.Code, "57P")
}

// grant returns the statement that grants a role to the user of the engine's connections.
func (e *Engine) grant(role string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var owner *string
	user := e.pool.Config().ConnConfig.User
	if role == "" {
		role = "the owner of the schema concerto"
		err := e.pool.QueryRow(ctx, `SELECT pg_get_userbyid(nspowner) FROM pg_namespace WHERE nspname = 'concerto'`).Scan(&owner)
		if err == nil && owner != nil {
			role = pgx.Identifier{*owner}.Sanitize()
		} else { // the schema does not exist
			return fmt.Sprintf("GRANT CREATE ON DATABASE %s TO %s", pgx.Identifier{e.pool.Config().ConnConfig.Database}.Sanitize(), pgx.Identifier{user}.Sanitize())
		}
	}
	return fmt.Sprintf("GRANT %s TO %s", role, pgx.Identifier{user}.Sanitize())
}
