package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"golang.org/x/oauth2"

	"github.com/concerto-lang/concerto/runtime/mcp/mcpport"
)

// revoke revokes a login (RFC 7009), if the metadata of its authorization server name an address
// for that. It sends the refresh token, with which the server revokes the access tokens, too.
func (l *login) revoke(ctx context.Context, c mcpport.Config, environ []string) error {
	client, err := loginClient(&c, nil)
	if err != nil {
		return err
	}
	// a redirect would send the tokens elsewhere
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	x := &loggingIn{server: &server{config: c}, client: client}
	resource, err := x.resource(ctx, "")
	if err != nil {
		return err
	}
	meta, err := auth.GetAuthServerMetadata(ctx, resource.AuthorizationServers[0], client)
	switch {
	case err != nil:
		return err
	case meta == nil || meta.RevocationEndpoint == "":
		return nil
	case meta.TokenEndpoint != l.TokenURL:
		return errors.New("the server has another authorization server than at the login")
	case !isProtected(meta.RevocationEndpoint):
		return fmt.Errorf("the address that revokes tokens, %s, is not protected by TLS", meta.RevocationEndpoint)
	}
	form := url.Values{"token": {cmp.Or(l.RefreshToken, l.AccessToken)}}
	secret := l.secret(&c, environ)
	if l.AuthStyle != oauth2.AuthStyleInHeader {
		form.Set("client_id", l.ClientID)
		if secret != "" {
			form.Set("client_secret", secret)
		}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, meta.RevocationEndpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if l.AuthStyle == oauth2.AuthStyleInHeader {
		r.SetBasicAuth(url.QueryEscape(l.ClientID), url.QueryEscape(secret))
	}
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		err = errors.New("the authorization server answered " + resp.Status)
	}
	return errors.Join(err, resp.Body.Close())
}
