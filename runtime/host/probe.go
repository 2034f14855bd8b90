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
	"github.com/concerto-lang/concerto/runtime/host/continuity"
)

// The functions below access a host outside a run. `concerto host list` probes a host, and
// `concerto host test` exchanges single lines with it. Runs use Perform.

// ProbeResult holds what a host reported about itself.
type ProbeResult struct {
	Version      string
	Capabilities []string
}

// Probe starts a host as an exchange would, and returns what it reports about itself. The result of
// a host that is not initialised is empty. The error is the one that a program would receive.
func (h *Hosts) Probe(ctx context.Context, name string) (ProbeResult, error) {
	pool := h.pools[name]
	if pool == nil {
		return ProbeResult{}, fmt.Errorf("no host '%s' is configured", name)
	}
	slot, err := pool.awaitSlot(ctx, pool.enqueueWaiter(acquireSpec{}))
	if err != nil {
		return ProbeResult{}, err
	}
	defer pool.releaseSlot(slot)
	p, err := slot.acquire(ctx, acquireSpec{})
	if err != nil {
		return ProbeResult{}, err
	}
	return p.announced.result, nil
}

// Transports returns the names of the transports. Those that use Concerto's protocol come first.
func Transports() []string {
	all := slices.Sorted(maps.Keys(transports))
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(transportRank(a), transportRank(b)) })
	return all
}

func transportRank(transport string) int {
	if adapter.Protocols[transport] != nil {
		return 1
	}
	return 0
}

// Program returns the command that starts a host: the command in the host's section, or the default
// of its transport.
func Program(c *Config) string { return cmp.Or(c.Command, c.protocol().Command) }

// UsesAdapter reports whether a host uses a vendor's protocol. Such a host may send lines at any
// time without being asked, and its exit code has no defined meaning.
func UsesAdapter(c *Config) bool { return c.protocol().New != nil }

// InitLine returns the first line for a new process, or nil if the host has no parameters. It fails
// if a variable in ParamsEnv is not set.
func InitLine(c *Config, environ []string) ([]byte, error) { return c.initLine(environ, nil) }

// PromptLine returns the line that begins an exchange.
func PromptLine(c *Config, r *effect.ExchangeOpen) []byte {
	l := c.promptLine(r, c.SendTools)
	return l.concat()
}

// ResponseLine returns the line that answers a message.
func ResponseLine(r *effect.ExchangeReply) []byte { return continuity.AppendReply(nil, r) }

// CancelLine returns the line that cancels an exchange. The host must send its terminal message
// within CancelWait.
func CancelLine(reason string) []byte { return cancelLine(reason) }

// CancelWait returns how long a cancelled host may take to send its terminal message.
func CancelWait(c *Config) time.Duration { return c.cancelGrace() }

// InitWait returns how long a new process may take to acknowledge its initialisation.
func InitWait(c *Config) time.Duration { return c.initTimeout() }

// AwaitsInput reports whether a dialled process and all its children only wait for input. known is
// false if the system does not report this.
func AwaitsInput(c Conn) (waits, known bool) {
	if d, ok := c.(*dialedConn); ok {
		c = d.Conn
	}
	if p, ok := c.(interface{ AwaitsInput() (waits, known bool) }); ok {
		return p.AwaitsInput()
	}
	return false, false
}

// Decode decodes a line of a host. is reports whether the line is a message. Decode fails for a
// line that begins as a message and is not valid JSON.
func Decode(line []byte) (m effect.HostMessage, is bool, err error) {
	err = decodeMessage(&m, line, nil)
	if errors.Is(err, errNotMessage) {
		return m, false, nil
	}
	return m, err == nil, err
}

// ExchangeWait returns how long an exchange may take.
func ExchangeWait(c *Config) time.Duration { return c.timeout() }
