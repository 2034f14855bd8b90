// Package pushtest provides a push service and subscribed browsers for tests. The service checks
// messages strictly and decrypts them with an independent implementation of RFC 8030, 8188, 8291
// and 8292.
package pushtest

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Service is a push service.
type Service struct {
	T   testing.TB
	URL string
	Now func() time.Time // returns the time against which exp is checked

	mu       sync.Mutex
	browsers map[string]*Browser
	// Answer returns the response to the nth message for an endpoint, counted from 1. nil means
	// status 201.
	Answer func(path string, n int) (status int, header http.Header)
	seen   map[string]int
}

// New starts a push service.
func New(t testing.TB) *Service {
	s := At(t, "")
	web := httptest.NewServer(s)
	s.URL = web.URL
	t.Cleanup(web.Close)
	return s
}

// At returns a push service that the caller serves at a URL.
func At(t testing.TB, url string) *Service {
	return &Service{T: t, URL: url, Now: time.Now, browsers: map[string]*Browser{}, seen: map[string]int{}}
}

// Browser receives messages.
type Browser struct {
	Endpoint string
	key      *ecdh.PrivateKey
	auth     []byte
	server   string // public key of the application server in base64url
	in       chan Message
	s        *Service
}

// Message is a received message.
type Message struct {
	Text           string
	Topic, Urgency string
	TTL            int
}

// Note is the decrypted content of a message.
type Note struct {
	Title     string `json:"title"`
	RunID     string `json:"run_id"`
	RequestID string `json:"request_id"`
	Summary   string `json:"summary"`
	Withdrawn bool   `json:"withdrawn"`
}

// Subscribe creates a browser that accepts messages signed with the key serverKey.
func (s *Service) Subscribe(name, serverKey string) *Browser {
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		s.T.Fatal(err)
	}
	b := &Browser{Endpoint: s.URL + "/push/" + name, key: key, auth: make([]byte, 16), server: serverKey, in: make(chan Message, 1000), s: s}
	_, _ = rand.Read(b.auth) // never fails
	s.mu.Lock()
	defer s.mu.Unlock()
	s.browsers["/push/"+name] = b
	return b
}

// JSON returns the browser's PushSubscription.
func (b *Browser) JSON() string {
	return fmt.Sprintf(`{"endpoint":%q,"expirationTime":null,"keys":{"p256dh":%q,"auth":%q}}`, b.Endpoint, raw.EncodeToString(b.key.PublicKey().Bytes()), raw.EncodeToString(b.auth))
}

// Next waits for the next message and returns its content and itself.
func (b *Browser) Next() (Note, Message) {
	b.s.T.Helper()
	select {
	case m := <-b.in:
		var n Note
		if err := json.Unmarshal([]byte(m.Text), &n); err != nil {
			b.s.T.Fatalf("invalid content %s: %v", m.Text, err)
		}
		return n, m
	case <-time.After(60 * time.Second):
		b.s.T.Fatal("no message arrived")
		panic("unreachable")
	}
}

// Empty reports whether no message is waiting.
func (b *Browser) Empty() bool { return len(b.in) == 0 }

// Seen returns the number of requests to the browser's endpoint.
func (b *Browser) Seen() int {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	return b.s.seen[b.path()]
}

func (b *Browser) path() string { return strings.TrimPrefix(b.Endpoint, b.s.URL) }

// Remove makes the service respond that the browser's subscription no longer exists.
func (b *Browser) Remove() {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	delete(b.s.browsers, b.path())
}

// ServeHTTP receives a message from an application server.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	b, answer := s.browsers[r.URL.Path], s.Answer
	s.seen[r.URL.Path]++
	n := s.seen[r.URL.Path]
	s.mu.Unlock()
	if b == nil {
		w.WriteHeader(http.StatusGone)
		return
	}
	m, err := b.take(r)
	if err != nil {
		s.T.Errorf("a push service would refuse the message: %v", err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if answer != nil {
		status, header := answer(r.URL.Path, n)
		for name, v := range header {
			w.Header()[name] = v
		}
		if status != http.StatusCreated {
			w.WriteHeader(status)
			return
		}
	}
	b.in <- *m
	w.WriteHeader(http.StatusCreated)
}

var topicForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

func (b *Browser) take(r *http.Request) (*Message, error) {
	if r.Method != http.MethodPost || r.Header.Get("Content-Encoding") != "aes128gcm" {
		return nil, fmt.Errorf("%s of %s", r.Method, r.Header.Get("Content-Encoding"))
	}
	m := &Message{Topic: r.Header.Get("Topic"), Urgency: r.Header.Get("Urgency")}
	var err error
	if m.TTL, err = strconv.Atoi(r.Header.Get("TTL")); err != nil || m.TTL < 0 || m.TTL > 28*24*3600 {
		return nil, fmt.Errorf("a TTL of %q", r.Header.Get("TTL"))
	}
	if !topicForm.MatchString(m.Topic) {
		return nil, fmt.Errorf("a topic of %q", m.Topic)
	}
	if !strings.Contains(" very-low low normal high ", " "+m.Urgency+" ") {
		return nil, fmt.Errorf("an urgency of %q", m.Urgency)
	}
	if err := CheckVAPID(r.Header.Get("Authorization"), b.server, "http://"+r.Host, b.s.Now()); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 4097))
	if err != nil || len(body) > 4096 {
		return nil, fmt.Errorf("a body of %d bytes, %v", len(body), err)
	}
	m.Text, err = b.decrypt(body)
	return m, err
}

