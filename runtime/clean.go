package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/runtime/world/env"
	"github.com/concerto-lang/concerto/runtime/world/logs"
)

// clean is the outermost layer. It removes the secrets of the run from everything that leaves the
// program.
type clean struct {
	next    effect.Performer
	secrets *secret.Set
	log     *logs.Log
}

// Perform performs r. It removes the secrets from emits that report an error, from errors, and from
// the output of MCP servers.
func (x *clean) Perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	ctx = effect.Traced(ctx, r)
	if !x.secrets.Empty() { // it is empty for most programs; reading a secret adds it to the set
		kept := false
		if r, kept = x.cleanRequest(r); !kept {
			return nil, nil
		}
	}
	result, err := x.next.Perform(ctx, r)
	if x.secrets.Empty() { // the request itself may have added the first secret
		return result, err
	}
	return x.cleanOutcome(result, err)
}

// Start begins r; see effect.Starter.
func (x *clean) Start(ctx context.Context, r effect.Request, done func(effect.Result, error)) (stop func(), ok bool) {
	ctx = effect.Traced(ctx, r)
	s, can := x.next.(effect.Starter)
	if !can {
		return nil, false
	}
	if !x.secrets.Empty() {
		r, _ = x.cleanRequest(r)
	}
	return s.Start(ctx, r, func(result effect.Result, err error) {
		if !x.secrets.Empty() {
			result, err = x.cleanOutcome(result, err)
		}
		done(result, err)
	})
}

// cleanRequest removes the secrets from r if r reports an error. kept is false if r must not be
// performed. That is the case for a value with a secret that would be stored in a cache in a file,
// because removing the secret would change the value.
func (x *clean) cleanRequest(r effect.Request) (clean effect.Request, kept bool) {
	switch q := r.(type) {
	case *effect.Emit:
		if isErrorReport(q.Channel, q.Payload) {
			cleaned := *q
			cleaned.Payload = x.secrets.JSON(q.Payload)
			return &cleaned, true
		}
	case *effect.AwaitEmit:
		if isErrorReport(q.Channel, q.Payload) {
			cleaned := *q
			cleaned.Payload = x.secrets.JSON(q.Payload)
			return &cleaned, true
		}
	case *effect.StoreWrite:
		if q.Store.Kind != "cache" {
			break
		}
		for _, e := range q.Entries {
			if x.secrets.Contains(string(e.Value)) {
				x.log.Remark("warn", "@cache of "+q.Store.Name+": an answer contains a secret and is not stored in "+q.Store.File)
				return nil, false
			}
		}
	}
	return r, true
}

// isErrorReport reports whether an emit is an error report of the library.
func isErrorReport(channel string, payload json.RawMessage) bool {
	if strings.HasSuffix(channel, "error") || strings.HasSuffix(channel, ":invalid") {
		return true
	}
	return strings.Contains(string(payload), `"error":`)
}

// cleanOutcome removes the secrets from a result.
func (x *clean) cleanOutcome(result effect.Result, err error) (effect.Result, error) {
	if err != nil {
		return result, cleanError(x.secrets, err)
	}
	if e, ok := result.(*effect.MCPEvent); ok && e != nil {
		e.Text, e.Data = x.secrets.Text(e.Text), x.secrets.JSON(e.Data)
	}
	return result, nil
}

// Secrets returns the run's known secrets.
func (r *Runtime) Secrets() *secret.Set { return r.secrets }

// Recorded returns the set that removes the secrets that are known before a run, and the patterns
// of the manifest, from recordings.
func (c *Config) Recorded() *secret.Record {
	return c.secrets(env.New(c.Environ, c.Args).Lookup).ForTapes(c.Redact...)
}

// Recorded returns the set that removes the secrets of the run and the patterns of the manifest
// from recordings.
func (r *Runtime) Recorded() *secret.Record { return r.secrets.ForTapes(r.redact...) }

// cleanError returns the error with the secrets removed from its text and fields.
func cleanError(secrets *secret.Set, err error) error {
	var e *effect.Error
	if err == nil || err == effect.ErrWaits || !errors.As(err, &e) {
		return secrets.Error(err)
	}
	out := *e
	out.Message, out.Fields = secrets.Text(e.Message), nil
	for name, v := range e.Fields {
		switch x := v.(type) {
		case string:
			v = secrets.Text(x)
		case []string:
			texts := make([]string, len(x))
			for i, s := range x {
				texts[i] = secrets.Text(s)
			}
			v = texts
		}
		out.With(name, v)
	}
	return &out
}
