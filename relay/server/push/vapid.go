package push

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/store"
)

// identity is the key that identifies the servers of a database to push services (RFC 8292).
type identity struct {
	key     *ecdsa.PrivateKey
	public  string // the public key, uncompressed, in base64url
	subject string // contact address for the operator of a push service
}

// tokenTTL is the lifetime of a token. Push services accept at most one day.
const tokenTTL = 12 * time.Hour

var raw = base64.RawURLEncoding

// loadIdentity loads the key from the store. The first call creates and stores the key.
func loadIdentity(ctx context.Context, s *store.Store, subject string) (*identity, error) {
	text, err := s.Secret(ctx, "push_key", func() (string, error) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return "", err
		}
		der, err := x509.MarshalPKCS8PrivateKey(key)
		return raw.EncodeToString(der), err
	})
	if err != nil {
		return nil, err
	}
	der, err := raw.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("the stored key for push messages is invalid: %w", err)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("the stored key for push messages is invalid: %w", err)
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || key.Curve != elliptic.P256() {
		return nil, fmt.Errorf("the key for push messages in the database is no key of P-256")
	}
	point, err := key.PublicKey.Bytes()
	if err != nil {
		return nil, err
	}
	return &identity{key, raw.EncodeToString(point), subject}, nil
}

// authorization returns the Authorization header for an endpoint.
func (id *identity) authorization(endpoint *url.URL, now time.Time) (string, error) {
	claims, err := json.Marshal(map[string]any{"aud": protocol.OriginOf(endpoint), "exp": now.Add(tokenTTL).Unix(), "sub": id.subject})
	if err != nil {
		return "", err
	}
	text := raw.EncodeToString([]byte(`{"typ":"JWT","alg":"ES256"}`)) + "." + raw.EncodeToString(claims)
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, id.key, sum[:])
	if err != nil {
		return "", fmt.Errorf("sign for a push service: %w", err)
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return "vapid t=" + text + "." + raw.EncodeToString(signature) + ", k=" + id.public, nil
}
