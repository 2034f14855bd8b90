package web_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/testkit/testproc"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
	"github.com/concerto-lang/concerto/relay/web/webtest"
	"github.com/concerto-lang/concerto/tools/browser"
)

// servePage runs concerto-relay page for a server, and returns the origin of the page. It makes the
// server accept the page.
func servePage(t *testing.T, r *webtest.Relay) string {
	t.Helper()
	program, err := testproc.Relay()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(program, "page", "--listen", "127.0.0.1:0", "--server", r.URL, "--state", t.TempDir())
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait() // its output is closed
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	_, origin, found := strings.Cut(strings.TrimSpace(line), " is at ")
	if err != nil || !found {
		t.Fatalf("first line of concerto-relay page = %q (%v)", line, err)
	}
	origin = strings.TrimSuffix(origin, "/")
	allow(r, origin)
	return origin
}

// allow makes a server accept the pages of an origin.
func allow(r *webtest.Relay, origin string) {
	r.Allow = []string{origin}
	r.Stop()
	r.Restart()
}

// hostdPage returns flags with which hostd serves the page at a name of a private network, and the
// page's origin.
func hostdPage(t *testing.T) (origin string, flags []string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader) // Chromium has no Ed25519 for certificates
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"desk.test"}, NotAfter: time.Now().Add(time.Hour)}
	text, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	file := t.TempDir() + "/both.pem"
	both := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: text}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...)
	if err := os.WriteFile(file, both, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") // finds a free port
	if err == nil {
		err = l.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	return "https://desk.test" + at[strings.LastIndex(at, ":"):], []string{"--page-cert", file, "--page-key", file, "--page-listen", at}
}

// TestPinnedPage enrols a browser at a page on the loopback interface, or at one of hostd at a name
// of a private network, and another at the page of the server, for a machine whose policy requires
// a pinned page for requests of high risk. The machine must refuse the decision of the second,
// which must show why and what to do, and perform that of the first. The first stays logged in
// after a reload.
func TestPinnedPage(t *testing.T) {
	browser.Need(t)
	t.Parallel()
	t.Run("page", func(t *testing.T) {
		t.Parallel()
		m := startSealedMachine(t)
		pinnedPage(t, m, servePage(t, m.relay))
	})
	t.Run("hostd", func(t *testing.T) {
		t.Parallel()
		origin, flags := hostdPage(t)
		m := startSealedMachine(t, flags...)
		allow(m.relay, origin)
		pinnedPage(t, m, origin)
	})
}

func pinnedPage(t *testing.T, m *sealedMachine, origin string) {
	t.Helper()
	line := m.append(m.roster.SetPolicy(m.id, m.owner, seal.Policy{Decide: seal.PolicyLevels{Low: "any", High: "pinned"}}, time.Now()))
	m.do("POST", "/seal/"+m.roster.Account()+"/roster", string(m.roster.Text()), nil)
	if len(line) == 0 {
		t.Fatal("no line of the policy")
	}
	weak := enter(t, m.relay, webtest.Owner, "#/inbox")
	weak.Expect("404")
	m.enrol(weak)
	weak.Eval("location.hash = '#/hosts'")
	weak.See("mbp") // hostd has started

	pinned := browser.Open(t)
	pinned.Expect("401")
	pinned.Expect("404")
	pinned.Go(origin + "/#/start")
	login(pinned, webtest.Owner)
	pinned.Reload()
	pinned.Wait(online)
	m.enrolAt(pinned, origin+"/")
	last := m.roster.Members()
	if device := last[len(last)-1]; device.Page != origin {
		t.Errorf("page of the device = %q, want %q", device.Page, origin)
	}

	pinned.Eval("location.hash = '#/start'")
	pinned.Wait("document.querySelector('[data-testid=start-tool]')")
	pinned.Eval("void (document.querySelector('[data-testid=start-tool]').value = '')")
	pinned.Click("@start-cmd")
	pinned.Type("printf 'Go on? [y/N] '; read x; echo \"said $x\"; sleep 60") // a request without a risk
	pinned.Click("@start-run")
	pinned.Wait("/^#.runs.run_/.test(location.hash)")
	run := pinned.Eval("location.hash.slice(2).split('/')[1]").(string)
	pinned.Wait("__see.all('@approve').length > 0")

	weak.Eval("location.hash = '#/runs/" + run + "'")
	decide(weak, "@approve")
	weak.See("Refused: decision from this page")
	weak.See("allows no decision of this risk to devices that use the relay’s own page")
	picture(t, weak, "page-not-trusted")
	if done := weak.Eval("document.body.innerText.includes('said y')"); done != false {
		t.Error("the machine performed the refused decision")
	}

	decide(pinned, "@approve")
	pinned.See("said y")
	picture(t, pinned, "pinned")
}

// writePage runs concerto-relay page with a flag that writes the page.
func writePage(t *testing.T, r *webtest.Relay, flag, name string) {
	t.Helper()
	program, err := testproc.Relay()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program, "page", flag, name, "--server", r.URL, "--state", t.TempDir()).CombinedOutput(); err != nil {
		t.Fatalf("page %s: %v\n%s", flag, err, out)
	}
}

