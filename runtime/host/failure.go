package host

import (
	"errors"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/process/stderrlog"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
	"github.com/concerto-lang/concerto/runtime/keeper"
)

// errorf returns the HostError "host '<name>' …" for an exchange that did not begin.
func (c *Config) errorf(format string, args ...any) *effect.Error {
	return effect.Errorf("HostError", "host '"+c.Name+"' "+format, args...).With("host", c.Name)
}

// unknownErrorf returns the error for a failure during an exchange. Its status is unknown, because
// the host may have done a part of the work.
func (c *Config) unknownErrorf(format string, args ...any) *effect.Error {
	e := c.errorf(format, args...)
	e.Status = effect.Unknown
	return e
}

// timeoutError is the error of an exchange that exceeded its timeout. Its code makes the VM stop a
// running handler.
func (c *Config) timeoutError() *effect.Error {
	return c.unknownErrorf("timed out after %s", effect.Seconds(c.timeout().Seconds())).With("code", "timeout")
}

// unconfiguredError is the error for a host that has no configuration.
func unconfiguredError(host string) *effect.Error {
	return effect.Errorf("HostError", "host '%s' is not configured: give it a section in Concerto.toml", host).With("host", host)
}

// limitCode is the prefix of the error code of a host that exceeded a resource limit.
const limitCode = "limit_"

// exitError returns the error for a host that exited before its exchange was complete.
func (c *Config) exitError(e Exit) *effect.Error {
	if e.Limit != "" {
		return withExit(c.unknownErrorf("used more than %s and was stopped", c.Bounds.process().Describe(e.Limit)), e).With("code", limitCode+string(e.Limit))
	}
	return effect.HostExited(c.Name, int64(e.Code), e.Stderr)
}

// withSession adds the session to an error unless the session is "".
func withSession(f *effect.Error, session string) {
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

// copyContext copies the fields that describe the process from other to f.
func copyContext(f, other *effect.Error) *effect.Error {
	for _, name := range []string{"session", "exit_code", "stderr"} {
		if v, ok := other.Fields[name]; ok {
			f.With(name, v)
		}
	}
	return f
}

// addContext adds the process's session and its last lines of standard error to an error.
func (p *process) addContext(e *effect.Error) *effect.Error {
	withSession(e, p.sessionName())
	if _, ok := e.Fields["stderr"]; !ok {
		if s := p.conn.Stderr(); s != "" {
			e.With("stderr", s)
		}
	}
	return e
}

// lineError returns the error for a line, or for the rest of the output, that cannot be read.
func (p *process) lineError(err error, line []byte) *effect.Error {
	c := p.cfg
	var long *ndjson.TooLongError
	var enc *ndjson.EncodingError
	var broken *value.SyntaxError
	var f *effect.Error
	switch {
	case errors.As(err, &long):
		f = c.unknownErrorf("sent a line longer than %d bytes (%d read, at offset %d of its output)", long.Limit, long.Size, long.Offset)
	case errors.As(err, &enc):
		f = c.unknownErrorf("sent a line of %d bytes that is not valid UTF-8 (byte %d of it, at offset %d of its output)", enc.Size, enc.At, enc.Offset)
	case errors.As(err, &broken):
		f = c.unknownErrorf("sent an invalid message (%v): %s", broken, stderrlog.Quote(line))
	case errors.Is(err, keeper.ErrLost):
		f = c.lostError()
	case err == errNotReading:
		f = c.unknownErrorf("cannot continue: %v", err)
	case err == errTooLarge:
		f = c.unknownErrorf("sent a message whose values need more than the %d MiB that [limits] max_memory_mb allows", p.hosts.opts.MaxMemory>>20)
	default:
		f = c.unknownErrorf("has unreadable output: %v", err)
	}
	f.Cause = err
	return f
}

// lostError returns the error for an exchange whose process was lost together with its keeper or
// machine.
func (c *Config) lostError() *effect.Error {
	return c.unknownErrorf("is lost: %v", keeper.ErrLost).With("code", "lost").With("recoverable", true)
}

// lostQueueError is the error for an exchange whose process was lost with the queued message m of
// the program.
func (c *Config) lostQueueError(m *steerMessage) *effect.Error {
	return c.unknownErrorf("is lost, and may have received the queued message %q", m.Text).With("code", "lost").With("recoverable", true)
}

func isLostError(e *effect.Error) bool { return e.Fields["code"] == "lost" }
