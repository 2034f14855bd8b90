package pair_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server"
	"github.com/concerto-lang/concerto/relay/server/accounts"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
	"github.com/concerto-lang/concerto/relay/server/pair"
	"github.com/concerto-lang/concerto/relay/server/servertest"
	"github.com/concerto-lang/concerto/relay/store"
	"github.com/concerto-lang/concerto/relay/store/sqlite"
)

var ctx = context.Background()

// fixture is a server with the owners ann and bob and their tokens.
type fixture struct {
	*testing.T
	store    *store.Store
	clock    *servertest.Clock
	url      string
	ann, bob string
}

func begin(t *testing.T) *fixture {
	s, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "relay.db"))
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{T: t, store: s, clock: servertest.NewClock()}
	g := httpguard.New(httpguard.Config{Loopback: true})
	a := auth.New(auth.Config{Store: s, Guard: g, TOFU: auth.TOFULoopback, Now: f.clock.Now})
	var r *server.Server
	closes := func(why string) func(string) { return func(id string) { r.CloseMachine(id, why) } }
	users := accounts.New(accounts.Config{Store: s, Auth: a, Guard: g, Now: f.clock.Now, MachineRemoved: closes("removed")})
	pairs := pair.New(pair.Config{Store: s, Auth: a, Guard: g, Now: f.clock.Now, Paired: closes("paired")})
	r = server.New(server.Config{Store: s, Auth: a, Clock: f.clock, More: slices.Concat(users.Routes(), pairs.Routes())})
	web := httptest.NewServer(g.Wrap(r))
	t.Cleanup(func() { r.Close(); web.Close(); a.Close(); _ = s.Close() })
	f.url = web.URL
	us := audit.Actor{Type: "server", Name: "test"}
	for name, into := range map[string]*string{"ann": &f.ann, "bob": &f.bob} {
		if _, err := a.PutUser(ctx, us, name, auth.Owner, auth.HashPassword("correct horse")); err != nil {
			t.Fatal(err)
		}
		if _, *into, err = a.NewToken(ctx, us, name, auth.NewToken{Name: "test", Role: auth.Owner}); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// answer is the response of a route, with the members of all routes.
type answer struct {
	Status      int
	After       string
	PairID      string `json:"pair_id"`
	Code        string `json:"code"`
	Token       string `json:"token"`
	ExpiresIn   int64  `json:"expires_in"`
	ServerKey   string `json:"server_key"`
	State       string `json:"state"`
	MachineID   string `json:"host_id"`
	Name        string `json:"name"`
	Fingerprint string `json:"fingerprint"`
	Error       struct{ Code, Message string }
}

func (f *fixture) do(method, path, token string, body map[string]string) (out answer) {
	text, err := json.Marshal(body)
	if err != nil {
		f.Fatal(err)
	}
	r, err := http.NewRequest(method, f.url+path, bytes.NewReader(text))
	if err != nil {
		f.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		f.Fatal(err)
	}
	defer got.Body.Close()
	text, err = io.ReadAll(got.Body)
	if err != nil {
		f.Fatal(err)
	}
	if err := json.Unmarshal(text, &out); err != nil && len(text) > 0 {
		f.Fatalf("%s: %v", text, err)
	}
	out.Status, out.After = got.StatusCode, got.Header.Get("Retry-After")
	return out
}

// get returns the body of a response to ann, who is an owner.
func (f *fixture) get(path string) []byte {
	r, err := http.NewRequest("GET", f.url+path, nil)
	if err != nil {
		f.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+f.ann)
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		f.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil || got.StatusCode != 200 {
		f.Fatalf("%s: %s %s, %v", path, got.Status, text, err)
	}
	return text
}

// kinds returns the kinds in the audit log.
func (f *fixture) kinds() string {
	var out []string
	for line, err := range audit.Lines(bytes.NewReader(f.get("/audit")), "audit") {
		if err != nil {
			f.Fatal(err)
		}
		out = append(out, line.Kind)
	}
	return strings.Join(out, " ")
}

// machine is a machine with a key pair.
type machine struct {
	ed25519.PrivateKey
	text, id string // the public key as text; the id that the server assigns
}

func newKey(n byte) machine {
	k := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize))
	public := k.Public().(ed25519.PublicKey)
	return machine{k, protocol.KeyText(public), protocol.MachineOfKey(public)}
}

func (f *fixture) start(k machine, more map[string]string) answer {
	body := map[string]string{"public_key": k.text, "name": "desk"}
	for name, v := range more {
		body[name] = v
	}
	return f.do("POST", "/pair/start", "", body)
}