// TestPageInOneFile opens the page that was written to one file: from a site, and from the disk. It
// must load its screens from the file alone.
func TestPageInOneFile(t *testing.T) {
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	dir := t.TempDir()
	writePage(t, r, "--output", dir+"/relay.html")
	var seen []string
	files := http.FileServer(http.Dir(dir))
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		seen = append(seen, q.URL.Path)
		files.ServeHTTP(w, q)
	}))
	defer site.Close()
	r.Allow = []string{site.URL, "null"}
	r.Stop()
	r.Restart()
	for _, at := range []string{site.URL, "file://" + dir} {
		b := browser.Open(t)
		b.Expect("401")
		b.Go(at + "/relay.html")
		login(b, webtest.Owner)
		for _, screen := range []string{"settings", "hosts", "audit"} {
			b.Eval("void (location.hash = '#/" + screen + "')")
			loaded(b)
			if failed := b.Count(".failed"); failed != 0 {
				t.Errorf("%s: errors on the screen %s = %d, want none", at, screen, failed)
			}
		}
		b.See("Save as a file")
		if keys := b.Eval("crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign']).then((k) => !!k.privateKey)"); keys != true {
			t.Errorf("%s: the browser created no key", at)
		}
	}
	for _, path := range seen {
		if path != "/relay.html" {
			t.Errorf("the page requested %s from its site", path)
		}
	}
}

// TestExportedPage opens the exported page in a directory of a static site. It must work without
// the site after the first visit, stay logged in, and log out all its tabs.
func TestExportedPage(t *testing.T) {
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	dir := t.TempDir() + "/site"
	writePage(t, r, "--export", dir)
	site := httptest.NewServer(http.StripPrefix("/relay/", http.FileServer(http.Dir(dir))))
	defer site.Close()
	r.Allow = []string{site.URL}
	r.Stop()
	r.Restart()
	machine := r.HelloMachine("desk")
	run := webtest.Begin(machine, "run_1", webtest.Data{"title": "the release"})
	run.Ask("q1", webtest.Data{"prompt": "Release?"})
	b := browser.Open(t)
	b.Expect("401")
	b.Go(site.URL + "/relay/#/runs/run_1")
	login(b, webtest.Operator)
	b.Wait("navigator.serviceWorker.ready")
	b.Wait("navigator.serviceWorker.controller")
	site.Close()
	other := b.Beside()
	other.Go(site.URL + "/relay/#/runs/run_1")
	other.Wait(online)
	decide(other, "@approve")
	if e := machine.Next(protocol.RunApprove); e.RunID != "run_1" {
		t.Errorf("the machine receives %+v, want the decision", e)
	}
	other.Eval("void (location.hash = '#/settings')")
	b.Expect("ERR_")
	other.Expect("ERR_")
	b.Expect("401")
	other.Expect("401")
	other.Click("@logout")
	for _, tab := range []*browser.Tab{b, other} {
		tab.Wait("document.querySelector('[data-testid=login-user]')")
	}
}
