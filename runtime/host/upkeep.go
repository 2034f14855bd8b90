package host

import (
	"time"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
)

// Upkeep is what the manifest says of a host's processes: how long they may be quiet,
// and what they may use.
type Upkeep struct {
	Heartbeat   float64 `json:"heartbeat"`    // seconds in which a host that is at work says something; 0 means no bound
	IdleSeconds float64 `json:"idle_seconds"` // after which a process that nobody uses is ended; 0 means never
	CancelGrace float64 `json:"cancel_grace"` // seconds that a cancelled host may take to its terminal message; 0 means 5

	Limits *procgroup.Limits `json:"limits"` // of each process; nil for none
}

func (u *Upkeep) heartbeat() time.Duration { return orSeconds(0, u.Heartbeat) }

func (u *Upkeep) idleTime() time.Duration { return orSeconds(0, u.IdleSeconds) }

func (u *Upkeep) cancelGrace() time.Duration { return orSeconds(drainTime, u.CancelGrace) }

// rest lets a process go that nobody has used for the idle time. Who gives the slot
// back holds the pool's lock.
func (s *slot) rest() {
	wait := s.pool.cfg.idleTime()
	if wait == 0 || s.p == nil || !s.p.usable() {
		return
	}
	p := s.p
	s.idle = time.AfterFunc(wait, func() { s.pool.endIdle(s, p) })
}

// use takes a slot out of rest, under the pool's lock.
func (s *slot) use() {
	if s.idle != nil {
		s.idle.Stop()
		s.idle = nil
	}
}

// endIdle ends the process of a slot that is still free.
func (pl *pool) endIdle(s *slot, p *process) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	if s.idle == nil || s.p != p {
		return
	}
	s.idle = nil
	p.retire(leaveIdle)
}
