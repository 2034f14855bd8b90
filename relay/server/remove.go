package server

import "github.com/concerto-lang/concerto/relay/protocol"

// CloseHost ends the connection of a host whose credentials have ended, and says why: it was removed, or
// has others now. What it still sends is not stored.
func (s *Server) CloseHost(id, why string) {
	if h := s.hosts.get(id); h != nil {
		h.socket.close(protocol.CloseUnauthorized, why)
	}
	s.others.tell(lookMail) // of the server that has it
}
