package hostd_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/relay/hostd"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
	"github.com/concerto-lang/concerto/relay/server/servertest"
)

// machine is hostd with an account, a run of a program, and an app, at a server on loopback.
type machine struct {
	t        *testing.T
	relay    *servertest.Relay
	state    string
	roster   *seal.Roster
	recovery *seal.Keys
	phone    *seal.Keys
	guest    *seal.Keys // of a viewer
	tablet   *seal.Keys // of a device that was removed
	counter  int64

	// change, if not nil, changes a statement before it is signed. It may return another signer.
	change func(s *seal.Statement) *seal.Keys

	app     *servertest.Peer
	program net.Conn
	lines   *bufio.Scanner // what hostd sends the program
	run     string
	end     func()
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{t: t, relay: servertest.StartNow(t), state: t.TempDir(), phone: seal.NewKeys(), guest: seal.NewKeys(), tablet: seal.NewKeys()}
	m.roster, m.recovery = seal.NewAccount(seal.NewRecoveryCode(), time.Now())
	host := seal.NewKeys()
	for _, one := range []struct {
		keys       *seal.Keys
		kind, role string
		page       string
	}{{m.phone, seal.Device, seal.Owner, seal.PageCLI}, {host, seal.Host, "", ""}, {m.guest, seal.Device, seal.Viewer, seal.PageServer}, {m.tablet, seal.Device, seal.Owner, seal.PageServer}} {
		x := seal.NewMember(one.keys, m.roster.Account(), one.kind, "host_a")
		x.User, x.Role, x.Page = "ada", one.role, one.page
		m.append(m.roster.AddMember(seal.ByRecovery, m.recovery, x, time.Now()))
	}
	m.append(m.roster.RemoveMember(seal.ByRecovery, m.recovery, m.tablet.Public().DeviceID(), time.Now()))
	m.put("roster.ndjson", m.roster.Text())
	m.put("keys.json", host.Marshal())
	m.app = m.relay.HelloApp(servertest.Operator, "")
	m.start()
	m.begin()
	return m
}

func (m *machine) append(line []byte, err error) {
	m.t.Helper()
	if err == nil {
		err = m.roster.Append(line)
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) put(name string, text []byte) {
	m.t.Helper()
	dir := filepath.Join(m.state, "seal")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// start starts hostd.
func (m *machine) start() {
	m.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	d, err := hostd.Open(ctx, hostd.Options{Server: m.relay.URL, MachineID: "host_a", Token: "t", State: m.state, Socket: filepath.Join(m.state, "s"), Roots: []string{m.state}, RemoteExec: true, Version: "test", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		m.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	m.end = func() {
		cancel()
		if err := <-done; err != nil {
			m.t.Error(err)
		}
		d.Close()
	}
	m.t.Cleanup(func() { m.end() })
}

// begin starts the run of a program.
func (m *machine) begin() {
	m.t.Helper()
	var err error
	if m.program, err = net.Dial("unix", filepath.Join(m.state, "s")); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { m.program.Close() })
	fmt.Fprintf(m.program, "POST /source HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: concerto-source\r\n\r\n")
	m.lines = bufio.NewScanner(m.program)
	for m.lines.Scan() && m.lines.Text() != "" {
		if id, ok := strings.CutPrefix(m.lines.Text(), protocol.SourceRun+": "); ok {
			m.run = id
		}
	}
	fmt.Fprintf(m.program, `{"event":"run.started","data":{"tool":"t","cwd":%q,"command":"c"}}`+"\n", m.state)
	m.app.Next(protocol.RunStarted)
}

// local sends a request to hostd's socket.
func (m *machine) local(method, path string) string {
	m.t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(m.state, "s"))
	}}}
	q, err := http.NewRequest(method, "http://localhost"+path, nil)
	if err != nil {
		m.t.Fatal(err)
	}
	r, err := client.Do(q)
	if err != nil {
		m.t.Fatal(err)
	}
	defer r.Body.Close()
	var b strings.Builder
	if err := r.Write(&b); err != nil || r.StatusCode != 200 {
		m.t.Fatalf("%s %s: %s, %v", method, path, b.String(), err)
	}
	return b.String()
}

