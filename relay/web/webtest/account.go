package webtest

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
	"github.com/concerto-lang/concerto/relay/server/servertest"
)

// Account is an account with a command line of its owner and one host. It plays what the server
// and hostd do for an account: the roster, the mailboxes of enrolments, and the checks of the
// host.
type Account struct {
	T     testing.TB
	ID    string
	Host  string
	Fresh seal.FreshKey
	// Got receives the messages of the page to the host, except rpc.host.info, which is answered.
	Got chan protocol.Envelope

	mu      sync.Mutex
	roster  *seal.Roster
	shown   []byte // the roster that the server shows instead, if any
	owner   *seal.Keys
	ownerID string
	machine *seal.Keys
	sealed  sealedRuns
	devices map[string]seal.DeviceState
	boxes   map[string]map[string][]string // messages by session and side
	posted  chan string                    // sessions of which a device has sent its reply
}

// NewAccount creates an account for a machine.
func NewAccount(t testing.TB, host string) *Account {
	t.Helper()
	a := &Account{T: t, Host: host, Fresh: seal.NewFreshKey(), Got: make(chan protocol.Envelope, 100), owner: seal.NewKeys(), machine: seal.NewKeys(),
		devices: map[string]seal.DeviceState{}, boxes: map[string]map[string][]string{}, posted: make(chan string, 10),
		sealed: sealedRuns{history: map[string]string{}, ends: map[string]seal.End{}, requests: map[string]map[string]protocol.Envelope{}}}
	roster, recovery := seal.NewAccount(seal.NewRecoveryCode(), time.Now().Add(-time.Hour))
	a.roster, a.ID = roster, roster.Account()
	cli := seal.NewMember(a.owner, a.ID, seal.Device, "")
	cli.User, cli.Role, cli.Page = Owner, seal.Owner, seal.PageCLI
	a.ownerID = cli.ID
	a.append(roster.AddMember(seal.ByRecovery, recovery, cli, time.Now()))
	machine := seal.NewMember(a.machine, a.ID, seal.Host, host)
	machine.User = Owner
	a.append(roster.AddMember(cli.ID, a.owner, machine, time.Now()))
	return a
}

func (a *Account) append(line []byte, err error) {
	a.T.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil {
		err = a.roster.Append(line)
	}
	if err != nil {
		a.T.Fatal(err)
	}
}

// Link returns a link that enrols a device with the relay's page.
func (a *Account) Link(server string, valid time.Duration) *seal.Link {
	return seal.NewLink(server+"/", a.ID, server, time.Now().Add(valid))
}

// Confirm waits for the reply of a device that has opened a link, and adds the device as its owner
// does. It returns the name of the device.
func (a *Account) Confirm(link *seal.Link, role string) (id, name string) {
	a.T.Helper()
	m, name := a.reply(link)
	m.User, m.Role, m.Page = Owner, role, link.MemberPage()
	a.append(a.roster.AddMember(a.ownerID, a.owner, m, time.Now()))
	a.firstEpoch()
	return m.ID, name
}

// Refuse waits for the reply of a device, and refuses it.
func (a *Account) Refuse(link *seal.Link) {
	a.T.Helper()
	a.reply(link)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.boxes[link.Session]["add"] = append(a.boxes[link.Session]["add"], `{"refused":true,"v":1}`)
}

func (a *Account) reply(link *seal.Link) (seal.Member, string) {
	a.T.Helper()
	for session := range a.posted {
		if session != link.Session {
			continue
		}
		a.mu.Lock()
		text := a.boxes[session]["join"][0]
		a.mu.Unlock()
		m, name, err := link.Accept([]byte(text), time.Now())
		if err != nil {
			a.T.Fatal(err)
		}
		return m, name
	}
	panic("unreachable")
}

// Remove removes a device.
func (a *Account) Remove(id string) {
	a.T.Helper()
	a.append(a.roster.RemoveMember(a.ownerID, a.owner, id, time.Now()))
}

// Fork makes the server show another roster of the account, in which the lines from n on differ.
func (a *Account) Fork(n int) {
	a.T.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	lines := strings.SplitAfter(string(a.roster.Text()), "\n")
	other, err := seal.ParseRoster([]byte(strings.Join(lines[:n-1], "")), "", seal.Position{})
	if err != nil {
		a.T.Fatal(err)
	}
	for range len(lines) - n {
		line, err := other.SetPolicy(a.ownerID, a.owner, seal.Policy{}, time.Now())
		if err == nil {
			err = other.Append(line)
		}
		if err != nil {
			a.T.Fatal(err)
		}
	}
	a.shown = other.Text()
}

// Resolve makes the server show the right roster again.
func (a *Account) Resolve() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.shown = nil
}

// Text returns the roster that the server shows.
func (a *Account) Text() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.shown != nil {
		return string(a.shown)
	}
	return string(a.roster.Text())
}

// Token returns a new token of the host.
func (a *Account) Token() string { return a.Fresh.Token(time.Now()) }

// Play makes a machine answer rpc.host.info, and sends all other messages to Got,
// except acknowledgements.
func (a *Account) Play(machine *servertest.Peer) {
	machine.Each(func(e protocol.Envelope) {
		var asked struct {
			RequestID string `json:"request_id"`
		}
		if e.Type != protocol.RPCMachineInfo || json.Unmarshal(e.Data, &asked) != nil {
			if e.Type != protocol.RunAck {
				a.Got <- e
			}
			return
		}
		a.mu.Lock()
		head, fresh := a.roster.Head(), a.Token()
		beat, err := seal.NewBeat(a.machine, a.ID, a.Host, a.sealed.ends, fresh)
		a.mu.Unlock()
		if err != nil {
			panic(err)
		}
		result, err := json.Marshal(Data{"host_id": a.Host, "pid": 1, "os": "linux", "arch": "amd64", "version": "1", "tools": health.Tools, "account": a.ID, "fresh": fresh, "roster": head, "beat": json.RawMessage(beat)})
		if err != nil {
			panic(err)
		}
		machine.Answer(&e, protocol.Response{RequestID: asked.RequestID, RPCType: e.Type, OK: true, Result: result})
	})
}

