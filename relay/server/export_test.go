package server

// ForgetEnded makes a server forget ended runs as soon as possible.
func ForgetEnded(s *Server) {
	s.peers.runsMu.Lock()
	defer s.peers.runsMu.Unlock()
	s.peers.forgets.most = 0
}

// HasState reports whether a server still has the notification state of a run.
func HasState(s *Server, run string) bool {
	_, ok := s.hub.prefix(run)
	return ok
}

// HoldChecks prevents a server from checking the runs of other servers until release is called.
func HoldChecks(s *Server) (release func()) {
	s.peers.runsMu.Lock()
	return s.peers.runsMu.Unlock
}
