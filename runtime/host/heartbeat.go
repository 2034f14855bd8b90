package host

import (
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/runtime/world/clock"
)

// pulse knows how long a process has been silent: how long somebody has waited for its
// next line. Processes of hosts without a heartbeat have none; the methods of a nil
// pulse do nothing.
type pulse struct {
	hand    *clock.Hand
	mu      sync.Mutex
	silent  time.Duration // that was waited since the last line, up to since
	since   time.Time     // it is waited
	waiting bool          // else a line has to be handled, and who does that is slow
	open    map[request]int
	asks    int // how many are open
}

// request is what a host waits for the answer to.
type request struct{ typ, id string }

func newPulse(c *Config, hand *clock.Hand) *pulse {
	if c.heartbeat() == 0 {
		return nil
	}
	return &pulse{hand: hand, open: map[request]int{}}
}

// begin begins an exchange.
func (p *pulse) begin() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asks = 0
	clear(p.open)
	p.anew()
}

// anew begins the silence anew.
func (p *pulse) anew() { p.silent, p.since = 0, p.hand.Now() }

// waits says that from now on it is waited for a line.
func (p *pulse) waits() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.since, p.waiting = p.hand.Now(), true
}

// ceases says that it is not, and whether a line has come.
func (p *pulse) ceases(heard bool) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent += p.hand.Now().Sub(p.since)
	p.waiting = false
	if heard {
		p.anew()
	}
}

// takes counts what the host asks, and takes back.
func (p *pulse) takes(m *effect.HostMessage) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch row := hostmsg.Of(m.Type); {
	case row.Waits():
		p.open[request{m.Type, m.ID}]++
		p.asks++
	case row.Role == hostmsg.TakesBack:
		for r, n := range p.open {
			if r.id == m.ID && m.ID != "" {
				delete(p.open, r)
				p.asks -= n
			}
		}
	}
}

// answered counts an answer: the silence begins anew with it.
func (p *pulse) answered(typ, id string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r := request{typ, id}
	if p.open[r] == 0 {
		return
	}
	if p.open[r]--; p.open[r] == 0 {
		delete(p.open, r)
	}
	if p.asks--; p.asks == 0 {
		p.anew()
	}
}

// look is how long it takes at most until it is seen that it is waited again.
const look = 50 * time.Millisecond

// left is how much longer the host may be silent; while that cannot be said, when to
// look again.
func (p *pulse) left(heartbeat time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.asks > 0:
		return heartbeat
	case !p.waiting:
		return max(heartbeat-p.silent, look)
	}
	return heartbeat - p.silent - p.hand.Now().Sub(p.since)
}

// listen fails the exchange when its host has been silent for the heartbeat, and
// looks again when it can next have been.
func (ex *exchange) listen() {
	select {
	case <-ex.life:
		return
	default:
	}
	left := ex.pool.cfg.heartbeat()
	if p := ex.process(); p != nil { // else it is to have one again
		left = p.pulse.left(left)
	}
	if left > 0 {
		ex.pool.hosts.mu.Lock()
		ex.beat.Reset(left)
		ex.pool.hosts.mu.Unlock()
		return
	}
	ex.lose(ex.pool.cfg.silent(), "heartbeat")
}

// silent is the failure of an exchange whose host has said nothing for too long.
func (c *Config) silent() *effect.Error {
	return c.broken("said nothing for %s seconds", seconds(c.heartbeat().Seconds())).With("code", "heartbeat")
}
