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
	"strings"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/value"
	"github.com/concerto-lang/concerto/vm"
)

var cryptoNatives = []native{
	{"crypto.sha256", digest(func(b []byte) []byte { d := sha256.Sum256(b); return d[:] })},
	{"crypto.sha512", digest(func(b []byte) []byte { d := sha512.Sum512(b); return d[:] })},
	{"crypto.sha1", digest(func(b []byte) []byte { d := sha1.Sum(b); return d[:] })},
	{"crypto.md5", digest(func(b []byte) []byte { d := md5.Sum(b); return d[:] })},
	{"crypto.hmac_sha256", cryptoHMAC},
	{"crypto.base64_encode", func(a *vm.Args) (value.Slot, error) {
		return value.String(base64.StdEncoding.EncodeToString([]byte(a.String(0)))), nil
	}},
	{"crypto.base64_decode", decoder("Base64", func(s string) ([]byte, error) {
		return base64.RawStdEncoding.Strict().DecodeString(unpadded(s))
	})},
	{"crypto.hex_encode", digest(func(b []byte) []byte { return b })},
	{"crypto.hex_decode", decoder("hex", hex.DecodeString)},
	{"crypto.constant_time_eq", func(a *vm.Args) (value.Slot, error) {
		return value.Bool(subtle.ConstantTimeCompare([]byte(a.String(0)), []byte(a.String(1))) == 1), nil
	}},
	{"crypto.__hex", func(a *vm.Args) (value.Slot, error) { return value.String(hex.EncodeToString(octets(a.Array(0)))), nil }},
	{"crypto.__uuid", func(a *vm.Args) (value.Slot, error) { return value.String(uuid([16]byte(octets(a.Array(0))))), nil }},
}

// digest makes a native that gives the hex of what f makes of a text.
func digest(f func([]byte) []byte) vm.Native {
	return func(a *vm.Args) (value.Slot, error) {
		return value.String(hex.EncodeToString(f([]byte(a.String(0))))), nil
	}
}

func cryptoHMAC(a *vm.Args) (value.Slot, error) {
	h := hmac.New(sha256.New, []byte(a.String(0)))
	h.Write([]byte(a.String(1)))
	return value.String(hex.EncodeToString(h.Sum(nil))), nil
}

// unpadded takes the padding off that completes a group of four. Any other is
// left for the decoder to refuse.
func unpadded(s string) string {
	if len(s)%4 != 0 {
		return s
	}
	for range 2 {
		s = strings.TrimSuffix(s, "=")
	}
	return s
}

// decoder makes a native that gives the text which an encoding stands for.
func decoder(name string, decode func(string) ([]byte, error)) vm.Native {
	return func(a *vm.Args) (value.Slot, error) {
		s := a.String(0)
		b, err := decode(s)
		switch {
		case err != nil || strings.ContainsAny(s, "\r\n"):
			return value.Nil, parseError(s, "is not "+name)
		case !utf8.Valid(b):
			return value.Nil, parseError(s, "stands for bytes that are not UTF-8")
		}
		return value.String(string(b)), nil
	}
}

// octets gives an array of Ints 0 to 255 as bytes.
func octets(x *value.Array) []byte {
	b := make([]byte, x.Len)
	for i := range b {
		b[i] = byte(x.At(i).AsInt())
	}
	return b
}
