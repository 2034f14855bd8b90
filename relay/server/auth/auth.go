// Package auth authenticates requests to the relay's server and defines permissions: users with
// passwords, sessions and tokens with roles, tickets for WebSocket connections of browsers, and
// machines, which are known by their first token or a key.
//
// Credentials are looked up in the store for each request, so a revocation takes effect at once;
// Watch reports it to open connections. Secrets are stored as hashes.
package auth

import (
	"context"
	"crypto/ed25519"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
	"github.com/concerto-lang/concerto/relay/store"
)

// Lifetimes of credentials. Using a credential with a sliding lifetime extends it.
const (
	sliding       = 30 * 24 * time.Hour
	slideInterval = time.Hour // minimum interval between two recorded uses of a credential
	ticketFor     = 30 * time.Second

	// TicketSeconds is the lifetime of a ticket.
	TicketSeconds = int64(ticketFor / time.Second)
	// SlidingSeconds is the lifetime of an unused session.
	SlidingSeconds = int64(sliding / time.Second)
)

// Config configures an Auth.
type Config struct {
	Store    *store.Store
	Guard    *httpguard.Guard
	TOFU     TOFU
	URLToken bool // accept access tokens in WebSocket URLs
	Now      func() time.Time
	Log      *slog.Logger
}

// Auth authenticates. It is safe for concurrent use.
type Auth struct {
	c         Config
	checks    checkers
	tries     throttle
	reported  limiter
	keeping   sync.RWMutex // held while the later function of EnsureOwner verifies an owner's password
	mu        sync.Mutex
	watches   map[string]*watched // the watched credentials by token id
	serverKey ed25519.PrivateKey  // nil until ServerKey is called
	version   int64               // the version of users and tokens at the last check of the watches
	watching  context.CancelFunc
	done      chan struct{}
}

// New returns an Auth and starts watching credentials until Close.
func New(c Config) *Auth {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	ctx, end := context.WithCancel(context.Background())
	a := &Auth{c: c, checks: make(checkers, 2), watches: map[string]*watched{}, version: -1, watching: end, done: make(chan struct{})}
	go a.watch(ctx)
	return a
}

// Close stops watching credentials.
func (a *Auth) Close() {
	a.watching()
	<-a.done
}

func (a *Auth) now() int64 { return a.c.Now().UnixMilli() }

// Names of the session cookie, for HTTPS and for HTTP on the loopback interface.
const (
	secureCookie = "__Host-concerto"
	plainCookie  = "concerto"
)

// Authenticate returns the identity of a request. The credentials are in the Authorization header,
// the session cookie, ?ticket=, or for a WebSocket ?token=. A ticket is consumed. For missing or
// invalid credentials Authenticate returns an *httpguard.Refusal.
func (a *Auth) Authenticate(r *http.Request) (*Identity, error) {
	query := r.URL.Query()
	switch bearer, cookie := r.Header.Get("Authorization"), a.cookie(r); {
	case bearer != "":
		scheme, secret, _ := strings.Cut(bearer, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return nil, httpguard.Refused(protocol.Unauthorized, "unsupported credentials: send an access token as Bearer, or the cookie of a login")
		}
		return a.bySecret(r.Context(), strings.TrimSpace(secret))
	case r.Method == http.MethodGet && query.Has("ticket"):
		return a.byTicket(r.Context(), query.Get("ticket"), r)
	case httpguard.IsUpgrade(r) && query.Has("token"):
		if !a.c.URLToken {
			return nil, httpguard.Refused(protocol.Unauthorized, "this server accepts no token in the URL: use a ticket or the Authorization header")
		}
		return a.bySecret(r.Context(), query.Get("token"))
	case cookie != "":
		if err := a.c.Guard.ByCookie(r); err != nil {
			return nil, err
		}
		return a.bySecret(r.Context(), cookie)
	}
	return nil, (*Identity)(nil).Need(Self)
}

