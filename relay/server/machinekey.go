package server

import (
	"errors"
	"net/http"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
)

// proving is the state of the authentication of a machine by its key. Only the goroutine that reads
// the machine's connection uses it.
type proving struct {
	waits     auth.Proof // the pending proof; nil after success, and for a machine with a token
	signature string     // the server's signature, which the welcome contains
}

// keySocket accepts a machine that proves its key. The server sends a challenge as the first frame,
// and refuses every frame of the machine other than the response to the challenge.
func (s *Server) keySocket(w http.ResponseWriter, r *http.Request, id string) {
	proof, err := s.config.Auth.MachineByKey(r.Context(), id, r)
	if err != nil {
		httpguard.Fail(w, s.failed(err, protocol.Unauthorized))
		return
	}
	x := s.upgrade(w, r)
	if x == nil {
		return
	}
	h := newMachine(x, id)
	h.proof.waits = proof
	x.peer = h
	h.stopWait = s.clock.After(protocol.ProofTimeout, func() { h.socket.close(protocol.CloseUnauthorized, "the machine did not prove its key in time") })
	x.start(h)
	h.socket.send(protocol.Challenge, nil, proof.Challenge())
}

// prove handles the frame that proves a machine's key.
func (h *machine) prove(e *protocol.Envelope) {
	h.stopWait()
	if h.socket.closed.Load() {
		return
	}
	if e.Type != protocol.ChallengeResponse {
		h.socket.close(protocol.CloseUnauthorized, "the first frame of a machine with a key must be auth.response")
		return
	}
	d, err := protocol.Decode[protocol.ChallengeAnswer](e)
	if why := protocol.Check(e); why != nil || err != nil {
		h.socket.close(protocol.CloseUnauthorized, "auth.response must have a nonce and a signature")
		return
	}
	h.proof.signature, err = h.proof.waits.Check(h.srv.ctx, d)
	var failure *Failure
	switch {
	case errors.As(err, &failure):
		h.socket.close(protocol.CloseUnauthorized, failure.Why)
	case err != nil:
		h.srv.failed(err, protocol.Internal)
		h.socket.close(protocol.CloseInternal, "the database failed: try again later")
	default:
		h.hasCredentials, h.proof.waits = h.proof.waits.IsCurrent, nil
		h.authenticated()
	}
}
