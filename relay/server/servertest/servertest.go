// Package servertest has a relay's server for tests, and the two ends that play with it over real
// sockets: hosts and apps (its API promises nothing).
package servertest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/server/guard"
	"github.com/concerto-lang/concerto/relay/store"
	"github.com/concerto-lang/concerto/relay/store/postgres"
	"github.com/concerto-lang/concerto/relay/store/sqlite"
)

// patience is how long a test waits for what must come. No test waits so long but one that fails.
const patience = 30 * time.Second

// Relay is a server for a test.
type Relay struct {
	T      testing.TB
	URL    string // http://…
	Clock  *Clock // nil of one with the machine's
	Store  *store.Store
	Server *server.Server
	Auth   *Auth
	http   *httptest.Server
	dir    string
	url    string // of a database that others serve, too
	bus    server.Bus
}

// Start starts a server on a new database. Its clock stands still.
func Start(t testing.TB) *Relay {
	t.Helper()
	r := &Relay{T: t, dir: t.TempDir(), Clock: NewClock()}
	r.open()
	return r
}

// StartNow starts a server with the machine's clock.
func StartNow(t testing.TB) *Relay {
	t.Helper()
	r := &Relay{T: t, dir: t.TempDir()}
	r.open()
	return r
}

// StartBeside starts a server on a PostgreSQL database that others serve, too, with the machine's clock. bus
// may be nil.
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
	c := server.Config{Store: s, Auth: r.Auth, Version: "test", Bus: r.bus}
	if r.Clock != nil {
		c.Clock = r.Clock
	}
	r.Server = server.New(c)
	r.http = httptest.NewServer(r.Server)
	r.URL = r.http.URL
	r.T.Cleanup(r.Stop)
}

// Go lets time pass on the server's clock, once nothing is being written: what takes a moment of the
// machine's time must not seem to take long.
func (r *Relay) Go(d time.Duration) {
	for r.Server.Figures()["relay_sockets_writing"] > 0 {
		runtime.Gosched()
	}
	r.Clock.Go(d)
}

// Stop ends the server.
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

// Restart ends the server and starts one on its database.
func (r *Relay) Restart() {
	r.T.Helper()
	r.Stop()
	r.open()
}

// Auth lets in who has a token like "operator:eve" or "viewer:eve:run_a,run_b*": a role, a user, and
// runs.
type Auth struct {
	store *store.Store
	mu    sync.Mutex
	watch map[string]map[*func()]struct{}
	ended map[string]bool
}

// Authenticate says who asks.
func (a *Auth) Authenticate(r *http.Request) (*auth.Identity, error) {
	token := r.URL.Query().Get("token")
	if b, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		token = b
	}
	parts := strings.Split(token, ":")
	a.mu.Lock()
	ended := a.ended[token]
	a.mu.Unlock()
	if len(parts) < 2 || !slices.Contains(auth.Roles, auth.Role(parts[0])) || ended {
		return nil, guard.Refused(protocol.Unauthorized, "no such token")
	}
	id := &auth.Identity{ID: token, Name: parts[1], Kind: auth.Token, Role: auth.Role(parts[0])}
	if len(parts) > 2 {
		id.Runs = strings.Split(parts[2], ",")
	}
	return id, nil
}

// Refused is told who was refused what.
func (a *Auth) Refused(context.Context, *auth.Identity, auth.Right, string) {}

// Host lets any new host in, and an old one with its token.
func (a *Auth) Host(ctx context.Context, id, token string, _ *http.Request) error {
	if !protocol.IsID(id) {
		return guard.Refused(protocol.BadMessage, "no id")
	}
	sum := sha256.Sum256([]byte(token))
	h, err := a.store.AddHost(ctx, store.Host{ID: id, TokenHash: hex.EncodeToString(sum[:])})
	if err != nil {
		return err
	}
	if h.TokenHash != hex.EncodeToString(sum[:]) {
		return guard.Refused(protocol.Unauthorized, "another token")
	}
	return nil
}

// HostByKey lets no host in: keys are relay/server/auth's.
func (a *Auth) HostByKey(context.Context, string, *http.Request) (auth.Proof, error) {
	return nil, guard.Refused(protocol.Unauthorized, "no keys here")
}

