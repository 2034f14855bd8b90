package server

// ForgetEnded makes a server forget ended runs as soon as possible.
func ForgetEnded(s *Server) {
	s.others.runsMu.Lock()
	defer s.others.runsMu.Unlock()
	s.others.forgets.most = 0
}

// HasState reports whether a server still has the notification state of a run.
func HasState(s *Server, run string) bool {
	_, ok := s.hub.prefix(run)
	return ok
}

// HoldChecks prevents a server from checking the runs of other servers until release is called.
func HoldChecks(s *Server) (release func()) {
	s.others.runsMu.Lock()
	return s.others.runsMu.Unlock
}
