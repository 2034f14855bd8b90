package testmcp

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ClientID and ClientSecret are a client that is registered at every authorization server.
const (
	ClientID     = "registered"
	ClientSecret = "registered-client-secret"
)

// Authorization is an MCP server that requires a login, with its authorization server. It checks
// PKCE, the redirect address, the resource and the client, accepts each refresh token once, and
// counts requests. Behaviours change what it does.
type Authorization struct {
	*httptest.Server

	mu       sync.Mutex
	does     map[string]bool
	counts   map[string]int
	last     int                   // number of the last code, token or client
	clients  map[string]string     // secrets by client id
	codes    map[string]*grantCode // codes and device codes that were not exchanged
	access   map[string]bool       // valid access tokens
	refresh  map[string]*grantCode // valid refresh tokens
	sessions http.Handler
}

// grantCode is what a code or a refresh token represents.
type grantCode struct {
	client, redirect, challenge, resource, scope string
	approved                                     bool
}

// Behaviours lists what StartAuthorization accepts. With short, tokens expire in 30 seconds, so
// that a client refreshes them at once; with forgets, the server accepts no token; with revokes, a
// client can revoke a refresh token.
var Behaviours = []string{"short", "expired-refresh", "no-refresh", "no-metadata", "other-issuer", "foreign-http", "wrong-iss", "no-iss",
	"redirects", "huge", "device", "revokes", "no-registration", "denies", "no-pkce", "insufficient-scope", "other-resource", "forgets"}

// StartAuthorization serves both servers on the loopback interface. The MCP server is at /mcp; its
// tool header returns the Authorization header of the last request.
func StartAuthorization(behaviours ...string) *Authorization {
	a := &Authorization{does: map[string]bool{}, counts: map[string]int{}, clients: map[string]string{ClientID: ClientSecret},
		codes: map[string]*grantCode{}, access: map[string]bool{}, refresh: map[string]*grantCode{}}
	for _, b := range behaviours {
		if !slices.Contains(Behaviours, b) {
			panic("unknown behaviour " + b)
		}
		a.does[b] = true
	}
	header := make(chan string, 1)
	header <- ""
	last := func() string {
		h := <-header
		header <- h
		return h
	}
	protocol := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return New(last) }, nil)
	a.sessions = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-header
		header <- r.Header.Get("Authorization")
		protocol.ServeHTTP(w, r)
	})
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", a.resource)
	mux.HandleFunc("/.well-known/", a.metadata)
	mux.HandleFunc("POST /register", a.register)
	mux.HandleFunc("GET /authorize", a.authorize)
	mux.HandleFunc("POST /token", a.token)
	mux.HandleFunc("POST /device", a.device)
	mux.HandleFunc("GET /approve", a.approve)
	mux.HandleFunc("POST /revoke", a.revoke)
	a.Server = httptest.NewServer(mux)
	return a
}

// Set turns a behaviour on or off.
func (a *Authorization) Set(behaviour string, on bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.does[behaviour] = on
}

// Count returns the number of requests of a kind: register, authorize, code, refresh,
// client_credentials, device, revoke, or refused for calls of the MCP server without a valid token.
func (a *Authorization) Count(kind string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.counts[kind]
}

// Revoke makes all access tokens invalid.
func (a *Authorization) Revoke() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.access)
}

func (a *Authorization) is(behaviour string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.does[behaviour]
}

func (a *Authorization) count(kind string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts[kind]++
}

