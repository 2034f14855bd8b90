// Package postgres stores durable runs in a PostgreSQL database, version 14 or later, that several
// workers share (docs/decisions/065). The package does not interpret effects.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Engine is a database that contains runs. It is safe for concurrent use.
type Engine struct {
	pool    *pgxpool.Pool
	address string
}

// UnreachableError means that the server of an engine does not respond, or that it does not accept
// the connection.
type UnreachableError struct {
	Address string // URL of the engine without a password
	Err     error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("could not connect to engine %s: %v", e.Address, e.Err)
}

// Unwrap returns the error of the last attempt to connect.
func (e *UnreachableError) Unwrap() error { return e.Err }

// URLError means that the URL of an engine has an unknown scheme or cannot be parsed.
type URLError struct{ Why string }

func (e *URLError) Error() string { return e.Why }

// maxConns is the maximum number of connections of a process. More do not help, because the groups
// of all runs share maxTransactions transactions.
const maxConns = 8

// connectTimeout limits one attempt to connect, unless the URL has its own connect_timeout.
const connectTimeout = 5 * time.Second

// Connect connects to the engine at a URL of the form postgres://USER@HOST:PORT/DATABASE. It
// retries for the given time if the server does not respond. The error is a *URLError, an
// *UnreachableError, or the cause of ctx.
func Connect(ctx context.Context, url string, retry time.Duration) (*Engine, error) {
	config, err := parse(url)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, &URLError{err.Error()}
	}
	e := &Engine{pool, address(config.ConnConfig)}
	deadline := time.Now().Add(retry)
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		if err = pool.Ping(ctx); err == nil {
			return e, nil
		}
		if ctx.Err() != nil || isRefused(err) || time.Now().Add(wait).After(deadline) {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
	pool.Close()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, &UnreachableError{e.address, plain(err)}
}

// Close closes all connections.
func (e *Engine) Close() { e.pool.Close() }

// Address returns the URL of the engine without a password.
func (e *Engine) Address() string { return e.address }

// Database returns the name of the engine's database.
func (e *Engine) Database() string { return e.pool.Config().ConnConfig.Database }

// parse returns the configuration for a URL. Statements are sent without names, because PgBouncer
// in transaction mode may execute them on different connections.
func parse(text string) (*pgxpool.Config, error) {
	scheme, _, ok := strings.Cut(text, "://")
	if !ok {
		return nil, &URLError{"engine URL must have the form postgres://USER@HOST:PORT/DATABASE"} // the text may be a password
	}
	if scheme != "postgres" && scheme != "postgresql" {
		return nil, &URLError{fmt.Sprintf("engine URL has the unsupported scheme %q: it must have the form postgres://USER@HOST:PORT/DATABASE", scheme)}
	}
	config, err := pgxpool.ParseConfig(text)
	if err != nil {
		return nil, &URLError{"engine URL is invalid: " + reason(err)}
	}
	if isDefaultTLS(text, config.ConnConfig) {
		mode := "verify-full"
		if isLocal(config.ConnConfig) {
			mode = "disable"
		}
		if config, err = pgxpool.ParseConfig(withParameter(text, "sslmode", mode)); err != nil {
			return nil, &URLError{"engine URL is invalid: " + reason(err)}
		}
	}
	c := config.ConnConfig
	c.DefaultQueryExecMode = pgx.QueryExecModeExec
	c.StatementCacheCapacity, c.DescriptionCacheCapacity = 0, 0
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = connectTimeout
	}
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "concerto"
	}
	config.MaxConns = maxConns
	return config, nil
}

// reason returns the cause of an error of parsing a URL. The error itself repeats the URL.
func reason(err error) string {
	if cause := errors.Unwrap(err); cause != nil {
		if u, ok := errors.AsType[*url.Error](cause); ok {
			return u.Err.Error()
		}
		return cause.Error()
	}
	_, why, _ := strings.Cut(err.Error(), "`: ")
	return why
}

// isDefaultTLS reports whether neither the URL nor the environment nor a service file decides about
// TLS. The default of libpq and pgx is "prefer", which accepts any certificate, and also no TLS.
func isDefaultTLS(text string, c *pgx.ConnConfig) bool {
	u, err := url.Parse(text)
	if err != nil || u.Query().Has("sslmode") || u.Query().Has("ssl") || os.Getenv("PGSSLMODE") != "" {
		return false
	}
	prefers := len(c.Fallbacks) > 0 && c.TLSConfig != nil && c.Fallbacks[0].TLSConfig == nil
	return prefers || c.TLSConfig == nil // a Unix socket
}

func withParameter(text, name, value string) string {
	separator := "?"
	if strings.Contains(text, "?") {
		separator = "&"
	}
	return text + separator + name + "=" + value
}

// isLocal reports whether all hosts of a configuration are on this machine.
func isLocal(c *pgx.ConnConfig) bool {
	hosts := []string{c.Host}
	for _, f := range c.Fallbacks {
		hosts = append(hosts, f.Host)
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); !strings.HasPrefix(host, "/") && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return false
		}
	}
	return true
}

// address returns the URL of a server without user, password and parameters.
func address(c *pgx.ConnConfig) string {
	if strings.HasPrefix(c.Host, "/") {
		return "postgres:///" + c.Database + "?host=" + c.Host
	}
	return "postgres://" + net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port))) + "/" + c.Database
}

// isRefused reports whether the server has responded with an error that another attempt will not
// change: a wrong password or an unknown database.
func isRefused(err error) bool {
	answer, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (strings.HasPrefix(answer.Code, "28") || strings.HasPrefix(answer.Code, "3D"))
}

// plain returns the cause of an error of connecting. The text of pgx is several lines long.
func plain(err error) error {
	if answer, ok := errors.AsType[*pgconn.PgError](err); ok {
		return errors.New(answer.Message)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err
	}
	if connecting, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return connecting.Unwrap()
	}
	return err
}
