package seal

import (
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"math/big"
)

const (
	pointSize  = 65 // of an uncompressed point of P-256, in bytes
	scalarSize = 32
)

// Keys are the private keys of a member. They are safe for concurrent use.
type Keys struct {
	sign *ecdsa.PrivateKey
	seal *ecdh.PrivateKey
}

// PublicKeys are the public keys of a member, each an uncompressed point in base64url.
type PublicKeys struct {
	Sign string `json:"sign_key"`
	Seal string `json:"seal_key"`
}

// NewKeys creates random keys.
func NewKeys() *Keys {
	return &Keys{must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)), must(ecdh.P256().GenerateKey(rand.Reader))}
}

// storedKeys is the form in which private keys are stored.
type storedKeys struct {
	V    int64  `json:"v"`
	Sign string `json:"sign_key"`
	Seal string `json:"seal_key"`
}

// Marshal returns the private keys as JSON, for a file that only the user can read.
func (k *Keys) Marshal() []byte {
	s := k.scalars()
	return encode(storedKeys{1, encode64(s[:scalarSize]), encode64(s[scalarSize:])})
}

// ParseKeys reads the result of Keys.Marshal. Its error is a *Refusal.
func ParseKeys(text []byte) (*Keys, error) {
	var s storedKeys
	if err := decode(text, &s); err != nil {
		return nil, err
	}
	if s.V != 1 {
		return nil, refuse(Unsupported, "the keys have version %d", s.V)
	}
	return keysOf(append(decode64(s.Sign, scalarSize), decode64(s.Seal, scalarSize)...))
}

// scalars returns the scalars of both keys, sign_key first.
func (k *Keys) scalars() []byte { return append(must(k.sign.Bytes()), k.seal.Bytes()...) }

func keysOf(scalars []byte) (*Keys, error) {
	if len(scalars) != 2*scalarSize {
		return nil, refuse(BadMessage, "a private key has the wrong form")
	}
	sign, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), scalars[:scalarSize])
	if err != nil {
		return nil, refuse(BadMessage, "sign_key: %v", err)
	}
	seal, err := ecdh.P256().NewPrivateKey(scalars[scalarSize:])
	if err != nil {
		return nil, refuse(BadMessage, "seal_key: %v", err)
	}
	return &Keys{sign, seal}, nil
}

// Public returns the public keys.
func (k *Keys) Public() PublicKeys {
	return PublicKeys{encode64(must(k.sign.PublicKey.Bytes())), encode64(k.seal.PublicKey().Bytes())}
}

// DeviceID returns the id of the device that has the keys.
func (p PublicKeys) DeviceID() string {
	sum := sha256.Sum256(decode64(p.Sign, pointSize))
	return "d_" + encode64(sum[:16])
}

// check reports whether both keys are points of the curve, and differ.
func (p PublicKeys) check() error {
	if _, err := ecdh.P256().NewPublicKey(decode64(p.Seal, pointSize)); err != nil {
		return refuse(BadMessage, "seal_key is not a point of P-256 in base64url")
	}
	if p.verifier() == nil {
		return refuse(BadMessage, "sign_key is not a point of P-256 in base64url")
	}
	if p.Sign == p.Seal {
		return refuse(BadMessage, "sign_key and seal_key are the same")
	}
	return nil
}

// verifier returns the key that verifies the member's signatures, or nil if it is invalid.
func (p PublicKeys) verifier() *ecdsa.PublicKey {
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), decode64(p.Sign, pointSize))
	if err != nil {
		return nil
	}
	return key
}

// signText returns a signature over a canonical text.
func (k *Keys) signText(context string, text []byte) string {
	r, s, err := ecdsa.Sign(rand.Reader, k.sign, hashInContext(context, text))
	if err != nil {
		panic("seal: " + err.Error()) // see must
	}
	sig := make([]byte, 2*scalarSize)
	r.FillBytes(sig[:scalarSize])
	s.FillBytes(sig[scalarSize:])
	return encode64(sig)
}

// verifyText reports whether a signature over a canonical text is valid.
func (p PublicKeys) verifyText(context string, text []byte, sig string) bool {
	key, rs := p.verifier(), decode64(sig, 2*scalarSize)
	if key == nil || rs == nil {
		return false
	}
	r, s := new(big.Int).SetBytes(rs[:scalarSize]), new(big.Int).SetBytes(rs[scalarSize:])
	return ecdsa.Verify(key, hashInContext(context, text), r, s)
}
