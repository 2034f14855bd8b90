package host

// Add makes a host known, in the place of another of its name, whose idle processes end. It must be
// called while nobody asks a host for anything.
func (h *Hosts) Add(c Config) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if was := h.pools[c.Name]; was != nil {
		for p := range h.processes {
			if p.life.idle() && p.cfg == was.cfg {
				p.retire(leaveIdle)
			}
		}
	}
	h.pools[c.Name] = newPool(h, &c)
}
