package protocol

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Side is the end of a connection that proves its key: the machine or the server.
type Side string

// The ends of a connection.
const (
	MachineSide Side = "host"
	ServerSide  Side = "server"
)

// ProofText returns the text that an end of a connection signs with its Ed25519 key. The text
// contains the machine, the server's origin as the machine has dialled it, and both nonces.
// Therefore an intermediary cannot use a forwarded signature for another connection.
func ProofText(side Side, origin, machine, serverNonce, machineNonce string) []byte {
	return []byte(strings.Join([]string{"concerto-relay-" + string(side) + "-v1", origin, machine, serverNonce, machineNonce}, "\n"))
}

// RequestProofHeader is the header by which a machine with a key authenticates an HTTP request: its
// time in Unix ms, a dot, and the signature of RequestProofText in base64url without padding.
const RequestProofHeader = "Concerto-Proof"

// RequestProofTime is the maximum difference between that time and the server's.
const RequestProofTime = 5 * time.Minute

// RequestProofText returns the text that a machine signs to authenticate an HTTP request. No proof
// for a connection has a text of this form, because its nonces contain no spaces.
func RequestProofText(origin, machine, method, uri string, ms int64) []byte {
	return ProofText(MachineSide, origin, machine, method+" "+uri, strconv.FormatInt(ms, 10))
}

// OriginOf returns the origin of a URL in the form that browsers use. The schemes ws and wss become
// http and https.
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

// MachineOfKey returns the id that a new machine with this public key receives.
func MachineOfKey(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return "host_" + base32.StdEncoding.EncodeToString(sum[:])[:26]
}

// Fingerprint returns the fingerprint of a public key, which people can compare.
func Fingerprint(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])
}

// KeyText returns a key, nonce or signature as text.
func KeyText(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// ParseKey decodes the text of a public key.
func ParseKey(text string) (ed25519.PublicKey, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("a public key must be %d bytes as base64url without padding", ed25519.PublicKeySize)
	}
	return b, nil
}

// Limits on the length of a nonce, in bytes.
const (
	NonceBytes   = 32 // length of the nonces that this package creates
	nonceAtLeast = 16
	nonceAtMost  = 64
)

// CheckNonce returns an error if text, which the other end has sent, is not a valid nonce.
func CheckNonce(text string) error {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) < nonceAtLeast || len(b) > nonceAtMost {
		return fmt.Errorf("a nonce must be %d to %d bytes as base64url without padding", nonceAtLeast, nonceAtMost)
	}
	return nil
}
