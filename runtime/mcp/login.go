package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/concerto-lang/concerto/runtime/mcp/mcpport"
)

// States of the login to a server.
const (
	StateIn      = "logged_in"
	StateExpired = "expired"
	StateOut     = "logged_out"
	StateDamaged = "unreadable"         // the file cannot be used; Status.Problem is the reason
	StateGrant   = "client_credentials" // each run gets its own token
	StateHeaders = "headers"            // the section has the header Authorization
)

// Status describes the login to a server. Its JSON form is that of `concerto mcp status`.
type Status struct {
	Server  string     `json:"server"`
	URL     string     `json:"url"`
	State   string     `json:"state"`
	Expires *time.Time `json:"expires"` // of the access token; nil if it is unknown
	Scopes  []string   `json:"scopes"`
	Problem string     `json:"-"`
}

// StatusOf returns the status of the login to a server with a URL. It sends nothing.
func StatusOf(c mcpport.Config, environ []string) Status {
	st := Status{Server: c.Name, URL: c.URL, State: StateOut, Scopes: []string{}}
	switch {
	case !c.LogsIn():
		st.State = StateHeaders
		return st
	case c.OAuth != nil && c.OAuth.Grant == "client_credentials":
		st.State, st.Scopes = StateGrant, append(st.Scopes, c.OAuth.Scopes...)
		return st
	}
	file, err := loginFile(environ, c.URL)
	var l *login
	if err == nil {
		l, err = readLogin(file)
	}
	switch {
	case err != nil:
		st.State, st.Problem = StateDamaged, err.Error()
	case l != nil:
		st.State = StateIn
		if l.isExpired() {
			st.State = StateExpired
		}
		if !l.Expires.IsZero() {
			st.Expires = &l.Expires
		}
		st.Scopes = append(st.Scopes, l.Scopes...)
	}
	return st
}

// Logout removes the login to a server with a URL, and reports whether there was one. Before, it
// revokes the tokens at the authorization server, if that is possible; unrevoked is the error if
// this fails, and then the login is removed nevertheless.
func Logout(ctx context.Context, c mcpport.Config, environ []string) (existed bool, unrevoked, err error) {
	file, err := loginFile(environ, c.URL)
	if err != nil {
		return false, nil, err
	}
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		return false, nil, nil
	}
	err = whileLocked(ctx, file, func() error {
		l, err := readLogin(file)
		if err == nil && l != nil {
			err = l.revoke(ctx, c, environ)
		}
		if err != nil {
			unrevoked = errors.New(plainError(err))
		}
		return errors.Join(os.Remove(file), os.Remove(file+".lock"))
	})
	return true, unrevoked, err
}

// Person is how a login reaches the person who logs in.
type Person struct {
	// Show shows the address at which the person logs in.
	Show func(address string)
	// Redirected reads the address to which the person's browser was redirected. If it is nil, a
	// server on 127.0.0.1 receives the redirect.
	Redirected func() (string, error)
	// Device shows the address and the code for a login on another device; nil for other logins.
	Device func(address, code string)
}

// Login logs a person in to a server with a URL, checks the access, and stores the login.
func Login(ctx context.Context, c mcpport.Config, environ []string, p Person) (Status, error) {
	x := &loggingIn{server: &server{config: c, options: mcpport.Options{Environ: environ}}, person: p}
	file, err := loginFile(environ, c.URL)
	if err == nil {
		_, err = readLogin(file)
		if _, wide := errors.AsType[*modeError](err); !wide {
			err = nil // a damaged file is replaced
		}
	}
	if err != nil {
		return Status{}, err
	}
	handler, err := x.handler(ctx)
	if err != nil {
		return Status{}, errors.New(plainError(err))
	}
	if x.redirect != nil {
		defer x.redirect.Close()
	}
	if err := x.connect(ctx, handler); err != nil {
		if ctx.Err() != nil {
			return Status{}, context.Cause(ctx)
		}
		return Status{}, errors.New(plainError(err))
	}
	if x.login == nil {
		return Status{}, fmt.Errorf("%s accepts requests without a login", c.URL)
	}
	if err := whileLocked(ctx, file, func() error { return x.login.write(file) }); err != nil {
		return Status{}, err
	}
	return StatusOf(c, environ), nil
}

// loggingIn is a login in progress.
type loggingIn struct {
	server   *server
	person   Person
	client   *http.Client
	redirect net.Listener // receives the redirect; nil if the person enters its address
	login    *login       // result
}