var raw = base64.RawURLEncoding

// CheckVAPID checks an Authorization header as RFC 8292 requires. key is the public key of the
// subscription, and origin that of the push service.
func CheckVAPID(header, key, origin string, now time.Time) error {
	m := regexp.MustCompile(`^vapid t=([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+), ?k=([A-Za-z0-9_-]+)$`).FindStringSubmatch(header)
	if m == nil {
		return fmt.Errorf("the Authorization is %q", header)
	}
	if m[4] != key {
		return errors.New("the browser has subscribed with another key")
	}
	var head struct{ Typ, Alg string }
	var claims struct {
		Aud, Sub string
		Exp      int64
	}
	for part, into := range map[string]any{m[1]: &head, m[2]: &claims} {
		text, err := raw.DecodeString(part)
		if err == nil {
			err = json.Unmarshal(text, into)
		}
		if err != nil {
			return fmt.Errorf("the token: %w", err)
		}
	}
	point, err := raw.DecodeString(key)
	if err != nil {
		return err
	}
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		return fmt.Errorf("k: %w", err)
	}
	signature, err := raw.DecodeString(m[3])
	if err != nil || len(signature) != 64 {
		return fmt.Errorf("a signature of %d bytes, %v", len(signature), err)
	}
	sum := sha256.Sum256([]byte(m[1] + "." + m[2]))
	left := time.Unix(claims.Exp, 0).Sub(now)
	switch {
	case !ecdsa.Verify(public, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])):
		return errors.New("the signature is wrong")
	case head.Alg != "ES256" || head.Typ != "JWT":
		return fmt.Errorf("the token's head is %+v", head)
	case claims.Aud != origin:
		return fmt.Errorf("aud is %q, not %q", claims.Aud, origin)
	case left <= 0 || left > 24*time.Hour:
		return fmt.Errorf("exp is in %v", left)
	case !strings.HasPrefix(claims.Sub, "mailto:") && !strings.HasPrefix(claims.Sub, "https:"):
		return fmt.Errorf("sub is %q", claims.Sub)
	}
	return nil
}

// mac returns an HMAC-SHA-256. RFC 8291 describes HKDF in terms of HMAC.
func mac(key []byte, parts ...[]byte) []byte {
	h := hmac.New(sha256.New, key)
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}

func (b *Browser) decrypt(body []byte) (string, error) {
	if len(body) < 86 || body[20] != 65 {
		return "", errors.New("the body has no header of aes128gcm with a key of P-256")
	}
	salt, size, point, sealed := body[:16], binary.BigEndian.Uint32(body[16:20]), body[21:86], body[86:]
	if size < 18 || len(sealed) > int(size) {
		return "", fmt.Errorf("a record of %d bytes, and records have %d", len(sealed), size)
	}
	theirs, err := ecdh.P256().NewPublicKey(point)
	if err != nil {
		return "", err
	}
	shared, err := b.key.ECDH(theirs)
	if err != nil {
		return "", err
	}
	ikm := mac(mac(b.auth, shared), []byte("WebPush: info\x00"), b.key.PublicKey().Bytes(), point, []byte{1})
	prk := mac(salt, ikm)
	key := mac(prk, []byte("Content-Encoding: aes128gcm\x00\x01"))[:16]
	nonce := mac(prk, []byte("Content-Encoding: nonce\x00\x01"))[:12]
	block, err := aes.NewCipher(key)
	if err != nil {
		return "", err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return "", err
	}
	text, err := gcm.Open(nil, nonce, sealed, nil)
	if err != nil {
		return "", err
	}
	end := strings.TrimRight(string(text), "\x00")
	if !strings.HasSuffix(end, "\x02") {
		return "", errors.New("the last record has no end")
	}
	return end[:len(end)-1], nil
}
