package server

import "github.com/concerto-lang/concerto/relay/protocol"

// CloseHost closes the connection of a host that was removed or has new credentials. why is the
// reason that the host receives. Later frames of the host are discarded.
func (s *Server) CloseHost(id, why string) {
	if h := s.hosts.get(id); h != nil {
		h.socket.close(protocol.CloseUnauthorized, why)
	}
	s.peers.notify(checkMail) // for the server that the host is connected to
}
