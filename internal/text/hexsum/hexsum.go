// Package hexsum formats hashes of texts as hexadecimal digits.
package hexsum

import (
	"crypto/sha256"
	"encoding/hex"
)

// SHA256 returns the SHA-256 of a text as 64 hexadecimal digits. Where a collision cannot be
// provoked, the caller may use only the first digits.
func SHA256[T ~string | ~[]byte](text T) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
