// Package pair registers machines with the relay's server by their keys: a machine posts its key
// and shows a code, an owner compares the fingerprint and confirms the code, and then the machine
// connects by its key.
package pair

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
	"github.com/concerto-lang/concerto/relay/store"
)

// Config configures an API.
type Config struct {
	Store *store.Store
	Auth  *auth.Auth
	Guard *httpguard.Guard
	Now   func() time.Time
	Log   *slog.Logger
	// Paired closes the connection that the paired machine has opened with its token; may be nil.
	Paired func(machine string)
}

// API serves pairing. It is safe for concurrent use.
type API struct {
	c      Config
	starts rateLimiter // limits starts by client address
	tries  rateLimiter // limits attempts to enter a code by user
}

// Limits on starting pairings, which requires no credentials.
const (
	waitAll       = 200 // maximum number of open pairings
	waitOfAddress = 20  // maximum number of open pairings for one address
	startsAMinute = 30  // maximum number of starts a minute for one address
)

// New returns an API.
func New(c Config) *API {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &API{c: c, starts: rateLimiter{most: startsAMinute}, tries: rateLimiter{most: protocol.PairingTries}}
}

func (p *API) now() int64 { return p.c.Now().UnixMilli() }

// Routes returns the routes of the API.
func (p *API) Routes() []auth.Route {
	return []auth.Route{
		{Method: "POST", Path: "/pair/start", Right: auth.Open, Handle: p.start},
		{Method: "GET", Path: "/pair/{id}", Right: auth.Open, Handle: p.poll},
		{Method: "POST", Path: "/pair/look", Right: auth.ManageMachines, Handle: p.describePairing},
		{Method: "POST", Path: "/pair/confirm", Right: auth.ManageMachines, Handle: p.confirm},
	}
}

// letters are the letters of codes. They are easy to distinguish and form no words.
const letters = "BCDFGHJKMNPQRSTVWXYZ"

// newCode returns a random pairing code.
func newCode() string {
	var b strings.Builder
	for i := range 8 {
		if i == 4 {
			b.WriteByte('-')
		}
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(letters))))
		if err != nil {
			panic(err) // never fails
		}
		b.WriteByte(letters[n.Int64()])
	}
	return b.String()
}

// hashOf returns the stored form of a code. Case, spaces and dashes are ignored. ok is false if the
// code is invalid.
func hashOf(code string) (hash string, ok bool) {
	code = strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(code))
	if len(code) != 8 || strings.Trim(code, letters) != "" {
		return "", false
	}
	return hexsum.SHA256(code), true
}

// startRequest is the body of a request that starts a pairing.
type startRequest struct {
	PublicKey    string `json:"public_key"`
	Name         string `json:"name"`
	MachineID    string `json:"host_id"`    // id under which the server knows this machine; "" if it does not
	MachineToken string `json:"host_token"` // token of the existing machine; may also be in the header Authorization
}

const maxName = 64

// check validates the request and returns the machine's key.
func (q *startRequest) check() (ed25519.PublicKey, error) {
	key, err := protocol.ParseKey(q.PublicKey)
	switch {
	case err != nil:
		return nil, httpguard.Refused(protocol.BadMessage, "public_key: %v", err)
	case q.Name == "" || len(q.Name) > maxName || strings.ContainsFunc(q.Name, func(c rune) bool { return c < ' ' || c == 0x7f }):
		return nil, httpguard.Refused(protocol.BadMessage, "name must have 1 to %d bytes", maxName)
	case q.MachineID != "" && !protocol.IsID(q.MachineID):
		return nil, httpguard.Refused(protocol.BadMessage, "host_id must be 1 to 64 of letters, digits, _ and -")
	}
	return key, nil
}

func (p *API) start(w http.ResponseWriter, r *http.Request, _ *auth.Identity) {
	place := p.c.Guard.Address(r).String()
	var q startRequest
	err := p.starts.begin(place, p.c.Now())
	if err == nil {
		err = auth.Body(w, r, &q)
	}
	if err == nil {
		_, err = q.check()
	}
	if _, token := auth.MachineCredentials(r); q.MachineToken == "" {
		q.MachineToken = token
	}
	var code, id string
	if err == nil {
		code, id, err = p.add(r.Context(), q, place)
	}
	var server ed25519.PrivateKey
	if err == nil {
		server, err = p.c.Auth.ServerKey(r.Context())
	}
	if err != nil {
		p.c.Auth.Fail(w, err)
		return
	}
	httpguard.Answer(w, http.StatusOK, map[string]any{"pair_id": id, "code": code, "expires_in": int64(protocol.PairingTTL / time.Second),
		"server_key": protocol.KeyText(server.Public().(ed25519.PublicKey))})
}

// add stores a pairing with a new code that no other open pairing has.
func (p *API) add(ctx context.Context, q startRequest, place string) (code, id string, err error) {
	one := store.Pairing{PublicKey: q.PublicKey, Name: q.Name, Asked: q.MachineID, Address: place, Expires: p.now() + protocol.PairingTTL.Milliseconds()}
	if q.MachineID != "" && q.MachineToken != "" {
		one.TokenHash = hexsum.SHA256(q.MachineToken)
	}
	for range 10 {
		code, one.ID = newCode(), "p_"+rand.Text()
		one.CodeHash, _ = hashOf(code)
		err = p.c.Store.AddPairing(ctx, one, p.now(), waitAll, waitOfAddress)
		if !errors.Is(err, store.ErrConflict) {
			break
		}
	}
	if errors.Is(err, store.ErrTooMany) {
		err = &httpguard.Refusal{Code: protocol.RateLimited, Why: "too many pairings are waiting for confirmation: confirm one, or wait", After: time.Minute}
	}
	return code, one.ID, err
}

