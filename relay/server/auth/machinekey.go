package auth

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
	"github.com/concerto-lang/concerto/relay/store"
)

// Proof is a connection on which the machine must prove that it has its key. A Proof is used once.
type Proof interface {
	Challenge() protocol.ChallengeData
	// Check verifies the machine's answer and returns the server's signature, or an
	// *httpguard.Refusal with code unauthorized.
	Check(ctx context.Context, answer protocol.ChallengeAnswer) (signature string, err error)
	// IsCurrent reports whether the machine is still registered with the key that Check has
	// verified.
	IsCurrent(context.Context) (bool, error)
}

// ServerKey returns the key that all servers on this database share.
func (a *Auth) ServerKey(ctx context.Context) (ed25519.PrivateKey, error) {
	a.mu.Lock()
	key := a.serverKey
	a.mu.Unlock()
	if key != nil {
		return key, nil
	}
	text, err := a.c.Store.Secret(ctx, "server_key", func() (string, error) {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		return base64.RawURLEncoding.EncodeToString(key.Seed()), err
	})
	if err != nil {
		return nil, err
	}
	seed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("the stored key of the server is invalid")
	}
	key = ed25519.NewKeyFromSeed(seed)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.serverKey = key
	return key, nil
}

// MachineByKey starts the authentication of a machine by its key. If the machine has no registered
// key, it returns an *httpguard.Refusal.
func (a *Auth) MachineByKey(ctx context.Context, id string, r *http.Request) (Proof, error) {
	if !protocol.IsID(id) {
		return nil, httpguard.Refused(protocol.BadMessage, "host_id must be 1 to 64 of letters, digits, _ and -")
	}
	server, err := a.ServerKey(ctx)
	if err != nil {
		return nil, err
	}
	p := &proof{a: a, id: id, r: r, server: server, origins: a.c.Guard.Origins(r), nonce: newNonce()}
	if _, err := p.key(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// MachineRequest authenticates an HTTP request of a registered machine, whose id is in ?host_id=,
// by its token or by the header protocol.RequestProofHeader. Otherwise it returns an
// *httpguard.Refusal.
func (a *Auth) MachineRequest(ctx context.Context, r *http.Request) error {
	id, token := MachineCredentials(r)
	proof := r.Header.Get(protocol.RequestProofHeader)
	valid, err := a.machineHas(ctx, id, func(h *store.Machine) bool {
		if h.PublicKey != "" {
			return a.hasProof(h, proof, r)
		}
		return token != "" && subtle.ConstantTimeCompare([]byte(h.TokenHash), []byte(hexsum.SHA256(token))) == 1
	})
	if err == nil && !valid {
		return a.refuseMachine(ctx, id, "the request is not by a registered machine: it has neither the machine's token nor a proof of its key", "", r)
	}
	return err
}

// hasProof reports whether a request has a proof of a machine's key. The proof can be used again
// for the same request within protocol.RequestProofTime.
func (a *Auth) hasProof(h *store.Machine, proof string, r *http.Request) bool {
	at, text, _ := strings.Cut(proof, ".")
	ms, err := strconv.ParseInt(at, 10, 64)
	signature, err2 := base64.RawURLEncoding.DecodeString(text)
	key, err3 := protocol.ParseKey(h.PublicKey)
	if errors.Join(err, err2, err3) != nil || a.c.Now().Sub(time.UnixMilli(ms)).Abs() > protocol.RequestProofTime {
		return false
	}
	return slices.ContainsFunc(a.c.Guard.Origins(r), func(origin string) bool {
		return ed25519.Verify(key, protocol.RequestProofText(origin, h.ID, r.Method, r.URL.RequestURI(), ms), signature)
	})
}

func newNonce() string {
	raw := make([]byte, protocol.NonceBytes)
	_, _ = rand.Read(raw) // never fails
	return protocol.KeyText(raw)
}

type proof struct {
	a       *Auth
	id      string
	r       *http.Request
	server  ed25519.PrivateKey
	origins []string // the origins under which this server is reachable
	nonce   string
	proved  ed25519.PublicKey // the key that Check has verified; nil before
}

func (p *proof) IsCurrent(ctx context.Context) (bool, error) { return p.a.HasKey(ctx, p.id, p.proved) }

// key returns the machine's current key.
func (p *proof) key(ctx context.Context) (ed25519.PublicKey, error) {
	machine, err := p.a.c.Store.Machine(ctx, p.id)
	switch {
	case errors.Is(err, store.ErrUnknown):
		return nil, p.a.refuseMachine(ctx, p.id, "the machine is unknown or was removed: pair it", "", p.r)
	case err != nil:
		return nil, err
	case machine.PublicKey == "":
		return nil, p.a.refuseMachine(ctx, p.id, "the machine authenticates with a token: pair it to use a key", p.id, p.r)
	}
	return protocol.ParseKey(machine.PublicKey)
}

func (p *proof) Challenge() protocol.ChallengeData {
	return protocol.ChallengeData{Nonce: p.nonce, ServerKey: protocol.KeyText(p.server.Public().(ed25519.PublicKey))}
}

func (p *proof) Check(ctx context.Context, answer protocol.ChallengeAnswer) (string, error) {
	key, err := p.key(ctx)
	if err != nil {
		return "", err
	}
	refused := func(why string) (string, error) { return "", p.a.refuseMachine(ctx, p.id, why, p.id, p.r) }
	signature, err := base64.RawURLEncoding.DecodeString(answer.Signature)
	if err != nil {
		return refused("the signature is not base64url without padding")
	}
	if err := protocol.CheckNonce(answer.Nonce); err != nil {
		return refused(err.Error())
	}
	if answer.Nonce == p.nonce {
		return refused("the machine's nonce equals the server's")
	}
	i := slices.IndexFunc(p.origins, func(origin string) bool {
		return ed25519.Verify(key, protocol.ProofText(protocol.MachineSide, origin, p.id, p.nonce, answer.Nonce), signature)
	})
	if i < 0 {
		return refused("the signature is invalid: it must be by the machine's key, for this connection and an origin of this server")
	}
	p.proved = key
	return protocol.KeyText(ed25519.Sign(p.server, protocol.ProofText(protocol.ServerSide, p.origins[i], p.id, p.nonce, answer.Nonce))), nil
}
