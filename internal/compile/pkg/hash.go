package pkg

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
)

// File is a file of a package. Name is relative to the package, with slashes. Data is the content
// of its git blob.
type File struct {
	Name string
	Data []byte
}

const hashPrefix = "h1:"

// Hash returns the hash of a package's files, in any order: the directory hash `h1:` of Go modules,
// with names that are relative to the package (golang.org/ref/mod#go-sum-files).
func Hash(files []File) string {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	all := sha256.New()
	for _, f := range files {
		all.Write([]byte(sum(f.Data) + "  " + f.Name + "\n"))
	}
	return hashPrefix + base64.StdEncoding.EncodeToString(all.Sum(nil))
}

// HashDirectory returns the name of the directory of a hash in the cache: `h1-` and the hexadecimal
// digits of the sum. ok is false if the text is no hash.
func HashDirectory(hash string) (name string, ok bool) {
	text, found := strings.CutPrefix(hash, hashPrefix)
	sum, err := base64.StdEncoding.Strict().DecodeString(text)
	if !found || err != nil || len(sum) != sha256.Size || strings.ContainsAny(text, "\r\n") { // the decoder ignores line breaks
		return "", false
	}
	return "h1-" + hex.EncodeToString(sum), true
}
