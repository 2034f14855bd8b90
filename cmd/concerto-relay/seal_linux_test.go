package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/relaycli/device"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
)

// newSealed is newRemote with a setting of hostd's state, so that all commands find the account.
// hostd seals no events, so that the server shows the requests; commands are sealed.
func newSealed(t *testing.T) *remoteServer {
	t.Helper()
	r := newRemote(t, "--sealed", "off")
	r.config(r.server.url)
	return r
}

// config writes the settings of the machine.
func (h *machine) config(server string) {
	h.t.Helper()
	file := filepath.Join(h.dir, "concerto", "relay.toml")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(file, fmt.Appendf(nil, "[hostd]\nstate = \"state\"\nserver = %q\n", server), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// phone is a browser that is enrolled by a link.
type phone struct {
	t      *testing.T
	server *daemon
	token  string
	keys   *seal.Keys
	roster *seal.Roster
	state  string // directory in which a command line finds the keys
}

// open opens the link of an enrolment: it sends the reply.
func (d *daemon) open(t *testing.T, link, token string) (*phone, *seal.Link) {
	t.Helper()
	l, err := seal.ParseLink(link)
	if err != nil {
		t.Fatalf("link %q: %v", link, err)
	}
	p := &phone{t: t, server: d, token: token, keys: seal.NewKeys(), state: t.TempDir()}
	text, err := l.Reply(seal.NewMember(p.keys, l.Account, seal.Device, ""), "Ann's phone", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(map[string]string{"side": "join", "text": string(text)})
	if err != nil {
		t.Fatal(err)
	}
	if code := d.ask("POST", "/seal/join/"+l.Session, token, string(body), nil); code != 204 {
		t.Fatalf("reply: status = %d", code)
	}
	return p, l
}

// load reads the roster at the server, and stores the keys for a command line.
func (p *phone) load(account string) {
	p.t.Helper()
	var err error
	if p.roster, err = seal.ParseRoster([]byte(p.server.text(p.t, "/seal/"+account+"/roster", p.token)), account, seal.Position{}); err != nil {
		p.t.Fatal(err)
	}
	if _, err := device.Create(p.state, p.keys, p.roster); err != nil {
		p.t.Fatal(err)
	}
}

// approve approves a request at the server with the keys of a phone, which a command line has.
func (r *remoteServer) approve(p *phone, run string, q protocol.PermissionRequested) {
	r.t.Helper()
	if out := r.do(0, append([]string{"approve", run, q.RequestID, "--state", p.state}, r.at...)...); !strings.Contains(out, " "+q.RequestID) || !strings.HasSuffix(out, ": applied\n") {
		r.t.Errorf("approval of the phone = %s", out)
	}
}

// atServer returns an open request of a run when the server has it, too.
func (r *remoteServer) atServer(run, text string) protocol.PermissionRequested {
	r.t.Helper()
	q := r.request(run, text)
	token := r.server.login("ann", "correct horse")
	r.eventually("the request at the server", func() (string, bool) {
		var seen struct {
			Pending []protocol.PermissionRequested
		}
		r.server.ask("GET", "/runs/"+run, token, "", &seen)
		return text, len(seen.Pending) > 0 && seen.Pending[0].RequestID == q.RequestID
	})
	return q
}

// adds runs devices add, and returns the link that it prints.
func (h *machine) adds(args ...string) (*exec.Cmd, string, *strings.Builder) {
	h.t.Helper()
	c := h.command(append([]string{"devices", "add", "--format", "ndjson"}, args...)...)
	out, err := c.StdoutPipe()
	var errs strings.Builder
	c.Stderr = &errs
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	var shown struct{ Link string }
	if err := json.NewDecoder(out).Decode(&shown); err != nil {
		h.t.Fatalf("output of devices add: %v\n%s", err, errs.String())
	}
	return c, shown.Link, &errs
}

// addPhone adds a phone to the account. Its roster and keys are stored for a command line.
func (r *remoteServer) addPhone(token string) (*phone, *seal.Link) {
	r.t.Helper()
	add, link, _ := r.adds("--yes")
	p, l := r.server.open(r.t, link, token)
	if err := add.Wait(); err != nil {
		r.t.Fatal(err)
	}
	p.load(l.Account)
	return p, l
}

// concerto runs the command concerto, checks its exit code, and returns its output.
func (h *machine) concerto(want int, args ...string) string {
	h.t.Helper()
	c := exec.Command(filepath.Join(links(h.t), "concerto"), args...)
	c.Dir, c.Env = h.dir, append(os.Environ(), "HOME="+h.dir)
	out, _ := c.CombinedOutput() // the exit code is checked below
	if code := c.ProcessState.ExitCode(); code != want {
		h.t.Fatalf("concerto %v: exit code = %d, want %d\n%s", args, code, want, out)
	}
	return string(out)
}

const asksTwice = `printf 'Go on? [y/N] '; read x; echo "said $x"; printf 'Really? [y/N] '; read x; echo "then $x"; exit 4`

// TestSealed creates an account, and enrols a phone. The machine then performs only what the phone
// or the command line has sealed. The ledger shows who has decided, and verifies offline.
func TestSealed(t *testing.T) {
	t.Parallel()
	r := newSealed(t)
	if out := r.do(0, "seal", "status"); !strings.Contains(out, "next: concerto-relay seal init") {
		t.Errorf("status without an account = %s", out)
	}
	if out := r.do(2, "devices", "list"); !strings.Contains(out, "concerto-relay seal init") {
		t.Errorf("devices list without an account = %s", out)
	}
	run := r.waitForRun(r.detached(asksTwice))
	q := r.request(run, "Go on?")
	r.do(0, "seal", "init", "--user", "ann", "--code-file", "code")
	if info, err := os.Stat(filepath.Join(r.dir, "code")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("file of the recovery code = %v, error = %v; want mode 0600", info, err)
	}
	for _, file := range []string{"keys.json", "roster.ndjson", "cli/keys.json", "cli/roster.ndjson", "cli/counters.json"} {
		if info, err := os.Stat(filepath.Join(r.dir, "state", "seal", file)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s = %v, error = %v; want mode 0600", file, info, err)
		}
	}
	if out := r.do(2, "seal", "init", "--code-file", "code2"); !strings.Contains(out, "already has the account") {
		t.Errorf("second init = %s", out)
	}
	var st struct {
		Account, Host, Device, Role string
		Roster                      seal.Position
	}
	if err := json.Unmarshal([]byte(strings.SplitN(r.do(0, "seal", "status", "--format", "ndjson"), "\n", 2)[0]), &st); err != nil || st.Host != "desk" || st.Role != "owner" || st.Roster.N != 3 {
		t.Errorf("status = %+v, error = %v", st, err)
	}

	token := r.server.login("ann", "correct horse")
	p, l := r.addPhone(token)
	phone := p.keys.Public().DeviceID()
	if out := r.do(0, "devices", "list"); !regexp.MustCompile(`device +`+phone+` +Ann's phone +ann +operator +server`).MatchString(out) || strings.Count(out, "this one") != 2 {
		t.Errorf("devices list = %s", out)
	}

	r.do(0, "deny", run, q.RequestID) // on this machine
	q = r.atServer(run, "Really?")
	r.approve(p, run, q)
	if out := r.do(4, "attach", run); !strings.Contains(out, "then y") {
		t.Errorf("output of the run = %q", out)
	}

	second := r.waitForRun(r.detached(asksTwice))
	q = r.atServer(second, "Go on?")
	if out := r.do(2, append([]string{"approve", second, q.RequestID, "--state", "none"}, r.at...)...); !strings.Contains(out, "performs only commands that a device of its account has signed") || !strings.Contains(out, "devices join") {
		t.Errorf("approval of a command line that is no device = %s", out)
	}
	if out := r.do(0, append([]string{"approve", second, q.RequestID}, r.at...)...); !strings.Contains(out, " "+q.RequestID) || !strings.HasSuffix(out, ": applied\n") {
		t.Errorf("signed approval = %s", out)
	}
	s := r.screen(append([]string{"attach", second}, r.at...)...)
	s.waitFor("Really?", 1)
	s.typeText("keys\r")
	s.waitExit(4)
	if !strings.Contains(s.content(), "then keys") {
		t.Errorf("the signed keys did not arrive: %q", s.content())
	}

	if out := r.do(0, "devices", "remove", "Ann's phone", "--yes"); !strings.Contains(out, "removed Ann's phone") || !strings.Contains(out, "\nconfirmed by desk\n") {
		t.Errorf("removal of the phone = %s", out)
	}
	if out := r.do(0, "seal", "status"); !strings.Contains(out, "confirmed line 5") {
		t.Errorf("status after the removal = %s", out)
	}
	third := r.waitForRun(r.detached(asksTwice))
	q = r.atServer(third, "Go on?")
	if out := r.do(2, append([]string{"approve", third, q.RequestID, "--state", p.state}, r.at...)...); !strings.Contains(out, phone+", was removed from the account") {
		t.Errorf("approval of the removed phone = %s", out)
	}
	r.server.ask("POST", "/runs/"+third+"/permissions/"+q.RequestID, token, `{"decision":"approve"}`, nil)
	r.until(third, protocol.RunRefused, "unknown_device")
	r.checkLedger(l.Account)
}

// checkLedger verifies the ledger of the machine with the command, and changes it.
func (r *remoteServer) checkLedger(account string) {
	r.t.Helper()
	verify := []string{"audit", "verify", "state/ledger.ndjson", "--roster", "state/seal/roster.ndjson"}
	out := r.concerto(0, append(verify, "--account", account)...)
	if !regexp.MustCompile(`^\d+ records, 2 decisions by 2 devices, 1 local, 0 unsigned, head [0-9a-f]{64}\n$`).MatchString(out) {
		r.t.Errorf("audit verify --roster = %s", out)
	}
	if out := r.concerto(76, append(verify, "--account", "a_other")...); !strings.Contains(out, "the roster is invalid") {
		r.t.Errorf("audit verify with another account = %s", out)
	}
	if out := r.concerto(2, "audit", "verify", "state/ledger.ndjson", "--account", account); !strings.Contains(out, "--account requires --roster") {
		r.t.Errorf("audit verify without a roster = %s", out)
	}
	text, err := os.ReadFile(filepath.Join(r.dir, "state", "seal", "roster.ndjson"))
	if err != nil {
		r.t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	short := filepath.Join(r.dir, "short")
	if err := os.WriteFile(short, []byte(strings.Join(lines[:2], "")), 0o600); err != nil {
		r.t.Fatal(err)
	}
	if out := r.concerto(76, "audit", "verify", "state/ledger.ndjson", "--roster", "short"); !regexp.MustCompile(`^state/ledger.ndjson:\d+: seq \d+: the decision does not verify: unknown_device`).MatchString(out) {
		r.t.Errorf("audit verify with a roster without the signer = %s", out)
	}
}

// TestSealInitAsks creates an account on a terminal, where the user types two groups of the code.
func TestSealInitAsks(t *testing.T) {
	t.Parallel()
	r := newSealed(t)
	if out := r.do(2, "seal", "init"); !strings.Contains(out, "--code-file") {
		t.Errorf("init without a terminal = %s", out)
	}
	s := r.screen("seal", "init")
	for n := 1; n <= 3; n++ {
		s.waitFor("of the code: ", n)
		s.typeText("XXXX\r")
	}
	s.waitExit(1)
	if out := r.do(0, "seal", "status"); !strings.Contains(out, "no account") {
		t.Errorf("status after wrong groups = %s", out)
	}
	s = r.screen("seal", "init")
	s.waitFor("of the code: ", 1)
	code := regexp.MustCompile(`\b([0-9A-Z]{4}-){6}[0-9A-Z]{4}\b`).FindString(s.content())
	groups := strings.Split(code, "-")
	for n := 1; n <= 2; n++ {
		s.waitFor("of the code: ", n)
		all := regexp.MustCompile(`Group (\d) of the code: `).FindAllStringSubmatch(s.content(), -1)
		s.typeText(strings.ToLower(groups[all[n-1][1][0]-'1']) + "\r")
	}
	s.waitExit(0)
	if !strings.Contains(s.content(), "From now on, hostd performs only commands") {
		t.Errorf("screen of init = %s", s.content())
	}

	// The devices are lost: the code enrols this command line again.
	if err := os.RemoveAll(filepath.Join(r.dir, "state", "seal", "cli")); err != nil {
		t.Fatal(err)
	}
	if out := r.do(2, "devices", "add", "--yes"); !strings.Contains(out, "seal recover") {
		t.Errorf("devices add without keys = %s", out)
	}
	for file, text := range map[string]string{"good": code + "\n", "bad": seal.NewRecoveryCode().String(), "none": "XXXX"} {
		if err := os.WriteFile(filepath.Join(r.dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string]string{"bad": "not the recovery code of the account", "none": "not a recovery code"} {
		if out := r.do(2, "seal", "recover", "--code-file", file); !strings.Contains(out, want) {
			t.Errorf("recover with the file %s = %s", file, out)
		}
	}
	r.do(0, "seal", "recover", "--code-file", "good")
	if out := r.do(0, "devices", "list"); strings.Count(out, "\ndevice") != 2 || strings.Count(out, "this one") != 2 {
		t.Errorf("devices after the recovery = %s", out)
	}
	r.do(0, "seal", "leave", "--yes")
	if out := r.do(0, "seal", "status"); !strings.Contains(out, "no account") {
		t.Errorf("status after leaving = %s", out)
	}
}

// TestDevicesAddAsks opens a link on the phone, and declines it at the machine.
func TestDevicesAddAsks(t *testing.T) {
	t.Parallel()
	r := newSealed(t)
	r.do(0, "seal", "init", "--code-file", "code")
	token := r.server.login("ann", "correct horse")
	if out := r.do(2, "devices", "add"); !strings.Contains(out, "--yes") {
		t.Errorf("devices add without a terminal = %s", out)
	}
	s := r.screen("devices", "add", "--format", "ndjson", "--role", "owner")
	s.waitFor(`"link":"`, 1)
	s.waitFor("\n", 1)
	link := regexp.MustCompile(`"link":"([^"]+)"`).FindStringSubmatch(s.content())[1]
	_, l := r.server.open(t, link, token)
	s.waitFor("[y/N]", 1)
	if !strings.Contains(s.content(), `"Ann's phone"`) || !strings.Contains(s.content(), "with the role owner?") {
		t.Errorf("question of devices add = %s", s.content())
	}
	s.typeText("n\r")
	s.waitExit(1)
	var mail struct{ Messages []string }
	r.server.ask("GET", "/seal/join/"+l.Session+"?side=join", token, "", &mail)
	if len(mail.Messages) != 1 || mail.Messages[0] != `{"refused":true}` {
		t.Errorf("messages to the phone = %q", mail.Messages)
	}
	if out := r.do(0, "devices", "list"); strings.Contains(out, "phone") {
		t.Errorf("devices after the refusal = %s", out)
	}
}

// TestDevicesJoin adds a second machine and its command line by six digits.
func TestDevicesJoin(t *testing.T) {
	t.Parallel()
	r := newSealed(t)
	r.do(0, "seal", "init", "--user", "ann", "--code-file", "code")
	other := newMachine(t, "--server", r.server.url, "--host-id", "build")
	other.config(r.server.url)
	other.start()
	r.server.machines(r.server.login("ann", "correct horse"), func(all []machineSeen) bool { return len(all) == 2 && all[0].Online && all[1].Online })
	a := r.screen("devices", "add", "--by-code", "--role", "owner")
	a.waitFor("devices join ", 1)
	a.waitFor("access token", 1)
	code := regexp.MustCompile(`code  ([0-9A-Z]{4}-[0-9A-Z]{4})`).FindStringSubmatch(a.content())[1]
	b := other.screen("devices", "join", strings.ToLower(code))
	b.waitFor("[y/N]", 1)
	digits := regexp.MustCompile(`digits  (\d{3} \d{3})`).FindStringSubmatch(b.content())[1]
	a.waitFor("Type them: ", 1)
	a.typeText("12345\r")
	a.waitFor("Type them: ", 2)
	a.typeText(digits + "\r")
	a.waitFor("The digits match", 1)
	b.typeText("y\r")
	b.waitExit(0)
	a.waitExit(0)
	if !strings.Contains(b.content(), "host     build (this machine)") {
		t.Errorf("screen of devices join = %s", b.content())
	}
	if out := r.do(0, "devices", "list"); strings.Count(out, "\nhost") != 2 || strings.Count(out, "\ndevice") != 2 {
		t.Errorf("devices = %s", out)
	}
	if out := r.do(2, "devices", "join", code); !strings.Contains(out, "already a device") {
		t.Errorf("join of a device = %s", out)
	}
	if out := newMachine(t).do(2, "devices", "join", "no code"); !strings.Contains(out, "no code of an enrolment") {
		t.Errorf("join with an invalid code = %s", out)
	}

	other.kill() // it cannot confirm that its command line is removed
	removed := regexp.MustCompile(`device   (d_\S+) \(this`).FindStringSubmatch(other.do(0, "seal", "status"))[1]
	c := r.screen("devices", "remove", removed, "--yes")
	c.waitFor("waiting until the machines", 1)
	c.waitFor("confirmed by desk", 1)
	c.typeText("\x03")
	c.waitFor("not confirmed by build, which may be offline", 1)
	c.waitExit(0)
	if out := r.do(0, "seal", "status"); !strings.Contains(out, "confirmed line 6") || !strings.Contains(out, "confirmed line 5") {
		t.Errorf("status = %s", out)
	}
}

// askingProgram asks people in every way that a program has: it awaits an emit, calls a tool with
// approval, and a host requests an approval, which the library or a handler of the program passes
// on.
const askingProgram = `
host Worker { connector: "worker", output_format: "json" }
tool Bank {
    description: "The bank",

    @approve
    @describe("Pays")
    pub fn pay(self, @param("how much") amount: Int) -> String { "paid ${amount}" }
}
agent Clerk uses main { tools: [Bank] }
fn main() {
    println(await emit<Bool>("Begin?")?);
    println(Clerk.execute("pay")?.text);
    println(Worker.execute("go")?);
    let done = listen Worker.execute("again") {
        "approval" => |a| if await emit<Bool>("May it push?")? { "yes" } else { "no" },
        "question" => ask,
    };
    println(done?.text);
    println((await emit<Bool>("Really?")).unwrap_or(false));
}
`

const askingManifest = `
[hosts.worker]
command = "sh"
args = ["worker.sh"]
[connections.main]
provider = "scripted"
replies = [{ tool_calls = [{ name = "Bank_pay", args = { amount = 5 } }] }, { text = "it is paid" }]
`

const askingWorker = `read p
echo '{"type":"approval","id":1,"description":"push","tool":"bash","kind":"execute","args":{"command":"git push"}}'
read a
case "$a" in *allow* | *yes*) echo '{"type":"result","text":"pushed"}' ;; *) echo '{"type":"result","text":"not pushed"}' ;; esac
`

// only returns the id of the only run of the machine when there is one.
func (h *machine) only() string {
	h.t.Helper()
	var one protocol.RunSummary
	h.eventually("a run of the machine", func() (string, bool) {
		out := h.do(0, "runs", "--format", "ndjson")
		return out, json.Unmarshal([]byte(out), &one) == nil
	})
	return one.RunID
}

// TestSealedProgram decides the requests of a program, on a phone and on its machine. The program's
// own ledger must contain the signatures, so that it verifies without the machine's ledger.
func TestSealedProgram(t *testing.T) {
	t.Parallel()
	r := newSealed(t)
	r.do(0, "seal", "init", "--user", "ann", "--code-file", "code")
	p, _ := r.addPhone(r.server.login("ann", "correct horse"))
	for name, text := range map[string]string{"main.conc": askingProgram, "Concerto.toml": askingManifest, "worker.sh": askingWorker} {
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command(filepath.Join(links(t), "concerto"), "run", "--share="+filepath.Join(r.dir, "s"), "--ledger", "decisions.ndjson", "main.conc")
	c.Dir, c.Env = r.dir, append(os.Environ(), "HOME="+r.dir)
	var out, errs strings.Builder
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		if t.Failed() {
			t.Logf("output of the program: %s%s", &out, &errs)
		}
	})
	run := r.waitForRun(r.only())
	for _, text := range []string{"Begin?", "Bank.pay", "git push", "May it push?"} {
		r.approve(p, run, r.atServer(run, text))
	}
	q := r.atServer(run, "Really?")
	r.do(0, "deny", run, q.RequestID) // on this machine
	if err := c.Wait(); err != nil || !strings.Contains(out.String(), "it is paid\npushed\n[May it push?]\npushed\n[Really?]\nfalse\n") {
		t.Fatalf("output of the program = %s, error = %v", &out, err)
	}

	verify := []string{"audit", "verify", "decisions.ndjson", "--roster", "state/seal/roster.ndjson"}
	if out := r.concerto(0, verify...); !regexp.MustCompile(`^\d+ records, 4 decisions by 1 devices, 1 local, 0 unsigned, head `).MatchString(out) {
		t.Errorf("audit verify --roster = %s", out)
	}
	text, err := os.ReadFile(filepath.Join(r.dir, "decisions.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	seals := regexp.MustCompile(`"seal":\{"sig":"[\w-]+","statement":\{.*?\}\}`).FindAllString(string(text), -1)
	if len(seals) != 5 {
		t.Fatalf("the ledger has %d signatures, want 5:\n%s", len(seals), text)
	}
	own, err := os.ReadFile(filepath.Join(r.dir, "state", "ledger.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	machine := strings.Split(strings.TrimSpace(string(own)), "\n")
	for name, c := range map[string]struct {
		lines []string
		want  string
	}{
		"a record twice":               {append(slices.Clone(lines), lines[0]), "the signature is that of an earlier record: request q1 of run " + run},
		"the signature of another one": {[]string{strings.Replace(lines[1], seals[1], seals[0], 1)}, "args_changed"},
		"other arguments":              {[]string{strings.Replace(lines[1], `"amount":5`, `"amount":500`, 1)}, "args_changed"},
		"another person":               {[]string{strings.Replace(lines[0], `"name":"ann"`, `"name":"bob"`, 1)}, `the decision is by "bob", and its signature by "ann"`},
		"an answer for a denial":       {[]string{strings.Replace(lines[5], `"answer":false`, `"answer":true`, 1)}, "the signature is for another decision: deny"},
		"a name in another case":       {[]string{strings.Replace(lines[1], `"scope":"once","seal"`, `"ſcope":"once","scope":"session","seal"`, 1)}, "is no name of a member"},
		"with that of a machine":       {append(slices.Clone(lines[:1]), machine...), "each has its own ledger"},
	} {
		r.rewrite("other.ndjson", c.lines)
		verify[2] = "other.ndjson"
		if out := r.concerto(76, verify...); !strings.Contains(out, c.want) {
			t.Errorf("%s: audit verify --roster = %s", name, out)
		}
	}
}

// rewrite writes a ledger with the content of other records, as somebody can who has its file.
func (h *machine) rewrite(name string, lines []string) {
	h.t.Helper()
	file := filepath.Join(h.dir, name)
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		h.t.Fatal(err)
	}
	l, err := audit.Open(file, audit.Options{})
	if err != nil {
		h.t.Fatal(err)
	}
	defer l.Close()
	for _, line := range lines {
		var x audit.Record
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			h.t.Fatal(err)
		}
		if _, err := l.Append(x); err != nil {
			h.t.Fatal(err)
		}
	}
}

// TestPairOffersAccount pairs a machine on a terminal. The command then creates an account, and
// enrols a phone.
func TestPairOffersAccount(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	hash := run(t, dir, "correct horse\n", "token", "hash-password")
	d := start(t, dir, []string{"ADMIN_USERNAME=ann", "ADMIN_PASSWORD_HASH=" + hash})
	token := d.login("ann", "correct horse")
	pair := func(answer string) (*screen, *machine) {
		h := newMachine(t)
		h.config(d.url)
		s := h.screen("pair", "--no-qr", "--server", d.url)
		s.waitFor("pair confirm ", 1)
		run(t, dir, "", "pair", "confirm", regexp.MustCompile(`code +([A-Z0-9]{4}-[A-Z0-9]{4})`).FindStringSubmatch(s.content())[1], "--db", "sqlite:relay.db")
		s.waitFor("[Y/n]", 1)
		s.typeText(answer + "\r")
		return s, h
	}
	s, h := pair("no")
	s.waitExit(0)
	if !strings.Contains(s.content(), "`concerto-relay seal init` creates one") || !strings.Contains(h.do(0, "seal", "status"), "no account") {
		t.Errorf("screen after no = %s", s.content())
	}

	s, h = pair("")
	s.waitFor("of the code: ", 1)
	groups := strings.Split(regexp.MustCompile(`\b([0-9A-Z]{4}-){6}[0-9A-Z]{4}\b`).FindString(s.content()), "-")
	for n := 1; n <= 2; n++ {
		s.waitFor("of the code: ", n)
		all := regexp.MustCompile(`Group (\d) of the code: `).FindAllStringSubmatch(s.content(), -1)
		s.typeText(groups[all[n-1][1][0]-'1'] + "\r")
	}
	s.waitFor("open the link there", 1)
	d.open(t, regexp.MustCompile(`https?://\S+#/join/\S+`).FindString(s.content()), token)
	s.waitFor("[y/N]", 1)
	s.typeText("y\r")
	s.waitExit(0)
	if out := h.do(0, "devices", "list"); strings.Count(out, "\ndevice") != 2 || !strings.Contains(out, "Ann's phone") {
		t.Errorf("devices after pairing = %s", out)
	}
	if out := h.do(0, "doctor"); !regexp.MustCompile(`ok +account +a_`).MatchString(out) {
		t.Errorf("doctor after pairing = %s", out)
	}

	again := h.pair("--server", d.url)
	run(t, dir, "", "pair", "confirm", again.Code, "--db", "sqlite:relay.db")
	again.wait() // it offers no second account
}
