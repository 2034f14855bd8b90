package servertest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
	"github.com/concerto-lang/concerto/relay/store"
)

// Auth accepts tokens of the form role:user or role:user:runs, such as "operator:eve" and
// "viewer:eve:run_a,run_b*".
type Auth struct {
	store *store.Store
	mu    sync.Mutex
	watch map[string]map[*func()]struct{}
	ended map[string]bool
}

// Authenticate returns the identity that a request's token describes.
func (a *Auth) Authenticate(r *http.Request) (*auth.Identity, error) {
	token := r.URL.Query().Get("token")
	if b, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		token = b
	}
	parts := strings.Split(token, ":")
	a.mu.Lock()
	ended := a.ended[token]
	a.mu.Unlock()
	if len(parts) < 2 || !slices.Contains(auth.Roles, auth.Role(parts[0])) || ended {
		return nil, httpguard.Refused(protocol.Unauthorized, "no such token")
	}
	id := &auth.Identity{ID: token, Name: parts[1], Kind: auth.Token, Role: auth.Role(parts[0])}
	if len(parts) > 2 {
		id.Runs = strings.Split(parts[2], ",")
	}
	return id, nil
}

// Refused does nothing.
func (a *Auth) Refused(context.Context, *auth.Identity, auth.Right, string) {}

// Machine accepts any unknown machine, and a known machine if it presents the same token again.
func (a *Auth) Machine(ctx context.Context, id, token string, _ *http.Request) error {
	if !protocol.IsID(id) {
		return httpguard.Refused(protocol.BadMessage, "no id")
	}
	sum := sha256.Sum256([]byte(token))
	h, err := a.store.AddMachine(ctx, store.Machine{ID: id, TokenHash: hex.EncodeToString(sum[:])})
	if err != nil {
		return err
	}
	if h.TokenHash != hex.EncodeToString(sum[:]) {
		return httpguard.Refused(protocol.Unauthorized, "another token")
	}
	return nil
}

// HasToken accepts all tokens, because the fake never revokes one.
func (a *Auth) HasToken(context.Context, string, string) (bool, error) { return true, nil }

// MachineByKey refuses all machines.
func (a *Auth) MachineByKey(context.Context, string, *http.Request) (auth.Proof, error) {
	return nil, httpguard.Refused(protocol.Unauthorized, "no keys here")
}

// MachineRequest accepts machines with the token that they have connected with.
func (a *Auth) MachineRequest(ctx context.Context, r *http.Request) error {
	id, token := auth.MachineCredentials(r)
	h, err := a.store.Machine(ctx, id)
	if sum := sha256.Sum256([]byte(token)); err != nil || h.TokenHash != hex.EncodeToString(sum[:]) {
		return httpguard.Refused(protocol.Unauthorized, "no such machine")
	}
	return nil
}

// Watch calls ended when End is called for the identity.
func (a *Auth) Watch(who *auth.Identity, ended func()) (stop func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.watch[who.ID] == nil {
		a.watch[who.ID] = map[*func()]struct{}{}
	}
	a.watch[who.ID][&ended] = struct{}{}
	if a.ended[who.ID] { // End was called after the request was authenticated
		go ended()
	}
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.watch[who.ID], &ended)
	}
}

// End ends the credentials of a token.
func (a *Auth) End(token string) {
	a.mu.Lock()
	if a.ended == nil {
		a.ended = map[string]bool{}
	}
	a.ended[token] = true
	var all []func()
	for f := range a.watch[token] {
		all = append(all, *f)
	}
	a.mu.Unlock()
	for _, f := range all {
		f()
	}
}

// Tokens for common roles.
const (
	Operator = "operator:eve"
	Viewer   = "viewer:eve"
)
