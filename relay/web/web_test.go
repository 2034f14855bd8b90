package web_test

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/relay/web/webtest"
)

// get sends a request with the headers of a browser.
func get(t *testing.T, method, url string) (*http.Response, string) {
	t.Helper()
	q, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Accept-Encoding", "identity")
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a, string(text)
}

// TestPageIsServed checks that the page is served without login and under the server's security
// policy. Every file that the page refers to must exist, and a missing file must get an error
// response of the API.
func TestPageIsServed(t *testing.T) {
	r := webtest.Empty(t)
	for path, kind := range map[string]string{"/": "text/html", "/setup": "text/html", "/manifest.webmanifest": "application/manifest+json",
		"/icon.svg": "image/svg+xml", "/icon-192.png": "image/png", "/apple-touch-icon.png": "image/png"} {
		a, text := get(t, "GET", r.URL+path)
		if a.StatusCode != 200 || !strings.HasPrefix(a.Header.Get("Content-Type"), kind) || text == "" {
			t.Errorf("%s: status %s, content type %s", path, a.Status, a.Header.Get("Content-Type"))
		}
		if policy := a.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'; script-src 'self'") || !strings.Contains(policy, "; style-src 'self'; connect-src 'self'; ") {
			t.Errorf("%s: Content-Security-Policy = %q", path, policy)
		}
		if a.Header.Get("Cache-Control") != "no-cache" || a.Header.Get("ETag") == "" {
			t.Errorf("%s: headers = %v, want no-cache and an ETag", path, a.Header)
		}
		if head, body := get(t, "HEAD", r.URL+path); head.StatusCode != 200 || body != "" {
			t.Errorf("HEAD %s: status %s, want 200 without a body", path, head.Status)
		}
	}
	_, page := get(t, "GET", r.URL+"/")
	named := 0
	for _, part := range strings.Split(page, `"`) {
		if !strings.HasPrefix(part, "/") {
			continue
		}
		named++
		a, _ := get(t, "GET", r.URL+part)
		if a.StatusCode != 200 {
			t.Errorf("file %s of the page: status %s", part, a.Status)
		}
		if strings.HasPrefix(part, "/assets/") && a.Header.Get("Cache-Control") != "public, max-age=31536000, immutable" {
			t.Errorf("%s: Cache-Control = %s", part, a.Header.Get("Cache-Control"))
		}
	}
	if named < 6 || strings.Contains(page, "BUILD") || strings.Contains(page, "style=") || strings.Contains(page, "<style") {
		t.Errorf("page =\n%s", page)
	}
	for path, status := range map[string]int{"/nothing": 404, "/runs": 401, "/index.php": 404} {
		a, text := get(t, "GET", r.URL+path)
		var body struct {
			Error struct{ Code, Message string }
		}
		if err := json.Unmarshal([]byte(text), &body); err != nil || a.StatusCode != status || body.Error.Code == "" || body.Error.Message == "" {
			t.Errorf("%s: response = %s %s, want an error of the API", path, a.Status, text)
		}
	}
	if a, _ := get(t, "GET", r.URL+"/assets/x/y.js"); a.StatusCode != 404 || a.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("file of another build: status %s, headers %v; want 404 and no-store", a.Status, a.Header)
	}
	if a, text := get(t, "POST", r.URL+"/"); a.StatusCode != 405 || a.Header.Get("Allow") != "GET" || !strings.Contains(text, `"error"`) {
		t.Errorf("POST /: status %s, Allow %s, body %s; want 405", a.Status, a.Header.Get("Allow"), text)
	}
}

// Maximum sizes in bytes of the scripts, compressed with brotli: those that the page loads at its
// start, those that it loads when a machine has an account, for what is signed and sealed, those
// that only the screen of an enrolment needs beside them, those of passkeys, and those of all other
// screens and views together, except the terminal.
const (
	mostScript  = 56_000
	mostSeal    = 13_500
	mostJoin    = 3_000
	mostPasskey = 3_000
	mostLater   = 16_500
	mostWorker  = 20_000 // of the service worker, not compressed
)

// TestScriptSize measures the scripts that the page loads at its start and later, except the script
// of the terminal.
func TestScriptSize(t *testing.T) {
	r := webtest.Empty(t)
	_, page := get(t, "GET", r.URL+"/")
	_, worker := get(t, "GET", r.URL+"/sw.js")
	first, atStart, sealed, join, passkey, later := map[string]bool{}, 0, 0, 0, 0, 0
	for _, part := range regexp.MustCompile(`(?:href|src)="([^"]+js)"`).FindAllStringSubmatch(page, -1) {
		first[part[1]] = true
	}
	for _, name := range strings.Split(worker, `"`) {
		if !strings.HasPrefix(name, "/assets/") || !strings.HasSuffix(name, "js") {
			continue
		}
		isTerminal := strings.HasSuffix(name, "/joined/xterm.js") || strings.HasSuffix(name, "/joined/tab_terminal.js")
		isSeal := strings.HasSuffix(name, "/joined/seal.js") || strings.HasSuffix(name, "/joined/sealed.js")
		isJoin, isPasskey := strings.HasSuffix(name, "/joined/join.js"), strings.HasSuffix(name, "/joined/passkey.js")
		if (isTerminal || isSeal || isJoin || isPasskey) && first[name] {
			t.Errorf("the page loads %s at its start, want it loaded later", name)
		}
		if isTerminal {
			continue
		}
		n := weigh(t, r.URL+name)
		t.Logf("%6d bytes: %s", n, name)
		switch {
		case isSeal:
			sealed += n
		case isJoin:
			join += n
		case isPasskey:
			passkey += n
		case first[name]:
			atStart += n
		default:
			later += n
		}
	}
	if atStart > mostScript || atStart < mostScript/2 {
		t.Errorf("size of the scripts at the start = %d bytes, want at most %d", atStart, mostScript)
	}
	if later > mostLater || later < mostLater/2 {
		t.Errorf("size of the scripts of the other screens = %d bytes, want at most %d", later, mostLater)
	}
	if sealed > mostSeal || sealed < mostSeal/4 {
		t.Errorf("size of the scripts for what is signed and sealed = %d bytes, want at most %d", sealed, mostSeal)
	}
	if passkey > mostPasskey || passkey < mostPasskey/2 {
		t.Errorf("size of the scripts of passkeys = %d bytes, want at most %d", passkey, mostPasskey)
	}
	if n := len(worker); n > mostWorker || n < mostWorker/2 {
		t.Errorf("size of the service worker = %d bytes, want at most %d", n, mostWorker)
	}
	if join > mostJoin || join < mostJoin/2 {
		t.Errorf("size of the scripts for an enrolment = %d bytes, want at most %d", join, mostJoin)
	}
}

// weigh returns the size of a file in bytes, compressed with brotli.
func weigh(t *testing.T, url string) int {
	t.Helper()
	q, err := http.NewRequest("GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Accept-Encoding", "br")
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	if a.StatusCode != 200 || a.Header.Get("Content-Encoding") != "br" {
		t.Errorf("%s: status %s, Content-Encoding %q; want 200 and br", url, a.Status, a.Header.Get("Content-Encoding"))
	}
	return len(text)
}
