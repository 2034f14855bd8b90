package host

// Add registers a host. If a host with the same name exists, Add replaces it and stops its idle
// processes. No request may be running when Add is called.
func (h *Hosts) Add(c Config) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if was := h.pools[c.Name]; was != nil {
		for p := range h.processes {
			if p.lifecycle.isIdle() && p.cfg == was.cfg {
				p.retire(idlePatience)
			}
		}
	}
	h.pools[c.Name] = newPool(h, &c)
}
