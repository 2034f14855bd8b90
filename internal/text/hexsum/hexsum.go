// Package hexsum hashes texts to hexadecimal digits, as they stand in files, messages and names.
package hexsum

import (
	"crypto/sha256"
	"encoding/hex"
)

// SHA256 returns the 64 digits of a text's SHA-256. Fewer of its first digits do where only chance makes texts alike.
func SHA256[T ~string | ~[]byte](text T) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
