package auth

import (
	"context"
	"errors"
	"net/http"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
	"github.com/concerto-lang/concerto/relay/store"
)

// setupCode is the name of the stored secret that allows creating the first user.
const setupCode = "setup"

// Setup returns the code for creating the first owner, or "" if there are users. The code is
// stored: all servers on a database return the same code, also after a restart.
func (a *Auth) Setup(ctx context.Context) (code string, err error) {
	all, err := a.c.Store.Users(ctx)
	if err != nil || len(all) > 0 {
		return "", err
	}
	return a.c.Store.Secret(ctx, setupCode, func() (string, error) { return newSecret(""), nil })
}

// FirstOwner creates the first owner and a session, if the code is right.
func (a *Auth) FirstOwner(ctx context.Context, code, name, password string, r *http.Request) (secret string, id *Identity, err error) {
	if err := CheckUser(name, Owner); err != nil {
		return "", nil, err
	}
	if err := CheckPassword(password); err != nil {
		return "", nil, httpguard.Refused(protocol.BadMessage, "password: %v", err)
	}
	is, err := a.Setup(ctx)
	if err != nil {
		return "", nil, err
	}
	if is == "" || hexsum.SHA256(code) != hexsum.SHA256(is) {
		return "", nil, httpguard.Refused(protocol.Unauthorized, "the setup link is invalid or was used: use the one that the server printed last")
	}
	actor := audit.Actor{Type: "user", Name: name}
	rec := audit.Record{Kind: "user_changed", Actor: actor, Subject: object(map[string]any{"user": name}), Data: object(map[string]any{"role": string(Owner), "removed": false})}
	err = a.c.Store.FirstUser(ctx, store.User{Name: name, Role: string(Owner), Hash: HashPassword(password)}, a.now(), rec)
	if errors.Is(err, store.ErrConflict) { // a concurrent request created the owner
		return "", nil, httpguard.Refused(protocol.Unauthorized, "this server is set up already: log in")
	}
	if err != nil {
		return "", nil, err
	}
	return a.newSession(ctx, name, Owner, a.c.Guard.Address(r).String())
}
