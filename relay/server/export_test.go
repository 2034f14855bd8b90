package server

// ForgetEnded has a server know no ended run for long.
func ForgetEnded(s *Server) {
	s.others.runsMu.Lock()
	defer s.others.runsMu.Unlock()
	s.others.forgets.most = 0
}

// Knows reports whether a server knows what followers of a run were notified of.
func Knows(s *Server, run string) bool {
	_, ok := s.hub.knows(run)
	return ok
}

// HoldLooks stops a server from checking the runs of other servers until release.
func HoldLooks(s *Server) (release func()) {
	s.others.runsMu.Lock()
	return s.others.runsMu.Unlock
}
