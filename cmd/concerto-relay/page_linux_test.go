package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/relay/seal"
)

// TestSealPolicy sets a policy. The machine must then refuse the decision of a browser that is
// enrolled at the server's page, about a request of high risk, and perform that of the command
// line.
func TestSealPolicy(t *testing.T) {
	t.Parallel()
	r := newSealed(t)
	if out := r.do(2, "seal", "policy"); !strings.Contains(out, "concerto-relay seal init") {
		t.Errorf("policy without an account = %s", out)
	}
	r.do(0, "seal", "init", "--user", "ann", "--code-file", "code")
	if out := r.do(0, "seal", "policy"); out != "low     any\nmedium  any\nhigh    any\n" {
		t.Errorf("policy of a new account = %q", out)
	}
	token := r.server.login("ann", "correct horse")
	add, link, _ := r.adds("--yes")
	p, l := r.server.open(t, link, token)
	if err := add.Wait(); err != nil {
		t.Fatal(err)
	}
	if out := r.do(0, "doctor"); !strings.Contains(out, "page") || !strings.Contains(out, r.server.url+"/ is the page of this program") {
		t.Errorf("doctor = %s", out)
	}
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	if out := r.do(0, "doctor", "--server", other.URL); !strings.Contains(out, "the page of the server is not that of this program") {
		t.Errorf("doctor with another page = %s", out)
	}
	for _, wrong := range []string{"high", "high=maybe", "urgent=any", "=pinned"} {
		if out := r.do(2, "seal", "policy", "--decide", wrong); !strings.Contains(out, "--decide") || !strings.Contains(out, "low=any,high=pinned") {
			t.Errorf("policy %s = %s", wrong, out)
		}
	}
	if out := r.do(0, "seal", "policy", "--decide", "high=pinned"); out != "low     any\nmedium  any\nhigh    pinned\n" {
		t.Errorf("policy = %s", out)
	}
	r.do(0, "seal", "policy", "--decide", "medium=pinned,low=any")
	if out := r.do(0, "seal", "status"); !strings.Contains(out, "policy   decide: low any, medium pinned, high pinned\n") {
		t.Errorf("status = %s", out)
	}
	var st struct{ Policy seal.Policy }
	if err := json.Unmarshal([]byte(strings.SplitN(r.do(0, "seal", "status", "--format", "ndjson"), "\n", 2)[0]), &st); err != nil || st.Policy.Decide.High != "pinned" {
		t.Errorf("status = %+v, error = %v", st, err)
	}
	p.load(l.Account)
	run := r.waitForRun(r.detached(asksTwice))
	q := r.atServer(run, "Go on?") // without a risk, which counts as a high one
	if out := r.do(1, append([]string{"approve", run, q.RequestID, "--state", p.state}, r.at...)...); !strings.Contains(out, "page_not_trusted") {
		t.Errorf("approval by a page of the server = %s", out)
	}
	if out := r.do(0, append([]string{"approve", run, q.RequestID}, r.at...)...); out != "approved "+q.RequestID+": applied\n" {
		t.Errorf("approval of the command line = %s", out)
	}
}

// TestPageVerify compares the pages of a server and of an exported site with that of the program,
// unchanged and changed.
func TestPageVerify(t *testing.T) {
	t.Parallel()
	r := newSealed(t)
	if out := r.do(0, "page", "--verify", r.server.url); !regexp.MustCompile(`^\S+ is the page of this program: \d\d files, build \w{16}\n$`).MatchString(out) {
		t.Errorf("page --verify = %q", out)
	}
	r.do(0, "page", "--export", "site")
	if out := r.do(2, "page", "--export", "site"); !strings.Contains(out, "--export") || !strings.Contains(out, "exists") {
		t.Errorf("page --export into a directory that exists = %s", out)
	}
	dir := filepath.Join(r.dir, "site")
	site := httptest.NewServer(http.StripPrefix("/relay/", http.FileServer(http.Dir(dir))))
	defer site.Close()
	r.do(0, "page", "--verify", site.URL+"/relay", "--server", r.server.url)
	index, err := os.ReadFile(filepath.Join(dir, "index.html"))
	if err != nil || !strings.Contains(string(index), `<meta name="concerto-relay" content="`+r.server.url+`">`) || strings.Contains(string(index), `="/`) {
		t.Errorf("index.html = %s (%v), want the server's URL and relative paths", index, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "sw.js"), []byte("// changed\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "icon.svg")); err != nil {
		t.Fatal(err)
	}
	out := r.do(76, "page", "--verify", site.URL+"/relay/", "--server", r.server.url)
	if !strings.Contains(out, "/relay/sw.js: changed\n") || !strings.Contains(out, "/relay/icon.svg: missing (status 404)\n") || strings.Count(out, "\n") != 4 {
		t.Errorf("page --verify of a changed site = %s", out)
	}
	if out := r.do(76, "page", "--verify", site.URL+"/relay/"); !strings.Contains(out, "/relay/: changed\n") {
		t.Errorf("page --verify of another server's site = %s", out)
	}
	r.do(1, "page", "--verify", "http://127.0.0.1:1")
	for _, c := range [][]string{{"--listen", "0.0.0.0:8788", "WebCrypto"}, {"--listen", "8788", "--listen"}, {"--verify", "ftp://x", "--verify"}, {"--server", "http://x/path", "--server"}} {
		if out := r.do(2, "page", c[0], c[1]); !strings.Contains(out, c[2]) || !strings.Contains(out, "hint: ") {
			t.Errorf("page %s %s = %s", c[0], c[1], out)
		}
	}
	if out := r.do(2, "page", "--output", "page.html", "--export", "other"); !strings.Contains(out, "--output and --export exclude each other") {
		t.Errorf("page with two outputs = %s", out)
	}
	r.do(0, "page", "--output", "page.html")
	if text := r.text("page.html"); strings.Contains(text, `src="`) || !strings.Contains(text, "script-src blob: 'sha256-") {
		t.Errorf("the page in one file loads other files, or has no policy: %.2000s", text)
	}
}