// connect connects to the server and lists its tools, as some servers accept the first request
// without a login.
func (x *loggingIn) connect(ctx context.Context, handler auth.OAuthHandler) error {
	client, err := x.server.httpClient(nil)
	if err != nil {
		return err
	}
	own := client.Transport.(headerTransport)
	own.asking = true
	client.Transport = own
	session, err := sdk.NewClient(&sdk.Implementation{Name: "concerto", Version: "1"}, nil).
		Connect(ctx, &sdk.StreamableClientTransport{Endpoint: x.server.config.URL, HTTPClient: client, OAuthHandler: handler, DisableStandaloneSSE: true}, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	if has := session.InitializeResult().Capabilities; has == nil || has.Tools == nil {
		return nil
	}
	_, err = session.ListTools(ctx, nil)
	return err
}

// handler returns what performs the login when the server requires it.
func (x *loggingIn) handler(ctx context.Context) (auth.OAuthHandler, error) {
	o := x.section()
	var err error
	if x.client, err = loginClient(&x.server.config, nil); err != nil {
		return nil, err
	}
	if x.person.Device != nil {
		return &deviceLogin{loggingIn: x}, nil
	}
	if x.redirect, err = (&net.ListenConfig{}).Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", o.RedirectPort)); err != nil {
		return nil, fmt.Errorf("the browser cannot be redirected to port %d: %w", o.RedirectPort, err)
	}
	if x.person.Redirected != nil {
		if err := x.redirect.Close(); err != nil { // only its port was needed
			return nil, err
		}
	}
	back := "http://" + x.redirect.Addr().String() + "/callback"
	config := &auth.AuthorizationCodeHandlerConfig{RedirectURL: back, AuthorizationCodeFetcher: x.authorize, RequestRefreshToken: true, AcceptUnadvertisedIss: true, Client: x.client,
		NewTokenSource: func(_ context.Context, config *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
			x.granted(config, t)
			return oauth2.StaticTokenSource(t), nil
		}}
	if o.Scopes != nil {
		config.ScopeFilter = func([]string) []string { return slices.Clone(o.Scopes) }
	}
	if o.ClientID != "" {
		config.PreregisteredClient, err = credentialsOf(x.server)
	} else {
		config.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: x.metadata(back, o.Scopes)}
		if o.ClientMetadataURL != "" {
			config.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: o.ClientMetadataURL}
		}
	}
	if err != nil {
		return nil, err
	}
	return auth.NewAuthorizationCodeHandler(config)
}

// section returns the section about the login; without one, its keys have no values.
func (x *loggingIn) section() *mcpport.OAuth {
	if o := x.server.config.OAuth; o != nil {
		return o
	}
	return &mcpport.OAuth{}
}

// clientName is the name of Concerto for the people who agree to a login.
const clientName = "Concerto"

// metadata describes Concerto as a client that an authorization server registers.
func (x *loggingIn) metadata(back string, scopes []string) *oauthex.ClientRegistrationMetadata {
	return &oauthex.ClientRegistrationMetadata{ClientName: clientName, RedirectURIs: []string{back}, TokenEndpointAuthMethod: "none",
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"}, Scope: strings.Join(scopes, " ")}
}

// granted stores the result of the login. The secret of a registered client is not stored.
func (x *loggingIn) granted(config *oauth2.Config, t *oauth2.Token) {
	x.login = &login{URL: x.server.config.URL, TokenURL: config.Endpoint.TokenURL, AuthStyle: config.Endpoint.AuthStyle, ClientID: config.ClientID, Scopes: config.Scopes}
	if o := x.section(); o.ClientSecretEnv == "" || o.ClientID != config.ClientID {
		x.login.ClientSecret = config.ClientSecret
	}
	x.login.set(t)
}

// authorize sends the person to the authorization server, and returns the code with which the
// browser returns. The SDK checks the state and the issuer.
func (x *loggingIn) authorize(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
	u, err := url.Parse(args.URL)
	if err != nil {
		return nil, err
	}
	var back url.Values
	if x.person.Redirected != nil {
		x.person.Show(args.URL)
		back, err = x.entered(ctx)
	} else {
		back, err = x.received(ctx, args.URL, u.Query().Get("state"))
	}
	if err != nil {
		return nil, err
	}
	if why := back.Get("error"); why != "" {
		if more := back.Get("error_description"); more != "" {
			why += ": " + more
		}
		return nil, errors.New("the authorization server refused the login: " + why)
	}
	if back.Get("code") == "" || back.Get("state") != u.Query().Get("state") {
		return nil, errors.New("this is not the address to which this login is redirected: it begins with " + u.Query().Get("redirect_uri") + ", and contains code and state")
	}
	return &auth.AuthorizationResult{Code: back.Get("code"), State: back.Get("state"), Iss: back.Get("iss")}, nil
}

// entered returns the parameters of the address that the person enters.
func (x *loggingIn) entered(ctx context.Context) (url.Values, error) {
	type line struct {
		text string
		err  error
	}
	read := make(chan line, 1)
	go func() { // ends with the process if the person enters nothing
		text, err := x.person.Redirected()
		read <- line{text, err}
	}()
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case l := <-read:
		if l.err != nil {
			return nil, fmt.Errorf("no address was entered: %w", l.err)
		}
		u, err := url.Parse(strings.TrimSpace(l.text))
		if err != nil {
			return nil, errors.New("the address that was entered is no URL")
		}
		return u.Query(), nil
	}
}

// received returns the parameters with which the browser returns. Requests with another state
// are no answer to this login: any page may send them.
func (x *loggingIn) received(ctx context.Context, address, state string) (url.Values, error) {
	got := make(chan url.Values, 1)
	s := &http.Server{ReadHeaderTimeout: readTime, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if r.URL.Path != "/callback" || q.Get("state") != state {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, "Concerto has received the answer. You can close this page.\n") // the browser may have closed
		select {
		case got <- q:
		default: // the page was loaded again
		}
	})}
	failed := make(chan error, 1)
	go func() { failed <- s.Serve(x.redirect) }()
	x.person.Show(address)
	var q url.Values
	var err error
	select {
	case q = <-got:
		err = s.Shutdown(context.WithoutCancel(ctx)) // waits until the page is written
	case err = <-failed:
	case <-ctx.Done():
		err = errors.Join(context.Cause(ctx), s.Close())
	}
	return q, err
}
