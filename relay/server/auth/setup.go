package auth

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/concerto-lang/concerto/internal/audit"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/guard"
	"github.com/concerto-lang/concerto/relay/store"
)

// setup is the code by which the first user is made.
type setup struct {
	mu   sync.Mutex
	hash string // of the code; "" when there is none
}

// Setup gives a code by which the first owner is made, once; "" when there are users.
func (a *Auth) Setup(ctx context.Context) (code string, err error) {
	all, err := a.c.Store.Users(ctx)
	if err != nil || len(all) > 0 {
		return "", err
	}
	a.setup.mu.Lock()
	defer a.setup.mu.Unlock()
	code = newSecret("")
	a.setup.hash = digest(code)
	return code, nil
}

// FirstOwner makes the first owner by the code, and a session.
func (a *Auth) FirstOwner(ctx context.Context, code, name, password string, r *http.Request) (secret string, id *Identity, err error) {
	if err := CheckUser(name, Owner); err != nil {
		return "", nil, err
	}
	if err := CheckPassword(password); err != nil {
		return "", nil, guard.Refused(protocol.BadMessage, "password: %v", err)
	}
	a.setup.mu.Lock()
	defer a.setup.mu.Unlock()
	if a.setup.hash == "" || digest(code) != a.setup.hash {
		return "", nil, guard.Refused(protocol.Unauthorized, "the link to set this server up was used, or is not the one that it printed at its last start")
	}
	actor := audit.Actor{Type: "user", Name: name}
	rec := audit.Record{Kind: "user_changed", Actor: actor, Subject: object(map[string]any{"user": name}), Data: object(map[string]any{"role": string(Owner), "removed": false})}
	err = a.c.Store.FirstUser(ctx, store.User{Name: name, Role: string(Owner), Hash: HashPassword(password)}, a.now(), rec)
	if err != nil && !errors.Is(err, store.ErrConflict) {
		return "", nil, err
	}
	a.setup.hash = ""
	if err != nil {
		return "", nil, guard.Refused(protocol.Unauthorized, "this server has users: log in")
	}
	return a.session(ctx, name, Owner, a.c.Guard.Address(r).String())
}
