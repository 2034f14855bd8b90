package web_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/relaycli/connect"
	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/relaycli/runs"
	"github.com/concerto-lang/concerto/internal/testkit/testproc"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
	"github.com/concerto-lang/concerto/relay/web/webtest"
	"github.com/concerto-lang/concerto/tools/browser"
)

// sealedMachine is a machine with an account: hostd in a process of its own, at a real server.
type sealedMachine struct {
	*testing.T
	relay  *webtest.Relay
	dir    string
	roster *seal.Roster
	owner  *seal.Keys
	id     string // of the owner's command line
}

func startSealedMachine(t *testing.T, more ...string) *sealedMachine {
	t.Helper()
	program, err := testproc.Relay()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "sealed") // a short path, because it contains a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	m := &sealedMachine{T: t, relay: webtest.Start(t), dir: dir, owner: seal.NewKeys()}
	roster, recovery := seal.NewAccount(seal.NewRecoveryCode(), time.Now())
	m.roster = roster
	cli, host := seal.NewMember(m.owner, roster.Account(), seal.Device, ""), seal.NewKeys()
	cli.User, cli.Role, cli.Page = webtest.Owner, seal.Owner, seal.PageCLI
	m.id = cli.ID
	m.append(roster.AddMember(seal.ByRecovery, recovery, cli, time.Now()))
	machine := seal.NewMember(host, roster.Account(), seal.Host, "mbp")
	machine.User = webtest.Owner
	m.append(roster.AddMember(cli.ID, m.owner, machine, time.Now()))
	m.write("state/seal/roster.ndjson", roster.Text())
	m.write("state/seal/keys.json", host.Marshal())
	m.write("work/notes.txt", []byte("first\n"))
	c := exec.Command(program, append([]string{"hostd", "--server", m.relay.URL, "--host-id", "mbp", "--state", dir + "/state", "--socket", dir + "/s", "--root", dir + "/work"}, more...)...)
	c.Env = append(os.Environ(), "HOST_TOKEN=token-mbp")
	var log strings.Builder
	c.Stderr = &log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m.stopRuns()
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait()
		if t.Failed() {
			t.Logf("hostd: %s", &log)
		}
	})
	return m
}

// stopRuns stops the runs of the machine, which otherwise continue without hostd.
func (m *sealedMachine) stopRuns() {
	e, err := connect.EndpointOf(&console.Console{Places: map[string]string{}}, &connect.Target{Socket: filepath.Join(m.dir, "s")})
	var all protocol.ListRunsResult
	if err == nil {
		err = e.Call(context.Background(), http.MethodGet, "/runs", nil, &all)
	}
	for _, r := range all.Runs {
		if err == nil && r.Status != protocol.StatusExited {
			err = e.Call(context.Background(), http.MethodPost, runs.RunPath(r.RunID)+"/stop", protocol.Stop{}, nil)
		}
	}
	if err != nil {
		m.Errorf("stop the runs: %v", err)
	}
}

func (m *sealedMachine) write(name string, text []byte) {
	m.Helper()
	file := filepath.Join(m.dir, name)
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		m.Fatal(err)
	}
}

func (m *sealedMachine) append(line []byte, err error) []byte {
	m.Helper()
	if err == nil {
		err = m.roster.Append(line)
	}
	if err != nil {
		m.Fatal(err)
	}
	return line
}

// do sends a request of the owner to the server, and decodes the response.
func (m *sealedMachine) do(method, path, body string, out any) {
	m.Helper()
	q, err := http.NewRequest(method, m.relay.URL+path, strings.NewReader(body))
	if err != nil {
		m.Fatal(err)
	}
	q.Header.Set("Origin", m.relay.URL)
	q.Header.Set("X-Concerto", "1")
	q.AddCookie(m.relay.Session(webtest.Owner))
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		m.Fatal(err)
	}
	defer r.Body.Close()
	if r.StatusCode >= 300 {
		m.Fatalf("%s %s: status %d", method, path, r.StatusCode)
	}
	if out != nil {
		if err := json.NewDecoder(r.Body).Decode(out); err != nil {
			m.Fatal(err)
		}
	}
}

// enrol enrols the browser by a link, as the owner does on the machine.
func (m *sealedMachine) enrol(b *browser.Tab) {
	m.Helper()
	m.enrolAt(b, m.relay.URL+"/")
}

