// Package hexsum formats hashes of texts as hexadecimal digits.
package hexsum

import (
	"crypto/sha256"
	"encoding/hex"
)

// SHA256 returns the 64 hexadecimal digits of a text's SHA-256. Where collisions are not provoked,
// the caller may use fewer of the first digits.
func SHA256[T ~string | ~[]byte](text T) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
