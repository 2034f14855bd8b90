package auth

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/internal/text/utf8cut"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
	"github.com/concerto-lang/concerto/relay/store"
)

// Login creates a session for a name and password and returns its secret. On failure it returns an
// *httpguard.Refusal: unauthorized, without details, or rate_limited.
func (a *Auth) Login(ctx context.Context, name, password string, r *http.Request) (secret string, id *Identity, err error) {
	a.awaitOwner()
	place, at := a.c.Guard.Address(r).String(), a.c.Now()
	if wait := a.tries.begin(name, place, at); wait > 0 {
		return "", nil, &httpguard.Refusal{Code: protocol.RateLimited, Why: "too many failed logins: wait and try again", After: wait}
	}
	u, err := a.c.Store.User(ctx, name)
	if errors.Is(err, store.ErrUnknown) {
		u, err = &store.User{}, nil
	}
	if err != nil {
		return "", nil, err
	}
	right, err := a.checks.matches(ctx, password, u.Hash)
	if err != nil {
		return "", nil, err
	}
	if !right {
		a.recordFailure(ctx, shortName(name), "wrong name or password", r)
		return "", nil, httpguard.Refused(protocol.Unauthorized, "the name or the password is wrong")
	}
	a.tries.succeeded(name, place, at)
	return a.newSession(ctx, u.Name, Role(u.Role), place)
}

// awaitOwner waits until a pending change of the owner's password is finished.
func (a *Auth) awaitOwner() {
	a.keeping.RLock()
	defer a.keeping.RUnlock()
}

// shortName returns the form in which audit records contain a submitted name.
func shortName(name string) string {
	return utf8cut.Short(strings.ToValidUTF8(name, "\uFFFD"), maxName)
}

// newSession creates a session.
func (a *Auth) newSession(ctx context.Context, user string, role Role, place string) (secret string, id *Identity, err error) {
	secret = newSecret("cs_")
	t := store.Token{ID: newID("s_"), Hash: hexsum.SHA256(secret), User: user, Role: string(role), UserRole: string(role), Kind: store.SessionToken,
		Slides: sliding.Milliseconds(), Created: a.now(), Expires: a.now() + sliding.Milliseconds()}
	id = identityOf(&t)
	return secret, id, a.c.Store.AddToken(ctx, t, id.Record("login", "", map[string]any{"session": t.ID}, map[string]any{"address": place}))
}

// Exchange exchanges an access token for a session with the same rights and expiry, so that a
// browser stores the token of a link as a cookie. It returns an *httpguard.Refusal if the token is
// invalid.
func (a *Auth) Exchange(ctx context.Context, token string, r *http.Request) (secret string, id *Identity, err error) {
	t, err := a.c.Store.Token(ctx, hexsum.SHA256(token))
	if errors.Is(err, store.ErrUnknown) || err == nil && (t.Kind != store.AccessToken || t.Expires <= a.now()) {
		return "", nil, errWrong
	}
	if err != nil {
		return "", nil, err
	}
	secret = newSecret("cs_")
	made := store.Token{ID: newID("s_"), Hash: hexsum.SHA256(secret), User: t.User, Role: t.Role, UserRole: t.UserRole, Runs: t.Runs, Kind: store.SessionToken, Name: t.Name, Parent: t.ID,
		Created: a.now(), Expires: min(t.Expires, a.now()+sliding.Milliseconds())}
	rec := identityOf(t).Record("login", "", map[string]any{"session": made.ID}, map[string]any{"address": a.c.Guard.Address(r).String()})
	return secret, identityOf(&made), a.c.Store.AddToken(ctx, made, rec)
}

// Left returns the number of seconds until an identity expires if it is not used.
func (a *Auth) Left(id *Identity) int64 { return (id.Expires.UnixMilli() - a.now() + 999) / 1000 }

// SetCookie sets the session cookie with a lifetime in seconds. Over an insecure connection it sets
// none.
func (a *Auth) SetCookie(w http.ResponseWriter, r *http.Request, secret string, seconds int64) {
	c := &http.Cookie{Name: secureCookie, Value: secret, Path: "/", HttpOnly: true, Secure: true, SameSite: http.SameSiteStrictMode, MaxAge: int(seconds)}
	if !a.c.Guard.Secure(r) {
		if !a.c.Guard.ToLoopback(r) {
			return
		}
		c.Name, c.Secure = plainCookie, false
	}
	if secret == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}

// Logout ends a session or token.
func (a *Auth) Logout(ctx context.Context, id *Identity) error {
	err := a.c.Store.RemoveToken(ctx, id.ID, a.now(), id.Record("logout", "", map[string]any{"session": id.ID}, nil))
	if errors.Is(err, store.ErrUnknown) {
		return nil // a concurrent logout has already revoked the credential
	}
	a.changed(ctx)
	return err
}

// Ticket returns a secret that opens one connection with the identity's rights within
// TicketSeconds.
func (a *Auth) Ticket(ctx context.Context, id *Identity) (string, error) {
	secret := newSecret("ck_")
	return secret, a.c.Store.AddToken(ctx, store.Token{ID: newID("k_"), Hash: hexsum.SHA256(secret), User: id.Name, Role: string(id.Role), Runs: id.Runs, Kind: store.TicketToken, Parent: id.ID,
		Created: a.now(), Expires: a.now() + ticketFor.Milliseconds()})
}
