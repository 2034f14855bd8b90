package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/auth/extauth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
)

// access adds tokens to the requests of a run. Without the grant client_credentials, they are
// those of a stored login. It implements auth.OAuthHandler, and never asks a person.
type access struct {
	server *server
	file   string                            // of the stored login
	grant  *extauth.ClientCredentialsHandler // nil for a stored login

	mu    sync.Mutex
	login *login // last content of the file; nil before the first request
	fresh string // token that replaced a refused one, until the server accepts it
}

// newAccess returns the access to a server, or nil if it has none but the headers of its section.
func (s *server) newAccess() (*access, error) {
	if !s.config.LogsIn() {
		return nil, nil
	}
	a := &access{server: s}
	if o := s.config.OAuth; o == nil || o.Grant != "client_credentials" {
		file, err := loginFile(s.options.Environ, s.config.URL)
		if err != nil && o == nil {
			return nil, nil // there is no login
		}
		a.file = file
		return a, err
	}
	client, err := loginClient(&s.config, s.options.Refused)
	if err != nil {
		return nil, err
	}
	credentials, err := credentialsOf(s)
	if err != nil {
		return nil, err
	}
	a.grant, err = extauth.NewClientCredentialsHandler(&extauth.ClientCredentialsHandlerConfig{Credentials: credentials, HTTPClient: client})
	return a, err
}

// credentialsOf returns the registered client of the section.
func credentialsOf(s *server) (*oauthex.ClientCredentials, error) {
	o := s.config.OAuth
	c := &oauthex.ClientCredentials{ClientID: o.ClientID}
	if o.ClientSecretEnv == "" {
		return c, nil
	}
	secret, ok := procgroup.LookupEnv(s.options.Environ, o.ClientSecretEnv)
	if !ok || secret == "" {
		return nil, fmt.Errorf("environment variable %s, which contains the client's secret, is not set", o.ClientSecretEnv)
	}
	c.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: secret}
	return c, nil
}

// requiresLogin returns the error for a server without a usable login.
func (s *server) requiresLogin() *effect.Error {
	name := s.config.Name
	return effect.Errorf("ToolError", "mcp server '%s' requires a login: run concerto mcp login %s (without a person: [mcp.%s.oauth] grant = \"client_credentials\")", name, name, name).
		With("tool", name)
}

// loginFailed returns the error for a login that cannot be used.
func (s *server) loginFailed(err error) *effect.Error {
	if e, ok := errors.AsType[*effect.Error](err); ok {
		return e
	}
	return effect.Errorf("ToolError", "mcp server '%s': %s", s.config.Name, plainError(err)).With("tool", s.config.Name)
}

// plainError returns the text of an error of a login. An authorization server may have written it,
// so it is escaped, and of a refusal only the code and its description are used.
func plainError(err error) string {
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		text := refused.ErrorCode
		if text == "" {
			text = refused.Response.Status
		}
		if refused.ErrorDescription != "" {
			text += ": " + refused.ErrorDescription
		}
		return "the authorization server answered " + escaped(text)
	}
	text := err.Error()
	if _, why, ok := strings.Cut(text, "rejected by transport: "); ok {
		text = why // without the names of the request
	}
	return escaped(text)
}

// TokenSource implements auth.OAuthHandler.
func (a *access) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	if a.grant == nil {
		return tokenFunc(func() (*oauth2.Token, error) { return a.stored(ctx) }), nil
	}
	a.mu.Lock()
	source, err := a.grant.TokenSource(ctx)
	a.mu.Unlock()
	if source == nil || err != nil {
		return nil, err
	}
	return tokenFunc(func() (*oauth2.Token, error) {
		t, err := source.Token()
		if err != nil {
			return nil, a.server.loginFailed(err)
		}
		a.hide(t.AccessToken)
		return t, nil
	}), nil
}

// tokenFunc is an oauth2.TokenSource.
type tokenFunc func() (*oauth2.Token, error)

func (f tokenFunc) Token() (*oauth2.Token, error) { return f() }

// hide makes tokens secrets of the run.
func (a *access) hide(tokens ...string) {
	if a.server.options.Secret == nil {
		return
	}
	for _, t := range tokens {
		a.server.options.Secret(a.server.config.Name+"_login", t)
	}
}

// stored returns the token of the stored login, refreshed if it expires soon, or nil without a
// login.
func (a *access) stored(ctx context.Context) (*oauth2.Token, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.login == nil || a.login.isDue() {
		l, err := a.read()
		if err == nil && l != nil && l.isDue() {
			l, err = a.renew(ctx, l.AccessToken)
		}
		if err != nil {
			return nil, a.server.loginFailed(err)
		}
		if a.login = l; l == nil {
			return nil, nil
		}
		if a.fresh != "" {
			a.fresh = l.AccessToken // which replaces a refused one, too
		}
	}
	return &oauth2.Token{AccessToken: a.login.AccessToken}, nil
}

// read reads the login and makes its tokens secrets of the run.
func (a *access) read() (*login, error) {
	l, err := readLogin(a.file)
	if l != nil {
		a.hide(l.AccessToken, l.RefreshToken, l.ClientSecret)
	}
	return l, err
}

