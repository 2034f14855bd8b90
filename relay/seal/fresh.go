package seal

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// clockStep is the largest step backwards of the host's clock after which tokens stay valid.
const clockStep = 5 * time.Second

// FreshKey is the secret by which a host recognizes its own tokens. A new key invalidates all
// earlier statements.
type FreshKey [32]byte

// NewFreshKey creates a random key.
func NewFreshKey() FreshKey { return FreshKey(randomBytes(32)) }

const (
	freshTime = 8  // bytes of a token with the time
	freshSize = 24 // bytes of a token
)

// Token returns a token with the host's time.
func (k FreshKey) Token(now time.Time) string {
	return encode64(k.token(binary.BigEndian.AppendUint64(nil, uint64(now.UnixMilli()))))
}

func (k FreshKey) token(ms []byte) []byte {
	return append(ms, hmacInContext(k[:], contextFresh, ms)...)[:freshSize]
}

// age returns the age of a token, and whether it is one of this key.
func (k FreshKey) age(token string, now time.Time) (time.Duration, bool) {
	b := decode64(token, freshSize)
	if b == nil || !hmac.Equal(b, k.token(b[:freshTime:freshTime])) {
		return 0, false
	}
	return now.Sub(time.UnixMilli(int64(binary.BigEndian.Uint64(b)))), true
}

func hmacInContext(key []byte, context string, text []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(inContext(context, text))
	return h.Sum(nil)
}
