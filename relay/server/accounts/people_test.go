package accounts_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/accounts"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
	"github.com/concerto-lang/concerto/relay/store"
	"github.com/concerto-lang/concerto/relay/store/sqlite"
)

var ctx = context.Background()

const password = "correct horse"

// fixture is a server on the loopback interface that has an owner.
type fixture struct {
	*testing.T
	*accounts.API
	store   *store.Store
	auth    *auth.Auth
	url     string
	owner   string // the owner's access token
	removed []string
}

func begin(t *testing.T) *fixture {
	s, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "relay.db"))
	if err != nil {
		t.Fatal(err)
	}
	g := httpguard.New(httpguard.Config{Loopback: true})
	a := auth.New(auth.Config{Store: s, Guard: g, TOFU: auth.TOFULoopback, URLToken: true})
	f := &fixture{T: t, store: s, auth: a}
	f.API = accounts.New(accounts.Config{Store: s, Auth: a, Guard: g, MachineRemoved: func(id string) { f.removed = append(f.removed, id) }, Figures: func() map[string]float64 { return map[string]float64{"relay_sockets{kind=\"app\"}": 2} }})
	mux := http.NewServeMux()
	for _, row := range f.Routes() {
		mux.Handle(row.Method+" "+row.Path, a.Serve(row))
	}
	web := httptest.NewServer(g.Wrap(mux))
	t.Cleanup(func() { web.Close(); a.Close(); _ = s.Close() })
	f.url = web.URL
	if _, err := a.PutUser(ctx, audit.Actor{Type: "server", Name: "test"}, "ann", auth.Owner, auth.HashPassword(password)); err != nil {
		t.Fatal(err)
	}
	_, f.owner, err = a.NewToken(ctx, audit.Actor{Type: "server", Name: "test"}, "ann", auth.NewToken{Name: "test", Role: auth.Owner})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// answer is a response with its body.
type answer struct {
	*http.Response
	text string
}

// ask sends a request. set contains pairs of a header's name and value.
func (f *fixture) ask(method, path, token, body string, set ...string) answer {
	f.Helper()
	r, err := http.NewRequest(method, f.url+path, strings.NewReader(body))
	if err != nil {
		f.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(set); i += 2 {
		r.Header.Set(set[i], set[i+1])
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		f.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		f.Fatal(err)
	}
	return answer{got, string(text)}
}

// expect requires a status and decodes the response into a value. into may be nil.
func (a answer) expect(f *fixture, status int, into any) {
	f.Helper()
	if a.StatusCode != status {
		f.Fatalf("%s %s: %s %s, want %d", a.Request.Method, a.Request.URL.Path, a.Status, a.text, status)
	}
	if into != nil {
		if err := json.Unmarshal([]byte(a.text), into); err != nil {
			f.Fatalf("%s %s: %v in the response %s", a.Request.Method, a.Request.URL.Path, err, a.text)
		}
	}
}

func (a answer) refused(f *fixture, status int, code, text string) {
	f.Helper()
	var body struct {
		Error struct{ Code, Message string }
	}
	a.expect(f, status, &body)
	if body.Error.Code != code || !strings.Contains(body.Error.Message, text) {
		f.Errorf("%s %s: response = %s, want %s …%s…", a.Request.Method, a.Request.URL.Path, a.text, code, text)
	}
}

// TestSessions checks that a login creates a token and a cookie, and that a logout ends both.
func TestSessions(t *testing.T) {
	f := begin(t)
	got := f.ask("POST", "/auth/login", "", `{"username":"ann","password":"`+password+`"}`, "Origin", f.url)
	var in struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   int64  `json:"expires_in"`
		Role        string
	}
	got.expect(f, 200, &in)
	if in.ExpiresIn != 30*24*3600 || in.Role != "owner" || in.AccessToken == "" {
		t.Errorf("login = %+v, want an owner's token for 30 days", in)
	}
	cookies := got.Cookies()
	if len(cookies) != 1 || cookies[0].Name != "concerto" || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode || cookies[0].Secure {
		t.Fatalf("cookies = %v, want one session cookie", cookies)
	}
	cookie := cookies[0].Name + "=" + cookies[0].Value
	var me map[string]any
	f.ask("GET", "/auth/me", "", "", "Cookie", cookie).expect(f, 200, &me)
	if me["user"] != "ann" || me["role"] != "owner" || me["kind"] != "session" {
		t.Errorf("identity = %v, want ann's session", me)
	}
	f.ask("POST", "/auth/ticket", "", "", "Cookie", cookie).refused(f, 403, "forbidden", "Origin")
	f.ask("POST", "/auth/ticket", "", "", "Cookie", cookie, "Origin", f.url).refused(f, 403, "forbidden", "X-Concerto: 1")
	f.ask("POST", "/auth/ticket", "", "", "Cookie", cookie, "Origin", "http://evil.example", "X-Concerto", "1").refused(f, 403, "forbidden", "evil.example")
	var ticket struct {
		Ticket    string
		ExpiresIn int `json:"expires_in"`
	}
	f.ask("POST", "/auth/ticket", "", "", "Cookie", cookie, "Origin", f.url, "X-Concerto", "1").expect(f, 200, &ticket)
	if ticket.ExpiresIn != 30 {
		t.Errorf("ticket = %+v, want 30 s", ticket)
	}
	f.ask("GET", "/auth/me?ticket="+ticket.Ticket, "", "").expect(f, 200, nil)
	f.ask("GET", "/auth/me?ticket="+ticket.Ticket, "", "").refused(f, 401, "unauthorized", "ticket")
	f.ask("POST", "/auth/logout", in.AccessToken, "").expect(f, 204, nil)
	f.ask("GET", "/auth/me", in.AccessToken, "").refused(f, 401, "unauthorized", "")
	f.ask("GET", "/auth/me", "", "", "Cookie", cookie).refused(f, 401, "unauthorized", "")
	f.ask("GET", "/auth/me", "", "").refused(f, 401, "unauthorized", "missing credentials")
	f.ask("POST", "/auth/login", "", `{"username":"ann","password":"no"}`).refused(f, 401, "unauthorized", "the name or the password is wrong")
	f.ask("POST", "/auth/login", "", `{"username":7}`).refused(f, 400, "bad_message", "username")
	f.ask("POST", "/auth/login", "", `no`).refused(f, 400, "bad_message", "JSON")
	f.ask("POST", "/auth/login", "", `{"username":"`+strings.Repeat("x", 70_000)+`"}`).refused(f, 413, "too_large", "")
}

