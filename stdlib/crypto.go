package stdlib

import (
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"strings"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

var cryptoNatives = native.Table{
	{"crypto.sha256", digest(sha256.New)},
	{"crypto.sha512", digest(sha512.New)},
	{"crypto.sha1", digest(sha1.New)},
	{"crypto.md5", digest(md5.New)},
	{"crypto.hmac_sha256", cryptoHMAC},
	{"crypto.base64_encode", func(a *vm.Args) (value.Slot, error) {
		return value.String(encoded(a, base64.StdEncoding.EncodeToString)), nil
	}},
	{"crypto.base64_decode", decoder("Base64", unpadded, base64.RawStdEncoding.Strict().DecodeString)},
	{"crypto.hex_encode", func(a *vm.Args) (value.Slot, error) { return value.String(encoded(a, hex.EncodeToString)), nil }},
	{"crypto.hex_decode", decoder("hex", func(s string) string { return s }, hex.DecodeString)},
	{"crypto.constant_time_eq", cryptoSame},
	{"crypto.__hex", func(a *vm.Args) (value.Slot, error) { return value.String(hex.EncodeToString(octets(a.Array(0)))), nil }},
	{"crypto.__uuid", func(a *vm.Args) (value.Slot, error) { return value.String(uuid([16]byte(octets(a.Array(0))))), nil }},
}

// digest returns a native that returns the hash of a text in hexadecimal form.
func digest(hashing func() hash.Hash) vm.Native {
	return func(a *vm.Args) (value.Slot, error) { return hashed(a, hashing(), a.String(0)), nil }
}

func hashed(a *vm.Args, h hash.Hash, text string) value.Slot {
	for part := range octetParts(a, text, native.PartSize) {
		h.Write([]byte(part))
	}
	return value.String(hex.EncodeToString(h.Sum(nil)))
}

// octetParts yields a text in parts of n bytes, and reports each part to the pace of the call.
func octetParts(a *vm.Args, text string, n int) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for text != "" {
			part := text[:min(n, len(text))]
			a.Pace().Bytes(len(part))
			if text = text[len(part):]; !yield(part) {
				return
			}
		}
	}
}

// encoded returns the text of argument 0 in an encoding that encodes groups of three bytes.
func encoded(a *vm.Args, encode func([]byte) string) string {
	var out strings.Builder
	for part := range octetParts(a, a.String(0), native.PartSize/3*3) {
		out.WriteString(encode([]byte(part)))
	}
	return out.String()
}

func cryptoHMAC(a *vm.Args) (value.Slot, error) {
	key := []byte(a.String(0))
	a.Pace().Bytes(len(key))
	return hashed(a, hmac.New(sha256.New, key), a.String(1)), nil
}

// cryptoSame compares two texts. For texts of equal length, the time does not depend on the
// position of the first difference.
func cryptoSame(a *vm.Args) (value.Slot, error) {
	x, y := a.String(0), a.String(1)
	if len(x) != len(y) {
		return value.Bool(false), nil
	}
	same := 1
	for part := range octetParts(a, x, native.PartSize) {
		same &= subtle.ConstantTimeCompare([]byte(part), []byte(y[:len(part)]))
		y = y[len(part):]
	}
	return value.Bool(same == 1), nil
}

// unpadded removes the padding that completes the last group of four characters. The decoder
// rejects any other padding.
func unpadded(s string) string {
	if len(s)%4 != 0 {
		return s
	}
	for range 2 {
		s = strings.TrimSuffix(s, "=")
	}
	return s
}

// decoder returns a native that decodes a text. The encoding has groups of two or four characters.
func decoder(name string, prepare func(string) string, decode func(string) ([]byte, error)) vm.Native {
	return func(a *vm.Args) (value.Slot, error) {
		s := a.String(0)
		var out []byte
		for part := range octetParts(a, prepare(s), native.PartSize) {
			b, err := decode(part)
			if err != nil || strings.ContainsAny(part, "\r\n") {
				return value.Nil, native.ParseError(s, "is not "+name)
			}
			out = append(out, b...)
		}
		if !utf8.Valid(out) {
			return value.Nil, native.ParseError(s, "encodes bytes that are not UTF-8")
		}
		return value.StringOwning(out), nil
	}
}

// octets converts an array of Ints from 0 to 255 to bytes.
func octets(x *value.Array) []byte {
	b := make([]byte, x.Len)
	for i := range b {
		b[i] = byte(x.At(i).AsInt())
	}
	return b
}