// ask makes the program ask for an approval, and returns the request.
func (m *machine) ask(id string) protocol.Envelope {
	m.t.Helper()
	fmt.Fprintf(m.program, `{"ask":%q,"reason":"permission","prompt":"Remove it?","op_tool":"rm","args_sha256":%q,"fresh":"forged","from":{"kind":"approval"}}`+"\n", id, strings.Repeat("ab", 32))
	return m.app.Next(protocol.RunPermissionRequested)
}

// info returns the result of rpc.host.info, which needs no signature.
func (m *machine) info() (i protocol.MachineInfo) {
	m.t.Helper()
	m.counter++
	id := fmt.Sprintf("info%d", m.counter)
	m.app.Send(protocol.RPCMachineInfo, "", 0, map[string]string{"request_id": id, "host_id": "host_a"})
	r := m.response()
	if err := json.Unmarshal(r.Result, &i); err != nil || !r.OK {
		m.t.Fatalf("rpc.host.info: %+v", r)
	}
	return i
}

func (m *machine) response() protocol.Response {
	m.t.Helper()
	e := m.app.Next(protocol.RPCResponse)
	r, err := protocol.Decode[protocol.Response](&e)
	if err != nil {
		m.t.Fatal(err)
	}
	return r
}

// epoch returns the newest keys that the machine has wrapped for a device. One that is no member
// has invented them.
func (m *machine) epoch(by *seal.Keys) *seal.Epoch {
	m.t.Helper()
	id := by.Public().DeviceID()
	_, isMember := m.roster.Member(id)
	for late := time.Now().Add(time.Minute); time.Now().Before(late); time.Sleep(10 * time.Millisecond) {
		_, body := m.relay.Do(servertest.Viewer, "GET", "/seal/"+m.roster.Account()+"/keys?host=host_a&after=0", nil)
		var known seal.EpochPosition
		var newest *seal.Epoch
		for line := range bytes.Lines(body) {
			k, err := m.roster.VerifyKeyRecord(bytes.TrimSuffix(line, []byte("\n")), "host_a", known)
			if err != nil {
				break // the server has none yet, and reports an error
			}
			known = k.Position()
			if e, err := k.Open(id, by); err == nil {
				newest = e
			}
		}
		switch {
		case newest != nil:
			return newest
		case known.N > 0 && !isMember:
			return &seal.Epoch{N: known.N, Account: m.roster.Account(), Host: "host_a", Commands: map[string]seal.Key{id: {}}}
		}
	}
	m.t.Fatalf("timeout: device %s has no keys", id)
	return nil
}

// sealed returns a command as a device signs and seals it. The envelope remains the same if
// m.change changes the statement.
func (m *machine) sealed(typ string, s seal.Statement, data string) protocol.Envelope {
	m.t.Helper()
	if s.Fresh == "" {
		s.Fresh = m.info().Fresh
	}
	m.counter++
	s.Account, s.Host, s.Run, s.Counter, s.Roster = m.roster.Account(), "host_a", m.run, m.counter, m.roster.Head()
	e := protocol.Envelope{Type: typ, TS: "2026-01-02T15:04:05.000Z", RunID: m.run, ID: s.ID}
	by := m.phone
	if m.change != nil {
		if other := m.change(&s); other != nil {
			by = other
		}
	}
	c, err := s.Sign(by, json.RawMessage(data), time.Now())
	if err != nil {
		m.t.Fatal(err)
	}
	sealed, err := m.epoch(by).SealCommand(c)
	if err != nil {
		m.t.Fatal(err)
	}
	if e.Data, err = json.Marshal(sealed); err != nil {
		m.t.Fatal(err)
	}
	e.Enc = seal.EncOf(sealed.Epoch)
	return e
}

// decision returns a decision of a request, as it is shown.
func (m *machine) decision(shown *protocol.Envelope, decision, data string) protocol.Envelope {
	m.t.Helper()
	q, err := protocol.Decode[protocol.PermissionRequested](shown)
	if err != nil {
		m.t.Fatal(err)
	}
	sum, err := seal.HashRequest(shown.Data)
	if err != nil {
		m.t.Fatal(err)
	}
	return m.sealed(protocol.RunDecide, seal.Statement{Kind: seal.KindDecide, ID: q.RequestID, Fresh: q.Fresh, RequestSHA256: sum, ArgsSHA256: q.ArgsSHA256, Decision: decision, Scope: "once"}, data)
}

