package main_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/concerto-lang/concerto/relay/server/push/pushtest"
	"github.com/concerto-lang/concerto/tools/browser"
)

// proxied starts an HTTPS proxy with a self-signed certificate. The caller stores the address of
// the server in to later.
func proxied(t *testing.T) (address string, to *atomic.Pointer[url.URL], client *http.Client) {
	t.Helper()
	to = &atomic.Pointer[url.URL]{}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to.Load())
		r.Out.Host = r.In.Host
		r.SetXForwarded()
	}}
	s := httptest.NewTLSServer(proxy)
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return "https://relay.test:" + u.Port(), to, s.Client()
}

// TestProxied sets up a phone as README.md describes. The server is behind an HTTPS proxy and knows
// its public address. The user opens the printed link through the proxy, enables notifications on a
// phone and approves a request of a local run. Requests from pages of other origins are refused.
func TestProxied(t *testing.T) {
	r := newRelay(t)
	address, to, client := proxied(t)
	service := pushtest.New(t)
	r.serve(nil, "--push-insecure", "--public-url", address)
	at, err := url.Parse(r.url)
	if err != nil {
		t.Fatal(err)
	}
	to.Store(at)
	if !strings.HasPrefix(r.setup, address+"/setup#") {
		t.Fatalf("setup link = %q", r.setup)
	}
	b := browser.Open(t)
	b.Emulate(browser.Phone, browser.Dark)
	b.Expect("401")
	b.Go(r.setup)
	login(b)
	b.Wait("location.pathname === '/' && document.querySelector('[data-testid=conn]').dataset.state === 'online'")
	if is := b.Eval("location.origin + ' ' + isSecureContext"); is != address+" true" {
		t.Errorf("address of the page = %v", is)
	}
	b.Wait("navigator.serviceWorker.controller") // the service worker can open the page without a connection
	b.Eval("location.hash = '#/settings'")
	b.Allow(address, "notifications")
	key, _ := b.Eval("fetch('/push/key').then((a) => a.json()).then((x) => x.key)").(string)
	phone := service.Subscribe("phone", key)
	b.Eval(fmt.Sprintf("PushManager.prototype.subscribe = async (options) => ({ options, toJSON: () => (%s) })", phone.JSON())) // the subscription has the form that a vendor's push service returns
	b.Tap("=Turn on")
	b.See("This device gets a notification when a run has a request.")

	id := r.do(0, "", "run", "--detach", "--title", "a test", "--", `printf 'Go on? [y/N] '; read x; echo "said $x"; exit 4`)
	note, msg := phone.Next()
	if note.RunID != id || note.RequestID == "" {
		t.Errorf("notification of the request = %+v", note)
	}
	b.Push(address, msg.Text)
	b.Eval("location.hash = '#/inbox'")
	b.Wait("__see.text('@approval-card').includes('Go on?') && document.querySelector('[data-testid=approve]').ariaDisabled === 'false'")
	b.Tap("@approve")
	b.Wait("__see.text('@settled').includes('answered by ann')")
	if over, _ := phone.Next(); !over.Withdrawn || over.RequestID != note.RequestID {
		t.Errorf("notification after the decision = %+v", over)
	}
	if out := r.do(4, "", "attach", id); !strings.Contains(out, "said y") {
		t.Errorf("output of the run = %q", out)
	}

	login := func(origin string) *http.Response {
		q, err := http.NewRequestWithContext(t.Context(), "POST", strings.Replace(address, "relay.test", "127.0.0.1", 1)+"/auth/login", bytes.NewReader([]byte(`{"username":"ann","password":"correct horse"}`)))
		if err != nil {
			t.Fatal(err)
		}
		q.Host = strings.TrimPrefix(address, "https://")
		q.Header.Set("Origin", origin)
		a, err := client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		return a
	}
	if a := login("https://evil.test"); a.StatusCode != http.StatusForbidden {
		t.Errorf("status for a page of another origin = %s", a.Status)
	}
	a := login(address)
	if set := a.Header.Get("Set-Cookie"); a.StatusCode != http.StatusOK || !strings.HasPrefix(set, "__Host-concerto=") || !strings.Contains(set, "Secure") || a.Header.Get("Strict-Transport-Security") == "" {
		t.Errorf("login: status %s, Set-Cookie %q", a.Status, set)
	}
	b.Expect("502") // the page reconnects while the server is down
	b.Expect("WebSocket")
	r.stop()
}
