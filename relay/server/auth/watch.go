package auth

import (
	"context"
	"errors"
	"time"

	"github.com/concerto-lang/concerto/relay/store"
)

// lookEach is how often changes of people are looked for: those by other servers on the same
// database, and by commands. Those by this one are told at once.
const lookEach = 300 * time.Millisecond

// watched is a token or session on which something depends.
type watched struct {
	id    *Identity
	calls map[int]func()
	next  int
	known bool // it was looked at since it was asked for
}

// Watch calls ended, in a goroutine of its own, when the identity has ended: its token has
// expired or was revoked, its user was removed or may do something else now. stop ends the watch;
// ended may be called until stop returns, and is called once.
func (a *Auth) Watch(id *Identity, ended func()) (stop func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w := a.watches[id.ID]
	if w == nil || !same(w.id, id) {
		if w != nil {
			w.end() // it was something else when it was asked for
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

// end tells all; a.mu is held.
func (w *watched) end() {
	for n, ended := range w.calls {
		delete(w.calls, n)
		go ended()
	}
}

func (a *Auth) watch(ctx context.Context) {
	defer close(a.done)
	tick := time.NewTicker(lookEach)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := a.look(ctx); err != nil && ctx.Err() == nil {
				a.c.Log.Error("credentials could not be looked at", "error", err)
			}
		}
	}
}

// look ends what has ended.
func (a *Auth) look(ctx context.Context) error {
	a.mu.Lock()
	ids, known, was := map[string]*Identity{}, map[string]bool{}, a.version
	for key, w := range a.watches {
		ids[key], known[key] = w.id, w.known
	}
	a.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	version, err := a.c.Store.PeopleVersion(ctx)
	if err != nil {
		return err
	}
	ended := map[string]*Identity{}
	extended := map[string]*Identity{}
	for key, id := range ids {
		if known[key] && version == was && id.Expires.UnixMilli() > a.now() {
			continue
		}
		t, err := a.c.Store.TokenOf(ctx, key)
		switch {
		case err != nil && !errors.Is(err, store.ErrUnknown):
			return err
		case err != nil || t.Expires <= a.now() || !same(identity(t), id):
			ended[key] = id
		default:
			extended[key] = identity(t)
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
			w.id, w.known = extended[key], true
		}
	}
	if a.version == was {
		a.version = version
	}
	return nil
}

// changed looks at once.
func (a *Auth) changed(ctx context.Context) {
	if err := a.look(context.WithoutCancel(ctx)); err != nil {
		a.c.Log.Error("credentials could not be looked at", "error", err)
	}
}
