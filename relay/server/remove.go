package server

import "github.com/concerto-lang/concerto/relay/protocol"

// CloseHost ends the connection of a host that was removed. What it still sends is not stored.
func (s *Server) CloseHost(id string) {
	if h := s.hosts.get(id); h != nil {
		h.close(protocol.CloseUnauthorized, "the host was removed")
	}
}