// Watch hears of the end of credentials.
func (a *Auth) Watch(who *auth.Identity, ended func()) (stop func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.watch[who.ID] == nil {
		a.watch[who.ID] = map[*func()]struct{}{}
	}
	a.watch[who.ID][&ended] = struct{}{}
	if a.ended[who.ID] { // between its request and now
		go ended()
	}
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.watch[who.ID], &ended)
	}
}

// End ends credentials.
func (a *Auth) End(token string) {
	a.mu.Lock()
	if a.ended == nil {
		a.ended = map[string]bool{}
	}
	a.ended[token] = true
	var all []func()
	for f := range a.watch[token] {
		all = append(all, *f)
	}
	a.mu.Unlock()
	for _, f := range all {
		f()
	}
}

// Operator and Viewer are tokens that the Auth of tests takes.
const (
	Operator = "operator:eve"
	Viewer   = "viewer:eve"
)

// Do asks over HTTP, as a token, and gives the status and what was answered.
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

// Peer is an end of a socket: a host or an app.
type Peer struct {
	T    testing.TB
	c    *websocket.Conn
	in   chan []byte
	err  error // why there is nothing more, once in is closed
	held []protocol.Envelope
	// pass lets a moment pass on a clock that stands still, while something is waited for that
	// may wait for it.
	pass func()
}

// Dial connects an end.
func Dial(t testing.TB, url string) *Peer {
	t.Helper()
	p, status := TryDial(t, url)
	if p == nil {
		t.Fatalf("%s: %d", url, status)
	}
	return p
}

// TryDial connects an end; nil, and the status, when that is refused.
func TryDial(t testing.TB, url string) (*Peer, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, answer, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(url, "http"), nil)
	if err != nil {
		if answer == nil {
			t.Fatal(err)
		}
		return nil, answer.StatusCode
	}
	c.SetReadLimit(2 * protocol.MaxFrame)
	p := &Peer{T: t, c: c, in: make(chan []byte, 1<<14)}
	gone := make(chan struct{})
	go func() {
		defer close(p.in)
		for {
			_, frame, err := c.Read(context.Background())
			if err != nil {
				p.err = err
				return
			}
			select {
			case p.in <- frame:
			case <-gone:
				return
			}
		}
	}()
	t.Cleanup(func() { close(gone); _ = c.CloseNow() })
	return p, http.StatusSwitchingProtocols
}

// Host connects a host, by the seed's protocol.
func (r *Relay) Host(id string) *Peer {
	r.T.Helper()
	p := Dial(r.T, r.URL+"/ws/host?host_id="+id+"&host_token=token-"+id)
	if r.Clock != nil {
		p.pass = func() { r.Clock.Go(time.Second / protocol.AcksASecond) }
	}
	return p
}

// Hello connects a host that says hello, and has its welcome.
func (r *Relay) Hello(id string, h protocol.HelloData) (*Peer, protocol.WelcomeData) {
	r.T.Helper()
	p := r.Host(id)
	h.Protocol, h.Agent = protocol.Version, "test/1"
	p.Say(protocol.Hello, "", 0, h)
	e := p.Next(protocol.Welcome)
	w, err := protocol.Decode[protocol.WelcomeData](&e)
	if err != nil {
		r.T.Fatal(err)
	}
	return p, w
}

// App connects an app, by the seed's protocol. query begins with &.
func (r *Relay) App(token, query string) *Peer {
	r.T.Helper()
	return Dial(r.T, r.URL+"/ws/app?token="+token+query)
}

// HelloApp connects an app that says hello.
func (r *Relay) HelloApp(token, query string) *Peer {
	r.T.Helper()
	p := r.App(token, query)
	p.Say(protocol.Hello, "", 0, protocol.HelloData{Protocol: protocol.Version, Agent: "test/1"})
	p.Next(protocol.Welcome)
	return p
}

// Say sends a message.
func (p *Peer) Say(typ, run string, seq int64, data any) {
	p.T.Helper()
	text, ok := data.(string)
	if !ok {
		b, err := json.Marshal(data)
		if err != nil {
			p.T.Fatal(err)
		}
		text = string(b)
	}
	e := protocol.Envelope{Type: typ, TS: "2025-01-01T00:00:00Z", RunID: run, Seq: seq, Data: json.RawMessage(text)}
	p.Raw(e.Append(nil))
}

