package auth_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
	"github.com/concerto-lang/concerto/relay/store"
	"github.com/concerto-lang/concerto/relay/store/sqlite"
)

var ctx = context.Background()

// fixture is an Auth with a database, and with a clock that only the test advances.
type fixture struct {
	*testing.T
	*auth.Auth
	store *store.Store
	mu    sync.Mutex
	now   time.Time
}

func begin(t *testing.T, tofu auth.TOFU, g httpguard.Config) *fixture {
	s, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "relay.db"))
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{T: t, store: s, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	f.Auth = auth.New(auth.Config{Store: s, Guard: httpguard.New(g), TOFU: tofu, URLToken: true, Now: f.clock})
	t.Cleanup(func() { f.Close(); _ = s.Close() })
	return f
}

func (f *fixture) clock() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (f *fixture) pass(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

var us = audit.Actor{Type: "user", Name: "test"}

// password is the password of the test's users; their hashes use cheap parameters.
const password = "correct horse"

var cheap = "$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQ$" // hash of a password with cheap parameters, without the key at its end

func (f *fixture) user(name string, role auth.Role) {
	f.Helper()
	if _, err := f.PutUser(ctx, us, name, role, hashOf(f.T)); err != nil {
		f.Fatal(err)
	}
}

var hashOnce sync.Once
var hashed string

func hashOf(*testing.T) string {
	hashOnce.Do(func() { hashed = auth.HashPassword(password) })
	return hashed
}

func (f *fixture) token(user string, n auth.NewToken) (id, secret string) {
	f.Helper()
	id, secret, err := f.NewToken(ctx, us, user, n)
	if err != nil {
		f.Fatal(err)
	}
	return id, secret
}

// request returns a request from a loopback address to a loopback address. set contains pairs of a
// header's name and value.
func request(method, target string, set ...string) *http.Request {
	r := httptest.NewRequest(method, target, nil)
	r.RemoteAddr, r.Host = "127.0.0.1:999", "127.0.0.1:8787"
	for i := 0; i+1 < len(set); i += 2 {
		r.Header.Set(set[i], set[i+1])
	}
	return r
}

func refused(t *testing.T, err error, code protocol.Code, text string) {
	t.Helper()
	var r *httpguard.Refusal
	if !errors.As(err, &r) || r.Code != code || !strings.Contains(r.Why, text) {
		t.Errorf("error is %v, want %s: …%s…", err, code, text)
	}
}

func (f *fixture) kinds() (out []string) {
	f.Helper()
	lines, err := f.store.AuditLines(ctx, 0, 1000)
	if err != nil {
		f.Fatal(err)
	}
	for line, err := range audit.Lines(strings.NewReader(strings.Join(append(lines, ""), "\n")), "audit") {
		if err != nil {
			f.Fatal(err)
		}
		out = append(out, line.Kind)
	}
	return out
}

// TestCredentials authenticates with a session, a token and a ticket. Each identifies its user
// until it expires.
func TestCredentials(t *testing.T) {
	f := begin(t, auth.TOFUOff, httpguard.Config{Loopback: true})
	f.user("ann", auth.Owner)
	f.user("bob", auth.Operator)
	who := func(r *http.Request) *auth.Identity {
		t.Helper()
		id, err := f.Authenticate(r)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	secret, id, err := f.Login(ctx, "bob", password, request("POST", "/"))
	if err != nil || id.Role != auth.Operator || id.Kind != auth.Session {
		t.Fatalf("login = %+v, %v; want a session of an operator", id, err)
	}
	w := httptest.NewRecorder()
	f.SetCookie(w, request("POST", "/"), secret, auth.SlidingSeconds)
	cookie := w.Header().Get("Set-Cookie")
	for _, part := range []string{"concerto=cs_", "; Path=/", "; HttpOnly", "; SameSite=Strict"} {
		if !strings.Contains(cookie, part) || strings.Contains(cookie, "Secure") {
			t.Errorf("cookie = %s, want all required attributes without Secure", cookie)
		}
	}
	own := "concerto=" + secret
	if got := who(request("GET", "/", "Cookie", own)); got.Name != "bob" || got.ID != id.ID {
		t.Errorf("identity of the cookie = %+v, want bob's session", got)
	}
	const origin = "http://127.0.0.1:8787"
	who(request("POST", "/", "Cookie", own, "Origin", origin, "X-Concerto", "1"))
	who(request("GET", "/", "Cookie", own, "Origin", origin, "Upgrade", "websocket"))
	for _, r := range []*http.Request{
		request("POST", "/", "Cookie", own, "Origin", origin), request("POST", "/", "Cookie", own, "X-Concerto", "1"),
		request("GET", "/", "Cookie", own, "Upgrade", "websocket"), request("GET", "/", "Cookie", own, "Sec-Fetch-Site", "cross-site"),
		request("DELETE", "/", "Cookie", own, "Origin", "http://127.0.0.1:1", "X-Concerto", "1"),
	} {
		_, err := f.Authenticate(r)
		refused(t, err, protocol.Forbidden, "cookie")
	}
	_, err = f.Authenticate(request("GET", "/"))
	refused(t, err, protocol.Unauthorized, "missing credentials")
	for _, r := range []*http.Request{request("GET", "/", "Authorization", "Basic x"), request("GET", "/", "Authorization", "Bearer cs_x"), request("GET", "/?token="+secret), request("GET", "/?ticket=no")} {
		_, err := f.Authenticate(r)
		refused(t, err, protocol.Unauthorized, "")
	}

	tid, access := f.token("ann", auth.NewToken{Name: "ci", Role: auth.Operator, Runs: []string{"run_a", "b*"}})
	got := who(request("POST", "/", "Authorization", "bearer "+access))
	if got.Role != auth.Operator || got.ID != tid || !got.Sees("run_a") || !got.Sees("b1") || got.Sees("run_b") || got.May(auth.AskMachine) || !got.May(auth.Input) {
		t.Errorf("identity of the restricted token = %+v, want an operator who sees only run_a and b*", got)
	}
	if got := who(request("GET", "/ws/app?token="+access, "Upgrade", "websocket")); got.ID != tid {
		t.Errorf("identity of the token in the URL = %+v, want the restricted token", got)
	}
	_, high := f.token("bob", auth.NewToken{Name: "x", Role: auth.Owner}) // a token with a higher role than its user
	if got := who(request("GET", "/", "Authorization", "Bearer "+high)); got.Role != auth.Operator {
		t.Errorf("identity of a token above its user's role = %+v, want the role operator", got)
	}

	ticket, err := f.Ticket(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	if got := who(request("GET", "/ws/app?ticket="+ticket)); got.ID != id.ID || got.Kind != auth.Session {
		t.Errorf("identity of the ticket = %+v, want the session", got)
	}
	_, err = f.Authenticate(request("GET", "/ws/app?ticket="+ticket))
	refused(t, err, protocol.Unauthorized, "a ticket opens one connection")
	late, err := f.Ticket(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	f.pass(30 * time.Second)
	_, err = f.Authenticate(request("GET", "/ws/app?ticket="+late))
	refused(t, err, protocol.Unauthorized, "a ticket opens one connection")

	ttl := int64(60)
	_, short := f.token("ann", auth.NewToken{Name: "x", Role: auth.Viewer, TTLS: &ttl})
	f.pass(59 * time.Second)
	who(request("GET", "/", "Authorization", "Bearer "+short))
	f.pass(time.Second)
	_, err = f.Authenticate(request("GET", "/", "Authorization", "Bearer "+short))
	refused(t, err, protocol.Unauthorized, "wrong or have expired")
	for range 3 { // each use extends the session
		f.pass(29 * 24 * time.Hour)
		who(request("GET", "/", "Cookie", own))
	}
	f.pass(30 * 24 * time.Hour)
	_, err = f.Authenticate(request("GET", "/", "Cookie", own))
	refused(t, err, protocol.Unauthorized, "wrong or have expired")
	if got := strings.Join(f.kinds(), " "); got != "user_changed user_changed login token_created token_created login_failed login_failed token_created" {
		t.Errorf("kinds in the audit log = %s", got)
	}
}

// TestLogins checks that a wrong name and a wrong password get the same refusal. After too many
// failures from one address, even the right password is refused there for 15 minutes, but accepted
// from another address.
func TestLogins(t *testing.T) {
	f := begin(t, auth.TOFUOff, httpguard.Config{Loopback: true, Trusted: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	f.user("ann", auth.Owner)
	from := func(place string) *http.Request { return request("POST", "/", "X-Forwarded-For", "6.6.6.6, "+place) }
	wrong := func(name, place string) error {
		t.Helper()
		_, _, err := f.Login(ctx, name, "wrong", from(place))
		return err
	}
	var kinds []string
	for _, name := range []string{"ann", "nobody"} {
		err := wrong(name, "1.1.1.1")
		refused(t, err, protocol.Unauthorized, "the name or the password is wrong")
		kinds = append(kinds, err.Error())
	}
	if kinds[0] != kinds[1] {
		t.Error(kinds)
	}
	for range 4 {
		refused(t, wrong("ann", "1.1.1.1"), protocol.Unauthorized, "")
	}
	_, _, err := f.Login(ctx, "ann", password, from("1.1.1.1"))
	refused(t, err, protocol.RateLimited, "wait")
	w := httptest.NewRecorder()
	httpguard.Fail(w, err)
	if w.Code != 429 || w.Header().Get("Retry-After") != "900" || w.Body.String() != `{"error":{"code":"rate_limited","message":"too many failed logins: wait and try again"}}`+"\n" {
		t.Errorf("response = %d %v %s, want 429 with Retry-After 900", w.Code, w.Header(), w.Body)
	}
	if _, _, err := f.Login(ctx, "ann", password, from("2.2.2.2")); err != nil {
		t.Errorf("a login from another address failed: %v", err)
	}
	f.pass(15 * time.Minute)
	if _, _, err := f.Login(ctx, "ann", password, from("1.1.1.1")); err != nil {
		t.Errorf("a login after 15 minutes failed: %v", err)
	}
}

// TestPasswords checks the parameters of hashes and invalid hashes.
func TestPasswords(t *testing.T) {
	if h := hashOf(t); !strings.HasPrefix(h, "$argon2id$v=19$m=65536,t=3,p=1$") || auth.CheckHash(h) != nil {
		t.Error(h)
	}
	for _, h := range []string{"", "x", "$argon2i$v=19$m=65536,t=3,p=1$c29tZXNhbHQ$aaaaaaaaaaaaaaaaaaaaaaaa", "$argon2id$v=16$m=65536,t=3,p=1$c29tZXNhbHQ$aaaaaaaaaaaaaaaaaaaaaaaa",
		"$argon2id$v=19$m=99999999,t=3,p=1$c29tZXNhbHQ$aaaaaaaaaaaaaaaaaaaaaaaa", "$argon2id$v=19$m=64,t=0,p=1$c29tZXNhbHQ$aaaaaaaaaaaaaaaaaaaaaaaa",
		"$argon2id$v=19$m=64,t=1$c29tZXNhbHQ$aaaaaaaaaaaaaaaaaaaaaaaa", cheap, cheap + "?"} {
		if auth.CheckHash(h) == nil {
			t.Errorf("CheckHash accepted %s", h)
		}
	}
	for _, p := range []string{"short", strings.Repeat("x", 2000), "\xff123456789", "12345\x006789"} {
		if auth.CheckPassword(p) == nil {
			t.Errorf("CheckPassword accepted %q", p)
		}
	}
}

// TestWatchersAreNotified ends credentials in several ways: revoked by this or another server,
// expired, invalidated by a change of the role or password, or removed with the user. Each time the
// watcher must be notified.
func TestWatchersAreNotified(t *testing.T) {
	f := begin(t, auth.TOFUOff, httpguard.Config{Loopback: true})
	f.user("ann", auth.Owner)
	watch := func(id *auth.Identity) chan struct{} {
		ended := make(chan struct{})
		f.Watch(id, func() { close(ended) })
		return ended
	}
	identity := func(secret string) *auth.Identity {
		t.Helper()
		id, err := f.Authenticate(request("GET", "/", "Authorization", "Bearer "+secret))
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	ttl := int64(60)
	for name, end := range map[string]func(id *auth.Identity) error{
		"revoked":   func(id *auth.Identity) error { return f.Revoke(ctx, us, id.ID) },
		"elsewhere": func(id *auth.Identity) error { return f.store.RemoveToken(ctx, id.ID, 1) },
		"logout":    func(id *auth.Identity) error { return f.Logout(ctx, id) },
		"expired":   func(*auth.Identity) error { f.pass(time.Minute); return nil },
		"role":      func(*auth.Identity) error { f.user("bob", auth.Viewer); return nil },
		"user":      func(*auth.Identity) error { return f.RemoveUser(ctx, us, "bob") },
	} {
		f.user("bob", auth.Operator)
		id, secret := f.token("bob", auth.NewToken{Name: "t", Role: auth.Operator, TTLS: &ttl})
		_, other := f.token("ann", auth.NewToken{Name: "t", Role: auth.Viewer})
		ended, stays := watch(identity(secret)), watch(identity(other))
		stop := f.Watch(identity(secret), func() { t.Errorf("%s: a stopped watcher was notified", name) })
		stop()
		if err := end(identity(secret)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		<-ended
		select {
		case <-stays:
			t.Errorf("%s: the watcher of another token was notified", name)
		default:
		}
		_ = id
	}
	// The credential ends between the authentication and the call of Watch.
	id, secret := f.token("ann", auth.NewToken{Name: "t", Role: auth.Viewer})
	was := identity(secret)
	if err := f.Revoke(ctx, us, id); err != nil {
		t.Fatal(err)
	}
	<-watch(was)
}

// TestMachines checks which unknown machines may connect. A known machine must use the token with
// which it first connected.
func TestMachines(t *testing.T) {
	public, _ := url.Parse("https://relay.example")
	for _, c := range []struct {
		tofu      auth.TOFU
		public    *url.URL
		from      string
		forwarded string
		why       string // why an unknown machine is refused; "" if it is accepted
	}{
		{auth.TOFULoopback, nil, "127.0.0.1:1", "", ""},
		{auth.TOFULoopback, nil, "[::1]:1", "", ""},
		{auth.TOFULoopback, nil, "10.0.0.1:1", "", "only from loopback addresses"},
		{auth.TOFULoopback, nil, "127.0.0.1:1", "X-Forwarded-Proto", "only from loopback addresses"},
		{auth.TOFULoopback, nil, "127.0.0.1:1", "Forwarded", "only from loopback addresses"},
		{auth.TOFULoopback, public, "127.0.0.1:1", "", "public URL"},
		{auth.TOFUOn, public, "10.0.0.1:1", "Forwarded", ""},
		{auth.TOFUOff, nil, "127.0.0.1:1", "", "--tofu off"},
	} {
		f := begin(t, c.tofu, httpguard.Config{Public: c.public})
		r := request("GET", "/ws/host")
		r.RemoteAddr = c.from
		if c.forwarded != "" {
			r.Header.Set(c.forwarded, "x")
		}
		err := f.Machine(ctx, "host_a", "secret", r)
		if c.why != "" {
			refused(t, err, protocol.Unauthorized, c.why)
			if err := f.Machine(ctx, "host_b", "secret", r); err == nil {
				t.Error("a second token of the machine was accepted")
			}
			if got := strings.Join(f.kinds(), " "); got != "host_refused" {
				t.Errorf("kinds in the audit log = %s, want host_refused", got)
			}
			continue
		}
		if err != nil {
			t.Errorf("%+v: the machine was refused: %v", c, err)
		}
		for range 2 {
			if err := f.Machine(ctx, "host_a", "secret", r); err != nil {
				t.Error(err)
			}
			refused(t, f.Machine(ctx, "host_a", "other", r), protocol.Unauthorized, "token differs from the one this machine first used")
			refused(t, f.Machine(ctx, "host_a", "", r), protocol.Unauthorized, "missing machine token")
			refused(t, f.Machine(ctx, "../x", "t", r), protocol.BadMessage, "host_id")
		}
		if got := strings.Join(f.kinds(), " "); got != "host_tofu host_refused" {
			t.Errorf("kinds in the audit log = %s, want host_tofu host_refused", got)
		}
		h, err := f.store.Machine(ctx, "host_a")
		if err != nil || strings.Contains(h.TokenHash, "secret") || len(h.TokenHash) != 64 {
			t.Errorf("stored machine = %+v, %v; want only the hash of the token", h, err)
		}
	}
}

// TestSetup checks that the code creates the first owner once, and only while there is no user.
func TestSetup(t *testing.T) {
	f := begin(t, auth.TOFUOff, httpguard.Config{Loopback: true})
	code, err := f.Setup(ctx)
	if err != nil || code == "" {
		t.Fatal(code, err)
	}
	second := auth.New(auth.Config{Store: f.store, Guard: httpguard.New(httpguard.Config{Loopback: true})}) // another server on the database
	t.Cleanup(second.Close)
	if same, err := second.Setup(ctx); same != code || err != nil {
		t.Errorf("another server's Setup returned another code, or the error %v", err)
	}
	_, _, err = f.FirstOwner(ctx, "", "ann", password, request("POST", "/"))
	refused(t, err, protocol.Unauthorized, "the setup link")
	_, _, err = f.FirstOwner(ctx, "wrong", "ann", password, request("POST", "/"))
	refused(t, err, protocol.Unauthorized, "the setup link")
	_, _, err = f.FirstOwner(ctx, code, "ann", "short", request("POST", "/"))
	refused(t, err, protocol.BadMessage, "password")
	_, id, err := second.FirstOwner(ctx, code, "ann", password, request("POST", "/"))
	if err != nil || id.Role != auth.Owner {
		t.Fatal(id, err)
	}
	_, _, err = f.FirstOwner(ctx, code, "eve", password, request("POST", "/"))
	refused(t, err, protocol.Unauthorized, "the setup link")
	if code, err := f.Setup(ctx); code != "" || err != nil {
		t.Error(code, err)
	}
	refused(t, f.RemoveUser(ctx, us, "ann"), "last_owner", "create another one first")
}

// TestRights checks every right of the table with every kind of caller.
func TestRights(t *testing.T) {
	all := map[string]*auth.Identity{
		"none": nil, "viewer": {Role: auth.Viewer}, "approver": {Role: auth.Approver}, "operator": {Role: auth.Operator}, "owner": {Role: auth.Owner},
		"narrow": {Role: auth.Owner, Runs: []string{"r*"}}, "broken": {Role: "king"},
	}
	may := map[auth.Right]string{
		auth.Open: "approver broken narrow none operator owner viewer", auth.Self: "approver narrow operator owner viewer", auth.Read: "approver narrow operator owner viewer", auth.ReadMachines: "approver operator owner viewer",
		auth.Input: "narrow operator owner", auth.Decide: "approver narrow operator owner", auth.Stop: "narrow operator owner", auth.AskRun: "narrow operator owner", auth.AskMachine: "operator owner",
		auth.ManageTokens: "owner", auth.ManageUsers: "owner", auth.ManageMachines: "owner", auth.ReadAudit: "owner", auth.ReadMetrics: "owner",
	}
	for _, row := range auth.Rights {
		var got []string
		for name, id := range all {
			if id.May(row.Right) != (id.Need(row.Right) == nil) {
				t.Errorf("%s: May and Need disagree for %s", row.Right, name)
			}
			if id.May(row.Right) {
				got = append(got, name)
			}
		}
		slices.Sort(got)
		if strings.Join(got, " ") != may[row.Right] || row.Doc == "" {
			t.Errorf("%s: callers with the right = %s, want %s", row.Right, got, may[row.Right])
		}
	}
	for _, m := range protocol.Messages {
		right, ok := auth.OfMessage(m.Type)
		fromApps := slices.Contains(m.From, protocol.App)
		want := fromApps || m.Type == protocol.Hello
		if ok != want {
			t.Errorf("right of %s = %q, want one exactly for messages from apps", m.Type, right)
		}
		if ok && (m.Kind == protocol.Command || m.Kind == protocol.RPC) && !strings.Contains(m.Type, "subscribe") && (&auth.Identity{Role: auth.Viewer}).May(right) {
			t.Errorf("a viewer may send %s", m.Type)
		}
	}
}
