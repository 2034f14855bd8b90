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

// Side is the end of a host's connection that proves its key.
type Side string

// The sides.
const (
	HostSide   Side = "host"
	ServerSide Side = "server"
)

// ProofText returns the text that an end signs with its Ed25519 key. It contains the host, the
// server's origin as the host dialled it, and both nonces as sent, so that an intermediary cannot
// forward a signature.
func ProofText(side Side, origin, host, serverNonce, hostNonce string) []byte {
	return []byte(strings.Join([]string{"concerto-relay-" + string(side) + "-v1", origin, host, serverNonce, hostNonce}, "\n"))
}

// OriginOf returns the origin of a URL, as browsers write it; ws becomes http.
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

// HostOfKey returns the id of a new host with this public key.
func HostOfKey(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return "host_" + base32.StdEncoding.EncodeToString(sum[:])[:26]
}

// Fingerprint returns the fingerprint of a public key for people to compare.
func Fingerprint(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])
}

// KeyText encodes a key, nonce or signature.
func KeyText(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// ParseKey decodes a public key.
func ParseKey(text string) (ed25519.PublicKey, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("a public key must be %d bytes as base64url without padding", ed25519.PublicKeySize)
	}
	return b, nil
}

// Limits on a nonce, in bytes.
const (
	NonceBytes   = 32 // of our own
	nonceAtLeast = 16
	nonceAtMost  = 64
)

// CheckNonce checks a nonce of the other end.
func CheckNonce(text string) error {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) < nonceAtLeast || len(b) > nonceAtMost {
		return fmt.Errorf("a nonce must be %d to %d bytes as base64url without padding", nonceAtLeast, nonceAtMost)
	}
	return nil
}