// renew replaces an access token that has expired or was refused. Another process may have done so
// before. The error is that of requiresLogin if only a person can log in again.
func (a *access) renew(ctx context.Context, old string) (*login, error) {
	var l *login
	err := whileLocked(ctx, a.file, func() (err error) {
		if l, err = a.read(); err != nil {
			return err
		}
		switch {
		case l == nil:
			return a.server.requiresLogin()
		case l.AccessToken != old && !l.isDue():
			return nil
		case l.RefreshToken == "" && l.AccessToken == old && !l.isExpired() && l.isDue():
			return nil // the token is still valid, and nothing can replace it
		case l.RefreshToken == "":
			return a.server.requiresLogin()
		}
		return a.refresh(ctx, l)
	})
	return l, err
}

// refresh requests a new token and writes it to the file.
func (a *access) refresh(ctx context.Context, l *login) error {
	s := a.server
	client, err := loginClient(&s.config, s.options.Refused)
	if err != nil {
		return err
	}
	c := oauth2.Config{ClientID: l.ClientID, ClientSecret: l.secret(&s.config, s.options.Environ), Endpoint: oauth2.Endpoint{TokenURL: l.TokenURL, AuthStyle: l.AuthStyle}}
	t, err := c.TokenSource(context.WithValue(ctx, oauth2.HTTPClient, client), &oauth2.Token{RefreshToken: l.RefreshToken}).Token()
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && (refused.ErrorCode == "invalid_grant" || refused.ErrorCode == "invalid_client") {
		return s.requiresLogin()
	}
	if err != nil {
		return fmt.Errorf("the login could not be refreshed: %s", plainError(err))
	}
	a.hide(t.AccessToken, t.RefreshToken)
	l.set(t)
	return l.write(a.file)
}

// Authorize implements auth.OAuthHandler. It is called for a response with status 401 or 403.
func (a *access) Authorize(ctx context.Context, r *http.Request, resp *http.Response) error {
	if a.grant != nil {
		return a.authorizeClient(ctx, r, resp)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusForbidden {
		return a.forbidden(resp)
	}
	used := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.login == nil && used == "" && a.server.config.OAuth == nil && len(a.server.config.HeadersEnv) > 0 {
		return &statusError{resp.StatusCode} // the headers have the credentials
	}
	l, err := a.renew(ctx, used)
	if err != nil {
		return a.server.loginFailed(err)
	}
	a.login, a.fresh = l, l.AccessToken
	return nil
}

// authorizeClient gets a token by the grant client_credentials.
func (a *access) authorizeClient(ctx context.Context, r *http.Request, resp *http.Response) error {
	if resp.StatusCode == http.StatusForbidden && challenged(resp, "error") != "insufficient_scope" {
		defer resp.Body.Close()
		return a.forbidden(resp)
	}
	if scopes := a.server.config.OAuth.Scopes; len(scopes) > 0 && resp.StatusCode == http.StatusUnauthorized {
		// the handler has no setting for scopes: it requests those of the first challenge
		name := http.CanonicalHeaderKey("WWW-Authenticate")
		resp.Header[name] = append([]string{`Bearer scope="` + strings.Join(scopes, " ") + `"`}, resp.Header[name]...)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	// the handler refreshes later tokens in the same context
	if err := a.grant.Authorize(context.WithoutCancel(ctx), r, resp); err != nil {
		return a.server.loginFailed(fmt.Errorf("the grant client_credentials failed: %s", plainError(err)))
	}
	source, err := a.grant.TokenSource(ctx)
	if err != nil {
		return err
	}
	t, err := source.Token()
	if err == nil {
		a.fresh = t.AccessToken
		a.hide(a.fresh)
	}
	return err
}

// forbidden returns the error for a response with status 403.
func (a *access) forbidden(resp *http.Response) error {
	s := a.server
	if challenged(resp, "error") == "insufficient_scope" {
		scopes := strings.Fields(challenged(resp, "scope"))
		for i := range scopes {
			scopes[i] = stringLiteral(scopes[i])
		}
		return s.loginFailed(fmt.Errorf("the login lacks a scope: set scopes = [%s] in [mcp.%s.oauth], and run concerto mcp login %s", strings.Join(scopes, ", "), s.config.Name, s.config.Name))
	}
	return s.loginFailed(errors.New("it returned status 403 Forbidden: the login does not permit this"))
}

// challenged returns a parameter of the response's challenge, or "".
func challenged(resp *http.Response, name string) string {
	all, err := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
	if err != nil {
		return ""
	}
	if i := slices.IndexFunc(all, func(c oauthex.Challenge) bool { return c.Scheme == "bearer" && c.Params[name] != "" }); i >= 0 {
		return all[i].Params[name]
	}
	return ""
}

// checkStatus is called for each response. It returns the error for a response that Authorize does
// not get: one that refuses a token which Authorize has just got, or one of a stream.
func (a *access) checkStatus(r *http.Request, status int) error {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	a.mu.Lock()
	defer a.mu.Unlock()
	refused := status == http.StatusUnauthorized || status == http.StatusForbidden
	switch {
	case !refused:
		if token == a.fresh {
			a.fresh = ""
		}
		return nil
	case r.Method == http.MethodPost && (a.fresh == "" || a.fresh != token):
		return nil
	case status == http.StatusForbidden:
		return &statusError{status}
	}
	return a.server.requiresLogin()
}

var _ auth.OAuthHandler = (*access)(nil)
