package server

// HoldLooks has a server not look for what other servers have done with runs, until release.
func HoldLooks(s *Server) (release func()) {
	s.others.runsMu.Lock()
	return s.others.runsMu.Unlock
}
