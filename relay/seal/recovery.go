package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"math/big"
	"strings"
)

// RecoveryCode is the secret that opens the private recovery keys in a roster.
type RecoveryCode [16]byte

// NewRecoveryCode creates a random code.
func NewRecoveryCode() RecoveryCode { return RecoveryCode(randomBytes(16)) }

const (
	codeAlphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ" // Crockford's base 32
	codeLetters  = 28
	codeGroup    = 4
	checkBits    = 12
)

// String returns the code as seven groups of four letters with hyphens.
func (c RecoveryCode) String() string {
	n := new(big.Int).SetBytes(c[:])
	n.Lsh(n, checkBits).Or(n, big.NewInt(c.checksum()))
	var letters [codeLetters]byte
	for i, rest := codeLetters-1, new(big.Int); i >= 0; i-- {
		n.DivMod(n, big.NewInt(int64(len(codeAlphabet))), rest)
		letters[i] = codeAlphabet[rest.Int64()]
	}
	var groups []string
	for i := 0; i < codeLetters; i += codeGroup {
		groups = append(groups, string(letters[i:i+codeGroup]))
	}
	return strings.Join(groups, "-")
}

func (c RecoveryCode) checksum() int64 {
	return int64(binary.BigEndian.Uint16(hashInContext(contextCode, c[:])) >> (16 - checkBits))
}

// ParseRecoveryCode reads a code as a user types it. Its error is a *Refusal.
func ParseRecoveryCode(text string) (c RecoveryCode, err error) {
	text = strings.NewReplacer("-", "", " ", "", "O", "0", "I", "1", "L", "1").Replace(strings.ToUpper(text))
	if len(text) != codeLetters {
		return c, refuse(BadMessage, "the recovery code has %d letters; it must have %d", len(text), codeLetters)
	}
	n := new(big.Int)
	for i := range len(text) {
		value := strings.IndexByte(codeAlphabet, text[i])
		if value < 0 {
			return c, refuse(BadMessage, "the recovery code contains %q, which is not a letter of such codes", text[i])
		}
		n.Lsh(n, 5).Or(n, big.NewInt(int64(value)))
	}
	check := new(big.Int).And(n, big.NewInt(1<<checkBits-1)).Int64()
	n.Rsh(n, checkBits).FillBytes(c[:])
	if check != c.checksum() {
		return RecoveryCode{}, refuse(BadMessage, "the recovery code has a wrong letter: compare it with your copy")
	}
	return c, nil
}

// recovery is the part of a genesis line that has the recovery keys.
type recovery struct {
	PublicKeys
	Private string `json:"private"`
}

// aead returns the cipher of the recovery keys, and the additional data.
func (r recovery) aead(c RecoveryCode) (cipher.AEAD, []byte) {
	key := must(hkdf.Key(sha256.New, c[:], nil, contextRecovery, 32))
	return must(cipher.NewGCMWithRandomNonce(must(aes.NewCipher(key)))), encode([]string{contextRecovery, r.Sign, r.Seal})
}

// encryptRecovery returns the keys with their private parts encrypted under the code.
func encryptRecovery(k *Keys, c RecoveryCode) recovery {
	r := recovery{PublicKeys: k.Public()}
	aead, aad := r.aead(c)
	r.Private = encode64(aead.Seal(nil, nil, k.scalars(), aad))
	return r
}

const privateSize = 12 + 2*scalarSize + 16 // nonce, both scalars, tag

// open decrypts the private keys. Its error is a *Refusal.
func (r recovery) open(c RecoveryCode) (*Keys, error) {
	aead, aad := r.aead(c)
	scalars, err := aead.Open(nil, nil, decode64(r.Private, privateSize), aad)
	if err != nil {
		return nil, refuse(WrongCode, "the recovery code is not that of this account")
	}
	return keysOf(scalars)
}
