package connect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/concerto-lang/concerto/internal/record/journal/postgres"
	"github.com/concerto-lang/concerto/internal/relaycli/console"
)

// engineRetry is how long a command tries to connect to an engine at its start.
const engineRetry = 10 * time.Second

// Engine connects to the engine that --engine names, and returns its id.
func Engine(ctx context.Context, url string) (*postgres.Engine, string, error) {
	e, err := postgres.Connect(ctx, url, engineRetry)
	if err != nil {
		return nil, "", engineError(err)
	}
	meta, err := e.CheckSchema(ctx)
	if err != nil {
		e.Close()
		return nil, "", engineError(e.Explain(err, postgres.Client))
	}
	return e, meta.ID, nil
}

// engineError returns the error of an engine for the user. The exit codes are those of the commands
// of concerto.
func engineError(err error) error {
	var unreachable *postgres.UnreachableError
	switch {
	case errors.As(err, &unreachable):
		return &console.UnavailableError{Err: fmt.Errorf("%w; check that the server is running and that --engine is correct", unreachable)}
	case errors.As(err, new(*postgres.URLError)), errors.As(err, new(*postgres.NoSchemaError)), errors.As(err, new(*postgres.SchemaError)), errors.As(err, new(*postgres.DeniedError)):
		return console.Usage("", "%v", err)
	}
	return err
}
