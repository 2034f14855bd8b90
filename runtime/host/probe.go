package host

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/concerto-lang/concerto/internal/effect"
)

// What is said to a host outside a run, where its lines are looked at one by one:
// `concerto host test`. A run itself goes by Hosts.

// Transports are the names of the transports that speak our protocol, in order.
func Transports() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(transports)), func(name string) bool { return protocols[name] != nil })
}

// Dial starts or reaches a host, outside any pool: who calls ends it. s.Env is the
// environment that the host inherits from. The error is what a program would get.
func Dial(c *Config, s Surroundings) (Conn, error) {
	s.Env, _ = c.environ(s.Env, 1)
	return c.connect(transports, s)
}

// InitLine is what a new process is sent first, nil when the host has no
// parameters. It fails when a variable that one is taken from is not set.
func InitLine(c *Config, environ []string) ([]byte, error) { return c.initLine(environ) }

// PromptLine begins an exchange.
func PromptLine(c *Config, r *effect.ExchangeOpen) []byte { return c.promptLine(r) }

// ResponseLine answers a message.
func ResponseLine(r *effect.ExchangeReply) []byte { return replyLine(r) }

// CancelLine ends an exchange early; the host has CancelWait to come to its
// terminal message.
func CancelLine(reason string) []byte { return cancelLine(reason) }

// CancelWait is how long a host that was told to cancel may take.
func CancelWait(c *Config) time.Duration { return c.cancelGrace() }

// InitWait is how long a new process may take to acknowledge.
func InitWait(c *Config) time.Duration { return c.initTimeout() }

// Decode reads a host's line. is says whether it is a message; the error is that of
// a line that begins as one and cannot be read.
func Decode(line []byte) (m effect.HostMessage, is bool, err error) {
	err = decode(&m, line, nil)
	if errors.Is(err, errNotMessage) {
		return m, false, nil
	}
	return m, err == nil, err
}

// ExchangeWait is how long an exchange may take.
func ExchangeWait(c *Config) time.Duration { return c.timeout() }
