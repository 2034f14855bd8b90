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

// TOFU ("trust on first use") controls which unknown hosts are accepted.
type TOFU string

// The values of TOFU.
const (
	TOFUOn  TOFU = "on"
	TOFUOff TOFU = "off"
	// TOFULoopback accepts unknown hosts only from this machine and without a proxy, and only if
	// the server has no public URL.
	TOFULoopback TOFU = "loopback"
)

// HostCredentials returns the id and token that a host's request contains. The id is in ?host_id=,
// and the token is in the Authorization header or in ?host_token=.
func HostCredentials(r *http.Request) (host, token string) {
	query := r.URL.Query()
	host, token = query.Get("host_id"), query.Get("host_token")
	const bearer = "Bearer "
	if header := r.Header.Get("Authorization"); len(header) > len(bearer) && header[:len(bearer)] == bearer {
		token = header[len(bearer):]
	}
	return host, token
}

// Host authenticates a host by the token with which it first connected. TOFU decides whether an
// unknown host is accepted. For a refused host it returns an *httpguard.Refusal with code
// unauthorized.
func (a *Auth) Host(ctx context.Context, id, token string, r *http.Request) error {
	if !protocol.IsID(id) {
		return httpguard.Refused(protocol.BadMessage, "host_id must be 1 to 64 of letters, digits, _ and -")
	}
	if token == "" {
		return httpguard.Refused(protocol.Unauthorized, "missing host token: send ?host_token= or Authorization: Bearer")
	}
	host, err := a.c.Store.Host(ctx, id)
	if errors.Is(err, store.ErrUnknown) {
		if why := a.refuseNewHost(r); why != "" {
			return a.refuseHost(ctx, id, why, "", r)
		}
		host, err = a.c.Store.AddHost(ctx, store.Host{ID: id, Name: id, TokenHash: hexsum.SHA256(token), LastSeenAt: a.now()}, hostRecord("host_tofu", id, a.c.Guard.Address(r).String(), ""))
	}
	switch {
	case err != nil:
		return err
	case host.TokenHash == "":
		return a.refuseHost(ctx, id, "the host is paired and must authenticate with its key", id, r)
	case subtle.ConstantTimeCompare([]byte(host.TokenHash), []byte(hexsum.SHA256(token))) != 1:
		return a.refuseHost(ctx, id, "the token differs from the one this host first used; an owner can remove the host, which lets it register again", id, r)
	}
	return nil
}

// HasToken reports whether the host is registered with this token.
func (a *Auth) HasToken(ctx context.Context, id, token string) (bool, error) {
	return a.hostHas(ctx, id, func(h *store.Host) bool { return h.TokenHash == hexsum.SHA256(token) })
}

// HasKey reports whether the host is registered with this key.
func (a *Auth) HasKey(ctx context.Context, id string, key ed25519.PublicKey) (bool, error) {
	return a.hostHas(ctx, id, func(h *store.Host) bool { return h.PublicKey == protocol.KeyText(key) })
}

// hostHas reports whether the host is registered and has valid credentials.
func (a *Auth) hostHas(ctx context.Context, id string, valid func(*store.Host) bool) (bool, error) {
	host, err := a.c.Store.Host(ctx, id)
	if errors.Is(err, store.ErrUnknown) {
		return false, nil
	}
	return err == nil && valid(host), err
}

// Admit registers the host that runs in the server's own process, regardless of TOFU. If the host
// is registered with another token or with a key, it returns an *httpguard.Refusal.
func (a *Auth) Admit(ctx context.Context, id, token string) error {
	host, err := a.c.Store.Host(ctx, id)
	if errors.Is(err, store.ErrUnknown) {
		host, err = a.c.Store.AddHost(ctx, store.Host{ID: id, Name: id, TokenHash: hexsum.SHA256(token), LastSeenAt: a.now()}, hostRecord("host_tofu", id, "", "it is the server's own"))
	}
	switch {
	case err != nil:
		return err
	case subtle.ConstantTimeCompare([]byte(host.TokenHash), []byte(hexsum.SHA256(token))) != 1:
		return httpguard.Refused(protocol.Unauthorized, "host %s is registered with other credentials: use another host id, or remove the host from the server", id)
	}
	return nil
}

// refuseNewHost returns why an unknown host is refused, or "" if it is accepted.
func (a *Auth) refuseNewHost(r *http.Request) string {
	switch {
	case a.c.TOFU == TOFUOn:
		return ""
	case a.c.TOFU == TOFUOff:
		return "this host is not paired, and the server accepts no unpaired hosts (--tofu off): pair it"
	case a.c.Guard.Public() != nil:
		return "this host is not paired, and a server with a public URL accepts no tokens of unpaired hosts (--tofu loopback): pair it"
	case !a.c.Guard.Local(r):
		return "this host is not paired, and the server accepts unpaired hosts only from loopback addresses (--tofu loopback): pair it"
	}
	return ""
}

// refuseHost records a refused host and returns the refusal. stored is the id of an existing host
// and "" for an unknown one; all unknown hosts share one audit record.
func (a *Auth) refuseHost(ctx context.Context, id, why, stored string, r *http.Request) error {
	place := a.c.Guard.Address(r).String()
	if a.reported.allow("host "+stored+" "+place, a.c.Now()) {
		a.record(ctx, hostRecord("host_refused", id, place, why))
		a.c.Log.Warn("rejected a host", "host", id, "from", place, "why", why)
	}
	return httpguard.Refused(protocol.Unauthorized, "%s", why)
}

// IsHostName reports whether name is a valid name of a host.
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