// input returns an input to the run.
func (m *machine) input(id, text string) protocol.Envelope {
	m.t.Helper()
	return m.sealed(protocol.RunSendInput, seal.Statement{Kind: seal.KindInput, ID: id}, `{"input_id":"`+id+`","text":"`+text+`"}`)
}

func (m *machine) send(e protocol.Envelope) { m.app.Raw(e.Append(nil)) }

// state waits for the final state of a command.
func (m *machine) finalState(id string) protocol.State {
	m.t.Helper()
	for {
		e := m.app.Next(protocol.CommandState)
		s, err := protocol.Decode[protocol.State](&e)
		if err != nil {
			m.t.Fatal(err)
		}
		if s.ID == id && s.State != protocol.InputAccepted && s.State != protocol.InputSent {
			return s
		}
	}
}

// refused checks that a command was refused, and that the run's thread has it.
func (m *machine) refused(id, action string, code protocol.Code) {
	m.t.Helper()
	if s := m.finalState(id); s.State != protocol.InputRejected || !strings.HasPrefix(s.Error, string(code)+": ") {
		m.t.Errorf("%s %s: state = %+v, want a refusal with %s", action, id, s, code)
	}
	m.refusedEvent(action, code)
}

func (m *machine) refusedEvent(action string, code protocol.Code) {
	m.t.Helper()
	e := m.app.Next(protocol.RunRefused)
	d, err := protocol.Decode[protocol.OwnRefused](&e)
	if err != nil || d.Action != action || d.Code != code {
		m.t.Errorf("run.refused = %s, want %s %s", e.Data, action, code)
	}
}

// read returns the next line that hostd sends the program.
func (m *machine) read() string {
	m.t.Helper()
	_ = m.program.SetReadDeadline(time.Now().Add(time.Minute))
	if !m.lines.Scan() {
		m.t.Fatalf("no line from hostd: %v", m.lines.Err())
	}
	return m.lines.Text()
}

// open opens the response to a sealed RPC.
func (m *machine) open(rpc, response protocol.Envelope) string {
	m.t.Helper()
	c, err := seal.ParseSealedCommand(rpc.Data)
	if err != nil {
		m.t.Fatal(err)
	}
	d, err := protocol.Decode[protocol.SealedResponse](&response)
	if err != nil {
		m.t.Fatal(err)
	}
	text, err := m.epoch(m.phone).OpenResponse(m.run, c, d.CT)
	if err != nil {
		m.t.Fatalf("response %s: %v", response.Data, err)
	}
	return string(text)
}

func (m *machine) ledgerKinds() (all []string) {
	m.t.Helper()
	text, err := os.ReadFile(filepath.Join(m.state, "ledger.ndjson"))
	if err != nil {
		m.t.Fatal(err)
	}
	for l := range strings.Lines(string(text)) {
		var r struct{ Kind string }
		if err := json.Unmarshal([]byte(l), &r); err != nil {
			m.t.Fatal(err)
		}
		all = append(all, r.Kind)
	}
	return all
}

