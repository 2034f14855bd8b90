package link_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/relay/hostd/link"
	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
)

func seeded(n byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize))
}

func public(k ed25519.PrivateKey) ed25519.PublicKey { return k.Public().(ed25519.PublicKey) }

const serverNonce = "c2VydmVyLW5vbmNlLW9mLTMyLWJ5dGVzLW9mLWEtdGVzdA"

// challenge sends a challenge to a machine. It checks the response and returns the machine's nonce.
func (p *peer) challenge(server, machine ed25519.PrivateKey, origin string) (nonce string) {
	p.t.Helper()
	p.send(protocol.Challenge, "", fmt.Sprintf(`{"nonce":%q,"server_key":%q}`, serverNonce, protocol.KeyText(public(server))))
	e := p.read()
	d, err := protocol.Decode[protocol.ChallengeAnswer](&e)
	if err != nil || e.Type != protocol.ChallengeResponse {
		p.t.Fatalf("message = %s, error = %v; want a challenge response", e.Append(nil), err)
	}
	signature, err := base64.RawURLEncoding.DecodeString(d.Signature)
	if err != nil || !ed25519.Verify(public(machine), []byte("concerto-relay-host-v1\n"+origin+"\nhost_a\n"+serverNonce+"\n"+d.Nonce), signature) {
		p.t.Errorf("invalid signature of the machine: %s", e.Data)
	}
	return d.Nonce
}

// greet sends a welcome with a signature.
func (p *peer) greet(signature string) {
	p.t.Helper()
	p.send(protocol.Welcome, "", fmt.Sprintf(`{"protocol":2,"agent":"fake/1","features":[],"heartbeat_s":20,"max_frame":4194304,"window":10,"runs":{},"signature":%q}`, signature))
}

func signed(server ed25519.PrivateKey, origin, nonce string) string {
	return protocol.KeyText(ed25519.Sign(server, []byte("concerto-relay-server-v1\n"+origin+"\nhost_a\n"+serverNonce+"\n"+nonce)))
}

// keyring holds the key of a machine, which may change, and the server key that the machine has
// pinned.
type keyring struct {
	mu     sync.Mutex
	key    *link.Key
	pinned ed25519.PublicKey
}

func (k *keyring) get() (*link.Key, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.key, nil
}

func (k *keyring) set(key *link.Key) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.key = key
}

func (k *keyring) pin(key ed25519.PublicKey) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pinned = key
	return nil
}

// errs waits until the link reports an error that contains a text.
func (h *machine) errs(want string) {
	h.t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; {
		err := h.link.State().Err
		if err != nil && strings.Contains(err.Error(), want) {
			return
		}
		if time.Now().After(end) {
			h.t.Fatalf("error of the link = %v, want %q", err, want)
		}
	}
}

// TestKey checks that a machine proves its key and never sends its token. It sends nothing else
// before the server has proven its key. A machine that is paired while it is connected by its token
// reconnects by its key.
func TestKey(t *testing.T) {
	byEither := func(r *http.Request) bool {
		return byHeader(r) || r.URL.Query().Get("auth") == "key" && r.Header.Get("Authorization") == "" && !strings.Contains(r.URL.RawQuery, "s3cret")
	}
	s := serve(t, byEither)
	mine, server := seeded(1), seeded(2)
	ring := &keyring{}
	// Only the delay for checking the key passes; the wait for the first welcome does not.
	whenPaired := newClock(func(d time.Duration) bool { key, _ := ring.get(); return key != nil && d <= time.Second && d > 0 })
	h := connectBy(t, s.web.URL+"/base", whenPaired, ring.get, func(sp *spool.Spool) { outputs(t, sp, "run_a", "1") })
	p := s.accept()
	p.hello()
	p.welcome(10, `{}`)
	expect(t, p.readShort(1), "run_a 1 1")
	ring.set(&link.Key{MachineID: "host_a", Private: mine, Server: public(server)})
	p.close(protocol.CloseUnauthorized) // the server closes the connection when an owner confirms the pairing
	p = s.accept()
	nonce := p.challenge(server, mine, s.web.URL)
	p.hello()
	p.greet(signed(server, s.web.URL, nonce))
	expect(t, p.readShort(1), "run_a 1 1")
	if st := h.link.State(); !st.Connected {
		t.Errorf("state = %+v, want a connection", st)
	}
	p.drop()
}

