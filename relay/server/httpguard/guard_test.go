package httpguard_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/relay/server/httpguard"
)

// TestRequests checks for several configurations which values of Host and Origin are accepted.
func TestRequests(t *testing.T) {
	public, _ := url.Parse("https://Relay.example")
	local := httpguard.Config{Loopback: true, Allow: []string{"https://app.example"}}
	proxied := httpguard.Config{Public: public}
	for _, c := range []struct {
		config       httpguard.Config
		host, origin string
		want         int
	}{
		{local, "127.0.0.1:8787", "", 200}, {local, "localhost:1", "", 200}, {local, "[::1]:80", "", 200}, {local, "127.9.9.9", "", 200}, {local, "LOCALHOST", "", 200},
		{local, "evil.example", "", 403}, {local, "localhost.evil.example", "", 403}, {local, "", "", 403}, {local, "10.0.0.1:8787", "", 403},
		{local, "127.0.0.1:8787", "http://127.0.0.1:8787", 200}, {local, "127.0.0.1:8787", "http://localhost:8787", 403}, {local, "127.0.0.1:8787", "http://127.0.0.1:1", 403},
		{local, "127.0.0.1:8787", "null", 403}, {local, "127.0.0.1:8787", "https://evil.example", 403}, {local, "127.0.0.1:8787", "https://app.example", 200},
		{local, "127.0.0.1:8787", "https://app.example.evil", 403}, {local, "127.0.0.1:8787", "https://127.0.0.1:8787", 403},
		{proxied, "relay.example", "https://relay.example", 200}, {proxied, "relay.example:443", "", 200}, {proxied, "relay.example:80", "", 403}, {proxied, "127.0.0.1:8787", "", 200},
		{proxied, "127.0.0.1:8787", "http://127.0.0.1:8787", 403}, {proxied, "relay.example", "http://relay.example", 403}, {proxied, "x.relay.example", "", 403},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = c.host
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		w := httptest.NewRecorder()
		httpguard.New(c.config).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200) })).ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("Host %s, Origin %q: response = %d %s", c.host, c.origin, w.Code, w.Body)
		}
		h := w.Header()
		const csp = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
		if h.Get("Content-Security-Policy") != csp || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "same-origin" {
			t.Errorf("security headers = %v", h)
		}
		if secure := h.Get("Strict-Transport-Security") != ""; secure != strings.HasPrefix(c.host, "relay.example") || secure && c.config.Public == nil {
			if !(c.host == "relay.example:80") {
				t.Errorf("Host %s: Strict-Transport-Security = %q", c.host, h.Get("Strict-Transport-Security"))
			}
		}
		if allowed := h.Get("Access-Control-Allow-Origin"); (allowed != "") != (c.origin == "https://app.example") {
			t.Errorf("Host %s, Origin %q: Access-Control-Allow-Origin = %q", c.host, c.origin, allowed)
		}
	}
}

// TestAddress checks from which proxies X-Forwarded-For is trusted.
func TestAddress(t *testing.T) {
	g := httpguard.New(httpguard.Config{Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	for _, c := range []struct{ peer, forwarded, want string }{
		{"1.2.3.4:5", "", "1.2.3.4"}, {"1.2.3.4:5", "9.9.9.9", "1.2.3.4"}, {"10.0.0.1:5", "9.9.9.9", "9.9.9.9"}, {"10.0.0.1:5", "6.6.6.6, 9.9.9.9, 10.1.1.1", "9.9.9.9"},
		{"10.0.0.1:5", "junk", "10.0.0.1"}, {"10.0.0.1:5", "", "10.0.0.1"}, {"[2001:db8:1:2:3:4:5:6]:5", "", "2001:db8:1:2::"}, {"[::ffff:1.2.3.4]:5", "", "1.2.3.4"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.peer
		if c.forwarded != "" {
			r.Header.Set("X-Forwarded-For", c.forwarded)
		}
		if got := g.Address(r).String(); got != c.want {
			t.Errorf("peer %s, X-Forwarded-For %q: address = %s, want %s", c.peer, c.forwarded, got, c.want)
		}
	}
}

// TestClean checks that Clean removes secrets from URLs.
func TestClean(t *testing.T) {
	got := httpguard.Clean(`GET "/ws/host?host_id=h&host_token=s3cret&x=1" /ws/app?token=abc#x ?ticket=q&a=token`)
	want := `GET "/ws/host?host_id=h&host_token=***REDACTED***&x=1" /ws/app?token=***REDACTED***#x ?ticket=***REDACTED***&a=token`
	if got != want {
		t.Error(got)
	}
}