// TestAccount uses a machine with an account through a server: what a device has sealed is done
// once, and nothing else.
func TestAccount(t *testing.T) {
	m := newMachine(t)
	if i := m.info(); i.Account != m.roster.Account() || i.Roster == nil || *i.Roster != protocol.RosterPosition(m.roster.Head()) {
		t.Fatalf("rpc.host.info = %+v", i)
	}
	if status, body := m.relay.Do(servertest.Viewer, "GET", "/hosts", nil); status != 200 || !strings.Contains(string(body), `"account":"`+m.roster.Account()+`"`) {
		t.Errorf("machines: %d %s", status, body)
	}
	q1 := m.ask("q1")
	m.app.Send(protocol.RunApprove, m.run, 0, `{"request_id":"q1"}`)
	m.refused("q1", "decide", protocol.UnknownDevice)
	deny := m.decision(&q1, "deny", `{"request_id":"q1"}`)
	deny.Type = protocol.RunApprove
	m.send(deny)
	m.refused("q1", "decide", protocol.WrongRequest)
	m.send(m.decision(&q1, "approve", `{"request_id":"q1","text":"fine"}`))
	if got := m.read(); !strings.Contains(got, `"answer":"q1"`) || !strings.Contains(got, `"decision":"allow"`) || !strings.Contains(got, `"by":"ada"`) {
		t.Errorf("answer = %s", got)
	}
	if s := m.finalState("q1"); s.State != protocol.InputApplied {
		t.Errorf("state = %+v, want applied", s)
	}
	if e := m.app.Next(protocol.RunPermissionResolved); !strings.Contains(string(e.Data), `"by":"ada"`) { // the user of the roster, not of the server
		t.Errorf("outcome = %s", e.Data)
	}
	m.app.Send(protocol.RunSendInput, m.run, 0, `{"input_id":"i1","text":"plain"}`)
	m.refused("i1", "input", protocol.UnknownDevice)
	m.send(m.input("i2", "go on"))
	if got := m.read(); !strings.Contains(got, `"id":"i2"`) || !strings.Contains(got, `"text":"go on"`) {
		t.Errorf("message for the program = %s", got)
	}
	fmt.Fprintln(m.program, `{"steered":"i2"}`)
	if s := m.finalState("i2"); s.State != protocol.InputApplied {
		t.Errorf("state = %+v, want applied", s)
	}
	m.app.Send(protocol.RPCListDir, m.run, 0, `{"request_id":"r1"}`)
	if r := m.response(); r.OK || r.ErrorCode != protocol.RPCCode(protocol.UnknownDevice) {
		t.Errorf("plain rpc: %+v", r)
	}
	m.refusedEvent("rpc", protocol.UnknownDevice)
	list := m.sealed(protocol.RPCSealed, seal.Statement{Kind: seal.KindRPC, ID: "r2"}, `{"request_id":"r2","rpc_type":"rpc.fs.list"}`)
	m.send(list)
	if text := m.open(list, m.app.Next(protocol.RPCResponse)); !strings.Contains(text, `"ok":true`) || !strings.Contains(text, `"name":"seal"`) {
		t.Errorf("sealed rpc: %s", text)
	}
	if got, want := m.ledgerKinds(), []string{"refused", "refused", "decision", "refused", "refused"}; !slices.Equal(got, want) {
		t.Errorf("ledger = %q, want %q", got, want)
	}
	if got := m.local("GET", "/seal"); !strings.Contains(got, `"account":"`+m.roster.Account()) || strings.Contains(got, "fork") {
		t.Errorf("account on the socket = %s", got)
	}
}

// TestRefusals sends a server commands that the machine must refuse. None reaches the program, and
// each is in the thread of the run and in the ledger. A request that was refused stays open.
func TestRefusals(t *testing.T) {
	m := newMachine(t)
	change := func(do func(s *seal.Statement)) func(*seal.Statement) *seal.Keys {
		return func(s *seal.Statement) *seal.Keys { do(s); return nil }
	}
	by := func(k *seal.Keys) func(*seal.Statement) *seal.Keys {
		return func(*seal.Statement) *seal.Keys { return k }
	}
	refused := 0
	check := func(id, action string, code protocol.Code) {
		t.Helper()
		m.refused(id, action, code)
		if refused++; len(m.ledgerKinds()) != refused {
			t.Errorf("%s: ledger = %q, want %d records", code, m.ledgerKinds(), refused)
		}
	}
	q := m.ask("q1")
	other := m.ask("q2")
	for _, c := range []struct {
		code   protocol.Code
		change func(*seal.Statement) *seal.Keys
	}{
		{protocol.WrongRequest, change(func(s *seal.Statement) { s.ID = "q2" })},
		{protocol.BadSignature, change(func(s *seal.Statement) { s.Run = "run_other" })},
		{protocol.WrongRequest, change(func(s *seal.Statement) { s.Host = "host_b" })},
		{protocol.ArgsChanged, change(func(s *seal.Statement) { s.ArgsSHA256 = strings.Repeat("0", 64) })},
		{protocol.ArgsChanged, change(func(s *seal.Statement) { s.RequestSHA256, _ = seal.HashRequest(other.Data) })},
		{protocol.Stale, change(func(s *seal.Statement) { s.Fresh = seal.NewFreshKey().Token(time.Now()) })},
		{protocol.UnknownDevice, by(m.tablet)},
		{protocol.UnknownDevice, by(seal.NewKeys())},
		{protocol.Forbidden, by(m.guest)},
		{protocol.RosterFork, change(func(s *seal.Statement) { s.Roster.Hash = strings.Repeat("0", 64) })},
		{protocol.RosterFork, change(func(s *seal.Statement) { s.Roster.N++ })},
	} {
		m.change = c.change
		m.send(m.decision(&q, "approve", `{"request_id":"q1"}`))
		check("q1", "decide", c.code)
	}
	m.change = nil
	// The server of an attacker changes the data.
	changed := m.decision(&q, "approve", `{"request_id":"q1"}`)
	changed.Data = bytes.Replace(changed.Data, []byte(m.phone.Public().DeviceID()), []byte(m.guest.Public().DeviceID()), 1)
	m.send(changed)
	check("q1", "decide", protocol.BadSignature)
	m.send(m.decision(&q, "approve", `{"request_id":"q1"}`))
	if got := m.read(); !strings.Contains(got, `"answer":"q1"`) { // nothing came before it
		t.Errorf("answer = %s", got)
	}
	refused++ // the record of the decision
	var last int64
	input := func(id string, do func(s *seal.Statement)) {
		t.Helper()
		m.change = change(do)
		m.send(m.input(id, "a"))
	}
	input("i1", func(s *seal.Statement) { last = s.Counter })
	m.steered("i1")
	input("i2", func(s *seal.Statement) { s.Counter = last })
	check("i2", "input", protocol.Replayed)
	input("i3", func(s *seal.Statement) { s.After = last + 1 }) // an input that the server has withheld
	check("i3", "input", protocol.Reordered)
	input("i4", func(s *seal.Statement) { s.After = last })
	m.steered("i4")
}

