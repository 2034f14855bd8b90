package server

import "github.com/concerto-lang/concerto/relay/protocol"

// CloseHost closes the connection of a host that was removed or has new credentials, with a reason.
// Nothing that it still sends is stored.
func (s *Server) CloseHost(id, why string) {
	if h := s.hosts.get(id); h != nil {
		h.socket.close(protocol.CloseUnauthorized, why)
	}
	s.others.notify(checkMail) // on the server that has the host
}
