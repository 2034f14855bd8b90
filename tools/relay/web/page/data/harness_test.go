package data_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"io/fs"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server"
	"github.com/concerto-lang/concerto/relay/server/accounts"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
	"github.com/concerto-lang/concerto/relay/server/servertest"
	"github.com/concerto-lang/concerto/relay/store/sqlite"
	"github.com/concerto-lang/concerto/relay/web/webtest"
	"github.com/concerto-lang/concerto/tools/browser"
	"github.com/concerto-lang/concerto/tools/web/build"
	"github.com/concerto-lang/concerto/web"
)

func TestMain(m *testing.M) { os.Exit(browser.Main(m)) }

const password = webtest.Password

// relay is a server with a page that has the data layer but no screens.
type relay struct {
	t    *testing.T
	url  string
	auth *auth.Auth
	srv  *server.Server
	dir  string
	page fs.FS
	wrap func(http.Handler) http.Handler // nil: no account
	end  func()
}

// start starts a relay. ann is its owner, olga an operator, vera a viewer.
func start(t *testing.T) *relay {
	t.Helper()
	browser.Need(t)
	t.Parallel()
	r := &relay{t: t, dir: t.TempDir(), page: page(t, "")}
	r.open("127.0.0.1:0")
	t.Cleanup(func() { r.stop() })
	for _, u := range []struct { // the first user must be an owner
		name string
		role auth.Role
	}{{"ann", auth.Owner}, {"olga", auth.Operator}, {"vera", auth.Viewer}} {
		if _, err := r.auth.PutUser(context.Background(), audit.Actor{Type: "server", Name: "test"}, u.name, u.role, webtest.Hash); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// page builds the page. If more is not "", it is appended to a module, which results in another
// build.
func page(t *testing.T, more string) fs.FS {
	t.Helper()
	tree := map[string]fs.FS{"": os.DirFS("../../../../../web"), "page": os.DirFS("../../../../../relay/web/page"), "test": os.DirFS("testdata")}
	in := build.Input{Tree: tree, Entries: []string{"test/main.js"}}
	built, err := build.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	out := fstest.MapFS{}
	for name, text := range built.Files {
		if name == "test/main.js" {
			text = append(text, more...)
		}
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, err := w.Write(text)
		if err = firstError(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		out["assets/"+name+".gz"] = &fstest.MapFile{Data: b.Bytes()}
	}
	for _, name := range []string{"testdata/index.html", "../../../../../relay/web/root/sw.js"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		replace := in.Script
		if strings.HasSuffix(name, ".html") {
			replace = built.Page
		}
		whole, err := replace(string(text))
		if err != nil {
			t.Fatal(err)
		}
		out["root/"+filepath.Base(name)] = &fstest.MapFile{Data: []byte(whole)}
	}
	for _, name := range []string{"manifest.webmanifest", "icon.svg", "icon-192.png"} {
		out["root/"+name] = &fstest.MapFile{Data: []byte("{}")}
	}
	return out
}

func firstError(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *relay) open(address string) {
	r.t.Helper()
	db, err := sqlite.Open(context.Background(), filepath.Join(r.dir, "relay.db"))
	if err != nil {
		r.t.Fatal(err)
	}
	dist, err := web.Open(r.page)
	if err != nil {
		r.t.Fatal(err)
	}
	serve := func(w http.ResponseWriter, q *http.Request, _ *auth.Identity) { dist.ServeHTTP(w, q) }
	g := httpguard.New(httpguard.Config{Loopback: true})
	a := auth.New(auth.Config{Store: db, Guard: g, TOFU: auth.TOFULoopback})
	p := accounts.New(accounts.Config{Store: db, Auth: a, Guard: g})
	routes := append(p.Routes(), auth.Route{Method: "GET", Path: "/{$}", Right: auth.Open, Handle: serve}, auth.Route{Method: "GET", Path: "/assets/{file...}", Right: auth.Open, Handle: serve})
	for _, name := range []string{"sw.js", "manifest.webmanifest", "icon.svg", "icon-192.png"} {
		routes = append(routes, auth.Route{Method: "GET", Path: "/" + name, Right: auth.Open, Handle: serve})
	}
	s := server.New(server.Config{Store: db, Auth: a, Version: "test", More: routes})
	handler := g.Wrap(s)
	if r.wrap != nil {
		handler = r.wrap(handler)
	}
	h := httptest.NewUnstartedServer(handler)
	l, err := net.Listen("tcp", address)
	if err = firstError(err, h.Listener.Close()); err != nil {
		r.t.Fatal(err)
	}
	h.Listener = l
	h.Start()
	r.url, r.auth, r.srv = h.URL, a, s
	r.end = func() {
		s.Close()
		h.CloseClientConnections()
		h.Close()
		a.Close()
		if err := db.Close(); err != nil {
			r.t.Error(err)
		}
	}
}

func (r *relay) stop() {
	if r.end != nil {
		r.end()
		r.end = nil
	}
}

// restart starts the server again at the same address.
func (r *relay) restart() {
	r.t.Helper()
	r.open(strings.TrimPrefix(r.url, "http://"))
}

// machine connects a machine that the test plays, and sends a hello.
func (r *relay) machine(id string) *servertest.Peer {
	r.t.Helper()
	p := servertest.Dial(r.t, r.url+"/ws/host?host_id="+id+"&host_token=token-"+id)
	p.Send(protocol.Hello, "", 0, protocol.HelloData{Protocol: protocol.Version, Agent: "test/1", Instance: "i-" + id})
	p.Next(protocol.Welcome)
	return p
}

// quiet lists parts of console errors that the tests cause on purpose.
var quiet = []string{"status of 401", "net::ERR_", "WebSocket connection to"}

// tab opens the page in a new tab with the given user logged in. If name is "", no user is logged
// in.
func (r *relay) tab(name string) *browser.Tab {
	r.t.Helper()
	b := browser.Open(r.t)
	for _, what := range quiet {
		b.Expect(what)
	}
	b.Go(r.url + "/")
	b.Wait("globalThis.ready")
	if name != "" {
		b.Eval(fmt.Sprintf("data.login(%q, %q)", name, password))
		b.Wait("data.conn.value.state === 'online' && data.runsState.value.from === 'server'")
	}
	return b
}

// same checks the value of an expression in the page.
func same(t *testing.T, b *browser.Tab, expression string, want any) {
	t.Helper()
	got, err := json.Marshal(b.Eval(expression))
	if err != nil {
		t.Fatal(err)
	}
	text, ok := want.(string)
	if !ok || !json.Valid([]byte(text)) {
		w, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		text = string(w)
	}
	if string(got) != text {
		t.Errorf("%s is\n%s\nwant\n%s", expression, got, text)
	}
}

// ask makes a machine open a request.
func ask(h *servertest.Peer, run, id string, seq int64, more map[string]any) {
	d := map[string]any{"request_id": id, "reason": "permission", "prompt": "May it?", "op_tool": "bash", "op_args": map[string]any{"cmd": "rm " + id}, "args_sha256": sha(id)}
	for k, v := range more {
		d[k] = v
	}
	h.Send(protocol.RunPermissionRequested, run, seq, d)
	h.Acked(run, seq)
}

// sha returns a text of 64 digits that serves as the hash of arguments.
func sha(of string) string { return (fmt.Sprintf("%x", of) + strings.Repeat("0", 64))[:64] }
