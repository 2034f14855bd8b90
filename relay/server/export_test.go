package server

// ForgetEnded has a server know no ended run for long.
func ForgetEnded(s *Server) {
	s.others.runsMu.Lock()
	defer s.others.runsMu.Unlock()
	s.others.forgets.most = 0
}

// HasState reports whether a server knows what followers of a run were notified of.
func HasState(s *Server, run string) bool {
	_, ok := s.hub.prefix(run)
	return ok
}

// HoldChecks stops a server from checking the runs of other servers until release.
func HoldChecks(s *Server) (release func()) {
	s.others.runsMu.Lock()
	return s.others.runsMu.Unlock
}