// Raw sends a text frame.
func (p *Peer) Raw(frame []byte) {
	p.T.Helper()
	if err := p.Write(websocket.MessageText, frame); err != nil {
		p.T.Fatal(err)
	}
}

// Write sends a frame.
func (p *Peer) Write(kind websocket.MessageType, frame []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return p.c.Write(ctx, kind, frame)
}

// Read gives the next frame that came.
func (p *Peer) Read() protocol.Envelope {
	p.T.Helper()
	if len(p.held) > 0 {
		e := p.held[0]
		p.held = p.held[1:]
		return e
	}
	return p.wait("anything")
}

func (p *Peer) wait(what string) protocol.Envelope {
	p.T.Helper()
	over := time.After(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case frame, ok := <-p.in:
			if !ok {
				p.T.Fatalf("the connection ended before %s: %v", what, p.err)
			}
			e, why := protocol.Parse(frame)
			if why != nil {
				p.T.Fatalf("%s: %v", frame, why)
			}
			return e
		case <-tick.C:
			if p.pass != nil {
				p.pass()
			}
		case <-over:
			p.T.Fatalf("nothing came, and %s was to", what)
		}
	}
}

// Next gives the next frame of a type; those before it are held for who asks for them.
func (p *Peer) Next(typ string) protocol.Envelope {
	p.T.Helper()
	for i, e := range p.held {
		if e.Type == typ {
			p.held = append(p.held[:i:i], p.held[i+1:]...)
			return e
		}
	}
	for {
		e := p.wait(typ)
		if e.Type == typ {
			return e
		}
		p.held = append(p.held, e)
	}
}

// Failed gives the next error.
func (p *Peer) Failed() protocol.ErrorData {
	p.T.Helper()
	e := p.Next(protocol.Failure)
	d, err := protocol.Decode[protocol.ErrorData](&e)
	if err != nil {
		p.T.Fatal(err)
	}
	return d
}

// Acked waits until a run is acknowledged up to a seq, and fails when it is further.
func (p *Peer) Acked(run string, seq int64) {
	p.T.Helper()
	for {
		e := p.Next(protocol.RunAck)
		d, err := protocol.Decode[protocol.Ack](&e)
		switch {
		case err != nil:
			p.T.Fatal(err)
		case d.RunID == run && d.LastSeq > seq:
			p.T.Fatalf("%s is acknowledged up to %d, want %d", run, d.LastSeq, seq)
		case d.RunID == run && d.LastSeq == seq:
			return
		}
	}
}

// Seqs reads so many events of a run and gives their seqs.
func (p *Peer) Seqs(run string, n int) (all []int64) {
	p.T.Helper()
	var others []protocol.Envelope
	for len(all) < n {
		e := p.Read()
		if e.RunID != run || e.Seq == 0 {
			others = append(others, e)
			continue
		}
		all = append(all, e.Seq)
	}
	p.held = append(others, p.held...)
	return all
}

// Closed waits for the end, and gives its code; -1 when none was said.
func (p *Peer) Closed() int {
	p.T.Helper()
	for {
		select {
		case _, ok := <-p.in:
			if !ok {
				return int(websocket.CloseStatus(p.err))
			}
		case <-time.After(patience):
			p.T.Fatal("the connection goes on")
		}
	}
}

// Close ends the connection.
func (p *Peer) Close() { _ = p.c.Close(websocket.StatusNormalClosure, "") }

// Ping waits for the other end to answer: it has read what was sent before.
func (p *Peer) Ping() {
	p.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := p.c.Ping(ctx); err != nil {
		p.T.Fatal(err)
	}
}

// Started is data of a run.started.
const Started = `{"tool":"codex","cwd":"/w","command":"codex -q","title":"t"}`

// Output is data of a run.output.
func Output(text string) string { return fmt.Sprintf(`{"stream":"stdout","text":%q}`, text) }

// Begin has a host begin a run and wait until that is stored.
func (p *Peer) Begin(run string) {
	p.T.Helper()
	p.Say(protocol.RunStarted, run, 1, Started)
	p.Acked(run, 1)
}

// Break has the store refuse to be written to.
func (r *Relay) Break() {
	r.exec(`CREATE TRIGGER broken BEFORE INSERT ON events BEGIN SELECT raise(abort, 'broken'); END`)
}

