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

// Key is by what a host that was paired is known, and by what it knows the server.
type Key struct {
	HostID  string
	Private ed25519.PrivateKey
	Server  ed25519.PublicKey // nil when the pairing did not tell: the first one that proves itself is taken
	// Pin keeps the first one; it is called when Server is nil.
	Pin func(ed25519.PublicKey) error
}

func (k *Key) same(other *Key) bool {
	return (k == nil) == (other == nil) && (k == nil || k.HostID == other.HostID && k.Private.Equal(other.Private) && (k.Server == nil || k.Server.Equal(other.Server)))
}

// key is what this host is known by; nil when that is its token.
func (l *Link) key() (*Key, error) {
	if l.o.Key == nil {
		return nil, nil
	}
	k, err := l.o.Key()
	if err != nil || k == nil {
		return nil, err
	}
	if k.HostID != l.o.HostID {
		return nil, fmt.Errorf("this machine was paired as %s, and hostd is %s: start hostd anew", k.HostID, l.o.HostID)
	}
	return k, nil
}

// changed says whether the host is known by something else than when it connected last.
func (l *Link) changed() bool {
	if l.o.Key == nil {
		return false
	}
	k, err := l.o.Key()
	return err == nil && !k.same(l.by)
}

// errServerKey is a server's key that is not the one that was pinned.
var errServerKey = errors.New("the server's key is not the one that this machine was paired with")

func (l *Link) otherServer(got ed25519.PublicKey) error {
	return fmt.Errorf("%w: it is %s now. If the server's database was made anew, pair again (concerto-relay pair --server %s); else somebody is between this machine and the server",
		errServerKey, protocol.Fingerprint(got), l.o.URL)
}

// proof is what the server still has to prove on a connection.
type proof struct {
	key  *Key
	by   ed25519.PublicKey // the server's, as it says
	text []byte            // that it has to sign
}

// prove answers the server's challenge, which is its first frame.
func (l *Link) prove(ctx context.Context, conn *websocket.Conn, k *Key) (*proof, error) {
	ctx, cancel := context.WithTimeout(ctx, connectWithin)
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
		return nil, fmt.Errorf("the server does not ask this host to prove its key, but sends %s: pair with a server that knows keys", e.Type)
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
		return nil, l.otherServer(server)
	}
	var raw [protocol.NonceBytes]byte
	_, _ = rand.Read(raw[:]) // it does not fail
	own, origin := protocol.KeyText(raw[:]), l.origin()
	answer := protocol.ChallengeAnswer{Nonce: own, Signature: protocol.KeyText(ed25519.Sign(k.Private, protocol.ProofText(protocol.HostSide, origin, k.HostID, c.Nonce, own)))}
	reply := l.envelope(protocol.ChallengeBack, answer)
	if err := conn.Write(ctx, websocket.MessageText, reply.Append(nil)); err != nil {
		return nil, fmt.Errorf("prove this host's key: %w", err)
	}
	return &proof{k, server, protocol.ProofText(protocol.ServerSide, origin, k.HostID, c.Nonce, own)}, nil
}

// origin is the server's, as it is dialled.
func (l *Link) origin() string {
	u, err := url.Parse(l.url)
	if err != nil {
		panic("link: " + err.Error()) // New has parsed it
	}
	return protocol.OriginOf(u)
}

// check takes the server's proof, and keeps its key when none was known.
func (p *proof) check(signature string) error {
	b, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil || !ed25519.Verify(p.by, p.text, b) {
		return errors.New("the server does not prove its key: its welcome is not signed by it")
	}
	if p.key.Server == nil && p.key.Pin != nil {
		if err := p.key.Pin(p.by); err != nil {
			return fmt.Errorf("keep the server's key: %w", err)
		}
	}
	return nil
}