// TestOwnerManagesUsers creates and removes tokens and users. The audit log must contain all of
// these changes, must be valid, and must contain no secrets.
func TestOwnerManagesUsers(t *testing.T) {
	f := begin(t)
	var made struct{ ID, Token string }
	f.ask("POST", "/tokens", f.owner, `{"name":"guest","role":"viewer","runs":["run_7"],"ttl_s":3600}`).expect(f, 200, &made)
	var me map[string]any
	f.ask("GET", "/auth/me", made.Token, "").expect(f, 200, &me)
	if me["role"] != "viewer" || fmt.Sprint(me["runs"]) != "[run_7]" || me["name"] != "guest" {
		t.Errorf("identity of the guest token = %v", me)
	}
	list := f.ask("GET", "/tokens", f.owner, "")
	var all []map[string]any
	list.expect(f, 200, &all)
	if len(all) != 2 || all[1]["id"] != made.ID || strings.Contains(list.text, made.Token) {
		t.Errorf("tokens = %s, want two without their secrets", list.text)
	}
	for body, text := range map[string]string{
		`{"role":"viewer"}`: "name", `{"name":"x","role":"king"}`: "role", `{"name":"x","role":"viewer","runs":["../x"]}`: "runs", `{"name":"x","role":"viewer","ttl_s":0}`: "ttl_s",
		`{"name":"x","role":"viewer","ttl_s":"1"}`: "ttl_s", `[]`: "JSON object",
	} {
		f.ask("POST", "/tokens", f.owner, body).refused(f, 400, "bad_message", text)
	}
	f.ask("DELETE", "/tokens/"+made.ID, f.owner, "").expect(f, 204, nil)
	f.ask("DELETE", "/tokens/"+made.ID, f.owner, "").refused(f, 404, "unknown_token", made.ID)
	f.ask("GET", "/auth/me", made.Token, "").refused(f, 401, "unauthorized", "")

	f.ask("POST", "/users", f.owner, `{"name":"bob","password":"0123456789","role":"operator"}`).expect(f, 200, nil)
	f.ask("POST", "/users", f.owner, `{"name":"bob","password":"012345678","role":"operator"}`).refused(f, 400, "bad_message", "at least 10")
	f.ask("POST", "/users", f.owner, `{"name":"a b","password":"0123456789","role":"operator"}`).refused(f, 400, "bad_message", "name")
	f.ask("POST", "/auth/login", "", `{"username":"bob","password":"0123456789"}`).expect(f, 200, nil)
	var users []map[string]string
	f.ask("GET", "/users", f.owner, "").expect(f, 200, &users)
	if fmt.Sprint(users) != "[map[name:ann role:owner] map[name:bob role:operator]]" {
		t.Errorf("users = %v, want ann and bob", users)
	}
	f.ask("DELETE", "/users/bob", f.owner, "").expect(f, 204, nil)
	f.ask("DELETE", "/users/bob", f.owner, "").refused(f, 404, "unknown_user", "bob")
	f.ask("DELETE", "/users/ann", f.owner, "").refused(f, 409, "last_owner", "another")

	if err := f.auth.Machine(ctx, "host_a", "t", &http.Request{RemoteAddr: "127.0.0.1:1", Header: http.Header{}}); err != nil {
		t.Fatal(err)
	}
	f.ask("POST", "/hosts/host_a", f.owner, `{"name":"Ann's desk"}`).expect(f, 204, nil)
	if h, err := f.store.Machine(t.Context(), "host_a"); err != nil || h.Name != "Ann's desk" {
		t.Errorf("machine = %+v, %v; want it renamed", h, err)
	}
	f.ask("POST", "/hosts/host_a", f.owner, `{"name":"\u0000"}`).refused(f, 400, "bad_message", "control characters")
	f.ask("POST", "/hosts/host_z", f.owner, `{"name":"z"}`).refused(f, 404, "unknown_host", "host_z")
	f.ask("DELETE", "/hosts/host_a", f.owner, "").expect(f, 204, nil)
	f.ask("DELETE", "/hosts/host_a", f.owner, "").refused(f, 404, "unknown_host", "host_a")
	if !slices.Equal(f.removed, []string{"host_a"}) {
		t.Errorf("machines whose connections were closed = %v, want host_a", f.removed)
	}

	log := f.ask("GET", "/audit", f.owner, "")
	log.expect(f, 200, nil)
	var kinds []string
	for line, err := range audit.Lines(strings.NewReader(log.text), "audit") {
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, line.Kind)
	}
	if got := strings.Join(kinds, " "); got != "user_changed token_created token_created token_revoked user_changed login user_changed host_tofu host_renamed host_removed" || log.Header.Get("Content-Type") != "application/x-ndjson" {
		t.Errorf("audit log: content type %s, kinds %s", log.Header.Get("Content-Type"), got)
	}
	for _, secret := range []string{f.owner, made.Token, "0123456789", "argon2"} {
		if strings.Contains(log.text, secret) {
			t.Errorf("the audit log contains the secret %s", secret)
		}
	}
	part := f.ask("GET", "/audit?after=2&limit=3", f.owner, "")
	if lines := strings.SplitAfter(log.text, "\n"); part.text != strings.Join(lines[2:5], "") {
		t.Errorf("part of the audit log = %s", part.text)
	}
	f.ask("GET", "/audit?after=x", f.owner, "").refused(f, 400, "bad_message", "after")
	figures := f.ask("GET", "/metrics", f.owner, "")
	for _, line := range []string{"# TYPE relay_users gauge\nrelay_users 1\n", "relay_hosts 0\n", "relay_audit_records_total 10\n", "# TYPE relay_sockets gauge\nrelay_sockets{kind=\"app\"} 2\n"} {
		if !strings.Contains(figures.text, line) {
			t.Errorf("metrics lack %q:\n%s", line, figures.text)
		}
	}
}

