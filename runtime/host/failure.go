package host

import (
	"errors"
	"strconv"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/process/stderrlog"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
	"github.com/concerto-lang/concerto/runtime/keeper"
)

// failure makes the HostError "host '<name>' …" of an effect that did not
// happen.
func (c *Config) failure(format string, args ...any) *effect.Error {
	return effect.Errorf("HostError", "host '"+c.Name+"' "+format, args...).With("host", c.Name)
}

// broken is a failure in the middle of an exchange: what the host did of its
// work is not known.
func (c *Config) broken(format string, args ...any) *effect.Error {
	e := c.failure(format, args...)
	e.Status = effect.Unknown
	return e
}

// timedOut is the failure of an exchange that took longer than the timeout. By
// its code the VM knows to end a handler that still runs.
func (c *Config) timedOut() *effect.Error {
	return c.broken("timed out after %s seconds", seconds(c.timeout().Seconds())).With("code", "timeout")
}

// limitCode begins the code of the failure of a host that crossed a limit.
const limitCode = "limit_"

// exited is the failure of a host that ended before its exchange did.
func (c *Config) exited(e Exit) *effect.Error {
	if e.Limit != "" {
		return withExit(c.broken("used more than %s and was ended", c.Limits.Says(e.Limit)), e).With("code", limitCode+string(e.Limit))
	}
	f := effect.Errorf("HostError", "host exited without result").With("host", c.Name)
	f.Status = effect.Unknown
	return withExit(f, e)
}

// in says in which conversation it failed, if that is known.
func in(f *effect.Error, session string) {
	if session != "" {
		f.With("session", session)
	}
}

func withExit(f *effect.Error, e Exit) *effect.Error {
	f.With("exit_code", int64(e.Code))
	if e.Stderr != "" {
		f.With("stderr", e.Stderr)
	}
	return f
}

// alike gives a failure what another one knows of the process.
func alike(f, other *effect.Error) *effect.Error {
	for _, name := range []string{"session", "exit_code", "stderr"} {
		if v, known := other.Fields[name]; known {
			f.With(name, v)
		}
	}
	return f
}

// told adds to a failure what is known of the process.
func (p *process) told(e *effect.Error) *effect.Error {
	in(e, p.conversation())
	if _, known := e.Fields["stderr"]; !known {
		if s := p.conn.Stderr(); s != "" {
			e.With("stderr", s)
		}
	}
	return e
}

// lineFailure says what was wrong with a line or the stream of lines.
func (p *process) lineFailure(err error, line []byte) *effect.Error {
	c := p.cfg
	var long *ndjson.TooLongError
	var enc *ndjson.EncodingError
	var broken *value.SyntaxError
	var f *effect.Error
	switch {
	case errors.As(err, &long):
		f = c.broken("sent a line longer than %d bytes (%d read, at offset %d of its output)", long.Limit, long.Size, long.Offset)
	case errors.As(err, &enc):
		f = c.broken("sent a line of %d bytes that is not valid UTF-8 (byte %d of it, at offset %d of its output)", enc.Size, enc.At, enc.Offset)
	case errors.As(err, &broken):
		f = c.broken("sent a message that cannot be read (%v): %s", broken, stderrlog.Quote(line))
	case errors.Is(err, keeper.ErrLost):
		f = c.lost()
	case err == errDeaf:
		f = c.broken("cannot go on: %v", err)
	case err == errNoRoom:
		f = c.broken("sent a message whose values need more than the %d MiB that [limits] max_memory_mb allows", p.hosts.opts.MaxMemory>>20)
	default:
		f = c.broken("cannot be read from: %v", err)
	}
	f.Cause = err
	return f
}

// lost is the failure of an exchange whose process has ended with its keeper, or its machine.
func (c *Config) lost() *effect.Error {
	return c.broken("is lost: %v", keeper.ErrLost).With("code", "lost").With("recoverable", true)
}

func isLost(e *effect.Error) bool { return e.Fields["code"] == "lost" }

// seconds prints a number of seconds as people write it: 120, 0.5.
func seconds(s float64) string { return strconv.FormatFloat(s, 'f', -1, 64) }