// steered reads a message of a user as the program, and confirms it.
func (m *machine) steered(id string) {
	m.t.Helper()
	if got := m.read(); !strings.Contains(got, `"id":"`+id+`"`) {
		m.t.Errorf("message for the program = %s, want %s", got, id)
	}
	fmt.Fprintf(m.program, `{"steered":%q}`+"\n", id)
	if s := m.finalState(id); s.State != protocol.InputApplied {
		m.t.Errorf("state = %+v, want applied", s)
	}
}

// TestRosterOfMachine publishes the roster of a machine, and follows the server's. The server
// forgets the account of a machine that has left it.
func TestRosterOfMachine(t *testing.T) {
	m := newMachine(t)
	path := "/seal/" + m.roster.Account() + "/roster"
	read := func() string {
		_, body := m.relay.Do(servertest.Viewer, "GET", path, nil)
		return string(body)
	}
	await := func(what string, is func() bool) {
		t.Helper()
		for late := time.Now().Add(time.Minute); !is(); {
			if time.Now().After(late) {
				t.Fatal("timeout: " + what)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	await("the machine publishes its roster", func() bool { return read() == string(m.roster.Text()) })
	tablet := seal.NewKeys()
	x := seal.NewMember(tablet, m.roster.Account(), seal.Device, "")
	x.User, x.Role, x.Page = "ada", seal.Operator, seal.PageServer
	line, err := m.roster.AddMember(seal.ByRecovery, m.recovery, x, time.Now())
	m.append(line, err)
	q, err := http.NewRequest("POST", m.relay.URL+path, strings.NewReader(string(line)+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer owner:ada")
	r, err := http.DefaultClient.Do(q)
	if err != nil || r.StatusCode != 204 {
		t.Fatal(r, err)
	}
	r.Body.Close()
	m.phone = tablet
	m.info() // the machine reads the new line, and makes keys for the device
	q1 := m.ask("q1")
	m.send(m.decision(&q1, "deny", `{"request_id":"q1"}`))
	if got := m.read(); !strings.Contains(got, `"decision":"deny"`) {
		t.Errorf("answer = %s", got)
	}
	if err := os.RemoveAll(filepath.Join(m.state, "seal")); err != nil {
		t.Fatal(err)
	}
	if got := m.local("POST", "/seal/reload"); strings.Contains(got, "account") {
		t.Errorf("reload = %s, want no account", got)
	}
	await("the server forgets the account", func() bool {
		_, body := m.relay.Do(servertest.Viewer, "GET", "/hosts", nil)
		return !strings.Contains(string(body), `"account"`)
	})
	m.ask("q2")
	m.app.Send(protocol.RunDeny, m.run, 0, `{"request_id":"q2"}`)
	if got := m.read(); !strings.Contains(got, `"answer":"q2"`) {
		t.Errorf("answer = %s", got)
	}
}
