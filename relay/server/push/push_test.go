package push_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server"
	"github.com/concerto-lang/concerto/relay/server/accounts"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
	"github.com/concerto-lang/concerto/relay/server/push"
	"github.com/concerto-lang/concerto/relay/server/push/pushtest"
	"github.com/concerto-lang/concerto/relay/server/servertest"
	"github.com/concerto-lang/concerto/relay/store"
	"github.com/concerto-lang/concerto/relay/store/sqlite"
)

var ctx = context.Background()

// fixture is a server with a push service that is as strict as real ones.
type fixture struct {
	*testing.T
	service *pushtest.Service
	store   *store.Store
	auth    *auth.Auth
	clock   *servertest.Clock // the clock that schedules retries
	url     string
	dir     string
	key     string
	tokens  map[string]string // access token by user; ann is an owner, oli an operator, vic a viewer
	silent  bool              // the server does not notify push about runs
	stop    func()
}

func begin(t *testing.T) *fixture { return beginWith(t, false) }

func beginWith(t *testing.T, silent bool) *fixture {
	f := &fixture{T: t, silent: silent, service: pushtest.New(t), dir: t.TempDir(), clock: servertest.NewClock(), tokens: map[string]string{}}
	f.service.Now = f.clock.Now
	f.open()
	t.Cleanup(func() { f.stop() })
	us := audit.Actor{Type: "server", Name: "test"}
	hash := auth.HashPassword("correct horse")
	for _, u := range []struct {
		name string
		role auth.Role
	}{{"ann", auth.Owner}, {"oli", auth.Operator}, {"vic", auth.Viewer}} {
		name, role := u.name, u.role
		if _, err := f.auth.PutUser(ctx, us, name, role, hash); err != nil {
			t.Fatal(err)
		}
		_, secret, err := f.auth.NewToken(ctx, us, name, auth.NewToken{Name: "test", Role: role})
		if err != nil {
			t.Fatal(err)
		}
		f.tokens[name] = secret
	}
	return f
}

// open starts a server on the fixture's database.
func (f *fixture) open() {
	f.Helper()
	s, err := sqlite.Open(ctx, filepath.Join(f.dir, "relay.db"))
	if err != nil {
		f.Fatal(err)
	}
	f.store = s
	g := httpguard.New(httpguard.Config{Loopback: true})
	f.auth = auth.New(auth.Config{Store: s, Guard: g, TOFU: auth.TOFULoopback, Now: f.clock.Now})
	p := f.sender(s)
	users := accounts.New(accounts.Config{Store: s, Auth: f.auth, Guard: g, Now: f.clock.Now})
	config := server.Config{Store: s, Auth: f.auth, Watch: p, More: slices.Concat(p.Routes(), users.Routes())}
	if f.silent {
		config.Watch = nil
	}
	r := server.New(config)
	web := httptest.NewServer(g.Wrap(r))
	f.url = web.URL
	f.stop = func() { r.Close(); p.Close(); web.Close(); f.auth.Close(); _ = s.Close() }
}

// sender returns a Push that uses a store.
func (f *fixture) sender(s *store.Store) *push.Push {
	f.Helper()
	p, err := push.New(ctx, push.Config{Store: s, Auth: f.auth, Insecure: true, Now: f.clock.Now, Wall: f.clock.Now, After: f.clock.After})
	if err != nil {
		f.Fatal(err)
	}
	return p
}

func (f *fixture) restart() {
	f.Helper()
	f.stop()
	f.open()
}

