package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/relay/client/machineapi"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
	"github.com/concerto-lang/concerto/relay/server/servertest"
)

const owner = "owner:ada"

// post sends a text as an owner.
func post(r *servertest.Relay, token, path, body string) (int, string) {
	r.T.Helper()
	q, err := http.NewRequest("POST", r.URL+path, strings.NewReader(body))
	if err != nil {
		r.T.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+token)
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		r.T.Fatal(err)
	}
	defer a.Body.Close()
	var f struct{ Error struct{ Code string } }
	_ = json.NewDecoder(a.Body).Decode(&f) // a response without a body has no code
	return a.StatusCode, f.Error.Code
}

// account is a roster with the keys that sign its lines.
type account struct {
	*seal.Roster
	t   *testing.T
	key *seal.Keys
}

func newAccount(t *testing.T) *account {
	roster, key := seal.NewAccount(seal.NewRecoveryCode(), time.Now())
	return &account{roster, t, key}
}

// device returns a line that adds a device, and appends it to the roster if isStored is set.
func (a *account) device(isStored bool) string {
	a.t.Helper()
	m := seal.NewMember(seal.NewKeys(), a.Account(), seal.Device, "")
	m.User, m.Role, m.Page = "ada", seal.Owner, seal.PageCLI
	line, err := a.AddMember(seal.ByRecovery, a.key, m, time.Now())
	if err == nil && isStored {
		err = a.Append(line)
	}
	if err != nil {
		a.t.Fatal(err)
	}
	return string(line) + "\n"
}

// TestRosters appends lines to a roster and reads them. A line that does not continue the roster is
// refused, and nothing of its request is stored.
func TestRosters(t *testing.T) {
	t.Parallel()
	r := servertest.StartNow(t)
	a := newAccount(t)
	path := "/seal/" + a.Account() + "/roster"
	read := func(query string) string {
		t.Helper()
		status, body := r.Do(servertest.Viewer, "GET", path+query, nil)
		if status != 200 {
			t.Fatalf("roster: %d %s", status, body)
		}
		return string(body)
	}
	if status, body := r.Do(servertest.Viewer, "GET", path, nil); status != 404 || !strings.Contains(string(body), "unknown_account") {
		t.Errorf("unknown roster: %d %s", status, body)
	}
	genesis := string(a.Text())
	other, first := a.device(false), a.device(true)
	forged := strings.Replace(a.device(false), `"user":"ada"`, `"user":"eve"`, 1)
	second := a.device(true)
	for _, c := range []struct {
		name, token, path, body, code string
		status                        int
	}{
		{"by an operator", servertest.Operator, path, genesis, "forbidden", 403},
		{"not the first line", owner, path, first, "bad_message", 400},
		{"another account", owner, "/seal/a_1/roster", genesis, "wrong_request", 400},
		{"no line", owner, path, "", "bad_message", 400},
		{"two lines", owner, path, genesis + first, "", 204},
		{"the same lines", owner, path, genesis + first, "", 204},
		{"another second line", owner, path, other, "roster_conflict", 409},
		{"a forged line", owner, path, forged, "bad_signature", 400},
		{"a good and a forged line", owner, path, second + forged, "roster_conflict", 409},
		{"a long body", owner, path, strings.Repeat(" ", 65<<10), "too_large", 413},
		{"the third line", owner, path, second, "", 204},
		{"another part", owner, "/seal/" + a.Account() + "/other", second, "unknown_path", 404},
	} {
		if status, code := post(r, c.token, c.path, c.body); status != c.status || code != c.code {
			t.Errorf("%s: %d %s, want %d %s", c.name, status, code, c.status, c.code)
		}
	}
	if got := read(""); got != genesis+first+second {
		t.Errorf("roster = %s", got)
	}
	if got := read("?after=2"); got != second {
		t.Errorf("roster after line 2 = %s", got)
	}
	if got := read("?after=3"); got != "" {
		t.Errorf("roster after its end = %s", got)
	}
	for _, id := range []string{a.Account(), ""} {
		h, _ := r.Hello("host_a", protocol.HelloData{Account: id})
		if hosts := get[[]struct{ Account string }](r, "/hosts"); len(hosts) != 1 || hosts[0].Account != id {
			t.Errorf("machines = %+v, want the account %q", hosts, id)
		}
		defer h.Close()
	}
	for token, want := range map[string]int{"token-host_a": 200, "wrong": 401} {
		if status, body := r.Do(token, "GET", path+"?host_id=host_a", nil); status != want {
			t.Errorf("roster for a machine with the token %s: %d %s", token, status, body)
		}
	}
	if status, body := r.Do("token-host_a", "GET", "/runs?host_id=host_a", nil); status != 401 {
		t.Errorf("runs for a machine: %d %s, want 401", status, body)
	}
}

