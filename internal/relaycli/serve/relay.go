package serve

import (
	"context"
	"net/http"
	"slices"

	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/relay/nats"
	"github.com/concerto-lang/concerto/relay/server"
	"github.com/concerto-lang/concerto/relay/server/accounts"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
	"github.com/concerto-lang/concerto/relay/server/pair"
	"github.com/concerto-lang/concerto/relay/server/push"
	"github.com/concerto-lang/concerto/relay/store"
	"github.com/concerto-lang/concerto/relay/web"
)

// relay holds the parts of a server.
type relay struct {
	auth     *auth.Auth
	accounts *accounts.API
	server   *server.Server
	push     *push.Push
	handler  http.Handler
	nats     *nats.Bus // nil if the server does not use NATS
}

// newRelay creates a server that uses the database db.
func newRelay(ctx context.Context, a *console.Console, db *store.Store, set serveConfig, s *serveFlags) (*relay, error) {
	g, log := httpguard.New(set.guard), a.Log()
	clock := server.SystemClock()
	r := &relay{}
	var bus server.Bus
	if s.nats != "" {
		has, err := nats.Connect(s.nats, log)
		if err != nil {
			return nil, a.InvalidSetting("nats", "for example nats://HOST:4222", "%v", err)
		}
		r.nats, bus = has, has
	}
	r.auth = auth.New(auth.Config{Store: db, Guard: g, TOFU: auth.TOFU(s.tofu), URLToken: s.urlToken == "on", Now: clock.Now, Log: log})
	r.accounts = accounts.New(accounts.Config{Store: db, Auth: r.auth, Guard: g, Now: clock.Now, Log: log, MachineRemoved: func(id string) { r.server.CloseMachine(id, "the machine was removed") },
		Figures: func() map[string]float64 { return r.server.Figures() }})
	pairs := pair.New(pair.Config{Store: db, Auth: r.auth, Guard: g, Now: clock.Now, Log: log,
		Paired: func(id string) { r.server.CloseMachine(id, "the machine was paired, and is known by its key now") }})
	var err error
	r.push, err = push.New(ctx, push.Config{Store: db, Auth: r.auth, Public: set.guard.Public, Insecure: s.pushInsecure, Now: clock.Now, After: clock.After, Log: log})
	if err != nil {
		r.auth.Close()
		if r.nats != nil {
			r.nats.Close()
		}
		return nil, err
	}
	r.server = server.New(server.Config{Store: db, Auth: r.auth, Clock: clock, Log: log, Version: a.Release, Bus: bus, Watch: r.push, Sealed: s.sealed == sealedRequired, More: slices.Concat(r.accounts.Routes(), pairs.Routes(), r.push.Routes(), web.Routes())})
	r.handler = g.Wrap(r.server)
	return r, nil
}

func (r *relay) close() {
	r.server.Close()
	r.push.Close()
	r.auth.Close()
	if r.nats != nil {
		r.nats.Close()
	}
}