// paired returns a machine that is paired.
func (f *fixture) paired(n byte) machine {
	f.Helper()
	k := newKey(n)
	if got := f.do("POST", "/pair/confirm", f.ann, map[string]string{"code": f.start(k, nil).Code}); got.MachineID != k.id {
		f.Fatalf("confirmation = %+v, want the id of the machine", got)
	}
	return k
}

// connectByKey connects as a machine that authenticates by its key, and returns the challenge.
func (f *fixture) connectByKey(machine string) (*servertest.Peer, protocol.ChallengeData) {
	f.Helper()
	p := servertest.Dial(f.T, f.url+"/ws/host?host_id="+machine+"&auth=key")
	e := p.Read()
	d, err := protocol.Decode[protocol.ChallengeData](&e)
	if err != nil || e.Type != protocol.Challenge {
		f.Fatalf("%s: %v", e.Append(nil), err)
	}
	return p, d
}

const nonce = "b3duLW5vbmNlLW9mLTMyLWJ5dGVzLW9mLXRoZS1ob3N0"

// TestRequestProof authenticates requests of a paired machine by its key. A proof is for one
// request of one machine at one server, and for five minutes.
func TestRequestProof(t *testing.T) {
	f := begin(t)
	k, other := f.paired(1), newKey(2)
	const uri = "/seal/a_1/roster?host_id="
	proof := func(key machine, origin, method, uri string, ago time.Duration) string {
		ms := f.clock.Now().Add(-ago).UnixMilli()
		text := protocol.RequestProofText(origin, k.id, method, uri, ms)
		return fmt.Sprintf("%d.%s", ms, protocol.KeyText(ed25519.Sign(key.PrivateKey, text)))
	}
	own := uri + k.id
	for name, c := range map[string]struct {
		proof  string
		status int
	}{
		"a proof":             {proof(k, f.url, "GET", own, 4*time.Minute), 404}, // there is no such account
		"no proof":            {"", 401},
		"another key":         {proof(other, f.url, "GET", own, 0), 401},
		"another server":      {proof(k, "https://other.example", "GET", own, 0), 401},
		"another method":      {proof(k, f.url, "POST", own, 0), 401},
		"another request":     {proof(k, f.url, "GET", "/seal/a_2/roster?host_id="+k.id, 0), 401},
		"an old proof":        {proof(k, f.url, "GET", own, 6*time.Minute), 401},
		"a proof to come":     {proof(k, f.url, "GET", own, -6*time.Minute), 401},
		"without a time":      {strings.TrimLeft(proof(k, f.url, "GET", own, 0), "0123456789"), 401},
		"without a signature": {"1", 401},
	} {
		q, err := http.NewRequest("GET", f.url+own, nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set(protocol.RequestProofHeader, c.proof)
		r, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		if r.Body.Close(); r.StatusCode != c.status {
			t.Errorf("%s: %s, want %d", name, r.Status, c.status)
		}
	}
}

func (k machine) sign(origin, machine, server, own string) protocol.ChallengeAnswer {
	return protocol.ChallengeAnswer{Nonce: own, Signature: protocol.KeyText(ed25519.Sign(k.PrivateKey, []byte("concerto-relay-host-v1\n"+origin+"\n"+machine+"\n"+server+"\n"+own)))}
}

// TestPairingWhileConnecting confirms a pairing while the machine connects with its old token. The
// server must refuse the connection, or close it when the token is no longer valid.
func TestPairingWhileConnecting(t *testing.T) {
	f := begin(t)
	hello := protocol.Envelope{Type: protocol.Hello, TS: "2025-01-01T00:00:00Z", Data: json.RawMessage(`{"protocol":2,"agent":"test/1","instance":"i","epoch":1}`)}
	for i := range 20 {
		id := fmt.Sprintf("host_%d", i)
		address := f.url + "/ws/host?host_id=" + id + "&host_token=t0ken"
		servertest.Dial(t, address).Close()
		got := f.start(newKey(byte(i+1)), map[string]string{"host_id": id, "host_token": "t0ken"})
		if got.Status != 200 {
			t.Fatalf("start of the pairing = %+v, want 200", got)
		}
		var all sync.WaitGroup
		var p *servertest.Peer
		all.Go(func() { p, _ = servertest.TryDial(t, address) })
		if made := f.do("POST", "/pair/confirm", f.ann, map[string]string{"code": got.Code}); made.Status != 200 {
			t.Fatalf("confirmation = %+v, want 200", made)
		}
		all.Wait()
		if p == nil {
			continue // refused
		}
		// A connection that found the first one still registered waits for the hello before it
		// becomes the machine's connection.
		_ = p.Write(websocket.MessageText, hello.Append(nil)) // fails if the server has already closed the connection
		if code := p.Closed(); code != protocol.CloseUnauthorized {
			t.Errorf("close code of the connection with the token = %d, want unauthorized", code)
		}
	}
}

// TestPairing pairs a machine and sends its events. After the pairing the machine's
// token is refused, and after the removal of the machine its key is refused too.
func TestPairing(t *testing.T) {
	f := begin(t)
	old := servertest.Dial(t, f.url+"/ws/host?host_id=host_a&host_token=t0ken")
	k := newKey(1)
	got := f.start(k, map[string]string{"host_id": "host_a", "host_token": "t0ken"})
	if got.Status != 200 || !regexp.MustCompile(`^[A-Z]{4}-[A-Z]{4}$`).MatchString(got.Code) || strings.ContainsAny(got.Code, "IOLU") || got.ExpiresIn != 600 || got.PairID == "" {
		t.Fatalf("start of the pairing = %+v, want a code that is valid for 600 s", got)
	}
	if poll := f.do("GET", "/pair/"+got.PairID, "", nil); poll.State != "waiting" || poll.MachineID != "" {
		t.Errorf("poll before the confirmation = %+v, want waiting", poll)
	}
	if look := f.do("POST", "/pair/look", f.ann, map[string]string{"code": got.Code}); look.Name != "desk" || look.Fingerprint != protocol.Fingerprint(k.Public().(ed25519.PublicKey)) || look.ExpiresIn != 600 {
		t.Errorf("look = %+v, want the machine's name and fingerprint", look)
	}
	code := " " + strings.ToLower(strings.ReplaceAll(got.Code, "-", " "))
	if made := f.do("POST", "/pair/confirm", f.ann, map[string]string{"code": code}); made.Status != 200 || made.MachineID != "host_a" {
		t.Fatalf("confirmation = %+v, want 200 for host_a", made)
	}
	poll := f.do("GET", "/pair/"+got.PairID, "", nil)
	if poll.State != "confirmed" || poll.MachineID != "host_a" || poll.ServerKey != got.ServerKey || got.ServerKey == "" {
		t.Errorf("poll after the confirmation = %+v, want confirmed with the server's key", poll)
	}
	if code := old.Closed(); code != protocol.CloseUnauthorized {
		t.Errorf("close code of the connection with the token = %d, want unauthorized", code)
	}
	if _, status := servertest.TryDial(t, f.url+"/ws/host?host_id=host_a&host_token=t0ken"); status != 401 {
		t.Errorf("status of a connection with the token = %d, want 401", status)
	}
	p, c := f.connectByKey("host_a")
	p.Send(protocol.ChallengeResponse, "", 0, k.sign(f.url, "host_a", c.Nonce, nonce))
	epoch := int64(7)
	p.Send(protocol.Hello, "", 0, protocol.HelloData{Protocol: 2, Agent: "test/1", Instance: "i", Epoch: &epoch})
	e := p.Next(protocol.Welcome)
	w, err := protocol.Decode[protocol.WelcomeData](&e)
	if err != nil {
		t.Fatal(err)
	}
	pinned, err := protocol.ParseKey(got.ServerKey)
	if err != nil || c.ServerKey != got.ServerKey {
		t.Fatalf("server key in the challenge = %s, %v; want the key of the pairing", c.ServerKey, err)
	}
	signature, err := base64.RawURLEncoding.DecodeString(w.Signature)
	if err != nil || !ed25519.Verify(pinned, []byte("concerto-relay-server-v1\n"+f.url+"\nhost_a\n"+c.Nonce+"\n"+nonce), signature) {
		t.Error("the welcome is not signed by the server's key")
	}
	p.Send(protocol.RunStarted, "run_a", 1, servertest.Started)
	p.Acked("run_a", 1)
	var machines []struct{ ID, Name, Auth string }
	if err := json.Unmarshal(f.get("/hosts"), &machines); err != nil {
		t.Fatal(err)
	}
	if len(machines) != 1 || machines[0].Auth != "key" || machines[0].Name != "desk" {
		t.Errorf("machines = %+v, want desk with auth key", machines)
	}
	if got := f.do("DELETE", "/hosts/host_a", f.ann, nil); got.Status != 204 {
		t.Errorf("removal of the machine = %+v, want 204", got)
	}
	if code := p.Closed(); code != protocol.CloseUnauthorized {
		t.Errorf("close code of the removed machine = %d, want unauthorized", code)
	}
	if _, status := servertest.TryDial(t, f.url+"/ws/host?host_id=host_a&auth=key"); status != 401 {
		t.Errorf("status of a connection with the key of a removed machine = %d, want 401", status)
	}
	if got := f.kinds(); !strings.HasSuffix(got, "host_tofu host_paired host_refused run_started host_removed host_refused") {
		t.Error(got)
	}
}

// TestRefused sends invalid pairing requests, and confirmations by users who may not confirm.
func TestRefused(t *testing.T) {
	f := begin(t)
	k := newKey(1)
	for _, row := range []struct{ key, name, machine string }{
		{"", "desk", ""}, {k.text + "=", "desk", ""}, {k.text[:40], "desk", ""}, {k.text, "", ""}, {k.text, strings.Repeat("x", 65), ""}, {k.text, "a\nb", ""}, {k.text, "desk", "a b"},
	} {
		if got := f.do("POST", "/pair/start", "", map[string]string{"public_key": row.key, "name": row.name, "host_id": row.machine}); got.Status != 400 || got.Error.Code != "bad_message" {
			t.Errorf("start with %v = %+v, want 400 bad_message", row, got)
		}
	}
	began := f.start(k, nil)
	if got := f.do("GET", "/pair/p_none", "", nil); got.Status != 404 {
		t.Errorf("poll of an unknown pairing = %+v, want 404", got)
	}
	for path, token := range map[string]string{"/pair/confirm": "", "/pair/look": ""} {
		if got := f.do("POST", path, token, map[string]string{"code": began.Code}); got.Status != 401 {
			t.Errorf("%s without credentials = %+v, want 401", path, got)
		}
	}
	var operator answer
	if got := f.do("POST", "/tokens", f.ann, map[string]string{"name": "op", "role": "operator"}); got.Status != 200 {
		t.Fatalf("creation of a token = %+v, want 200", got)
	} else {
		operator = got
	}
	if got := f.do("POST", "/pair/confirm", operator.Token, map[string]string{"code": began.Code}); got.Status != 403 {
		t.Errorf("confirmation by an operator = %+v, want 403", got)
	}
	for range protocol.PairingTries {
		if got := f.do("POST", "/pair/confirm", f.ann, map[string]string{"code": "BBBB-BBBB"}); got.Status != 404 {
			t.Errorf("confirmation of a wrong code = %+v, want 404", got)
		}
	}
	if got := f.do("POST", "/pair/confirm", f.ann, map[string]string{"code": began.Code}); got.Status != 429 || got.After != "60" {
		t.Errorf("confirmation after too many attempts = %+v, want 429", got)
	}
	f.clock.Advance(time.Minute)
	if got := f.do("POST", "/pair/confirm", f.ann, map[string]string{"code": began.Code}); got.Status != 200 {
		t.Errorf("confirmation a minute later = %+v, want 200", got)
	}
	if got := f.do("POST", "/pair/confirm", f.ann, map[string]string{"code": began.Code}); got.Status != 404 {
		t.Errorf("second confirmation of a code = %+v, want 404", got)
	}
	late := f.start(newKey(2), nil)
	f.clock.Advance(protocol.PairingTTL)
	if got := f.do("POST", "/pair/confirm", f.ann, map[string]string{"code": late.Code}); got.Status != 404 {
		t.Errorf("confirmation of an expired code = %+v, want 404", got)
	}
	if got := f.do("GET", "/pair/"+late.PairID, "", nil); got.Status != 409 || got.Error.Code != "expired" {
		t.Errorf("poll of an expired pairing = %+v, want 409 expired", got)
	}
}

// TestProof sends invalid proofs of a machine's key, each on a new connection.
func TestProof(t *testing.T) {
	f := begin(t)
	k, other := f.paired(1), f.paired(2)
	replayed := protocol.ChallengeAnswer{}
	for name, answer := range map[string]func(c protocol.ChallengeData) any{
		"another key":        func(c protocol.ChallengeData) any { return other.sign(f.url, k.id, c.Nonce, nonce) },
		"another machine":    func(c protocol.ChallengeData) any { return k.sign(f.url, other.id, c.Nonce, nonce) },
		"another origin":     func(c protocol.ChallengeData) any { return k.sign("http://relay.example", k.id, c.Nonce, nonce) },
		"another port":       func(c protocol.ChallengeData) any { return k.sign("http://127.0.0.1:1", k.id, c.Nonce, nonce) },
		"another nonce":      func(c protocol.ChallengeData) any { return k.sign(f.url, k.id, nonce, nonce) },
		"the server's nonce": func(c protocol.ChallengeData) any { return k.sign(f.url, k.id, c.Nonce, c.Nonce) },
		"a short nonce":      func(c protocol.ChallengeData) any { return k.sign(f.url, k.id, c.Nonce, "AAAA") },
		"the server's answer": func(c protocol.ChallengeData) any {
			return protocol.ChallengeAnswer{Nonce: nonce, Signature: c.ServerKey}
		},
		"no signature": func(protocol.ChallengeData) any { return protocol.ChallengeAnswer{Nonce: nonce, Signature: "?"} },
		"nothing":      func(protocol.ChallengeData) any { return "{}" },
		"a replay":     func(protocol.ChallengeData) any { return replayed },
	} {
		if replayed.Nonce == "" {
			p, c := f.connectByKey(k.id)
			replayed = k.sign(f.url, k.id, c.Nonce, nonce)
			p.Send(protocol.ChallengeResponse, "", 0, replayed)
			p.Send(protocol.Heartbeat, "", 0, "{}")
			p.Ping()
		}
		p, c := f.connectByKey(k.id)
		p.Send(protocol.ChallengeResponse, "", 0, answer(c))
		if code := p.Closed(); code != protocol.CloseUnauthorized {
			t.Errorf("%s: close code = %d, want unauthorized", name, code)
		}
	}
	p, _ := f.connectByKey(k.id)
	p.Send(protocol.RunStarted, "run_x", 1, servertest.Started) // sent before the proof
	if code := p.Closed(); code != protocol.CloseUnauthorized {
		t.Errorf("close code after an event before the proof = %d, want unauthorized", code)
	}
	if _, err := f.store.Run(ctx, "run_x"); err == nil {
		t.Error("an event of an unauthenticated machine was stored")
	}
	p, _ = f.connectByKey(k.id) // a connection that sends no frame
	f.clock.Advance(protocol.ProofTimeout)
	if code := p.Closed(); code != protocol.CloseUnauthorized {
		t.Errorf("close code without a proof in time = %d, want unauthorized", code)
	}
	if _, status := servertest.TryDial(t, f.url+"/ws/host?host_id=host_none&auth=key"); status != 401 {
		t.Errorf("status for an unknown machine = %d, want 401", status)
	}
	if _, status := servertest.TryDial(t, f.url+"/ws/host?host_id="+k.id+"&auth=hope"); status != 400 {
		t.Errorf("status for an unknown kind of credentials = %d, want 400", status)
	}
	p, c := f.connectByKey(k.id)
	at, err := net.ResolveTCPAddr("tcp", strings.TrimPrefix(f.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	// The address has the form of a WebSocket URL.
	p.Send(protocol.ChallengeResponse, "", 0, k.sign(fmt.Sprintf("ws://127.0.0.1:%d", at.Port), k.id, c.Nonce, nonce))
	p.Send(protocol.RunStarted, "run_a", 1, servertest.Started)
	p.Acked("run_a", 1)
}

// TestConcurrentPairings checks that only one of several concurrent confirmations succeeds, and
// that two machines never get the same code. Many starts from one address are limited, but do not
// exclude other addresses.
func TestConcurrentPairings(t *testing.T) {
	f := begin(t)
	began := f.start(newKey(1), nil)
	var all sync.WaitGroup
	var mu sync.Mutex
	statuses := map[int]int{}
	for i := range 8 {
		all.Go(func() {
			token := f.ann
			if i%2 == 1 {
				token = f.bob
			}
			got := f.do("POST", "/pair/confirm", token, map[string]string{"code": began.Code})
			mu.Lock()
			defer mu.Unlock()
			statuses[got.Status]++
		})
	}
	all.Wait()
	if statuses[200] != 1 || statuses[404] != 7 {
		t.Errorf("confirmations by status = %v, want one with 200 and seven with 404", statuses)
	}
	codes := map[string]bool{}
	statuses = map[int]int{}
	for minute := range 2 {
		for i := range 40 {
			got := f.start(newKey(byte(minute*40+i)), nil)
			statuses[got.Status]++
			if got.Status == 200 && codes[got.Code] {
				t.Errorf("two machines have the code %s", got.Code)
			}
			codes[got.Code] = true
		}
		f.clock.Advance(time.Minute)
	}
	if statuses[200] != 20 || statuses[429] != 60 {
		t.Errorf("starts by status = %v, want 20 with 200 and 60 with 429", statuses)
	}
	one := store.Pairing{ID: "elsewhere", CodeHash: "x", PublicKey: newKey(200).text, Name: "n", Address: "10.1.1.1", Expires: f.clock.Now().UnixMilli() + 1}
	if err := f.store.AddPairing(ctx, one, f.clock.Now().UnixMilli(), 200, 20); err != nil {
		t.Error(err)
	}
}