// enrolAt enrols the browser by a link to a page.
func (m *sealedMachine) enrolAt(b *browser.Tab, page string) {
	m.Helper()
	link := seal.NewLink(page, m.roster.Account(), m.relay.URL, time.Now().Add(time.Minute))
	openLink(b, link.String())
	b.Click("@join")
	b.See("Waiting for the owner")
	var mail struct{ Messages []string }
	m.do("GET", "/seal/join/"+link.Session+"?side=add&wait=25", "", &mail)
	if len(mail.Messages) != 1 {
		m.Fatalf("replies = %q, want one", mail.Messages)
	}
	device, _, err := link.Accept([]byte(mail.Messages[0]), time.Now())
	if err != nil {
		m.Fatal(err)
	}
	device.User, device.Role, device.Page = webtest.Owner, seal.Owner, link.MemberPage()
	line := m.append(m.roster.AddMember(m.id, m.owner, device, time.Now()))
	m.do("POST", "/seal/"+m.roster.Account()+"/roster", string(line)+"\n", nil)
	b.See("is enrolled")
}

// startCat starts a run of cat in a browser, and returns its id.
func startCat(b *browser.Tab) string {
	b.Eval("location.hash = '#/start'")
	b.Wait("document.querySelector('[data-testid=start-tool]')")
	b.Eval("void (document.querySelector('[data-testid=start-tool]').value = '')")
	b.Click("@start-cmd")
	b.Type("cat")
	b.Click("@start-run")
	b.Wait("/^#.runs.run_/.test(location.hash)")
	return b.Eval("location.hash.slice(2).split('/')[1]").(string)
}

// writeNotes writes the file notes.txt of a run, which somebody must then approve.
func writeNotes(b *browser.Tab, run, text string) {
	b.Eval("location.hash = '#/runs/" + run + "/files?file=notes.txt'")
	b.Click("=Edit")
	b.Eval("void document.querySelector('[data-testid=editor]').select()")
	b.Click("@editor")
	b.Type(text)
	b.Click("@save")
}