func (f *fixture) do(method, path, user, body string) (int, string) {
	f.Helper()
	r, err := http.NewRequest(method, f.url+path, bytes.NewReader([]byte(body)))
	if err != nil {
		f.Fatal(err)
	}
	if user != "" {
		r.Header.Set("Authorization", "Bearer "+f.tokens[user])
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
	return got.StatusCode, string(text)
}

// subscribe creates a browser of a user and subscribes it to messages.
func (f *fixture) subscribe(user, name string) *pushtest.Browser {
	f.Helper()
	if f.key == "" {
		var out struct{ Key string }
		if _, text := f.do("GET", "/push/key", user, ""); json.Unmarshal([]byte(text), &out) != nil {
			f.Fatal(text)
		}
		f.key = out.Key
	}
	b := f.service.Subscribe(name, f.key)
	if code, text := f.do("POST", "/push/subscriptions", user, b.JSON()); code != 204 {
		f.Fatalf("response to the subscription = %d %s, want 204", code, text)
	}
	return b
}

func (f *fixture) subscriptions() int {
	f.Helper()
	all, err := f.store.Subscriptions(ctx)
	if err != nil {
		f.Fatal(err)
	}
	return len(all)
}

// machine connects a machine with protocol 1. It starts the run unless run is "".
func (f *fixture) machine(run string) *servertest.Peer {
	p := servertest.Dial(f.T, f.url+"/ws/host?host_id=host_a&host_token=t0ken")
	if run != "" {
		p.Send(protocol.RunStarted, run, 1, servertest.Started)
	}
	return p
}

func asks(p *servertest.Peer, run string, seq int64, id string) {
	p.Send(protocol.RunPermissionRequested, run, seq, fmt.Sprintf(`{"request_id":%q,"reason":"permission","prompt":"cat s3cret?","op_tool":"bash","op_args":{"cmd":"cat s3cret"},"op_args_summary":"cat s3cret"}`, id))
}

// until polls until a condition holds, and fails with its description after a time limit.
func (f *fixture) until(what string, so func() bool) {
	f.Helper()
	for end := time.Now().Add(2 * time.Minute); !so(); runtime.Gosched() {
		if time.Now().After(end) {
			f.Fatalf("timeout: %s", what)
		}
	}
}

// callingContext is a context that calls do during one of the calls of Done: the first if at is 1.
// Each query of a check calls Done.
type callingContext struct {
	context.Context
	at   int64
	uses atomic.Int64
	do   func()
	done chan struct{} // closed when do has returned
}

func (c *callingContext) Done() <-chan struct{} {
	if c.uses.Add(1) == c.at {
		c.do()
		close(c.done)
	}
	return c.Context.Done()
}

// TestSubscribedDuringCheck subscribes a browser at each point of a check of a run, and then adds a
// request. The browser must receive a message about the request.
func TestSubscribedDuringCheck(t *testing.T) {
	f := beginWith(t, true)
	f.subscribe("ann", "ann")
	h := f.machine("")
	// The check has connections of its own, because they are locked when they use its context.
	s, err := sqlite.Open(ctx, filepath.Join(f.dir, "relay.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p := f.sender(s)
	defer p.Close()
	for at := int64(1); ; at++ {
		run, name := fmt.Sprintf("run_%d", at), fmt.Sprintf("oli-%d", at)
		h.Send(protocol.RunStarted, run, 1, servertest.Started)
		h.Acked(run, 1)
		var oli *pushtest.Browser
		c := &callingContext{Context: ctx, at: at, done: make(chan struct{}), do: func() {
			oli = f.subscribe("oli", name)
			asks(h, run, 2, "q")
			h.Acked(run, 2)
		}}
		p.Check(c, run)
		if c.uses.Load() < at {
			if at < 4 {
				t.Errorf("a check uses its context %d times, so that it makes too few queries", at-1)
			}
			return
		}
		<-c.done
		p.Check(ctx, run)
		if n, _ := oli.Next(); n.RunID != run || n.RequestID != "q" {
			t.Errorf("message = %+v, want the request of %s", n, run)
		}
		if err := f.store.RemoveSubscription(ctx, "oli", oli.Endpoint); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPush checks the messages about requests and runs. Users who may decide a request receive one
// message about it, without its arguments and also only once after a restart. When the request is
// closed, they receive a withdrawal. The user who started a run receives a message at its end.
func TestPush(t *testing.T) {
	f := begin(t)
	h := f.machine("run_a")
	asks(h, "run_a", 2, "q0") // sent before any browser is subscribed
	h.Acked("run_a", 2)
	ann, oli, vic := f.subscribe("ann", "ann"), f.subscribe("oli", "oli"), f.subscribe("vic", "vic")
	asks(h, "run_a", 3, "q1")
	n, m := ann.Next()
	if want := (pushtest.Note{Title: "t", RunID: "run_a", RequestID: "q1", Summary: "it requests a permission: bash"}); n != want || m.Urgency != "high" || m.TTL != 24*3600 {
		t.Errorf("message to ann = %+v, %+v; want the request without its arguments", n, m)
	}
	if strings.Contains(m.Text, "s3cret") || strings.Contains(m.Text, "withdrawn") {
		t.Error(m.Text)
	}
	n2, m2 := oli.Next()
	if n2 != n || m2.Topic != m.Topic {
		t.Errorf("message to oli = %+v, %+v; want the same as ann's", n2, m2)
	}
	f.until("q1 is told of", func() bool {
		all, err := f.store.Notices(ctx, "run_a")
		return err == nil && len(all) == 2 && all[1].Sent
	})
	f.restart()
	h = f.machine("")
	asks(h, "run_a", 4, "q2")
	if n, _ := ann.Next(); n.RequestID != "q2" {
		t.Errorf("first message after a restart = %+v, want q2", n)
	}
	oli.Next()
	h.Send(protocol.RunPermissionResolved, "run_a", 5, `{"request_id":"q1","decision":"deny","by":"ann"}`)
	if n, m2 := ann.Next(); n.RequestID != "q1" || !n.Withdrawn || n.RunID != "run_a" || m2.Topic != m.Topic {
		t.Errorf("message about the closed request = %+v, %+v; want a withdrawal with the same topic", n, m2)
	}
	oli.Next()
	// oli starts a run through the relay.
	done := make(chan string, 1)
	go func() {
		_, text := f.do("POST", "/rpc", "oli", `{"type":"rpc.run.start","data":{"request_id":"s1","host_id":"host_a","tool":"codex","cmd":"codex"}}`)
		done <- text
	}()
	h.Next("rpc.run.start")
	h.Send(protocol.RPCResponse, "run_b", 0, `{"request_id":"s1","ok":true,"rpc_type":"rpc.run.start","result":{"run_id":"run_b"}}`)
	if text := <-done; !strings.Contains(text, "run_b") {
		t.Error(text)
	}
	h.Send(protocol.RunStarted, "run_b", 1, servertest.Started)
	h.Send(protocol.RunExited, "run_b", 2, `{"exit_code":3}`)
	h.Send(protocol.RunExited, "run_a", 6, `{"exit_code":0}`) // run_a was not started by a user
	var seen []pushtest.Note
	for range 3 {
		n, _ := oli.Next()
		seen = append(seen, n)
	}
	end := pushtest.Note{Title: "t", RunID: "run_b", Summary: "it has ended: exit code 3"}
	if !slices.Contains(seen, end) || !slices.ContainsFunc(seen, func(n pushtest.Note) bool { return n.RequestID == "q0" && n.Withdrawn }) || !slices.ContainsFunc(seen, func(n pushtest.Note) bool { return n.RequestID == "q2" && n.Withdrawn }) {
		t.Errorf("messages to oli = %+v, want the end of run_b and the withdrawals", seen)
	}
	for range 2 {
		if n, _ := ann.Next(); !n.Withdrawn {
			t.Errorf("message to ann = %+v, want a withdrawal", n)
		}
	}
	if !vic.Empty() || !ann.Empty() || !oli.Empty() || vic.Seen() != 0 {
		t.Error("a user received a message about a request or run of others")
	}
	// A subscription ends with its credential.
	if code, _ := f.do("POST", "/auth/logout", "ann", ""); code != 204 {
		t.Errorf("status of the logout = %d, want 204", code)
	}
	h.Send(protocol.RunStarted, "run_c", 1, servertest.Started)
	asks(h, "run_c", 2, "q1")
	oli.Next()
	f.until("the subscription has ended", func() bool { return f.subscriptions() == 2 })
	if !ann.Empty() {
		t.Error("a user received a message after logout")
	}
}

// TestRestrictedToken checks that a token that is limited to some runs receives only messages about
// those runs.
func TestRestrictedToken(t *testing.T) {
	f := begin(t)
	_, text := f.do("POST", "/tokens", "ann", `{"name":"one","role":"operator","runs":["run_b"]}`)
	var made struct{ Token string }
	if err := json.Unmarshal([]byte(text), &made); err != nil {
		t.Fatal(err)
	}
	f.tokens["one"] = made.Token
	one, all := f.subscribe("one", "one"), f.subscribe("ann", "all")
	h := f.machine("run_a")
	asks(h, "run_a", 2, "q1")
	if n, _ := all.Next(); n.RunID != "run_a" {
		t.Errorf("message to the unrestricted token = %+v, want run_a", n)
	}
	h.Send(protocol.RunStarted, "run_b", 1, servertest.Started)
	asks(h, "run_b", 2, "q1")
	if n, _ := one.Next(); n.RunID != "run_b" {
		t.Errorf("message to the restricted token = %+v, want run_b", n)
	}
}

// TestSubscriptions sends invalid subscriptions, and more than the maximum number.
func TestSubscriptions(t *testing.T) {
	f := begin(t)
	good := f.subscribe("ann", "0")
	for name, body := range map[string]string{
		"no JSON": `{`, "no endpoint": `{"keys":{}}`, "no URL": strings.Replace(good.JSON(), good.Endpoint, "push", 1), "ftp": strings.Replace(good.JSON(), "http:", "ftp:", 1),
		"no key":         fmt.Sprintf(`{"endpoint":%q,"keys":{"auth":"BTBZMqHH6r4Tts7J_aSIgg"}}`, good.Endpoint),
		"not a point":    fmt.Sprintf(`{"endpoint":%q,"keys":{"p256dh":"BA%s","auth":"BTBZMqHH6r4Tts7J_aSIgg"}}`, good.Endpoint, strings.Repeat("A", 85)),
		"a short secret": fmt.Sprintf(`{"endpoint":%q,"keys":{"p256dh":"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4","auth":"BTBZ"}}`, good.Endpoint),
	} {
		if code, text := f.do("POST", "/push/subscriptions", "ann", body); code != 400 || !strings.Contains(text, `"bad_message"`) {
			t.Errorf("%s: response = %d %s, want 400 bad_message", name, code, text)
		}
	}
	for _, path := range []string{"/push/key", "/push/subscriptions"} {
		if code, _ := f.do("GET", path, "", ""); path == "/push/key" && code != 401 || path != "/push/key" && code != 405 {
			t.Errorf("GET %s without credentials: status = %d", path, code)
		}
	}
	for i := 1; i < protocol.MaxSubscriptions; i++ {
		f.subscribe("ann", fmt.Sprint(i))
	}
	more := f.service.Subscribe("more", f.key)
	if code, text := f.do("POST", "/push/subscriptions", "ann", more.JSON()); code != 409 || !strings.Contains(text, "at most 10") {
		t.Errorf("response above the maximum number = %d %s, want 409", code, text)
	}
	if code, _ := f.do("POST", "/push/subscriptions", "ann", good.JSON()); code != 204 { // subscribe the same browser again
		t.Errorf("status of a repeated subscription = %d, want 204", code)
	}
	if code, _ := f.do("POST", "/push/subscriptions", "oli", good.JSON()); code != 409 {
		t.Errorf("status of a subscription with another user's endpoint = %d, want 409", code)
	}
	if code, _ := f.do("DELETE", "/push/subscriptions", "oli", good.JSON()); code != 404 {
		t.Errorf("status of the removal of another user's subscription = %d, want 404", code)
	}
	for _, want := range []int{204, 404} {
		if code, _ := f.do("DELETE", "/push/subscriptions", "ann", good.JSON()); code != want {
			t.Errorf("status of a removal = %d, want %d", code, want)
		}
	}
	if code, _ := f.do("POST", "/push/subscriptions", "ann", more.JSON()); code != 204 || f.subscriptions() != protocol.MaxSubscriptions {
		t.Errorf("status = %d, number of subscriptions = %d; want 204 and the maximum", code, f.subscriptions())
	}
}

// waits waits until a retry is scheduled, and then advances the clock by d.
func (f *fixture) waits(d time.Duration) {
	f.Helper()
	f.until("something waits", func() bool { return f.clock.Timers() > 0 })
	f.clock.Advance(d)
}

// TestRetries makes the push service fail. The sender retries at the requested time and stops
// after a number of attempts. A browser that no longer exists is removed, and a later message about
// a request replaces a queued one.
func TestRetries(t *testing.T) {
	f := begin(t)
	var status atomic.Int64
	f.service.Answer = func(_ string, n int) (int, http.Header) {
		switch {
		case n == 1:
			return 429, http.Header{"Retry-After": {"120"}}
		case n == 2:
			return 503, nil
		}
		return int(status.Load()), nil
	}
	status.Store(201)
	b := f.subscribe("oli", "oli")
	h := f.machine("run_a")
	asks(h, "run_a", 2, "q1")
	f.waits(119 * time.Second)
	if b.Seen() != 1 {
		t.Errorf("requests before the retry = %d, want 1", b.Seen())
	}
	f.clock.Advance(time.Second)
	f.waits(4 * time.Second)
	if n, m := b.Next(); n.RequestID != "q1" || m.TTL != 24*3600-124 {
		t.Errorf("message = %+v, %+v; want q1 with its remaining TTL", n, m)
	}
	status.Store(500)
	asks(h, "run_a", 3, "q2")
	for _, d := range []time.Duration{1, 4, 16, 60} {
		f.waits(d * time.Second)
	}
	f.until("it is given up", func() bool { return b.Seen() == 8 && f.clock.Timers() == 0 })
	asks(h, "run_a", 4, "q3")
	f.until("it waits", func() bool { return f.clock.Timers() > 0 })
	h.Send(protocol.RunPermissionResolved, "run_a", 5, `{"request_id":"q3","decision":"approve"}`)
	h.Acked("run_a", 5)
	status.Store(201)
	for withdrawn := false; !withdrawn; {
		f.until("it is told", func() bool {
			if f.clock.Timers() > 0 { // advance only while no message is being sent
				f.clock.Advance(time.Second)
			}
			return !b.Empty()
		})
		n, _ := b.Next()
		if withdrawn = n.Withdrawn; n.RequestID != "q3" {
			t.Errorf("message = %+v, want q3", n)
		}
	}
	b.Remove()
	asks(h, "run_a", 6, "q4")
	f.until("the browser is forgotten", func() bool { return f.subscriptions() == 0 })
}

// TestHostile uses push services that redirect, send an endless response, or send no response. They
// delay neither messages to other services nor the server's end.
func TestHostile(t *testing.T) {
	f := begin(t)
	var inside atomic.Int64
	loopback := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { inside.Add(1) }))
	defer loopback.Close()
	came, over := make(chan string, 10), make(chan struct{})
	hostile := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		came <- r.URL.Path
		switch r.URL.Path {
		case "/elsewhere":
			http.Redirect(w, r, loopback.URL, http.StatusTemporaryRedirect)
		case "/huge":
			for chunk := make([]byte, 1<<20); ; {
				if _, err := w.Write(chunk); err != nil {
					over <- struct{}{} // the client has stopped reading
					return
				}
			}
		case "/silent":
			<-r.Context().Done()
			over <- struct{}{}
		}
	}))
	defer hostile.Close()
	good := f.subscribe("ann", "good")
	for _, path := range []string{"/elsewhere", "/huge", "/silent"} {
		if code, text := f.do("POST", "/push/subscriptions", "oli", strings.Replace(good.JSON(), good.Endpoint, hostile.URL+path, 1)); code != 204 {
			t.Fatalf("response to the subscription = %d %s, want 204", code, text)
		}
	}
	h := f.machine("run_a")
	asks(h, "run_a", 2, "q1")
	h.Acked("run_a", 2)
	if n, _ := good.Next(); n.RequestID != "q1" {
		t.Errorf("message to the good service = %+v, want q1", n)
	}
	for range 3 {
		<-came
	}
	<-over // the request to /huge has ended
	f.stop()
	<-over // the request to /silent has ended; f.stop did not wait for it
	f.stop = func() {}
	if inside.Load() != 0 {
		t.Error("the client followed a redirect")
	}
}
