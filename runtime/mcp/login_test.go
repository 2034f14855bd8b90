package mcp

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/testkit/testmcp"
	"github.com/concerto-lang/concerto/runtime/mcp/mcpport"
)

// visitor is a person whose browser requests each address that the login shows.
func visitor(t *testing.T) Person {
	back := make(chan string, 1)
	return Person{
		Show: func(address string) {
			browser := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			resp, err := browser.Get(address)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			back <- resp.Header.Get("Location")
		},
		Redirected: func() (string, error) { return <-back, nil },
	}
}

// authorized starts an MCP server that requires a login, with an environment to store it.
func authorized(t *testing.T, behaviours ...string) (*testmcp.Authorization, mcpport.Config, []string) {
	a := testmcp.StartAuthorization(behaviours...)
	t.Cleanup(func() {
		a.CloseClientConnections()
		a.Close()
	})
	return a, mcpport.Config{Name: "S", Transport: "http", URL: a.URL + "/mcp"}, []string{"XDG_STATE_HOME=" + t.TempDir()}
}

// echoed calls a tool of the server and returns the outcome.
func echoed(t *testing.T, c mcpport.Config, environ []string) string {
	s := newServers(mcpport.Options{Configs: []mcpport.Config{c}, Environ: environ})
	defer s.Close(context.Background())
	return next(t, s, openCall(t, s, &effect.MCPOpen{Server: "S", Tool: "echo", Args: []byte(`{"text":"a"}`)}))
}

// TestHostileAuthorization checks that a login to a hostile or broken server fails, and that
// nothing is stored.
func TestHostileAuthorization(t *testing.T) {
	for behaviour, want := range map[string]string{
		"other-issuer":    `metadata issuer "https://other.example.org" does not match issuer URL`,
		"wrong-iss":       `authorization response issuer "https://other.example.org" does not match expected issuer`,
		"no-iss":          "none was received in the authorization response",
		"redirects":       "redirect into loopback address",
		"huge":            "EOF",
		"no-pkce":         "does not implement PKCE",
		"denies":          `the authorization server refused the login: access_denied: not \u{1b}[31mtoday`,
		"no-registration": "no configured client registration methods are supported",
	} {
		t.Run(behaviour, func(t *testing.T) {
			_, c, environ := authorized(t, behaviour)
			st, err := Login(t.Context(), c, environ, visitor(t))
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Login returns %v, %v; want the error %q", st, err, want)
			}
			if st := StatusOf(c, environ); st.State != StateOut {
				t.Errorf("state = %s after a failed login", st.State)
			}
		})
	}
}

// TestForeignMetadata checks that metadata about another resource, or with an authorization server
// that is not protected by TLS, is not used. The SDK then expects the authorization server at the
// server's own root, as older versions of the protocol require.
func TestForeignMetadata(t *testing.T) {
	for _, behaviour := range []string{"foreign-http", "other-resource"} {
		_, c, environ := authorized(t, behaviour)
		if _, err := Login(t.Context(), c, environ, visitor(t)); err != nil {
			t.Errorf("%s: %v", behaviour, err)
		}
	}
}

// TestWithoutMetadata logs in to a server of the oldest version with logins, which has no
// documents: the paths of the authorization server are fixed.
func TestWithoutMetadata(t *testing.T) {
	a, c, environ := authorized(t, "no-metadata", "no-iss")
	if _, err := Login(t.Context(), c, environ, visitor(t)); err != nil {
		t.Fatal(err)
	}
	if got := echoed(t, c, environ); got != "result a" || a.Count("code") != 1 {
		t.Errorf("outcome = %q after %d exchanges", got, a.Count("code"))
	}
}

// TestOtherAddress checks that only the address of this login is accepted.
func TestOtherAddress(t *testing.T) {
	for entered, want := range map[string]string{
		"http://127.0.0.1/callback?code=c&state=other": "this is not the address to which this login is redirected",
		"":      "this is not the address to which this login is redirected",
		":\x00": "the address that was entered is no URL",
	} {
		_, c, environ := authorized(t)
		p := Person{Show: func(string) {}, Redirected: func() (string, error) { return entered, nil }}
		if _, err := Login(t.Context(), c, environ, p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q entered: %v, want %q", entered, err, want)
		}
	}
}

// TestReceived checks that a request of another page does not end a login, and that the end of the
// context does.
func TestReceived(t *testing.T) {
	_, c, environ := authorized(t)
	p := Person{Show: func(address string) {
		back := address[strings.Index(address, "redirect_uri=")+len("redirect_uri="):]
		back = strings.NewReplacer("%3A", ":", "%2F", "/").Replace(back[:strings.IndexByte(back, '&')])
		for _, other := range []string{"?code=stolen&state=other", "/../x"} {
			resp, err := http.Get(back + other)
			if err != nil {
				t.Error(err)
				continue
			}
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusNotFound {
				t.Errorf("status of %s = %d", other, resp.StatusCode)
			}
		}
		resp, err := http.Get(address)
		if err != nil {
			t.Error(err)
			return
		}
		_ = resp.Body.Close()
	}}
	if _, err := Login(t.Context(), c, environ, p); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	p.Show = func(string) { cancel(errDone) }
	if _, err := Login(ctx, c, environ, p); !errors.Is(err, errDone) {
		t.Errorf("Login returns %v, want the cause", err)
	}
}

