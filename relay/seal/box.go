package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/hpke"
	"crypto/sha256"
	"encoding/base64"
	"math/bits"
	"strconv"

	"github.com/concerto-lang/concerto/internal/text/jcs"
)

// Key is a symmetric key: the secret of an epoch, or a command key. Its JSON is base64url.
type Key [32]byte

// MarshalText implements encoding.TextMarshaler.
func (k Key) MarshalText() ([]byte, error) { return []byte(encode64(k[:])), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *Key) UnmarshalText(text []byte) error {
	b := decode64(string(text), len(k))
	if b == nil {
		return base64.CorruptInputError(0)
	}
	copy(k[:], b)
	return nil
}

// derive returns the key for a purpose, of which info is the name.
func (k Key) derive(info ...any) Key {
	return Key(must(hkdf.Key(sha256.New, k[:], nil, string(encode(info)), len(k))))
}

func (k Key) aead() cipher.AEAD {
	return must(cipher.NewGCMWithRandomNonce(must(aes.NewCipher(k[:]))))
}

const (
	tagSize   = 16
	minPadded = 256
	minSealed = 12 + minPadded + tagSize // nonce, padded text, tag
	maxFrame  = 4 << 20                  // of a JSON text with a sealed one, in bytes
	maxSealed = maxFrame - 4<<10         // of a sealed text in base64url, in bytes
	maxRecord = 1 << 20                  // of a key record and a history, in bytes
	endOfText = 0x80                     // the byte between a text and the zeros of its padding
)

// MaxPlaintext is the maximum size in bytes of the canonical form of an Event, or another text that
// is sealed. It is one less than the largest padded text whose base64url has maxSealed bytes.
const MaxPlaintext = 47<<16 - 1

// paddedSize returns the size of a text of n bytes with its padding: by Padmé, at least 256.
func paddedSize(n int) int {
	n++ // endOfText
	e := bits.Len(uint(n)) - 1
	mask := 1<<(e-bits.Len(uint(e))) - 1
	return max(minPadded, (n+mask)&^mask)
}

// place returns the additional data of a sealed text. Its parts are texts and integers (int64). It
// does not use encode, because a host calls it for each event.
func place(parts ...any) []byte {
	b := append(make([]byte, 0, 256), `["concerto-sealed-v1"`...)
	for _, part := range parts {
		b = append(b, ',')
		if text, ok := part.(string); ok {
			b = jcs.AppendText(b, text)
		} else {
			b = strconv.AppendInt(b, part.(int64), 10)
		}
	}
	return append(b, ']')
}

// sealText returns the nonce, ciphertext and tag of a padded text in base64url.
func sealText(a cipher.AEAD, place, text []byte) (string, error) {
	if len(text) > MaxPlaintext {
		return "", refuse(BadMessage, "the text has %d bytes; the maximum is %d", len(text), MaxPlaintext)
	}
	return encode64(a.Seal(nil, nil, pad(text, paddedSize(len(text))), place)), nil
}

// pad returns a text with its padding. size is greater than its length.
func pad(text []byte, size int) []byte {
	padded := make([]byte, size)
	padded[copy(padded, text)] = endOfText
	return padded
}

// openText opens the result of sealText.
func openText(a cipher.AEAD, place []byte, ct string) ([]byte, error) {
	return openPadded(a, place, ct, paddedSize)
}

// openPadded opens a sealed text of n bytes whose padded text has sizeOf(n) bytes.
func openPadded(a cipher.AEAD, place []byte, ct string, sizeOf func(n int) int) ([]byte, error) {
	b := decodeSealed(ct)
	if b == nil {
		return nil, refuse(BadMessage, "ct has the wrong form")
	}
	padded, err := a.Open(nil, nil, b, place)
	if err != nil {
		return nil, refuse(BadSignature, "the text was not sealed with this key for this place")
	}
	n := len(padded) - 1
	for n >= 0 && padded[n] == 0 {
		n--
	}
	if n < 0 || padded[n] != endOfText || sizeOf(n) != len(padded) {
		return nil, refuse(BadMessage, "the padding has the wrong form")
	}
	return padded[:n], nil
}

// decodeSealed returns the bytes of a sealed text, or nil if it has the wrong form.
func decodeSealed(ct string) []byte {
	if n := len(ct) * 3 / 4; len(ct) <= maxSealed && n >= minSealed {
		return decode64(ct, n)
	}
	return nil
}

// tagOf returns the tag of a sealed text that has the right form.
func tagOf(ct string) string {
	b := decodeSealed(ct)
	return encode64(b[len(b)-tagSize:])
}

// isTag reports whether a text has the form of a tag.
func isTag(text string) bool { return decode64(text, tagSize) != nil }

// wrapped is a text that only the owner of a seal_key can open.
type wrapped struct {
	Enc string `json:"enc"`
	CT  string `json:"ct"`
}

// wrap encrypts a text with HPKE for a seal_key, which the roster has validated.
func wrap(sealKey string, aad, text []byte) wrapped {
	key := must(ecdh.P256().NewPublicKey(decode64(sealKey, pointSize)))
	enc, sender, err := hpke.NewSender(must(hpke.NewDHKEMPublicKey(key)), hpke.HKDFSHA256(), hpke.AES256GCM(), []byte(contextKeys))
	return wrapped{encode64(enc), encode64(must(must(sender, err).Seal(aad, text)))}
}

// hasSize reports whether the text has n bytes, without opening it.
func (w wrapped) hasSize(n int) bool {
	return decode64(w.Enc, pointSize) != nil && decode64(w.CT, n+tagSize) != nil
}

// unwrap opens a text.
func (k *Keys) unwrap(w wrapped, aad []byte) ([]byte, error) {
	r, err := hpke.NewRecipient(decode64(w.Enc, pointSize), must(hpke.NewDHKEMPrivateKey(k.seal)), hpke.HKDFSHA256(), hpke.AES256GCM(), []byte(contextKeys))
	if err != nil {
		return nil, refuse(BadSignature, "enc of a wrapped key: %v", err)
	}
	text, err := r.Open(aad, decode64(w.CT, len(w.CT)*3/4))
	if err != nil {
		return nil, refuse(BadSignature, "the key was not wrapped for this member and this place")
	}
	return text, nil
}