// TestTable sends a request to every route as every kind of user. A request without the right is
// refused before it is handled, and an attempt to manage users is recorded.
func TestTable(t *testing.T) {
	f := begin(t)
	tokens := map[string]string{"none": "", "wrong": "ct_wrong"}
	for who, n := range map[string]auth.NewToken{
		"viewer": {Role: auth.Viewer}, "operator": {Role: auth.Operator}, "narrow": {Role: auth.Owner, Runs: []string{"run_*"}},
	} {
		n.Name = who
		_, secret, err := f.auth.NewToken(ctx, audit.Actor{Type: "server", Name: "test"}, "ann", n)
		if err != nil {
			t.Fatal(err)
		}
		tokens[who] = secret
	}
	for _, row := range f.Routes() {
		path := strings.NewReplacer("{id}", "x", "{name}", "x").Replace(row.Path)
		for who, token := range tokens {
			if row.Path == "/auth/logout" {
				continue // it would end the session of the test's user; TestSessions covers it
			}
			got := f.ask(row.Method, path, token, "{}")
			switch {
			case row.Right == auth.Open:
			case who == "none" || who == "wrong":
				got.refused(f, 401, "unauthorized", "")
				if got.Header.Get("WWW-Authenticate") == "" {
					t.Errorf("%s: WWW-Authenticate is missing", row.Path)
				}
			case row.Right == auth.Self:
				if got.StatusCode != 200 {
					t.Errorf("%s %s as %s: status = %s, want 200", row.Method, path, who, got.Status)
				}
			case who == "narrow":
				got.refused(f, 403, "forbidden", "a token that is restricted to some runs")
			default:
				got.refused(f, 403, "forbidden", "requires the role owner")
			}
			if got.Header.Get("Content-Security-Policy") == "" {
				t.Errorf("%s: the response has no Content-Security-Policy", path)
			}
		}
	}
	lines, err := f.store.AuditLines(ctx, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(strings.Join(lines, "\n"), `"data":{"refused":"forbidden"}`); n < 3 {
		t.Errorf("recorded refusals = %d, want at least 3", n)
	}
}

// TestForget removes the events of runs that ended long ago. The audit log must record the removal.
func TestForget(t *testing.T) {
	f := begin(t)
	if _, err := f.store.AddMachine(ctx, store.Machine{ID: "host_a", TokenHash: "t"}); err != nil {
		t.Fatal(err)
	}
	gen, err := f.store.TakeOver(ctx, store.Takeover{Machine: "host_a", At: 1})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now().UnixMilli()
	event := func(run string, seq int64, typ, data string, age time.Duration) store.Incoming {
		return store.Incoming{MachineID: "host_a", Gen: gen, At: at - age.Milliseconds(), Envelope: &protocol.Envelope{Type: typ, TS: "2025-01-01T00:00:00Z", RunID: run, Seq: seq, Data: json.RawMessage(data)}}
	}
	const start = `{"tool":"codex","cwd":"/w","command":"codex"}`
	var all []store.Incoming
	for run, age := range map[string]time.Duration{"old": 48 * time.Hour, "new": time.Hour, "open": 48 * time.Hour} {
		all = append(all, event(run, 1, protocol.RunStarted, start, age))
		if run != "open" {
			all = append(all, event(run, 2, protocol.RunExited, `{"exit_code":0}`, age))
		}
	}
	if _, err := f.store.Append(ctx, all); err != nil {
		t.Fatal(err)
	}
	if runs, err := f.Forget(ctx, 24*time.Hour); err != nil || runs != 1 {
		t.Errorf("removed runs = %d, %v; want 1", runs, err)
	}
	for run, want := range map[string]int{"old": 0, "new": 2, "open": 1} {
		if got, err := f.store.Events(ctx, run, 0, 10); err != nil || len(got) != want {
			t.Errorf("events of run %s = %d, %v", run, len(got), err)
		}
	}
	log := f.ask("GET", "/audit", f.owner, "")
	if !strings.Contains(log.text, `"data":{"events":2},`) || !strings.Contains(log.text, `"kind":"retention"`) || !strings.Contains(log.text, `"run":"old"`) {
		t.Errorf("audit log = %s, want the removal of 2 events of the old run", log.text)
	}
}

// TestSetup creates the first owner with the code of the setup link.
func TestSetup(t *testing.T) {
	s, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "relay.db"))
	if err != nil {
		t.Fatal(err)
	}
	g := httpguard.New(httpguard.Config{Loopback: true})
	a := auth.New(auth.Config{Store: s, Guard: g})
	f := &fixture{T: t, store: s, auth: a, API: accounts.New(accounts.Config{Store: s, Auth: a})}
	mux := http.NewServeMux()
	for _, row := range f.Routes() {
		mux.Handle(row.Method+" "+row.Path, a.Serve(row))
	}
	web := httptest.NewServer(g.Wrap(mux))
	t.Cleanup(func() { web.Close(); a.Close(); _ = s.Close() })
	f.url = web.URL
	code, err := a.Setup(ctx)
	if err != nil {
		t.Fatal(err)
	}
	body := func(code string) string {
		return `{"code":"` + code + `","username":"ann","password":"` + password + `"}`
	}
	f.ask("POST", "/auth/setup", "", body("no")).refused(f, 401, "unauthorized", "link")
	f.ask("POST", "/auth/setup", "", body(code)).expect(f, 200, nil)
	f.ask("POST", "/auth/setup", "", body(code)).refused(f, 401, "unauthorized", "link")
	f.ask("POST", "/auth/login", "", `{"username":"ann","password":"`+password+`"}`).expect(f, 200, nil)
}