// TestKeyRecords publishes key records and histories of a host, and reads them as a device.
func TestKeyRecords(t *testing.T) {
	t.Parallel()
	r := servertest.StartNow(t)
	h, _ := r.Hello("host_a", protocol.HelloData{})
	defer h.Close()
	a := newAccount(t)
	base := "/seal/" + a.Account()
	a.device(true)
	hostKeys := seal.NewKeys()
	host := seal.NewMember(hostKeys, a.Account(), seal.Host, "host_a")
	host.User = "ada"
	line, err := a.AddMember(seal.ByRecovery, a.key, host, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Append(line); err != nil {
		t.Fatal(err)
	}
	epoch := func(keys *seal.Keys, last seal.EpochPosition) (*seal.Epoch, string, seal.EpochPosition) {
		t.Helper()
		e, text, err := a.NewEpoch("host_a", keys, last, nil, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		k, err := a.VerifyKeyRecord(text, "host_a", last)
		if err != nil {
			t.Fatal(err)
		}
		return e, string(text), k.Position()
	}
	e1, first, at1 := epoch(hostKeys, seal.EpochPosition{})
	_, second, _ := epoch(hostKeys, at1)
	_, another, _ := epoch(hostKeys, at1)
	device := a.Members()[0].ID
	history := func(by *seal.Keys) string {
		t.Helper()
		text, err := a.NewHistory("host_a", by, device, []*seal.Epoch{e1})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	ofHost, ofDevice := base+"/keys?host_id=host_a", base+"/history?host=host_a&device="+device
	for _, c := range []struct {
		name, token, path, body, code string
		status                        int
	}{
		{"before the roster", "token-host_a", ofHost, first, "unknown_account", 404},
		{"the roster", owner, base + "/roster", string(a.Text()), "", 204},
		{"by a user", owner, base + "/keys", first, "forbidden", 403},
		{"of another machine", "token-host_b", base + "/keys?host_id=host_b", first, "wrong_request", 400},
		{"no record", "token-host_a", ofHost, "{}", "bad_message", 400},
		{"the first record", "token-host_a", ofHost, first, "", 204},
		{"a forged record", "token-host_a", ofHost, strings.Replace(second, `"epoch":2`, `"epoch":3`, 1), "bad_signature", 400},
		{"the second record", "token-host_a", ofHost, second + "\n", "", 204},
		{"the second record again", "token-host_a", ofHost, second, "", 204},
		{"another second record", "token-host_a", ofHost, another, "roster_conflict", 409},
		{"an earlier record", "token-host_a", ofHost, first, "old_epoch", 400},
		{"a long record", "token-host_a", ofHost, strings.Repeat(" ", 2<<20), "too_large", 413},
		{"a history by an operator", servertest.Operator, ofDevice, history(hostKeys), "forbidden", 403},
		{"a history for another device", "token-host_a", base + "/history?host_id=host_a&host=host_a&device=d_1", history(hostKeys), "wrong_request", 400},
		{"a history without a device", "token-host_a", base + "/history?host_id=host_a&host=host_a", history(hostKeys), "bad_message", 400},
		{"a history", "token-host_a", ofDevice + "&host_id=host_a", history(hostKeys), "", 204},
	} {
		if strings.Contains(c.path, "host_b") {
			b, _ := r.Hello("host_b", protocol.HelloData{})
			defer b.Close()
		}
		if status, code := post(r, c.token, c.path, c.body); status != c.status || code != c.code {
			t.Errorf("%s: %d %s, want %d %s", c.name, status, code, c.status, c.code)
		}
	}
	newest := history(hostKeys)
	if status, code := post(r, owner, ofDevice, newest); status != 204 {
		t.Errorf("a second history: %d %s", status, code)
	}
	for path, want := range map[string]string{
		base + "/keys?host=host_a": first + "\n" + second + "\n", base + "/keys?host=host_a&after=1": second + "\n",
		base + "/keys?host=host_a&after=2": "", ofDevice: newest + "\n",
	} {
		if status, body := r.Do(servertest.Viewer, "GET", path, nil); status != 200 || string(body) != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	machine := machineapi.Client{Base: r.URL, MachineID: "host_a", Token: "token-host_a"}
	if n, err := machine.OldestEpoch(t.Context(), a.Account(), "host_a"); err != nil || n != 0 {
		t.Errorf("the oldest epoch of a machine without runs = %d, %v; want 0", n, err)
	}
	h.Raw([]byte(`{"type":"run.started","ts":"2026-01-02T15:04:05Z","run_id":"run_a","seq":1,"enc":{"v":1,"epoch":2},"data":{"ct":"c","prev":""}}`))
	h.Acked("run_a", 1)
	if n, err := machine.OldestEpoch(t.Context(), a.Account(), "host_a"); err != nil || n != 2 {
		t.Errorf("the oldest epoch = %d, %v; want 2", n, err)
	}
	for path, want := range map[string]int{base + "/oldest": 400, base + "/keys?host=host_b": 404, base + "/keys": 400, base + "/history?host=host_a&device=d_1": 404} {
		if status, body := r.Do(servertest.Viewer, "GET", path, nil); status != want {
			t.Errorf("%s: %d %s, want %d", path, status, body, want)
		}
	}
}

// TestEnrolmentMessages passes messages between the sides of an enrolment.
func TestEnrolmentMessages(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	send := func(session, side, text string) (int, string) {
		t.Helper()
		body, err := json.Marshal(map[string]string{"side": side, "text": text})
		if err != nil {
			t.Fatal(err)
		}
		return post(r, servertest.Viewer, "/seal/join/"+session, string(body))
	}
	receive := func(session, query string) string {
		t.Helper()
		status, body := r.Do(servertest.Viewer, "GET", "/seal/join/"+session+query, nil)
		if status != 200 {
			t.Fatalf("messages: %d %s", status, body)
		}
		return strings.TrimSpace(string(body))
	}
	waited := make(chan string)
	go func() { waited <- receive("j_1", "?side=add&wait=25") }()
	if status, code := send("j_1", "join", `a "reply"`); status != 204 {
		t.Fatal(status, code)
	}
	if got := <-waited; got != `{"messages":["a \"reply\""],"next":1}` {
		t.Errorf("awaited messages = %s", got)
	}
	if got := receive("j_1", "?side=add&after=1"); got != `{"messages":[],"next":1}` {
		t.Errorf("messages after the first = %s", got)
	}
	if got := receive("j_1", "?side=join"); got != `{"messages":[],"next":0}` {
		t.Errorf("messages for the side that has sent one = %s", got)
	}
	go func() { waited <- receive("j_1", "?side=join&wait=20") }()
	for r.Clock.Timers() < 2 { // of the sweeper, and of the request
		time.Sleep(time.Millisecond)
	}
	r.Advance(20 * time.Second)
	if got := <-waited; got != `{"messages":[],"next":0}` {
		t.Errorf("messages after the wait = %s", got)
	}
	for _, c := range []struct{ session, side, text, code string }{{"j_1", "both", "x", "bad_message"}, {"j 1", "add", "x", "bad_message"}, {"j_1", "add", "", "bad_message"}, {"j_1", "add", strings.Repeat("x", 8<<10+1), "too_large"}} {
		if _, code := send(strings.ReplaceAll(c.session, " ", "%20"), c.side, c.text); code != c.code {
			t.Errorf("%s of %q: code = %s, want %s", c.side, c.session, code, c.code)
		}
	}
	for n := 1; n <= maxMails; n++ {
		if _, code := send("j_1", "join", strings.Repeat("ü", 4<<10)); (code != "") != (n == maxMails) {
			t.Errorf("message %d: code = %s", n+1, code)
		}
	}
	for n := range 100 {
		r.Advance(time.Second / 10) // the rate of commands is limited
		if _, code := send(fmt.Sprintf("j_more%d", n), "add", "x"); (code != "") != (n == 99) {
			t.Errorf("enrolment %d: code = %s", n+2, code)
		}
	}
	r.Advance(10 * time.Minute)
	if got := receive("j_1", "?side=add"); got != `{"messages":[],"next":0}` {
		t.Errorf("messages after 10 minutes = %s", got)
	}
	if status, code := send("j_2", "join", "x"); status != 204 {
		t.Errorf("after 10 minutes: %d %s", status, code)
	}
}

const maxMails = 8

// TestSealedCommandsPass sends sealed commands. The machine receives their data as they were sent,
// and the user in the envelope. A repetition is the same command, another text is none.
func TestSealedCommandsPass(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h, _ := r.Hello("host_a", protocol.HelloData{})
	h.Begin("run_a")
	h.Send(protocol.RunPermissionRequested, "run_a", 2, asked)
	h.Acked("run_a", 2)
	a := r.HelloApp(servertest.Operator, "&follow=none")
	for typ, id := range map[string]string{protocol.RunSendInput: "i1", protocol.RunDecide: "q1", protocol.RunStop: "s1"} {
		frame := func(ct string) []byte {
			return fmt.Appendf(nil, `{"type":%q,"ts":"2025-01-01T00:00:00Z","run_id":"run_a","id":%q,"by":"bob","enc":{"epoch":7,"v":1},"data":{"ct":%q,"device":"d_a","epoch":7,"id":%q}}`, typ, id, ct, id)
		}
		a.Raw(frame("first"))
		e := h.Next(typ)
		if want := `{"ct":"first","device":"d_a","epoch":7,"id":"` + id + `"}`; string(e.Data) != want || e.ID != id || string(e.Enc) != `{"epoch":7,"v":1}` {
			t.Errorf("the machine received %s, want the data %s", e.Append(nil), want)
		}
		if len(e.Extra) != 1 || e.Extra[0].Name != "by" || string(e.Extra[0].Value) != `"eve"` {
			t.Errorf("%s: other fields = %v, want the user", typ, e.Extra)
		}
		a.Raw(frame("second"))
		if d := a.NextError(); d.Code != protocol.InputConflict && d.Code != protocol.AlreadyDecided || d.Re != id {
			t.Errorf("%s with another content: %+v", typ, d)
		}
		a.Raw(frame("first"))
	}
	a.Send("run.other", "run_a", 0, `{}`)
	if d := a.NextError(); d.Code != protocol.UnknownType {
		t.Errorf("error for a repeated command: %+v", d)
	}
}
