package push

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// Sizes in a message that consists of a single record (RFC 8188), in bytes.
const (
	recordSize = 4096
	saltSize   = 16
	authSize   = 16
	pointSize  = 65
	// MaxText is the maximum length of a message in bytes.
	MaxText = recordSize - saltSize - 4 - 1 - pointSize - 16 - 1
)

// receiver holds the keys of a subscription, with which messages are encrypted.
type receiver struct {
	public *ecdh.PublicKey
	auth   []byte
}

// parseReceiver parses the keys of a subscription. Both are base64url.
func parseReceiver(p256dh, auth string) (*receiver, error) {
	point, err := decode(p256dh)
	if err != nil || len(point) != pointSize {
		return nil, fmt.Errorf("keys.p256dh must be a point of P-256, %d bytes as base64url", pointSize)
	}
	public, err := ecdh.P256().NewPublicKey(point)
	if err != nil {
		return nil, errors.New("keys.p256dh is not a point of P-256")
	}
	secret, err := decode(auth)
	if err != nil || len(secret) != authSize {
		return nil, fmt.Errorf("keys.auth must be %d bytes as base64url", authSize)
	}
	return &receiver{public, secret}, nil
}

// decode decodes base64url with or without padding.
func decode(text string) ([]byte, error) {
	for len(text) > 0 && text[len(text)-1] == '=' {
		text = text[:len(text)-1]
	}
	return raw.DecodeString(text)
}

// encrypt returns the body of a push message (RFC 8291).
func (to *receiver) encrypt(text []byte) ([]byte, error) {
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	salt := make([]byte, saltSize)
	_, _ = rand.Read(salt) // never fails
	return to.encryptWith(text, key, salt)
}

func (to *receiver) encryptWith(text []byte, key *ecdh.PrivateKey, salt []byte) ([]byte, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("a push message must have at most %d bytes, not %d", MaxText, len(text))
	}
	shared, err := key.ECDH(to.public)
	if err != nil {
		return nil, err
	}
	own := key.PublicKey().Bytes()
	ikm, err := derive(to.auth, shared, "WebPush: info\x00"+string(to.public.Bytes())+string(own), 32)
	if err != nil {
		return nil, err
	}
	content, err := derive(salt, ikm, "Content-Encoding: aes128gcm\x00", 16)
	if err != nil {
		return nil, err
	}
	nonce, err := derive(salt, ikm, "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(content)
	if err != nil {
		return nil, err
	}
	sealed, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	out := binary.BigEndian.AppendUint32(append([]byte{}, salt...), recordSize)
	out = append(append(out, pointSize), own...)
	// The byte 2 marks the last record.
	return sealed.Seal(out, nonce, append(append([]byte{}, text...), 2), nil), nil
}

func derive(salt, secret []byte, info string, n int) ([]byte, error) {
	return hkdf.Key(sha256.New, secret, salt, info, n)
}
