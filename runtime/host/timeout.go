package host

import (
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// timeout is how long a whole exchange may take.
func (c *Config) timeout() time.Duration { return orSeconds(c.protocol().Timeout, c.Timeout) }

// initTimeout is how long a new process may take to acknowledge.
// A vendor's timeout is for its work, and says nothing of that.
func (c *Config) initTimeout() time.Duration {
	p := c.protocol()
	if p.New == nil && c.InitTimeout == 0 {
		return orSeconds(p.InitTimeout, c.Timeout)
	}
	return orSeconds(p.InitTimeout, c.InitTimeout)
}

// longest is a timeout beyond which none is needed, in seconds; a Duration holds
// nine times as much.
const longest = 1e9

// orSeconds is a number of seconds, or d when there is none.
func orSeconds(d time.Duration, s float64) time.Duration {
	if s > 0 {
		return time.Duration(min(s, longest) * float64(time.Second))
	}
	return d
}

// expire ends the exchange at its timeout: the program learns of it at once, the
// process is told to cancel, if it can be, and ended. An exchange whose terminal
// message has come does not fail any more, but nobody waits for the host to read.
func (ex *exchange) expire() { ex.lose(ex.pool.cfg.timedOut(), "timeout") }

// lose is expire for any reason, which a host that can be cancelled is told.
func (ex *exchange) lose(failure *effect.Error, reason string) {
	p := ex.process()
	if p != nil {
		p.told(failure)
	}
	late := ex.in.expire(failure)
	ex.over()
	if !late {
		return
	}
	if p != nil {
		p.giveUp(reason)
	}
	ex.free()
}

// giveUp ends the process in the middle of an exchange; a host that can be
// cancelled is told why and has a moment for it.
func (p *process) giveUp(reason string) {
	if !p.announced.cancels {
		p.retire(0)
		return
	}
	p.send(cancelLine(reason), true)
	p.retire(leaveTold)
}
