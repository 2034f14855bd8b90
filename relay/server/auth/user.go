package auth

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
	"github.com/concerto-lang/concerto/relay/store"
)

// isUserName reports whether a text is a valid user name.
func isUserName(t string) bool {
	return t != "" && len(t) <= maxName && !strings.ContainsFunc(t, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("_-.@+", c))
	})
}

// CheckUser validates a user's name and role.
func CheckUser(name string, role Role) error {
	switch {
	case !isUserName(name):
		return httpguard.Refused(protocol.BadMessage, "name must be 1 to %d of letters, digits and _-.@+, not %q", maxName, shortName(name))
	case !slices.Contains(Roles, role):
		return httpguard.Refused(protocol.BadMessage, "role must be viewer, approver, operator or owner, not %q", shortName(string(role)))
	}
	return nil
}

// PutUser creates or changes a user. hash is the hash of the password.
func (a *Auth) PutUser(ctx context.Context, by audit.Actor, name string, role Role, hash string) (made bool, err error) {
	if err := CheckUser(name, role); err != nil {
		return false, err
	}
	rec := audit.Record{Kind: "user_changed", Actor: by, Subject: object(map[string]any{"user": name}), Data: object(map[string]any{"role": string(role), "removed": false})}
	made, err = a.c.Store.PutUser(ctx, store.User{Name: name, Role: string(role), Hash: hash}, a.now(), rec)
	a.changed(ctx)
	return made, lastOwnerError(err)
}

// RemoveUser removes a user with all sessions and tokens.
func (a *Auth) RemoveUser(ctx context.Context, by audit.Actor, name string) error {
	rec := audit.Record{Kind: "user_changed", Actor: by, Subject: object(map[string]any{"user": name}), Data: object(map[string]any{"removed": true})}
	err := a.c.Store.RemoveUser(ctx, name, a.now(), rec)
	if errors.Is(err, store.ErrUnknown) {
		return unknown("user", name)
	}
	a.changed(ctx)
	return lastOwnerError(err)
}

// lastOwnerError converts store.ErrLastOwner to a refusal.
func lastOwnerError(err error) error {
	if errors.Is(err, store.ErrLastOwner) {
		return &httpguard.Refusal{Code: "last_owner", Why: "no owner would remain: create another one first", Status: http.StatusConflict}
	}
	return err
}

// EnsureOwner ensures that an owner with this name and password exists. If nothing changes, the
// owner's sessions remain. Verifying the password of an existing owner takes as long as a login.
// EnsureOwner therefore returns later, a function that verifies it, and logins wait until later
// returns. The caller must call later unless it is nil.
func (a *Auth) EnsureOwner(ctx context.Context, by audit.Actor, name, password string) (later func(context.Context) error, err error) {
	put := func(ctx context.Context) error {
		hash, err := a.Hash(ctx, password)
		if err == nil {
			_, err = a.PutUser(ctx, by, name, Owner, hash)
		}
		return err
	}
	was, err := a.c.Store.User(ctx, name)
	switch {
	case err != nil && !errors.Is(err, store.ErrUnknown):
		return nil, err
	case err != nil || was.Role != string(Owner) || CheckHash(was.Hash) != nil:
		return nil, put(ctx)
	}
	a.keeping.Lock()
	return func(ctx context.Context) error {
		defer a.keeping.Unlock()
		if right, err := a.checks.matches(ctx, password, was.Hash); err != nil || right {
			return err
		}
		return put(ctx)
	}, nil
}
