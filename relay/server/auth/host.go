package auth

import (
	"context"
	"crypto/ed25519"
	"crypto/subtle"
	"errors"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
	"github.com/concerto-lang/concerto/relay/store"
)

// TOFU is from where hosts are taken that nobody knows: "trust on first use".
type TOFU string

// The ways.
const (
	TOFUOn       TOFU = "on"
	TOFUOff      TOFU = "off"
	TOFULoopback TOFU = "loopback" // from this machine, by no proxy, and when there is no public URL
)

// HostCredentials are a host's token, from its request: Authorization, else ?host_token=.
func HostCredentials(r *http.Request) (host, token string) {
	query := r.URL.Query()
	host, token = query.Get("host_id"), query.Get("host_token")
	const bearer = "Bearer "
	if given := r.Header.Get("Authorization"); len(given) > len(bearer) && given[:len(bearer)] == bearer {
		token = given[len(bearer):]
	}
	return host, token
}

// Host lets a host in by its token: the one that it first came with, and no other as long as the
// host is known. A host that nobody knows is taken where TOFU says so. Else it is a
// *guard.Refusal, unauthorized.
func (a *Auth) Host(ctx context.Context, id, token string, r *http.Request) error {
	if !protocol.IsID(id) {
		return httpguard.Refused(protocol.BadMessage, "host_id is 1 to 64 of letters, digits, _ and -")
	}
	if token == "" {
		return httpguard.Refused(protocol.Unauthorized, "a host needs its token: ?host_token=, or Authorization: Bearer")
	}
	known, err := a.c.Store.Host(ctx, id)
	if errors.Is(err, store.ErrUnknown) {
		if why := a.newHost(r); why != "" {
			return a.hostRefused(ctx, id, why, "", r)
		}
		known, err = a.c.Store.AddHost(ctx, store.Host{ID: id, Name: id, TokenHash: hexsum.SHA256(token), LastSeenAt: a.now()}, hostRecord("host_tofu", id, a.c.Guard.Address(r).String(), ""))
	}
	switch {
	case err != nil:
		return err
	case known.TokenHash == "":
		return a.hostRefused(ctx, id, "the host is paired, and known by its key alone", id, r)
	case subtle.ConstantTimeCompare([]byte(known.TokenHash), []byte(hexsum.SHA256(token))) != 1:
		return a.hostRefused(ctx, id, "the token is not the one that this host first came with; an owner may remove the host, and it is taken anew", id, r)
	}
	return nil
}

// KnowsHost says whether a host is known by a key.
func (a *Auth) KnowsHost(ctx context.Context, id string, key ed25519.PublicKey) (bool, error) {
	known, err := a.c.Store.Host(ctx, id)
	if errors.Is(err, store.ErrUnknown) {
		return false, nil
	}
	return err == nil && known.PublicKey == protocol.KeyText(key), err
}

// Admit takes a host that the server's own process speaks for, whatever TOFU says. One that is known
// by another token, or by its key, is a *guard.Refusal.
func (a *Auth) Admit(ctx context.Context, id, token string) error {
	known, err := a.c.Store.Host(ctx, id)
	if errors.Is(err, store.ErrUnknown) {
		known, err = a.c.Store.AddHost(ctx, store.Host{ID: id, Name: id, TokenHash: hexsum.SHA256(token), LastSeenAt: a.now()}, hostRecord("host_tofu", id, "", "it is the server's own"))
	}
	switch {
	case err != nil:
		return err
	case subtle.ConstantTimeCompare([]byte(known.TokenHash), []byte(hexsum.SHA256(token))) != 1:
		return httpguard.Refused(protocol.Unauthorized, "host %s is known by other credentials than this machine has: give it another host id, or remove the host from the server", id)
	}
	return nil
}

// newHost says why a host that nobody knows is not taken; "" when it is.
func (a *Auth) newHost(r *http.Request) string {
	switch {
	case a.c.TOFU == TOFUOn:
		return ""
	case a.c.TOFU == TOFUOff:
		return "nobody knows this host, and the server takes none (--tofu off): pair it"
	case a.c.Guard.Public() != nil:
		return "nobody knows this host, and a server with a public URL takes none by its token (--tofu loopback): pair it"
	case !a.c.Guard.Local(r):
		return "nobody knows this host, and the server takes none from elsewhere (--tofu loopback): pair it"
	}
	return ""
}

// hostRefused refuses a host. known is its id when there is one of it: names that somebody thinks of
// are recorded as one.
func (a *Auth) hostRefused(ctx context.Context, id, why, known string, r *http.Request) error {
	place := a.c.Guard.Address(r).String()
	if a.told.may("host "+known+" "+place, a.c.Now()) {
		a.record(ctx, hostRecord("host_refused", id, place, why))
		a.c.Log.Warn("a host was refused", "host", id, "from", place, "why", why)
	}
	return httpguard.Refused(protocol.Unauthorized, "%s", why)
}

// IsHostName reports whether a text may be a host's name.
func IsHostName(name string) bool {
	return name != "" && len(name) <= 64 && utf8.ValidString(name) && !strings.ContainsFunc(name, unicode.IsControl)
}

func hostRecord(kind, id, place, why string) audit.Record {
	data := map[string]any{"address": place}
	if why != "" {
		data["reason"] = why
	}
	return audit.Record{Kind: kind, Actor: audit.Actor{Type: "host", Name: id}, Subject: object(map[string]any{"host": id}), Data: object(data)}
}