// Runs has a host have begun so many runs more, run_1 and so on.
func (r *Relay) Runs(host string, n int) {
	r.exec(fmt.Sprintf(`INSERT INTO runs (id, host_id, tool, cwd, command, title, status, waits, meta_json, started_at, last_active_at, ended_at, prefix_seq, last_seq)
		WITH RECURSIVE all_of(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM all_of WHERE n < %d)
		SELECT 'run_' || n, '%s', '', '', '', '', 'running', 0, '{}', 1, 1, 0, 1, 1 FROM all_of`, n, host))
}

// Mend undoes Break.
func (r *Relay) Mend() { r.exec(`DROP TRIGGER broken`) }

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

// Deaf is an end that does not read.
type Deaf struct {
	t testing.TB
	c *websocket.Conn
}

// Deaf connects an app that does not read.
func (r *Relay) Deaf(token string) *Deaf {
	r.T.Helper()
	return r.deaf("/ws/app?token=" + token)
}

// DeafHost connects a host that does not read.
func (r *Relay) DeafHost(id string) *Deaf {
	r.T.Helper()
	return r.deaf("/ws/host?host_id=" + id + "&host_token=token-" + id)
}

// sockets is how many the server has.
func (r *Relay) sockets() float64 {
	f := r.Server.Figures()
	return f["relay_hosts_connected"] + f["relay_apps_connected"]
}

func (r *Relay) deaf(path string) *Deaf {
	r.T.Helper()
	before := r.sockets()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	small := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if tcp, ok := c.(*net.TCPConn); ok {
			err = errors.Join(err, tcp.SetReadBuffer(64<<10))
		}
		return c, err
	}}
	c, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(r.URL, "http")+path, &websocket.DialOptions{HTTPClient: &http.Client{Transport: small}})
	if err != nil {
		r.T.Fatal(err)
	}
	r.T.Cleanup(func() { _ = c.CloseNow() })
	for r.sockets() == before { // it is there when the server has it
		runtime.Gosched()
	}
	return &Deaf{r.T, c}
}

// Hear reads to the end, and gives its code; -1 when none was said.
func (d *Deaf) Hear() int {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	d.c.SetReadLimit(2 * protocol.MaxFrame)
	for {
		if _, _, err := d.c.Read(ctx); err != nil {
			if ctx.Err() != nil {
				d.t.Fatal("the connection goes on")
			}
			return int(websocket.CloseStatus(err))
		}
	}
}

// Stream is a stream of server-sent events.
type Stream struct {
	Header http.Header
	t      testing.TB
	lines  *bufio.Scanner
}

// Stream opens one as a viewer; last is its Last-Event-ID, if it is not "".
func (r *Relay) Stream(path, last string) *Stream {
	r.T.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL+path, nil)
	if err != nil {
		r.T.Fatal(err)
	}
	q.Header.Set("Accept", "text/event-stream")
	q.Header.Set("Authorization", "Bearer "+Viewer)
	if last != "" {
		q.Header.Set("Last-Event-ID", last)
	}
	a, err := http.DefaultClient.Do(q)
	if err != nil || a.StatusCode != http.StatusOK {
		r.T.Fatalf("%v, %v", a, err)
	}
	r.T.Cleanup(func() { cancel(); _ = a.Body.Close() })
	s := &Stream{Header: a.Header, t: r.T, lines: bufio.NewScanner(a.Body)}
	s.lines.Buffer(nil, 2*protocol.MaxFrame)
	return s
}

// Event gives the next event.
func (s *Stream) Event() (id, data string) {
	s.t.Helper()
	for s.lines.Scan() {
		line := s.lines.Text()
		switch {
		case strings.HasPrefix(line, "id: "):
			id = line[4:]
		case strings.HasPrefix(line, "data: "):
			data = line[6:]
		case line == "" && data != "":
			return id, data
		}
	}
	s.t.Fatalf("the stream ended: %v", s.lines.Err())
	return "", ""
}

// Comment waits for a comment.
func (s *Stream) Comment() {
	s.t.Helper()
	for s.lines.Scan() {
		if strings.HasPrefix(s.lines.Text(), ":") {
			return
		}
	}
	s.t.Fatalf("the stream ended: %v", s.lines.Err())
}

// Offline waits until a host is seen to be away.
func (r *Relay) Offline(id string) {
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

// Stores says whether a text is in the files of the database.
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
