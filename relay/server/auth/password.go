package auth

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
)

// Parameters of argon2id (RFC 9106): 64 MiB, three passes, one lane.
const (
	hashMemory = 64 << 10 // KiB
	hashPasses = 3
	hashLanes  = 1
	saltBytes  = 16
	keyBytes   = 32

	// Maximum parameters of hashes that other programs created.
	maxMemory, maxPasses, maxLanes, maxKey = 1 << 20, 64, 16, 64
)

// MinPassword is the minimum number of characters of a password, MaxPassword the maximum number of
// bytes.
const MinPassword, MaxPassword = 10, 1024

// CheckPassword returns an error if a password is not acceptable.
func CheckPassword(password string) error {
	switch {
	case !utf8.ValidString(password) || strings.ContainsRune(password, 0):
		return fmt.Errorf("a password must be UTF-8 text")
	case utf8.RuneCountInString(password) < MinPassword:
		return fmt.Errorf("a password must have at least %d characters", MinPassword)
	case len(password) > MaxPassword:
		return fmt.Errorf("a password must have at most %d bytes", MaxPassword)
	}
	return nil
}

// hash is the hash of a password with its parameters.
type hash struct {
	memory, passes uint32
	lanes          uint8
	salt, key      []byte
}

// HashPassword returns the hash of a password: $argon2id$v=19$m=65536,t=3,p=1$SALT$KEY.
func HashPassword(password string) string {
	h := hash{memory: hashMemory, passes: hashPasses, lanes: hashLanes, salt: make([]byte, saltBytes)}
	_, _ = rand.Read(h.salt) // never fails
	h.key = h.derive(password, keyBytes)
	return h.String()
}

func (h *hash) derive(password string, length int) []byte {
	return argon2.IDKey([]byte(password), h.salt, h.passes, h.memory, h.lanes, uint32(length))
}

func (h *hash) String() string {
	form := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, h.memory, h.passes, h.lanes, form(h.salt), form(h.key))
}

// CheckHash returns an error if text is not a valid password hash.
func CheckHash(text string) error {
	_, err := readHash(text)
	return err
}

func readHash(text string) (*hash, error) {
	parts := strings.Split(text, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != "v=19" {
		return nil, fmt.Errorf("it is not an argon2id hash, $argon2id$v=19$m=…,t=…,p=…$SALT$KEY: create one with `concerto-relay token hash-password`")
	}
	var h hash
	for i, p := range []struct {
		name string
		max  uint64
		set  func(uint64)
	}{
		{"m", maxMemory, func(n uint64) { h.memory = uint32(n) }},
		{"t", maxPasses, func(n uint64) { h.passes = uint32(n) }},
		{"p", maxLanes, func(n uint64) { h.lanes = uint8(n) }},
	} {
		all := strings.Split(parts[3], ",")
		if len(all) != 3 {
			return nil, fmt.Errorf("a hash must have m, t and p, not %q", parts[3])
		}
		digits, found := strings.CutPrefix(all[i], p.name+"=")
		n, err := strconv.ParseUint(digits, 10, 32)
		if err != nil || !found || n < 1 || n > p.max {
			return nil, fmt.Errorf("a hash must have %s=1 to %s=%d, not %q", p.name, p.name, p.max, all[i])
		}
		p.set(n)
	}
	var err1, err2 error
	h.salt, err1 = base64.RawStdEncoding.DecodeString(parts[4])
	h.key, err2 = base64.RawStdEncoding.DecodeString(parts[5])
	if err1 != nil || err2 != nil || len(h.salt) < 8 || len(h.key) < 16 || len(h.key) > maxKey {
		return nil, fmt.Errorf("a hash must have a salt of at least 8 bytes and a key of 16 to %d bytes, in base64 without padding", maxKey)
	}
	return &h, nil
}

// dummyHash is verified for an unknown user, so that the response takes as long as for an existing
// user.
var dummyHash = hash{memory: hashMemory, passes: hashPasses, lanes: hashLanes, salt: make([]byte, saltBytes), key: make([]byte, keyBytes)}

// checkers is a semaphore that limits the number of concurrent password checks, because each check
// needs 64 MiB.
type checkers chan struct{}

// matches reports whether text is the hash of a password. An empty hash never matches, but the
// check takes the same time. matches waits until a checker is free or ctx is done.
func (c checkers) matches(ctx context.Context, password, text string) (bool, error) {
	h, found := &dummyHash, false
	if text != "" {
		read, err := readHash(text)
		if err != nil {
			return false, fmt.Errorf("the hash of a user's password: %w", err)
		}
		h, found = read, true
	}
	select {
	case c <- struct{}{}:
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	defer func() { <-c }()
	key := h.derive(password, len(h.key))
	return subtle.ConstantTimeCompare(key, h.key) == 1 && found, nil
}

// newSecret returns a secret of 256 random bits.
func newSecret(prefix string) string {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // never fails
	return prefix + base64.RawURLEncoding.EncodeToString(raw)
}

func newID(prefix string) string {
	raw := make([]byte, 10)
	_, _ = rand.Read(raw) // never fails
	return prefix + hex.EncodeToString(raw)
}

// Hash returns the hash of a password. It waits until a checker is free.
func (a *Auth) Hash(ctx context.Context, password string) (string, error) {
	select {
	case a.checks <- struct{}{}:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	defer func() { <-a.checks }()
	return HashPassword(password), nil
}