// Next returns the next message of a type that the page has sent to the host.
func (a *Account) Next(typ string) protocol.Envelope {
	a.T.Helper()
	return a.NextOf(typ)
}

// NextOf returns the next message of one of the types that the page has sent to the host.
func (a *Account) NextOf(types ...string) protocol.Envelope {
	a.T.Helper()
	for {
		select {
		case e := <-a.Got:
			if slices.Contains(types, e.Type) {
				return e
			}
		case <-time.After(time.Minute):
			a.T.Fatalf("no %s arrived", strings.Join(types, " or "))
		}
	}
}

// Check checks the signature of a command as the host does. id is that of the statement. For a
// decision, request is the data of the open request. The host accepts only sealed commands.
func (a *Account) Check(e *protocol.Envelope, kind, id string, request any) (*seal.Accepted, error) {
	a.T.Helper()
	env := seal.Envelope{Kind: kind, Run: e.RunID, ID: id}
	if request != nil {
		env.Request = requestOf(a.T, request)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	cmd, _, _, err := a.openCommand(e, kind)
	if err != nil {
		return nil, err
	}
	device := cmd.DeviceOf()
	c := seal.Checker{Roster: a.roster, Host: a.Host, Fresh: a.Fresh}
	ok, err := c.Check(cmd, env, a.devices[device], time.Now())
	if err == nil {
		a.devices[device] = ok.State
	}
	return ok, err
}

func requestOf(t testing.TB, data any) *seal.Request {
	t.Helper()
	text, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := seal.HashRequest(text)
	if err != nil {
		t.Fatal(err)
	}
	var q protocol.PermissionRequested
	if err := json.Unmarshal(text, &q); err != nil {
		t.Fatal(err)
	}
	return &seal.Request{SHA256: sum, ArgsSHA256: q.ArgsSHA256, Risk: q.Risk}
}

// Wrap adds the account to a server: the routes /seal/…, the member account of GET /hosts, and the
// members of sealed runs in lists.
func (a *Account) Wrap(next http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", next)
	mux.Handle("GET /hosts", rewrite(next, func(row map[string]any) {
		if row["id"] == a.Host {
			row["account"] = a.ID
		}
	}))
	for _, path := range []string{"GET /runs", "GET /runs/{run}", "GET /inbox"} {
		mux.Handle(path, rewrite(next, a.markSealed))
	}
	// One pattern, because /seal/{account}/roster and /seal/join/{session} conflict.
	mux.HandleFunc("/seal/{first}/{second}", func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.PathValue("second") == "keys":
			a.serveKeys(w, r)
		case r.PathValue("second") == "history":
			a.serveHistory(w, r)
		case r.PathValue("second") == "passkeys":
			next.ServeHTTP(w, r)
		case r.PathValue("first") != "join":
			a.serveRoster(w, r)
		case r.Method == http.MethodPost:
			a.postMessage(w, r)
		default:
			a.serveMessages(w, r)
		}
	})
	return mux
}

// rewrite changes the objects of a JSON response: a list of them, or one.
func rewrite(next http.Handler, change func(row map[string]any)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		next.ServeHTTP(rec, r)
		maps.Copy(w.Header(), rec.Header())
		body := rec.Body.Bytes()
		var rows []map[string]any
		var row map[string]any
		switch {
		case json.Unmarshal(body, &rows) == nil:
			for _, row := range rows {
				change(row)
			}
			body, _ = json.Marshal(rows)
		case json.Unmarshal(body, &row) == nil:
			change(row)
			body, _ = json.Marshal(row)
		}
		w.Header().Del("Content-Length")
		w.WriteHeader(rec.Code)
		_, _ = w.Write(body)
	})
}

func (a *Account) serveRoster(w http.ResponseWriter, r *http.Request) {
	after, err := strconv.Atoi(r.URL.Query().Get("after"))
	lines := strings.SplitAfter(a.Text(), "\n")
	if err != nil || r.PathValue("first") != a.ID {
		http.Error(w, `{"error":{"code":"unknown_account","message":"the account does not exist"}}`, http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(strings.Join(lines[min(after, len(lines)):], "")))
}

func (a *Account) postMessage(w http.ResponseWriter, r *http.Request) {
	var m struct{ Side, Text string }
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	session := r.PathValue("second")
	a.mu.Lock()
	if a.boxes[session] == nil {
		a.boxes[session] = map[string][]string{}
	}
	a.boxes[session][m.Side] = append(a.boxes[session][m.Side], m.Text)
	a.mu.Unlock()
	a.posted <- session
	w.WriteHeader(http.StatusNoContent)
}

func (a *Account) serveMessages(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	all := a.boxes[r.PathValue("second")][map[string]string{"join": "add", "add": "join"}[r.URL.Query().Get("side")]]
	a.mu.Unlock()
	after, err := strconv.Atoi(r.URL.Query().Get("after"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	body, err := json.Marshal(Data{"messages": append([]string{}, all[min(after, len(all)):]...), "next": len(all)})
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body)
}
