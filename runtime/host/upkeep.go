package host

import "time"

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

// startIdleTimer schedules the end of the slot's process, which is now idle. The caller must hold
// the pool's lock.
func (s *slot) startIdleTimer() {
	wait := s.pool.cfg.idleTime()
	if wait == 0 || s.proc == nil || !s.proc.isUsable() {
		return
	}
	p := s.proc
	s.idleTimer = time.AfterFunc(wait, func() { s.pool.retireIdle(s, p) })
}

// stopIdleTimer cancels the timer of startIdleTimer. The caller must hold the pool's lock.
func (s *slot) stopIdleTimer() {
	if s.idleTimer != nil {
		s.idleTimer.Stop()
		s.idleTimer = nil
	}
}

// retireIdle retires the process p if its slot is still free.
func (pl *pool) retireIdle(s *slot, p *process) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	if s.idleTimer == nil || s.proc != p {
		return
	}
	s.idleTimer = nil
	p.retire(closeInputWait)
}