func (a *Authorization) resource(w http.ResponseWriter, r *http.Request) {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	a.mu.Lock()
	valid, scoped := a.access[token] && !a.does["forgets"], a.does["insufficient-scope"]
	if !valid {
		a.counts["refused"]++
	}
	a.mu.Unlock()
	switch {
	case !valid && a.is("no-metadata"):
		http.Error(w, "no", http.StatusUnauthorized)
	case !valid:
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+a.URL+`/.well-known/oauth-protected-resource/mcp"`)
		http.Error(w, "no", http.StatusUnauthorized)
	case scoped:
		w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="docs.write"`)
		http.Error(w, "no", http.StatusForbidden)
	default:
		a.sessions.ServeHTTP(w, r)
	}
}

// metadata serves the documents about the resource and about the authorization server.
func (a *Authorization) metadata(w http.ResponseWriter, r *http.Request) {
	of, _ := strings.CutPrefix(r.URL.Path, "/.well-known/")
	switch {
	case a.is("no-metadata"):
		http.NotFound(w, r)
	case a.is("redirects"):
		http.Redirect(w, r, r.URL.Path, http.StatusFound)
	case a.is("huge"):
		w.Header().Set("Content-Type", "application/json")
		part := []byte(strings.Repeat(" ", 1<<16))
		for range 1 << 10 {
			if _, err := w.Write(part); err != nil {
				return
			}
		}
	case of == "oauth-protected-resource/mcp":
		server, resource := a.URL, a.URL+"/mcp"
		if a.is("foreign-http") {
			server = "http://as.example.org"
		}
		if a.is("other-resource") {
			resource = "https://other.example.org/mcp"
		}
		reply(w, map[string]any{"resource": resource, "authorization_servers": []string{server}, "scopes_supported": []string{"docs.read"}})
	case of == "oauth-authorization-server":
		a.serverMetadata(w)
	default:
		http.NotFound(w, r)
	}
}

func (a *Authorization) serverMetadata(w http.ResponseWriter) {
	m := map[string]any{"issuer": a.URL, "authorization_endpoint": a.URL + "/authorize", "token_endpoint": a.URL + "/token",
		"registration_endpoint": a.URL + "/register", "response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
		"scopes_supported": []string{"docs.read", "docs.write", "offline_access"}, "authorization_response_iss_parameter_supported": true,
		"token_endpoint_auth_methods_supported": []string{"none", "client_secret_post"}}
	if a.is("other-issuer") {
		m["issuer"] = "https://other.example.org"
	}
	if a.is("no-pkce") {
		delete(m, "code_challenge_methods_supported")
	}
	if a.is("no-registration") {
		delete(m, "registration_endpoint")
	}
	if a.is("device") {
		m["device_authorization_endpoint"] = a.URL + "/device"
	}
	if a.is("revokes") {
		m["revocation_endpoint"] = a.URL + "/revoke"
	}
	reply(w, m)
}

func (a *Authorization) register(w http.ResponseWriter, r *http.Request) {
	a.count("register")
	var m struct {
		RedirectURIs []string `json:"redirect_uris"`
		GrantTypes   []string `json:"grant_types"`
	}
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil || len(m.RedirectURIs) == 0 && slices.Contains(m.GrantTypes, "authorization_code") {
		refuse(w, "invalid_client_metadata")
		return
	}
	id := a.name("client")
	a.mu.Lock()
	a.clients[id] = ""
	a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	reply(w, map[string]any{"client_id": id, "redirect_uris": m.RedirectURIs, "token_endpoint_auth_method": "none"})
}

// name returns a new text for a code, a token or a client.
func (a *Authorization) name(kind string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last++
	return fmt.Sprintf("%s-for-tests-%d", kind, a.last)
}

// authorize redirects to the client at once: the person agrees without a question.
func (a *Authorization) authorize(w http.ResponseWriter, r *http.Request) {
	a.count("authorize")
	q := r.URL.Query()
	to, err := url.Parse(q.Get("redirect_uri"))
	a.mu.Lock()
	_, known := a.clients[q.Get("client_id")]
	a.mu.Unlock()
	if err != nil || !known || to.Hostname() != "127.0.0.1" || q.Get("code_challenge_method") != "S256" || q.Get("resource") != a.URL+"/mcp" || q.Get("response_type") != "code" {
		refuse(w, "invalid_request")
		return
	}
	answer := url.Values{"state": {q.Get("state")}, "iss": {a.URL}}
	switch {
	case a.is("wrong-iss"):
		answer.Set("iss", "https://other.example.org")
	case a.is("no-iss"):
		answer.Del("iss")
	}
	if a.is("denies") {
		answer.Set("error", "access_denied")
		answer.Set("error_description", "not \x1b[31mtoday")
	} else {
		code := a.name("code")
		a.mu.Lock()
		a.codes[code] = &grantCode{q.Get("client_id"), q.Get("redirect_uri"), q.Get("code_challenge"), q.Get("resource"), q.Get("scope"), true}
		a.mu.Unlock()
		answer.Set("code", code)
	}
	to.RawQuery = answer.Encode()
	http.Redirect(w, r, to.String(), http.StatusFound)
}

func (a *Authorization) token(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		refuse(w, "invalid_request")
		return
	}
	kind := r.Form.Get("grant_type")
	short := map[string]string{"authorization_code": "code", "refresh_token": "refresh", "urn:ietf:params:oauth:grant-type:device_code": "code"}
	if short[kind] != "" {
		kind = short[kind]
	}
	a.count(kind)
	a.mu.Lock()
	secret, known := a.clients[r.Form.Get("client_id")]
	a.mu.Unlock()
	if !known || secret != r.Form.Get("client_secret") {
		refuse(w, "invalid_client")
		return
	}
	var g *grantCode
	a.mu.Lock()
	switch kind {
	case "code":
		for _, name := range []string{"code", "device_code"} {
			if c := a.codes[r.Form.Get(name)]; c != nil {
				g = c
				if g.approved {
					delete(a.codes, r.Form.Get(name))
				}
			}
		}
	case "refresh":
		if g = a.refresh[r.Form.Get("refresh_token")]; a.does["expired-refresh"] {
			g = nil
		}
		delete(a.refresh, r.Form.Get("refresh_token"))
	case "client_credentials":
		g = &grantCode{client: r.Form.Get("client_id"), scope: r.Form.Get("scope"), approved: true}
	}
	a.mu.Unlock()
	sum := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
	switch {
	case g == nil || g.client != r.Form.Get("client_id"):
		refuse(w, "invalid_grant")
	case !g.approved:
		refuse(w, "authorization_pending")
	case g.challenge != "" && kind == "code" && (g.challenge != base64.RawURLEncoding.EncodeToString(sum[:]) || g.redirect != r.Form.Get("redirect_uri") || g.resource != r.Form.Get("resource")):
		refuse(w, "invalid_grant")
	default:
		a.grant(w, g, kind != "client_credentials")
	}
}

// grant answers with new tokens.
func (a *Authorization) grant(w http.ResponseWriter, g *grantCode, refreshable bool) {
	m := map[string]any{"access_token": a.name("access-token"), "token_type": "Bearer", "expires_in": 3600, "scope": g.scope}
	if a.is("short") {
		m["expires_in"] = 30
	}
	next := a.name("refresh-token")
	if refreshable && !a.is("no-refresh") {
		m["refresh_token"] = next
	}
	a.mu.Lock()
	a.access[m["access_token"].(string)], a.refresh[next] = true, g
	a.mu.Unlock()
	reply(w, m)
}

func (a *Authorization) device(w http.ResponseWriter, r *http.Request) {
	a.count("device")
	code := a.name("device-code")
	a.mu.Lock()
	a.codes[code] = &grantCode{client: r.FormValue("client_id"), scope: r.FormValue("scope")}
	a.mu.Unlock()
	reply(w, map[string]any{"device_code": code, "user_code": "WDJB-MJHT", "verification_uri": a.URL + "/approve", "expires_in": 600, "interval": 1})
}

// revoke revokes a refresh token, and all access tokens.
func (a *Authorization) revoke(w http.ResponseWriter, r *http.Request) {
	a.count("revoke")
	a.mu.Lock()
	g := a.refresh[r.FormValue("token")]
	a.mu.Unlock()
	if g == nil || g.client != r.FormValue("client_id") {
		http.Error(w, "no", http.StatusServiceUnavailable)
		return
	}
	a.Revoke()
	a.mu.Lock()
	clear(a.refresh)
	a.mu.Unlock()
}

// approve approves all logins of devices.
func (a *Authorization) approve(w http.ResponseWriter, _ *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.codes {
		c.approved = true
	}
	fmt.Fprintln(w, "approved")
}

func reply(w http.ResponseWriter, m map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(m) // the client may have closed the connection
}

func refuse(w http.ResponseWriter, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": why})
}
