package protocol

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
)

// Side is an end of a host's connection that proves its key.
type Side string

// The sides.
const (
	HostSide   Side = "host"
	ServerSide Side = "server"
)

// ProofText is what an end signs with its key (Ed25519): for which host it does so, at which server, and
// in answer to which nonces, which stand there as they were sent. origin is the server's as the host has
// dialled it, so that nobody between can hand a signature on.
func ProofText(side Side, origin, host, serverNonce, hostNonce string) []byte {
	return []byte(strings.Join([]string{"concerto-relay-" + string(side) + "-v1", origin, host, serverNonce, hostNonce}, "\n"))
}

// OriginOf is a URL's, as browsers write it; ws is http there.
func OriginOf(u *url.URL) string {
	scheme, usual := strings.ToLower(u.Scheme), "80"
	switch scheme {
	case "ws":
		scheme = "http"
	case "wss":
		scheme = "https"
	}
	if scheme == "https" {
		usual = "443"
	}
	host := u.Host
	if u.Port() == usual {
		host = strings.TrimSuffix(host, ":"+usual)
	}
	return scheme + "://" + strings.ToLower(host)
}

// HostOfKey is the id of a host that is known by a public key, and had none before.
func HostOfKey(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return "host_" + base32.StdEncoding.EncodeToString(sum[:])[:26]
}

// Fingerprint is a public key as people compare it.
func Fingerprint(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])
}

// KeyText is a key, nonce or signature as it is sent.
func KeyText(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// ParseKey reads a public key as it is sent.
func ParseKey(text string) (ed25519.PublicKey, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("a public key is %d bytes as base64url without padding", ed25519.PublicKeySize)
	}
	return b, nil
}

// The bounds of a nonce, in bytes.
const (
	NonceBytes   = 32 // of ours
	nonceAtLeast = 16
	nonceAtMost  = 64
)

// CheckNonce says what is wrong with a nonce of the other end.
func CheckNonce(text string) error {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) < nonceAtLeast || len(b) > nonceAtMost {
		return fmt.Errorf("a nonce is %d to %d bytes as base64url without padding", nonceAtLeast, nonceAtMost)
	}
	return nil
}