func (p *API) poll(w http.ResponseWriter, r *http.Request, _ *auth.Identity) {
	one, err := p.c.Store.Pairing(r.Context(), r.PathValue("id"))
	if errors.Is(err, store.ErrUnknown) {
		err = unknown("unknown pairing: start again")
	}
	if err == nil && one.MachineID == "" && one.Expires <= p.now() {
		err = httpguard.Refused(protocol.Expired, "the pairing was not confirmed in time: start again")
	}
	var server ed25519.PrivateKey
	if err == nil {
		server, err = p.c.Auth.ServerKey(r.Context())
	}
	if err != nil {
		p.c.Auth.Fail(w, err)
		return
	}
	out := map[string]any{"state": "waiting"}
	if one.MachineID != "" {
		out = map[string]any{"state": "confirmed", "host_id": one.MachineID, "server_key": protocol.KeyText(server.Public().(ed25519.PublicKey))}
	}
	httpguard.Answer(w, http.StatusOK, out)
}

func unknown(why string) error {
	return &httpguard.Refusal{Code: "unknown_pairing", Why: why, Status: http.StatusNotFound}
}

var errNoCode = unknown("no pairing has this code: it was mistyped, was used, or has expired")

// code reads the code from the body of a request and counts an attempt of the caller. The caller of
// code calls right if the code was correct, which removes the attempt from the count.
func (p *API) code(w http.ResponseWriter, r *http.Request, id *auth.Identity) (hash string, right func(), err error) {
	var q struct {
		Code string `json:"code"`
	}
	if err := auth.Body(w, r, &q); err != nil {
		return "", nil, err
	}
	at := p.c.Now()
	if err := p.tries.begin(id.Name, at); err != nil {
		return "", nil, err
	}
	hash, ok := hashOf(q.Code)
	if !ok {
		return "", nil, errNoCode
	}
	return hash, func() { p.tries.refund(id.Name, at) }, nil
}

// describePairing returns the name and fingerprint of the machine that shows a code, so that the
// owner can check them before confirming.
func (p *API) describePairing(w http.ResponseWriter, r *http.Request, id *auth.Identity) {
	hash, right, err := p.code(w, r, id)
	var one *store.Pairing
	if err == nil {
		one, err = waiting(r.Context(), p.c.Store, hash, p.now())
	}
	if err != nil {
		p.c.Auth.Fail(w, err)
		return
	}
	right()
	httpguard.Answer(w, http.StatusOK, map[string]any{"name": one.Name, "fingerprint": fingerprint(one), "address": one.Address, "expires_in": (one.Expires - p.now()) / 1000})
}

// waiting returns the open pairing with a code.
func waiting(ctx context.Context, s *store.Store, hash string, at int64) (*store.Pairing, error) {
	one, err := s.PairingOf(ctx, hash, at)
	if errors.Is(err, store.ErrUnknown) {
		return nil, errNoCode
	}
	return one, err
}

func fingerprint(one *store.Pairing) string {
	key, err := protocol.ParseKey(one.PublicKey)
	if err != nil {
		panic(err) // cannot happen: the key was validated when the pairing started
	}
	return protocol.Fingerprint(key)
}

func (p *API) confirm(w http.ResponseWriter, r *http.Request, id *auth.Identity) {
	hash, right, err := p.code(w, r, id)
	var machine string
	if err == nil {
		machine, err = confirm(r.Context(), p.c.Store, id.Actor(), hash, p.now())
	}
	if err != nil {
		p.c.Auth.Fail(w, err)
		return
	}
	right()
	p.c.Log.Info("a machine was paired", "machine", machine, "by", id.Name)
	if p.c.Paired != nil {
		p.c.Paired(machine)
	}
	httpguard.Answer(w, http.StatusOK, map[string]string{"host_id": machine})
}

// confirm registers the machine that shows this code, with its key.
func confirm(ctx context.Context, s *store.Store, by audit.Actor, hash string, at int64) (machine string, err error) {
	one, err := s.ConfirmPairing(ctx, hash, at, func(one *store.Pairing) audit.Record {
		return audit.Record{Kind: "host_paired", Actor: by, Subject: object(map[string]string{"host": one.MachineID}),
			Data: object(map[string]string{"name": one.Name, "fingerprint": fingerprint(one), "address": one.Address})}
	})
	switch {
	case errors.Is(err, store.ErrUnknown):
		return "", errNoCode
	case err != nil:
		return "", err
	}
	return one.MachineID, nil
}

// Look returns the name and fingerprint of the machine that shows a code. It is for commands that
// use the database without a server. at is the current time in Unix ms.
func Look(ctx context.Context, s *store.Store, code string, at int64) (name, print string, err error) {
	hash, ok := hashOf(code)
	if !ok {
		return "", "", errNoCode
	}
	one, err := waiting(ctx, s, hash, at)
	if err != nil {
		return "", "", err
	}
	return one.Name, fingerprint(one), nil
}

// Confirm confirms the pairing with a code and returns the id of the new machine. It is for
// commands that use the database without a server. at is the current time in Unix ms.
func Confirm(ctx context.Context, s *store.Store, by audit.Actor, code string, at int64) (machine string, err error) {
	hash, ok := hashOf(code)
	if !ok {
		return "", errNoCode
	}
	return confirm(ctx, s, by, hash, at)
}

func object(m map[string]string) json.RawMessage {
	text, err := json.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("pair: %v", err)) // cannot happen: the record can be encoded
	}
	return text
}
