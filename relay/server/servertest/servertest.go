// Package servertest provides a relay server for tests with machines and apps that connect over
// real sockets.
package servertest

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/relay/server"
	"github.com/concerto-lang/concerto/relay/store"
	"github.com/concerto-lang/concerto/relay/store/postgres"
	"github.com/concerto-lang/concerto/relay/store/sqlite"
)

// patience is the time limit of each wait. Only a failing test waits that long.
const patience = 2 * time.Minute

// Relay is a server in a test.
type Relay struct {
	T      testing.TB
	URL    string // the URL of the server, http://…
	Clock  *Clock // the server's clock; nil if the server uses the system clock
	Store  *store.Store
	Server *server.Server
	Auth   *Auth
	http   *httptest.Server
	dir    string
	url    string // the URL of a shared database; "" for an SQLite database
	bus    server.Bus
	sealed bool
}

// Start starts a server with a new database and a stopped clock.
func Start(t testing.TB) *Relay {
	t.Helper()
	r := &Relay{T: t, dir: t.TempDir(), Clock: NewClock()}
	r.open()
	return r
}

// StartNow starts a server with a new database and the system clock.
func StartNow(t testing.TB) *Relay {
	t.Helper()
	r := &Relay{T: t, dir: t.TempDir()}
	r.open()
	return r
}

// StartSealed is like StartNow, with a server that accepts only what it cannot read.
func StartSealed(t testing.TB) *Relay {
	t.Helper()
	r := &Relay{T: t, dir: t.TempDir(), sealed: true}
	r.open()
	return r
}

// StartBeside starts a server on a shared PostgreSQL database, with the system clock. bus may be
// nil.
func StartBeside(t testing.TB, url string, bus server.Bus) *Relay {
	t.Helper()
	r := &Relay{T: t, url: url, bus: bus}
	r.open()
	return r
}

func (r *Relay) open() {
	r.T.Helper()
	open := func() (*store.Store, error) {
		return sqlite.Open(context.Background(), filepath.Join(r.dir, "relay.db"))
	}
	if r.url != "" {
		open = func() (*store.Store, error) { return postgres.Open(context.Background(), r.url) }
	}
	s, err := open()
	if err != nil {
		r.T.Fatal(err)
	}
	r.Store = s
	r.Auth = &Auth{store: s, watch: map[string]map[*func()]struct{}{}}
	c := server.Config{Store: s, Auth: r.Auth, Version: "test", Bus: r.bus, Sealed: r.sealed}
	if r.Clock != nil {
		c.Clock = r.Clock
	}
	r.Server = server.New(c)
	r.http = httptest.NewServer(r.Server)
	r.URL = r.http.URL
	r.T.Cleanup(r.Stop)
}

// Advance advances the server's clock. It waits until no write is in progress, because the server
// would otherwise consider the write slow.
func (r *Relay) Advance(d time.Duration) {
	for r.Server.Figures()["relay_sockets_writing"] > 0 {
		runtime.Gosched()
	}
	r.Clock.Advance(d)
}

// Stop stops the server.
func (r *Relay) Stop() {
	if r.http == nil {
		return
	}
	r.Server.Close()
	r.http.Close()
	r.http = nil
	if err := r.Store.Close(); err != nil {
		r.T.Error(err)
	}
}

// Restart stops the server and starts another one on the same database.
func (r *Relay) Restart() {
	r.T.Helper()
	r.Stop()
	r.open()
}

// Do sends an HTTP request with a token and returns the status and the body of the response.
func (r *Relay) Do(token, method, path string, body any) (int, []byte) {
	r.T.Helper()
	var send io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			r.T.Fatal(err)
		}
		send = bytes.NewReader(text)
	}
	q, err := http.NewRequest(method, r.URL+path, send)
	if err != nil {
		r.T.Fatal(err)
	}
	if token != "" {
		q.Header.Set("Authorization", "Bearer "+token)
	}
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		r.T.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		r.T.Fatal(err)
	}
	return a.StatusCode, text
}

// Break makes all later writes of the store fail.
func (r *Relay) Break() {
	r.exec(`CREATE TRIGGER broken BEFORE INSERT ON events BEGIN SELECT raise(abort, 'broken'); END`)
}

// Runs creates n runs of a machine directly in the database, named run_1, run_2 and so on.
func (r *Relay) Runs(machine string, n int) {
	r.exec(fmt.Sprintf(`INSERT INTO runs (id, host_id, tool, cwd, command, title, status, waits, meta_json, started_at, last_active_at, ended_at, prefix_seq, last_seq)
		WITH RECURSIVE all_of(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM all_of WHERE n < %d)
		SELECT 'run_' || n, '%s', '', '', '', '', 'running', 0, '{}', 1, 1, 0, 1, 1 FROM all_of`, n, machine))
}

// Repair undoes Break.
func (r *Relay) Repair() { r.exec(`DROP TRIGGER broken`) }

func (r *Relay) exec(statement string) {
	r.T.Helper()
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(r.dir, "relay.db")+"?_pragma=busy_timeout(10000)")
	if err == nil {
		_, err = db.Exec(statement)
	}
	if err != nil {
		r.T.Fatal(err)
	}
	if err := db.Close(); err != nil {
		r.T.Fatal(err)
	}
}

// WaitOffline waits until the server has noticed that a machine is offline.
func (r *Relay) WaitOffline(id string) {
	r.T.Helper()
	for end := time.Now().Add(patience); ; {
		_, body := r.Do("owner:root", "GET", "/hosts", nil)
		var all []struct {
			ID     string
			Online bool
		}
		if err := json.Unmarshal(body, &all); err != nil {
			r.T.Fatal(err)
		}
		if i := slices.IndexFunc(all, func(h struct {
			ID     string
			Online bool
		}) bool {
			return h.ID == id
		}); i >= 0 && !all[i].Online {
			return
		}
		if time.Now().After(end) {
			r.T.Fatalf("%s is still online", id)
		}
	}
}

// Stores reports whether the files of the database contain a text.
func (r *Relay) Stores(text string) bool {
	r.T.Helper()
	files, err := filepath.Glob(filepath.Join(r.dir, "relay.db*"))
	if err != nil {
		r.T.Fatal(err)
	}
	for _, file := range files {
		all, err := os.ReadFile(file)
		if err != nil {
			r.T.Fatal(err)
		}
		if bytes.Contains(all, []byte(text)) {
			return true
		}
	}
	return false
}
