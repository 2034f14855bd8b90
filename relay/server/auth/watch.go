package auth

import (
	"context"
	"errors"
	"time"

	"github.com/concerto-lang/concerto/relay/store"
)

// pollInterval is the interval at which the store is checked for changes that other servers or
// commands have made on the same database. Changes by this server take effect at once.
const pollInterval = 300 * time.Millisecond

// watched is a token or session that has watchers.
type watched struct {
	id      *Identity
	calls   map[int]func()
	next    int
	checked bool // whether the credential was checked since the first call of Watch
}

// Watch calls ended once, in a new goroutine, when the identity becomes invalid: its token expired
// or was revoked, or its user was removed or changed. stop ends the watch; ended may still be
// called until stop returns.
func (a *Auth) Watch(id *Identity, ended func()) (stop func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w := a.watches[id.ID]
	if w == nil || !sameRights(w.id, id) {
		if w != nil {
			w.end() // the credential changed after the request was authenticated
		}
		w = &watched{id: id, calls: map[int]func(){}}
		a.watches[id.ID] = w
	}
	n := w.next
	w.next++
	w.calls[n] = ended
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(w.calls, n)
		if len(w.calls) == 0 && a.watches[id.ID] == w {
			delete(a.watches, id.ID)
		}
	}
}

// end calls all watchers. The caller holds a.mu.
func (w *watched) end() {
	for n, ended := range w.calls {
		delete(w.calls, n)
		go ended()
	}
}

func (a *Auth) watch(ctx context.Context) {
	defer close(a.done)
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := a.poll(ctx); err != nil && ctx.Err() == nil {
				a.c.Log.Error("could not check the credentials", "error", err)
			}
		}
	}
}

// poll ends identities that have expired or changed.
func (a *Auth) poll(ctx context.Context) error {
	a.mu.Lock()
	ids, checked, was := map[string]*Identity{}, map[string]bool{}, a.version
	for key, w := range a.watches {
		ids[key], checked[key] = w.id, w.checked
	}
	a.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	version, err := a.c.Store.UsersVersion(ctx)
	if err != nil {
		return err
	}
	ended := map[string]*Identity{}
	extended := map[string]*Identity{}
	for key, id := range ids {
		if checked[key] && version == was && id.Expires.UnixMilli() > a.now() {
			continue
		}
		t, err := a.c.Store.TokenOf(ctx, key)
		switch {
		case err != nil && !errors.Is(err, store.ErrUnknown):
			return err
		case err != nil || t.Expires <= a.now() || !sameRights(identityOf(t), id):
			ended[key] = id
		default:
			extended[key] = identityOf(t)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, w := range a.watches {
		switch {
		case ended[key] == w.id:
			w.end()
			delete(a.watches, key)
		case ids[key] == w.id && extended[key] != nil:
			w.id, w.checked = extended[key], true
		}
	}
	if a.version == was {
		a.version = version
	}
	return nil
}

// changed polls at once.
func (a *Auth) changed(ctx context.Context) {
	if err := a.poll(context.WithoutCancel(ctx)); err != nil {
		a.c.Log.Error("could not check the credentials", "error", err)
	}
}
