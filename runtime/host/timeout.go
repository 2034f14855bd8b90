package host

import (
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime/world/clock"
)

// timeout returns how long a whole exchange may take.
func (c *Config) timeout() time.Duration { return orSeconds(c.protocol().Timeout, c.Timeout) }

// initTimeout returns how long a new process may take to acknowledge its initialisation. The
// timeout of a vendor's agent limits its work and does not apply to the initialisation.
func (c *Config) initTimeout() time.Duration {
	p := c.protocol()
	if p.New == nil && c.InitTimeout == 0 {
		return orSeconds(p.InitTimeout, c.Timeout)
	}
	return orSeconds(p.InitTimeout, c.InitTimeout)
}

// maxSeconds limits a timeout, in seconds, so that it fits into a Duration.
const maxSeconds = 1e9

// orSeconds converts seconds to a Duration, and returns d for 0.
func orSeconds(d time.Duration, s float64) time.Duration {
	if s > 0 {
		return time.Duration(min(s, maxSeconds) * float64(time.Second))
	}
	return d
}

// onTimeout fails the exchange because its timeout has passed. The program receives the error
// immediately. A host that supports cancellation receives a cancel message, and its process is
// ended. If the terminal message has already arrived, the exchange does not fail.
func (ex *exchange) onTimeout() { ex.abort(ex.pool.cfg.timeoutError(), "timeout") }

// timeLimit is the timeout of an exchange. It pauses from the end of a turn until the program
// continues the exchange, because gates may run in between.
type timeLimit struct {
	timer  clock.Timer
	mu     lock[timeLimitLock]
	left   time.Duration // when it began or paused
	since  time.Time     // when it began or continued
	paused bool
}

// pauseTimeout stops the timeout at the end of a turn.
func (ex *exchange) pauseTimeout() {
	l := &ex.limit
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.paused {
		return
	}
	l.paused = true
	if !l.since.IsZero() { // otherwise it has not begun
		l.timer.Stop()
		l.left -= ex.pool.hosts.opts.Clock.Now().Sub(l.since)
	}
}

// continueTimeout continues the timeout with a further turn. It returns false if it has passed.
func (ex *exchange) continueTimeout() bool {
	l := &ex.limit
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.paused && l.left > 0 {
		l.paused, l.since = false, ex.pool.hosts.opts.Clock.Now()
		l.timer.Reset(l.left)
	}
	return !l.paused
}

// abort fails the exchange with the given error and ends its process. reason is sent in the cancel
// message.
func (ex *exchange) abort(failure *effect.Error, reason string) {
	p := ex.currentProcess()
	if p != nil {
		p.addContext(failure)
		p.settling.addTo(failure)
	}
	dropped, late := ex.inbox.failOnTimeout(failure)
	ex.cancelWaits()
	if !late {
		return
	}
	if p != nil {
		p.outside.recordDropped(dropped)
		p.cancelAndRetire(reason)
	}
	ex.releaseSlot()
}

// cancelAndRetire ends the process during an exchange. A host that supports cancellation receives a
// cancel message and has cancelWait to react.
func (p *process) cancelAndRetire(reason string) { p.cancelWithin(reason, cancelWait) }

// Upkeep holds the manifest's keys that limit silence and idle time of a host's processes.
type Upkeep struct {
	// seconds in which a working host must send something; 0 means no limit
	Heartbeat float64 `json:"heartbeat"`
	// seconds after which an unused process is ended; 0 means never
	IdleSeconds float64 `json:"idle_seconds"`
	// seconds in which a cancelled host must send its terminal message; 0 means 5
	CancelGrace float64 `json:"cancel_grace"`
}

func (u *Upkeep) heartbeat() time.Duration { return orSeconds(0, u.Heartbeat) }

func (u *Upkeep) idleTime() time.Duration { return orSeconds(0, u.IdleSeconds) }

func (u *Upkeep) cancelGrace() time.Duration { return orSeconds(defaultCancelGrace, u.CancelGrace) }