// TestSealedMachine does everything that a person can do with a run, in a browser that is enrolled
// at a machine with an account: start it, read and write files, approve, type keys, write a text,
// and stop it. The machine's ledger has the signed decision.
func TestSealedMachine(t *testing.T) {
	browser.Need(t)
	t.Parallel()
	m := startSealedMachine(t)
	b := enter(t, m.relay, webtest.Owner, "#/start")
	b.Expect("404") // the machine has no key records
	start := func() {
		b.Wait("document.querySelector('[data-testid=start-tool]')")
		b.Eval("void (document.querySelector('[data-testid=start-tool]').value = '')")
		b.Click("@start-cmd")
		b.Type("cat")
		b.Click("@start-run")
	}
	b.See("This browser is not enrolled.") // instead of the button
	m.enrol(b)
	b.Eval("location.hash = '#/start'")
	start()
	b.Wait("/^#.runs.run_/.test(location.hash)")
	run := b.Eval("location.hash.slice(2).split('/')[1]").(string)

	b.Eval("location.hash = '#/runs/" + run + "/files?file=notes.txt'")
	b.See("first")
	writeNotes(b, run, "second")
	decide(b, "@approve")
	b.Wait("!document.querySelector('[data-testid=editor]')")
	if text, err := os.ReadFile(filepath.Join(m.dir, "work", "notes.txt")); err != nil || !strings.Contains(string(text), "second") {
		t.Errorf("file after the approved write = %q (%v)", text, err)
	}

	b.Eval("location.hash = '#/runs/" + run + "'")
	b.Click("@composer")
	b.Type("a whole line")
	b.Press("Enter")
	b.See("a whole line")
	b.Eval("location.hash = '#/runs/" + run + "/terminal'")
	b.Click(".xterm")
	b.Type("typed keys")
	b.Press("Enter")
	b.See("typed keys")
	b.Eval("location.hash = '#/runs/" + run + "'")
	b.Click("@stop")
	b.Click("@stop-yes")
	b.See("The run has ended.")

	text, err := os.ReadFile(filepath.Join(m.dir, "state", "ledger.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	var record struct {
		Kind string
		Time time.Time
		Data struct {
			Seal       seal.Signed
			ArgsSHA256 string `json:"args_sha256"`
		}
	}
	if err := json.Unmarshal([]byte(lines[0]), &record); err != nil || len(lines) != 1 || record.Kind != "decision" {
		t.Fatalf("ledger = %s (%v), want one decision", text, err)
	}
	if st, _, err := m.roster.VerifyDecision(record.Data.Seal, record.Time, record.Data.ArgsSHA256); err != nil || st.Decision != "approve" || st.Local != nil {
		t.Errorf("decision of the ledger = %+v (%v), want an approval of the browser", st, err)
	}
}

// TestMachineSealsEvents starts a run at a real machine that seals events, and shows its thread in
// an enrolled browser, also after a reload.
func TestMachineSealsEvents(t *testing.T) {
	browser.Need(t)
	t.Parallel()
	if protocol.Find("rpc.sealed") == nil {
		t.Skip("this server does not know sealed RPCs yet: the page sends no others to a machine that seals")
	}
	m := startSealedMachine(t, "--sealed=required")
	b := enter(t, m.relay, webtest.Owner, "#/start")
	b.Expect("404") // the machine publishes its key record after the server has the roster
	m.enrol(b)
	run := startCat(b)
	b.Click("@composer")
	b.Type("a sealed line")
	b.Press("Enter")
	b.Wait("__see.text('.output').includes('a sealed line')")
	b.Reload()
	b.Wait("__see.text('.output').includes('a sealed line')")
	b.Wait("__see.text('.event').includes('cat') && __see.all('@changed').length === 0")
	writeNotes(b, run, "second")
	decide(b, "@approve") // after the machine's head
	b.Wait("!document.querySelector('[data-testid=editor]')")
	if text, err := os.ReadFile(filepath.Join(m.dir, "work", "notes.txt")); err != nil || !strings.Contains(string(text), "second") {
		t.Errorf("file after the approved write = %q (%v)", text, err)
	}
	b.Eval("location.hash = '#/runs/" + run + "'")
	b.Wait("__see.all('@resolved').length === 1 && __see.all('@changed').length === 0")
	var rows []struct {
		Sealed  bool
		Command string
	}
	m.do("GET", "/runs", "", &rows)
	if len(rows) != 1 || !rows[0].Sealed || rows[0].Command != "" {
		t.Errorf("the server's rows = %+v, want a sealed one without the command", rows)
	}
	b.Click("@stop")
	b.Click("@stop-yes")
	b.See("The run has ended.")
}

// TestSharedRun shares a sealed run of a real machine by a link that the page makes. Somebody who
// opens it reads the run, also what comes later, and nothing after the link was revoked.
func TestSharedRun(t *testing.T) {
	browser.Need(t)
	t.Parallel()
	m := startSealedMachine(t, "--sealed=required")
	b := enter(t, m.relay, webtest.Owner, "#/start")
	b.Expect("404") // the machine publishes its key record after the server has the roster
	m.enrol(b)
	run := startCat(b)
	line := func(text string) {
		b.Eval("location.hash = '#/runs/" + run + "'")
		b.Click("@composer")
		b.Type(text)
		b.Press("Enter")
		b.See(text)
		b.WaitAbsent("waiting to send")
	}
	line("a first line")
	b.Eval("location.hash = '#/settings'")
	loaded(b)
	b.Click("@make-link")
	b.Wait("__see.all('@secret').length === 1")
	picture(t, b, "shared-link")
	link, _ := b.Eval("document.querySelector('[data-testid=secret]').value").(string)
	if !regexp.MustCompile(`/#/s/ct_[\w-]+\.[\w-]{43}/` + run + `$`).MatchString(link) {
		t.Fatalf("link = %q", link)
	}

	guest := browser.Open(t)
	guest.Expect("401")
	guest.Expect("403")
	guest.Go(link)
	guest.Wait("location.hash === '#/runs/" + run + "'")
	guest.Wait("__see.text('.output').includes('a first line') && __see.text('.event').includes('cat') && __see.all('@changed').length === 0")
	picture(t, guest, "shared-run")
	line("a second line")
	guest.See("a second line")
	guest.Reload() // the secret of the link is not stored
	guest.See("Encrypted: open the link again.")
	guest.Go("about:blank")
	guest.Go(link)
	guest.See("a second line")
	for _, place := range []string{"=Machines", "=Start", "=Audit", "@composer", "@stop"} {
		if guest.Count(place) != 0 {
			t.Errorf("the guest's page shows the control %s", place)
		}
	}
	if at, _ := guest.Eval("location.href + JSON.stringify(history.state) + JSON.stringify(localStorage) + JSON.stringify(sessionStorage)").(string); strings.Contains(at, link[len(link)-43-len(run)-1:len(link)-len(run)-1]) {
		t.Errorf("the secret of the link is in %s", at)
	}

	b.Eval("location.hash = '#/settings'")
	b.Wait("__see.text('main').includes('share s_')")
	b.Eval("[...document.querySelectorAll('li')].findLast((x) => x.innerText.includes('share s_')).querySelector('button').click()")
	b.See("Revoked. Its connections are closed.")
	b.WaitAbsent("share s_")
	if out, err := os.ReadFile(filepath.Join(m.dir, "state", "seal", "shares.json")); err != nil || strings.TrimSpace(string(out)) != "[]" {
		t.Errorf("shares of the machine = %s (%v)", out, err)
	}
	line("a third line")
	guest.See("Log in again")
	guest.WaitAbsent("a third line")
}

// TestGuest shares a sealed run with an approver. The first browser that decides through the link
// can decide again, also after it has opened the link another time; a second browser cannot.
func TestGuest(t *testing.T) {
	browser.Need(t)
	t.Parallel()
	m := startSealedMachine(t, "--sealed=required")
	b := enter(t, m.relay, webtest.Owner, "#/start")
	b.Expect("404") // the machine publishes its key record after the server has the roster
	m.enrol(b)
	run := startCat(b)
	b.Wait("__see.text('.event').includes('cat')")
	b.Eval("location.hash = '#/settings'")
	loaded(b)
	b.Eval("void (document.querySelector('[data-testid=link-allows]').value = 'approver')")
	b.Click("@make-link")
	b.Wait("__see.all('@secret').length === 1")
	link, _ := b.Eval("document.querySelector('[data-testid=secret]').value").(string)

	open := func(x *browser.Tab) *browser.Tab {
		x.Expect("401")
		x.Expect("403")
		x.Go(link)
		x.Wait("location.hash === '#/runs/" + run + "'")
		return x
	}
	written := func(text string) {
		t.Helper()
		b.Wait("!document.querySelector('[data-testid=editor]')")
		if got, err := os.ReadFile(filepath.Join(m.dir, "work", "notes.txt")); err != nil || !strings.Contains(string(got), text) {
			t.Errorf("file after the approved write = %q (%v), want %s", got, err, text)
		}
	}
	guest := open(browser.Open(t))
	writeNotes(b, run, "the guest approves")
	decide(guest, "@approve")
	written("the guest approves")
	picture(t, guest, "guest-approved")
	for _, place := range []string{"=Machines", "=Start", "@composer", "@stop"} {
		if guest.Count(place) != 0 {
			t.Errorf("the guest's page shows the control %s", place)
		}
	}

	other := open(browser.Open(t))
	writeNotes(b, run, "only the first browser")
	awake(other)
	other.Click("@approve")
	other.See("Another browser has used this link first")
	// In the owner's browser, a tab that the link has opened is a guest, and not the owner's
	// device.
	own := open(b.Beside())
	awake(own)
	own.Click("@approve")
	own.See("Another browser has used this link first")
	guest.Reload()
	guest.Go("about:blank")
	guest.Go(link)
	decide(guest, "@approve")
	written("only the first browser")

	text, err := os.ReadFile(filepath.Join(m.dir, "state", "ledger.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	guests := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		var record struct {
			Kind string
			Time time.Time
			Data struct {
				Seal       seal.Signed
				ArgsSHA256 string `json:"args_sha256"`
			}
		}
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatal(err)
		}
		if record.Kind != "decision" {
			continue
		}
		st, by, err := m.roster.VerifyDecision(record.Data.Seal, record.Time, record.Data.ArgsSHA256)
		if err != nil || by.Role != seal.Approver || by.User != "guest of "+webtest.Owner {
			t.Fatalf("decision of the ledger = %+v by %+v (%v), want one of the guest", st, by, err)
		}
		guests[st.Device] = true
	}
	if len(guests) != 1 {
		t.Errorf("the ledger has decisions of %d guests, want 1: %s", len(guests), text)
	}
}
