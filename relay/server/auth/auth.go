// Package auth says who asks the relay's server for something, and what that one may do (its API
// promises nothing): users with passwords, sessions and tokens with roles, tickets for
// connections of browsers, and hosts, which are known by the token they first came with.
//
// Credentials are looked up in the store each time, so that they end at once; who holds a
// connection is told of their end (Watch). Whatever is secret is stored as a hash.
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

// How long credentials hold. A use puts the end of those that slide off.
const (
	sliding   = 30 * 24 * time.Hour
	slideEach = time.Hour // a use is noted no more often
	ticketFor = 30 * time.Second

	// TicketSeconds is how long a ticket holds.
	TicketSeconds = int64(ticketFor / time.Second)
	// SlidingSeconds is how long a session holds without a use.
	SlidingSeconds = int64(sliding / time.Second)
)

// Config is what an Auth is made of.
type Config struct {
	Store    *store.Store
	Guard    *httpguard.Guard
	TOFU     TOFU
	URLToken bool // access tokens are taken from the URL of a WebSocket
	Now      func() time.Time
	Log      *slog.Logger
}

// Auth knows who asks. Safe for concurrent use.
type Auth struct {
	c         Config
	checks    checkers
	tries     throttle
	told      seldom
	keeping   sync.RWMutex // held while an owner's password is looked at (KeepOwner)
	mu        sync.Mutex
	watches   map[string]*watched // by the token's id
	serverKey ed25519.PrivateKey  // nil until it is asked for
	version   int64               // of the people, as watches are up to date with it
	watching  context.CancelFunc
	done      chan struct{}
}

// New begins to watch credentials; Close ends it.
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

// Close ends what New began.
func (a *Auth) Close() {
	a.watching()
	<-a.done
}

func (a *Auth) now() int64 { return a.c.Now().UnixMilli() }

// cookieNames are those of the session: the first on https alone, the second on plain http to
// the loopback.
const (
	secureCookie = "__Host-concerto"
	plainCookie  = "concerto"
)

// Authenticate says who sends a request: by its Authorization, by the cookie of a session, by
// ?ticket=, which is used up, or, for a WebSocket, by ?token=. Without any, or with wrong ones, it
// is a *guard.Refusal.
func (a *Auth) Authenticate(r *http.Request) (*Identity, error) {
	query := r.URL.Query()
	switch bearer, cookie := r.Header.Get("Authorization"), a.cookie(r); {
	case bearer != "":
		scheme, secret, _ := strings.Cut(bearer, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return nil, httpguard.Refused(protocol.Unauthorized, "credentials are an access token as Bearer, or the cookie of a login")
		}
		return a.bySecret(r.Context(), strings.TrimSpace(secret))
	case r.Method == http.MethodGet && query.Has("ticket"):
		return a.byTicket(r.Context(), query.Get("ticket"), r)
	case httpguard.IsUpgrade(r) && query.Has("token"):
		if !a.c.URLToken {
			return nil, httpguard.Refused(protocol.Unauthorized, "this server takes no token in the URL: use a ticket, or Authorization")
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

var errWrong = httpguard.Refused(protocol.Unauthorized, "the credentials are wrong, or have ended: log in again, or ask for a new token")

// bySecret is who a session's or token's secret stands for.
func (a *Auth) bySecret(ctx context.Context, secret string) (*Identity, error) {
	t, err := a.c.Store.Token(ctx, hexsum.SHA256(secret))
	switch now := a.now(); {
	case errors.Is(err, store.ErrUnknown):
		return nil, errWrong
	case err != nil:
		return nil, err
	case t.Expires <= now || t.Kind != store.SessionToken && t.Kind != store.AccessToken:
		return nil, errWrong
	case t.Slides > 0 && t.Expires < now+t.Slides-slideEach.Milliseconds():
		t.Expires = now + t.Slides
		if err := a.c.Store.Slide(ctx, t.ID, t.Expires); err != nil {
			a.c.Log.Warn("the end of a session could not be put off", "error", err)
		}
	}
	return identity(t), nil
}

// byTicket uses a ticket up, and gives who has asked for it.
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
		a.failed(ctx, t.User, why, r)
		return nil, httpguard.Refused(protocol.Unauthorized, "a ticket opens one connection within %d s: ask for another", TicketSeconds)
	}
	parent, err := a.c.Store.TokenOf(ctx, t.Parent)
	if errors.Is(err, store.ErrUnknown) || err == nil && parent.Expires <= now {
		return nil, errWrong
	}
	if err != nil {
		return nil, err
	}
	return identity(parent), nil
}

// Holder is whom a token or session of an id stands for; nil when it has ended.
func (a *Auth) Holder(ctx context.Context, id string) (*Identity, error) {
	t, err := a.c.Store.TokenOf(ctx, id)
	switch {
	case errors.Is(err, store.ErrUnknown), err == nil && t.Expires <= a.now():
		return nil, nil
	case err != nil:
		return nil, err
	}
	return identity(t), nil
}

// failed records credentials that were refused, though they tell whose they are, or pretend to.
func (a *Auth) failed(ctx context.Context, name, why string, r *http.Request) {
	place := a.c.Guard.Address(r).String()
	rec := audit.Record{Kind: "login_failed", Actor: audit.Actor{Type: "user", Name: name}, Data: object(map[string]any{"address": place, "reason": why})}
	a.record(ctx, rec)
}

// record writes what happened without a change in the store.
func (a *Auth) record(ctx context.Context, all ...audit.Record) {
	if err := a.c.Store.Record(context.WithoutCancel(ctx), a.now(), all...); err != nil {
		a.c.Log.Error("the audit log could not be written", "error", err)
	}
}

// Refused records that somebody tried what that one may not do, where the right says that
// it is recorded.
func (a *Auth) Refused(ctx context.Context, id *Identity, right Right, run string) {
	kind := right.Info().Audit
	if id == nil || kind == "" || !a.told.may(id.ID+" "+string(right)+" "+run, a.c.Now()) {
		return
	}
	a.record(ctx, id.Record(kind, run, nil, map[string]any{"refused": string(protocol.Forbidden)}))
}