// TestRefreshOnce checks that of many users of a login that expires soon, one refreshes it. Each of
// them opens the lock's file itself, as a process does.
func TestRefreshOnce(t *testing.T) {
	a, c, environ := authorized(t, "short")
	if _, err := Login(t.Context(), c, environ, visitor(t)); err != nil {
		t.Fatal(err)
	}
	a.Set("short", false)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if got := echoed(t, c, environ); got != "result a" {
				t.Errorf("outcome = %q", got)
			}
		})
	}
	all.Wait()
	if n := a.Count("refresh"); n != 1 {
		t.Errorf("%d refreshes, want 1", n)
	}
}

// TestRefusedTwice checks that a token is replaced once: a server that refuses the new one, too,
// requires a login.
func TestRefusedTwice(t *testing.T) {
	a, c, environ := authorized(t, "short")
	if _, err := Login(t.Context(), c, environ, visitor(t)); err != nil {
		t.Fatal(err)
	}
	file, err := loginFile(environ, c.URL)
	if err != nil {
		t.Fatal(err)
	}
	l, err := readLogin(file)
	if err != nil {
		t.Fatal(err)
	}
	l.Expires = time.Time{} // a server that reports no time
	if err := l.write(file); err != nil {
		t.Fatal(err)
	}
	if got := echoed(t, c, environ); got != "result a" || a.Count("refresh") != 0 {
		t.Errorf("outcome = %q after %d refreshes", got, a.Count("refresh"))
	}
	a.Set("forgets", true)
	a.Set("short", false)
	if got := echoed(t, c, environ); !strings.Contains(got, "mcp server 'S' requires a login") || a.Count("refresh") != 1 {
		t.Errorf("outcome = %q after %d refreshes, want the error about the login", got, a.Count("refresh"))
	}
}

// TestDamagedLogin checks files that cannot be used.
func TestDamagedLogin(t *testing.T) {
	a, c, environ := authorized(t)
	file, err := loginFile(environ, c.URL)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "{}", `{"access_token":1}`} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := echoed(t, c, environ); !strings.Contains(got, "is damaged: log in again") {
			t.Errorf("file %q: outcome %q", text, got)
		}
	}
	if _, err := Login(t.Context(), c, environ, visitor(t)); err != nil {
		t.Fatal(err)
	}
	if got := echoed(t, c, environ); got != "result a" {
		t.Errorf("outcome = %q after a login", got)
	}
	if _, err := loginFile(nil, c.URL); err == nil {
		t.Error("a login without a directory")
	}
	_ = a
}

// TestOnlyPublic checks the addresses that the metadata of a server elsewhere may name.
func TestOnlyPublic(t *testing.T) {
	for address, public := range map[string]bool{"93.184.215.14:443": true, "[2606:2800:21f:cb07:6820:80da:af6b:8b2c]:443": true,
		"127.0.0.1:80": false, "[::1]:80": false, "10.0.0.1:443": false, "192.168.1.1:443": false, "169.254.169.254:80": false, "[::ffff:10.0.0.1]:443": false,
		"[fd00::1]:443": false, "[fe80::1]:443": false, "100.64.0.1:443": false, "0.0.0.0:80": false, "224.0.0.1:80": false, "x": false} {
		if err := onlyPublic("tcp", address, nil); (err == nil) != public {
			t.Errorf("onlyPublic(%s) = %v", address, err)
		}
	}
}

// TestRefusedAuthorization checks that an address which the run may not call is not called to
// refresh a login, or for the grant client_credentials.
func TestRefusedAuthorization(t *testing.T) {
	a, c, environ := authorized(t, "short")
	if _, err := Login(t.Context(), c, environ, visitor(t)); err != nil {
		t.Fatal(err)
	}
	granted := c
	granted.OAuth = &mcpport.OAuth{Grant: "client_credentials", ClientID: testmcp.ClientID, ClientSecretEnv: "SECRET"}
	for _, c := range []mcpport.Config{c, granted} {
		s := newServers(mcpport.Options{Configs: []mcpport.Config{c}, Environ: append(environ, "SECRET="+testmcp.ClientSecret), Refused: func(address string) string {
			if strings.HasSuffix(address, "/token") {
				return "calling it is not permitted"
			}
			return ""
		}})
		got := next(t, s, openCall(t, s, &effect.MCPOpen{Server: "S", Tool: "echo"}))
		if !strings.Contains(got, "calling it is not permitted") {
			t.Errorf("outcome = %q", got)
		}
		s.Close(context.Background())
	}
	if n := a.Count("refresh") + a.Count("client_credentials"); n != 0 {
		t.Errorf("%d requests of tokens, want none", n)
	}
}