func (a *Auth) cookie(r *http.Request) string {
	name := plainCookie
	if a.c.Guard.Secure(r) {
		name = secureCookie
	} else if !a.c.Guard.ToLoopback(r) {
		return ""
	}
	c, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	return c.Value
}

var errWrong = httpguard.Refused(protocol.Unauthorized, "the credentials are wrong or have expired: log in again, or get a new token")

// bySecret returns the identity of a session's or token's secret.
func (a *Auth) bySecret(ctx context.Context, secret string) (*Identity, error) {
	t, err := a.c.Store.Token(ctx, hexsum.SHA256(secret))
	switch now := a.now(); {
	case errors.Is(err, store.ErrUnknown):
		return nil, errWrong
	case err != nil:
		return nil, err
	case t.Expires <= now || t.Kind != store.SessionToken && t.Kind != store.AccessToken:
		return nil, errWrong
	case t.Slides > 0 && t.Expires < now+t.Slides-slideInterval.Milliseconds():
		t.Expires = now + t.Slides
		if err := a.c.Store.ExtendToken(ctx, t.ID, t.Expires); err != nil {
			a.c.Log.Warn("could not extend a session", "error", err)
		}
	}
	return identityOf(t), nil
}

// byTicket consumes a ticket and returns the identity of its owner.
func (a *Auth) byTicket(ctx context.Context, secret string, r *http.Request) (*Identity, error) {
	now := a.now()
	t, err := a.c.Store.UseTicket(ctx, hexsum.SHA256(secret), now)
	switch {
	case errors.Is(err, store.ErrUnknown):
		return nil, errWrong
	case err != nil:
		return nil, err
	case t.Kind == store.UsedTicket || t.Expires <= now:
		why := "ticket expired"
		if t.Kind == store.UsedTicket {
			why = "ticket used before"
		}
		a.recordFailure(ctx, t.User, why, r)
		return nil, httpguard.Refused(protocol.Unauthorized, "the ticket was used or has expired: a ticket opens one connection within %d s; request another", TicketSeconds)
	}
	parent, err := a.c.Store.TokenOf(ctx, t.Parent)
	if errors.Is(err, store.ErrUnknown) || err == nil && parent.Expires <= now {
		return nil, errWrong
	}
	if err != nil {
		return nil, err
	}
	return identityOf(parent), nil
}

// Holder returns the identity of a token or session by id, or nil if that credential is no longer
// valid.
func (a *Auth) Holder(ctx context.Context, id string) (*Identity, error) {
	t, err := a.c.Store.TokenOf(ctx, id)
	switch {
	case errors.Is(err, store.ErrUnknown), err == nil && t.Expires <= a.now():
		return nil, nil
	case err != nil:
		return nil, err
	}
	return identityOf(t), nil
}

// recordFailure records a login or credentials that were refused, with the user's name.
func (a *Auth) recordFailure(ctx context.Context, name, why string, r *http.Request) {
	place := a.c.Guard.Address(r).String()
	rec := audit.Record{Kind: "login_failed", Actor: audit.Actor{Type: "user", Name: name}, Data: object(map[string]any{"address": place, "reason": why})}
	a.record(ctx, rec)
}

// record writes audit records that are not part of another change in the store.
func (a *Auth) record(ctx context.Context, all ...audit.Record) {
	if err := a.c.Store.Record(context.WithoutCancel(ctx), a.now(), all...); err != nil {
		a.c.Log.Error("could not write the audit log", "error", err)
	}
}

// Refused writes an audit record that a caller lacks a right, if refused attempts of that right are
// recorded.
func (a *Auth) Refused(ctx context.Context, id *Identity, right Right, run string) {
	kind := right.Info().Audit
	if id == nil || kind == "" || !a.reported.allow(id.ID+" "+string(right)+" "+run, a.c.Now()) {
		return
	}
	a.record(ctx, id.Record(kind, run, nil, map[string]any{"refused": string(protocol.Forbidden)}))
}
