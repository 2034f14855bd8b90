package server

import "github.com/concerto-lang/concerto/relay/protocol"

// CloseMachine closes the connection of a machine that was removed or has new credentials. why is
// the reason that the machine receives. Later frames of the machine are discarded.
func (s *Server) CloseMachine(id, why string) {
	if h := s.machines.get(id); h != nil {
		h.socket.close(protocol.CloseUnauthorized, why)
	}
	s.peers.notify(checkMail) // for the server that the machine is connected to
}
