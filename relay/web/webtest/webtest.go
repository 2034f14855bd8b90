// Package webtest runs a complete relay server with its page for tests. Logins, sessions and the
// database are real, and the test plays the machines.
package webtest

import (
	"context"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server"
	"github.com/concerto-lang/concerto/relay/server/accounts"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
	"github.com/concerto-lang/concerto/relay/server/pair"
	"github.com/concerto-lang/concerto/relay/server/push"
	"github.com/concerto-lang/concerto/relay/server/servertest"
	"github.com/concerto-lang/concerto/relay/store"
	"github.com/concerto-lang/concerto/relay/store/sqlite"
	"github.com/concerto-lang/concerto/relay/web"
)

// Each Relay has these users. The name of a user is its role, and the password is Password.
const (
	Owner    = "ann"
	Operator = "olga"
	Viewer   = "vera"
)

// Relay is a running server with the page.
type Relay struct {
	T      testing.TB
	URL    string // http://127.0.0.1:PORT
	Store  *store.Store
	Server *server.Server
	Auth   *auth.Auth
	Allow  []string // other origins whose pages may call the server, after the next Restart
	page   fs.FS    // the built files of the page
	wrap   func(http.Handler) http.Handler
	passed atomic.Int64
	dir    string
	http   *httptest.Server
	end    func()
}

// Start starts a relay that uses the machine's clock. It is stopped when the test ends.
func Start(t testing.TB) *Relay {
	t.Helper()
	r := Empty(t)
	for _, u := range []struct {
		name string
		role auth.Role
	}{{Owner, auth.Owner}, {Operator, auth.Operator}, {Viewer, auth.Viewer}} {
		if _, err := r.Auth.PutUser(context.Background(), audit.Actor{Type: "server", Name: "test"}, u.name, u.role, Hash); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// Sealed restarts the server with an account, to which the machine with the given id belongs.
func (r *Relay) Sealed(host string) *Account {
	r.T.Helper()
	a := NewAccount(r.T, host)
	r.wrap = a.Wrap
	r.Stop()
	r.Restart()
	return a
}

// Empty starts a relay without users.
func Empty(t testing.TB) *Relay {
	t.Helper()
	r := &Relay{T: t, dir: t.TempDir(), page: web.Built(), wrap: func(next http.Handler) http.Handler { return next }}
	r.open("127.0.0.1:0")
	t.Cleanup(r.Stop)
	return r
}

// Revoke revokes a token or a session.
func (r *Relay) Revoke(id string) error {
	return r.Auth.Revoke(context.Background(), audit.Actor{Type: "server", Name: "test"}, id)
}

// AdvancePairings advances the clock of the pairings by d.
func (r *Relay) AdvancePairings(d time.Duration) { r.passed.Add(int64(d)) }

func (r *Relay) now() time.Time { return time.Now().Add(time.Duration(r.passed.Load())) }

// Stop stops the server. Its database remains for Restart.
func (r *Relay) Stop() {
	if r.end != nil {
		r.end()
		r.end = nil
	}
}

// Restart starts the server again at the same address.
func (r *Relay) Restart() {
	r.T.Helper()
	r.open(r.URL[len("http://"):])
}

func (r *Relay) open(address string) {
	r.T.Helper()
	ctx := context.Background()
	db, err := sqlite.Open(ctx, filepath.Join(r.dir, "relay.db"))
	if err != nil {
		r.T.Fatal(err)
	}
	g := httpguard.New(httpguard.Config{Loopback: true, Allow: r.Allow})
	a := auth.New(auth.Config{Store: db, Guard: g, TOFU: auth.TOFULoopback, URLToken: true})
	p := accounts.New(accounts.Config{Store: db, Auth: a, Guard: g, MachineRemoved: func(id string) { r.Server.CloseMachine(id, "the machine was removed") }})
	pairs := pair.New(pair.Config{Store: db, Auth: a, Guard: g, Now: r.now, Paired: func(id string) { r.Server.CloseMachine(id, "the machine was paired") }})
	pushes, err := push.New(ctx, push.Config{Store: db, Auth: a, Insecure: true})
	if err != nil {
		r.T.Fatal(err)
	}
	s := server.New(server.Config{Store: db, Auth: a, Version: "test", Watch: pushes, More: slices.Concat(p.Routes(), pairs.Routes(), pushes.Routes(), web.RoutesOf(r.page))})
	h := httptest.NewUnstartedServer(r.wrap(g.Wrap(s)))
	if err := listen(h, address); err != nil {
		r.T.Fatal(err)
	}
	h.Start()
	r.Store, r.Auth, r.Server, r.http, r.URL = db, a, s, h, h.URL
	r.end = func() {
		s.Close()
		pushes.Close()
		h.CloseClientConnections()
		h.Close()
		a.Close()
		if err := db.Close(); err != nil {
			r.T.Error(err)
		}
	}
}

// Machine connects a machine that speaks protocol 1.
func (r *Relay) Machine(id string) *servertest.Peer {
	r.T.Helper()
	p := servertest.Dial(r.T, r.URL+"/ws/host?host_id="+id+"&host_token=token-"+id)
	p.Now = time.Now
	return p
}

// HelloMachine connects a machine that sends a hello. The server sends it the current state.
func (r *Relay) HelloMachine(id string) *servertest.Peer {
	r.T.Helper()
	p := r.Machine(id)
	p.Send(protocol.Hello, "", 0, protocol.HelloData{Protocol: protocol.Version, Agent: "test/1", Instance: "i-" + id})
	p.Next(protocol.Welcome)
	return p
}
