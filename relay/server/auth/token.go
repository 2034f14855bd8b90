package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
	"github.com/concerto-lang/concerto/relay/store"
)

// NewToken describes a token to create.
type NewToken struct {
	Name string   `json:"name"`
	Role Role     `json:"role"`
	Runs []string `json:"runs"` // patterns of run ids; empty means all runs
	TTLS *int64   `json:"ttl_s"`
}

// Limits on tokens.
const (
	maxName  = 64
	maxGlobs = 64
	maxGlob  = 64
	maxTTL   = 10 * 365 * 24 * time.Hour
)

// check validates the description.
func (n *NewToken) check() error {
	bad := func(format string, args ...any) error { return httpguard.Refused(protocol.BadMessage, format, args...) }
	switch {
	case n.Name == "" || len(n.Name) > maxName || strings.ContainsFunc(n.Name, func(c rune) bool { return c < ' ' }):
		return bad("name must have 1 to %d bytes", maxName)
	case !slices.Contains(Roles, n.Role):
		return bad("role must be viewer, approver, operator or owner, not %q", n.Role)
	case len(n.Runs) > maxGlobs:
		return bad("runs must have at most %d entries", maxGlobs)
	case n.TTLS != nil && (*n.TTLS < 1 || *n.TTLS > int64(maxTTL/time.Second)):
		return bad("ttl_s must be 1 to %d", int64(maxTTL/time.Second))
	}
	for _, glob := range n.Runs {
		if !isGlob(glob) {
			return bad("runs: %q is not a run id or a pattern with * and ?", glob)
		}
	}
	return nil
}

// isGlob reports whether a text is a valid pattern of run ids.
func isGlob(t string) bool {
	return t != "" && len(t) <= maxGlob && !strings.ContainsFunc(t, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("_-*?", c))
	})
}

// NewToken creates an access token of a user and returns its id and secret. The secret cannot be
// retrieved later. Without a TTL the token expires 30 days after its last use.
func (a *Auth) NewToken(ctx context.Context, by audit.Actor, user string, n NewToken) (id, secret string, err error) {
	if err := n.check(); err != nil {
		return "", "", err
	}
	secret = newSecret("ct_")
	t := store.Token{ID: newID("t_"), Hash: hexsum.SHA256(secret), User: user, Role: string(n.Role), Runs: n.Runs, Kind: store.AccessToken, Name: n.Name,
		Slides: sliding.Milliseconds(), Created: a.now(), Expires: a.now() + sliding.Milliseconds()}
	data := map[string]any{"role": t.Role, "name": n.Name, "runs": strings.Join(n.Runs, " ")}
	if n.TTLS != nil {
		t.Slides, t.Expires = 0, a.now()+*n.TTLS*1000
		data["ttl_s"] = *n.TTLS
	}
	rec := audit.Record{Kind: "token_created", Actor: by, Subject: object(map[string]any{"token": t.ID, "user": user}), Data: object(data)}
	err = a.c.Store.AddToken(ctx, t, rec)
	if errors.Is(err, store.ErrUnknown) {
		err = unknown("user", user)
	}
	return t.ID, secret, err
}

// Link returns the URL of the server's page that logs in with a token. The token is in the
// fragment, which browsers do not send, so it appears in no log. If the token is for one run, the
// link leads to that run.
func Link(server, token string, runs []string) string {
	link := strings.TrimSuffix(server, "/") + "/#/t/" + token
	if len(runs) == 1 && protocol.IsID(runs[0]) {
		link += "/" + runs[0]
	}
	return link
}

func unknown(what, name string) error {
	return &httpguard.Refusal{Code: protocol.Code("unknown_" + what), Why: fmt.Sprintf("there is no %s %q", what, shortName(name)), Status: http.StatusNotFound}
}

// Revoke revokes a token or ends a session.
func (a *Auth) Revoke(ctx context.Context, by audit.Actor, id string) error {
	rec := audit.Record{Kind: "token_revoked", Actor: by, Subject: object(map[string]any{"token": id})}
	err := a.c.Store.RemoveToken(ctx, id, a.now(), rec)
	if errors.Is(err, store.ErrUnknown) {
		return unknown("token", id)
	}
	a.changed(ctx)
	return err
}