// TestServerKey checks servers that do not have the pinned key. A server with another key receives
// no signature. A server that does not prove its key, or sends commands before the proof, is
// disconnected, and its commands are not performed.
func TestServerKey(t *testing.T) {
	mine, server, other := seeded(1), seeded(2), seeded(3)
	for name, c := range map[string]struct {
		play func(p *peer, origin string)
		want string
	}{
		"another key": {func(p *peer, _ string) {
			p.send(protocol.Challenge, "", fmt.Sprintf(`{"nonce":%q,"server_key":%q}`, serverNonce, protocol.KeyText(public(other))))
			if _, _, err := p.conn.Read(context.Background()); err == nil {
				p.t.Error("the machine answered another server's challenge")
			}
		}, "pair again (concerto-relay pair --server http"},
		"no challenge": {func(p *peer, _ string) {
			p.welcome(10, `{}`)
		}, "instead of a key challenge"},
		"no signature": {func(p *peer, origin string) {
			p.challenge(server, mine, origin)
			p.hello()
			p.welcome(10, `{}`)
		}, "did not prove its key"},
		"another's signature": {func(p *peer, origin string) {
			nonce := p.challenge(server, mine, origin)
			p.hello()
			p.greet(signed(other, origin, nonce))
		}, "did not prove its key"},
		"a signature for another nonce": {func(p *peer, origin string) {
			p.challenge(server, mine, origin)
			p.hello()
			p.greet(signed(server, origin, serverNonce))
		}, "did not prove its key"},
		"a command before": {func(p *peer, origin string) {
			p.challenge(server, mine, origin)
			p.hello()
			p.send(protocol.RunSendInput, "run_a", `{"input_id":"i1","text":"x"}`)
		}, "before it proved its key"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(r *http.Request) bool { return r.URL.Query().Get("auth") == "key" })
			ring := &keyring{key: &link.Key{MachineID: "host_a", Private: mine, Server: public(server)}}
			h := connectBy(t, s.web.URL+"/base", newClock(never), ring.get, func(sp *spool.Spool) { outputs(t, sp, "run_a", "1") })
			p := s.accept()
			c.play(p, s.web.URL)
			h.errs(c.want)
			for { // the machine must not have sent anything else
				_, frame, err := p.conn.Read(context.Background())
				if err != nil {
					break
				}
				t.Errorf("the machine has sent %s", frame)
			}
			if run, _ := h.spool.Run("run_a"); run.Acked != 0 || len(h.tools.lines) > 0 {
				t.Errorf("run = %+v, commands = %v; want nothing acknowledged and no commands", run, h.tools.lines)
			}
			p.drop()
		})
	}
}

// TestServerKeyIsPinned pairs without a server key. The first key that the server proves must be
// pinned.
func TestServerKeyIsPinned(t *testing.T) {
	s := serve(t, func(r *http.Request) bool { return r.URL.Query().Get("auth") == "key" })
	mine, server := seeded(1), seeded(2)
	ring := &keyring{}
	ring.key = &link.Key{MachineID: "host_a", Private: mine, Pin: ring.pin}
	connectBy(t, strings.Replace(s.web.URL, "http", "ws", 1)+"/base", newClock(never), ring.get, func(sp *spool.Spool) { outputs(t, sp, "run_a", "1") })
	p := s.accept()
	nonce := p.challenge(server, mine, s.web.URL)
	p.hello()
	p.greet(signed(server, s.web.URL, nonce))
	expect(t, p.readShort(1), "run_a 1 1")
	ring.mu.Lock()
	defer ring.mu.Unlock()
	if !ring.pinned.Equal(public(server)) {
		t.Error("the server's key is not pinned")
	}
	p.drop()
}
