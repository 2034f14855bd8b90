package server

import (
	"errors"
	"net/http"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
)

// proving is what a connection has to do with the host's key. It is its reader's alone.
type proving struct {
	waits     auth.Proof // for its answer; nil when it is in, or came by its token
	signature string     // the server's, for the welcome
}

// keySocket lets a host in that proves its key: the first frame asks for that, and nothing else is
// taken before.
func (s *Server) keySocket(w http.ResponseWriter, r *http.Request, id string) {
	proof, err := s.config.Auth.HostByKey(r.Context(), id, r)
	if err != nil {
		httpguard.Fail(w, s.failed(err, protocol.Unauthorized))
		return
	}
	x := s.upgrade(w, r)
	if x == nil {
		return
	}
	h := newHost(x, id)
	h.proof.waits = proof
	x.peer = h
	h.stopWait = s.clock.After(protocol.ProofTimeout, func() { h.socket.close(protocol.CloseUnauthorized, "the host has not proven its key in time") })
	x.start(h)
	h.socket.send(protocol.Challenge, nil, proof.Challenge())
}

// prove takes the frame that proves a host's key.
func (h *host) prove(e *protocol.Envelope) {
	h.stopWait()
	if h.socket.closed.Load() {
		return
	}
	if e.Type != protocol.ChallengeResponse {
		h.socket.close(protocol.CloseUnauthorized, "the first frame of a host that has a key is auth.response")
		return
	}
	d, err := protocol.Decode[protocol.ChallengeAnswer](e)
	if why := protocol.Check(e); why != nil || err != nil {
		h.socket.close(protocol.CloseUnauthorized, "auth.response has a nonce and a signature")
		return
	}
	h.proof.signature, err = h.proof.waits.Check(h.srv.ctx, d)
	var told *Failure
	switch {
	case errors.As(err, &told):
		h.socket.close(protocol.CloseUnauthorized, told.Why)
	case err != nil:
		h.srv.failed(err, protocol.Internal)
		h.socket.close(protocol.CloseInternal, "the store cannot do this now")
	default:
		h.proof.waits = nil
		h.letIn()
	}
}
