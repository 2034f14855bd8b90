package link

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"

	"github.com/coder/websocket"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// Key contains the private key of a paired machine and the public key of its server.
type Key struct {
	MachineID string
	Private   ed25519.PrivateKey
	// Server is nil if the pairing does not contain the server's key. The first key that the server
	// proves is then pinned.
	Server ed25519.PublicKey
	// Pin stores the server's key. It is called if Server is nil.
	Pin func(ed25519.PublicKey) error
}

func (k *Key) equal(other *Key) bool {
	return (k == nil) == (other == nil) && (k == nil || k.MachineID == other.MachineID && k.Private.Equal(other.Private) && (k.Server == nil || k.Server.Equal(other.Server)))
}

// loadKey returns the machine's key, or nil if the machine authenticates by its token.
func (l *Link) loadKey() (*Key, error) {
	if l.o.Key == nil {
		return nil, nil
	}
	k, err := l.o.Key()
	if err != nil || k == nil {
		return nil, err
	}
	if k.MachineID != l.o.MachineID {
		return nil, fmt.Errorf("this machine was paired as %s, but hostd runs as %s: restart hostd", k.MachineID, l.o.MachineID)
	}
	return k, nil
}

// keyChanged reports whether the machine's key differs from the key used for the last connection.
func (l *Link) keyChanged() bool {
	if l.o.Key == nil {
		return false
	}
	k, err := l.o.Key()
	return err == nil && !k.equal(l.lastKey)
}

// errServerKey reports that the server's key is not the pinned one.
var errServerKey = errors.New("the server's key is not the one that this machine was paired with")

func (l *Link) serverKeyError(got ed25519.PublicKey) error {
	return fmt.Errorf("%w: it is %s now. If the server's database was created again, pair again (concerto-relay pair --server %s); otherwise the connection may be intercepted",
		errServerKey, protocol.Fingerprint(got), l.o.URL)
}

// proof contains what the server must prove on a connection.
type proof struct {
	key       *Key
	serverKey ed25519.PublicKey // public key that the server claims to have
	text      []byte            // text that the server must sign
}

// answerChallenge reads the server's challenge, which must be the first frame, and sends the
// response. It returns what the server must prove.
func (l *Link) answerChallenge(ctx context.Context, conn *websocket.Conn, k *Key) (*proof, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	_, frame, err := conn.Read(ctx)
	if err != nil {
		return nil, fmt.Errorf("wait for the server's challenge: %w", err)
	}
	e, refused := protocol.Parse(frame)
	if refused == nil {
		refused = protocol.Check(&e)
	}
	if refused != nil {
		return nil, refused
	}
	if e.Type != protocol.Challenge {
		return nil, fmt.Errorf("the server sent %s instead of a key challenge: update the server, or pair with one that supports keys", e.Type)
	}
	c, err := protocol.Decode[protocol.ChallengeData](&e)
	if err != nil {
		return nil, err
	}
	server, err := protocol.ParseKey(c.ServerKey)
	if err != nil {
		return nil, fmt.Errorf("auth.challenge: server_key: %w", err)
	}
	if err := protocol.CheckNonce(c.Nonce); err != nil {
		return nil, fmt.Errorf("auth.challenge: %w", err)
	}
	if k.Server != nil && !k.Server.Equal(server) {
		return nil, l.serverKeyError(server)
	}
	var raw [protocol.NonceBytes]byte
	_, _ = rand.Read(raw[:]) // never fails
	own, origin := protocol.KeyText(raw[:]), l.origin()
	answer := protocol.ChallengeAnswer{Nonce: own, Signature: protocol.KeyText(ed25519.Sign(k.Private, protocol.ProofText(protocol.MachineSide, origin, k.MachineID, c.Nonce, own)))}
	reply := l.envelope(protocol.ChallengeResponse, answer)
	if err := conn.Write(ctx, websocket.MessageText, reply.Append(nil)); err != nil {
		return nil, fmt.Errorf("prove this machine's key: %w", err)
	}
	return &proof{k, server, protocol.ProofText(protocol.ServerSide, origin, k.MachineID, c.Nonce, own)}, nil
}

// origin returns the origin of the server's URL.
func (l *Link) origin() string {
	u, err := url.Parse(l.url)
	if err != nil {
		panic("link: " + err.Error()) // cannot happen: New has parsed the URL
	}
	return protocol.OriginOf(u)
}

// verify checks the server's signature. If no key is pinned, it pins the server's key.
func (p *proof) verify(signature string) error {
	b, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil || !ed25519.Verify(p.serverKey, p.text, b) {
		return errors.New("the server did not prove its key: its welcome has no valid signature")
	}
	if p.key.Server == nil && p.key.Pin != nil {
		if err := p.key.Pin(p.serverKey); err != nil {
			return fmt.Errorf("store the server's key: %w", err)
		}
	}
	return nil
}
