package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
)

// What is said to a host outside a run: `concerto host list` looks at it once, and
// `concerto host test` at its lines one by one. A run itself goes by Perform.

// State is what a look at a host tells.
type State struct {
	Version      string
	Capabilities []string
}

// Look starts a host, as an exchange would, and tells what it says of itself: of a
// host that is not initialised that is nothing. The error is what a program would
// get.
func (h *Hosts) Look(ctx context.Context, name string) (State, error) {
	pool := h.pools[name]
	if pool == nil {
		return State{}, fmt.Errorf("no host '%s' is configured", name)
	}
	slot, err := pool.enter(ctx, pool.join(wish{}))
	if err != nil {
		return State{}, err
	}
	defer pool.leave(slot)
	p, err := slot.process(ctx, wish{})
	if err != nil {
		return State{}, err
	}
	return p.announced.state, nil
}

// Transports are the names of the transports, ours first.
func Transports() []string {
	all := slices.Sorted(maps.Keys(transports))
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(vendors(a), vendors(b)) })
	return all
}

func vendors(transport string) int {
	if adapter.Protocols[transport] != nil {
		return 1
	}
	return 0
}

// Program is the command that starts a host: what its section names, or what its
// transport is known to be started by.
func Program(c *Config) string { return cmp.Or(c.Command, c.protocol().Command) }

// Translates says that a host speaks a vendor's protocol. It may say more than it was
// asked for at any time, and what it says at its end is its vendor's affair.
func Translates(c *Config) bool { return c.protocol().New != nil }

// InitLine is what a new process is sent first, nil when the host has no
// parameters. It fails when a variable that one is taken from is not set.
func InitLine(c *Config, environ []string) ([]byte, error) { return c.initLine(environ) }

// PromptLine begins an exchange.
func PromptLine(c *Config, r *effect.ExchangeOpen) []byte {
	l := c.promptLine(r, c.SendTools)
	return l.bytes()
}

// ResponseLine answers a message.
func ResponseLine(r *effect.ExchangeReply) []byte { return appendReply(nil, r) }

// CancelLine ends an exchange early; the host has CancelWait to come to its
// terminal message.
func CancelLine(reason string) []byte { return cancelLine(reason) }

// CancelWait is how long a host that was told to cancel may take.
func CancelWait(c *Config) time.Duration { return c.cancelGrace() }

// InitWait is how long a new process may take to acknowledge.
func InitWait(c *Config) time.Duration { return c.initTimeout() }

// AwaitsInput says whether a dialled process, or what it started, waits for its input and does
// nothing else. known is false when that cannot be seen.
func AwaitsInput(c Conn) (waits, known bool) {
	if d, ok := c.(*dialled); ok {
		c = d.Conn
	}
	if p, ok := c.(interface{ AwaitsInput() (waits, known bool) }); ok {
		return p.AwaitsInput()
	}
	return false, false
}

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
