package host

import (
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/runtime/world/clock"
)

// silenceTimer measures how long a process has been silent. It counts only the time in which a
// goroutine waits for the process's next line. It exists only for hosts with a heartbeat; the
// methods of a nil silenceTimer do nothing.
type silenceTimer struct {
	clock     *clock.PausableClock
	mu        lock[silenceLock]
	silent    time.Duration // total waiting time since the last line, without the current wait
	since     time.Time     // start of the current wait
	waiting   bool          // false while a line is being handled
	open      map[requestKey]int
	openCount int // number of requests of the host without a reply
}

// requestKey identifies a request of the host that waits for a reply.
type requestKey struct{ typ, id string }

func newSilenceTimer(c *Config, clock *clock.PausableClock) *silenceTimer {
	if c.heartbeat() == 0 {
		return nil
	}
	return &silenceTimer{clock: clock, open: map[requestKey]int{}}
}

// resetForExchange resets the timer for a new exchange.
func (p *silenceTimer) resetForExchange() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.openCount = 0
	clear(p.open)
	p.restartSilence()
}

// restart makes the silence begin now.
func (p *silenceTimer) restart() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.restartSilence()
}

func (p *silenceTimer) restartSilence() { p.silent, p.since = 0, p.clock.Now() }

// beginWait starts measuring. It is called when a goroutine begins to wait for a line.
func (p *silenceTimer) beginWait() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.since, p.waiting = p.clock.Now(), true
}

// endWait stops measuring. received reports whether a line has arrived.
func (p *silenceTimer) endWait(received bool) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent += p.clock.Now().Sub(p.since)
	p.waiting = false
	if received {
		p.restartSilence()
	}
}

// countRequest counts the host's requests and their withdrawals.
func (p *silenceTimer) countRequest(m *effect.HostMessage) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch row := hostmsg.Lookup(m.Type); {
	case row.Waits():
		p.open[requestKey{m.Type, m.ID}]++
		p.openCount++
	case row.Role == hostmsg.Withdraws:
		for r, n := range p.open {
			if r.id == m.ID && m.ID != "" {
				delete(p.open, r)
				p.openCount -= n
			}
		}
	}
}

// countReply counts a reply. The reply to the last open request resets the silence to zero.
func (p *silenceTimer) countReply(typ, id string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r := requestKey{typ, id}
	if p.open[r] == 0 {
		return
	}
	if p.open[r]--; p.open[r] == 0 {
		delete(p.open, r)
	}
	if p.openCount--; p.openCount == 0 {
		p.restartSilence()
	}
}

// recheckInterval is the delay after which checkHeartbeat runs again if no goroutine is waiting for
// a line.
const recheckInterval = 50 * time.Millisecond

// remaining returns how much longer the host may be silent. If that is unknown, it returns the
// delay until the next check.
func (p *silenceTimer) remaining(heartbeat time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.openCount > 0:
		return heartbeat
	case !p.waiting:
		return max(heartbeat-p.silent, recheckInterval)
	}
	return heartbeat - p.silent - p.clock.Now().Sub(p.since)
}

// checkHeartbeat fails the exchange if its host has been silent for the heartbeat period. Otherwise
// it schedules the next check.
func (ex *exchange) checkHeartbeat() {
	select {
	case <-ex.life.Done():
		return
	default:
	}
	left := ex.pool.cfg.heartbeat()
	if p := ex.currentProcess(); p != nil { // nil while the exchange moves to a new process
		if ex.inbox.hasEnded() || p.settling.isOn() && !p.translation.work().Tending { // a command may be silent for any time
			p.silence.restart()
		}
		left = p.silence.remaining(left)
	}
	if left > 0 {
		ex.pool.hosts.mu.Lock()
		ex.heartbeatTimer.Reset(left)
		ex.pool.hosts.mu.Unlock()
		return
	}
	ex.abort(ex.pool.cfg.silenceError(), "heartbeat")
}

// silenceError returns the error for an exchange whose host has been silent for the heartbeat
// period.
func (c *Config) silenceError() *effect.Error {
	return c.unknownErrorf("sent nothing for %s", effect.Seconds(c.heartbeat().Seconds())).With("code", "heartbeat")
}
