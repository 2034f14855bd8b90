package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/concerto-lang/concerto/runtime/mcp/mcpport"
)

// deviceGrant is the grant of a login on another device (RFC 8628, section 3.4).
const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

// maxDocument is the maximum size of a metadata document in bytes.
const maxDocument = 1 << 20

// deviceLogin is a login on another device. It implements auth.OAuthHandler. The SDK has no such
// login; it reads and checks the metadata.
type deviceLogin struct {
	*loggingIn
	endpoint string // device_authorization_endpoint of the last metadata
	token    *oauth2.Token
}

// TokenSource implements auth.OAuthHandler.
func (d *deviceLogin) TokenSource(context.Context) (oauth2.TokenSource, error) {
	if d.token == nil {
		return nil, nil
	}
	return oauth2.StaticTokenSource(d.token), nil
}

// Authorize implements auth.OAuthHandler.
func (d *deviceLogin) Authorize(ctx context.Context, _ *http.Request, resp *http.Response) error {
	defer resp.Body.Close()
	ctx = context.WithValue(ctx, oauth2.HTTPClient, d.client)
	resource, err := d.resource(ctx, challenged(resp, "resource_metadata"))
	if err != nil {
		return err
	}
	reader := *d.client
	reader.Transport = deviceDocuments{d.client.Transport, &d.endpoint}
	server, err := auth.GetAuthServerMetadata(ctx, resource.AuthorizationServers[0], &reader)
	switch {
	case err != nil:
		return err
	case server == nil || d.endpoint == "":
		return errors.New("its authorization server has no login on another device: use --no-browser")
	case !isProtected(d.endpoint):
		return fmt.Errorf("the address for logins on another device, %s, is not protected by TLS", d.endpoint)
	}
	config, err := d.config(ctx, server)
	if err != nil {
		return err
	}
	config.Scopes = d.scopes(strings.Fields(challenged(resp, "scope")), resource, server)
	of := oauth2.SetAuthURLParam("resource", resource.Resource)
	code, err := config.DeviceAuth(ctx, of)
	if err != nil {
		return err
	}
	d.person.Device(cmp.Or(code.VerificationURIComplete, code.VerificationURI), code.UserCode)
	if d.token, err = config.DeviceAccessToken(ctx, code, of); err == nil {
		d.granted(config, d.token)
	}
	return err
}

// resource returns the metadata of the server. named is the address of the document that the
// server's response names, or "".
func (x *loggingIn) resource(ctx context.Context, named string) (*oauthex.ProtectedResourceMetadata, error) {
	own := x.server.config.URL
	u, err := url.Parse(own)
	if err != nil {
		return nil, err
	}
	const document = "/.well-known/oauth-protected-resource"
	root := url.URL{Scheme: u.Scheme, Host: u.Host}
	for _, at := range [][2]string{{named, own}, {root.String() + document + u.Path, own}, {root.String() + document, root.String()}} {
		if at[0] == "" {
			continue
		}
		m, err := oauthex.GetProtectedResourceMetadata(ctx, at[0], at[1], x.client)
		if err == nil && len(m.AuthorizationServers) > 0 {
			return m, nil
		}
	}
	return &oauthex.ProtectedResourceMetadata{Resource: own, AuthorizationServers: []string{root.String()}}, nil
}

// config returns the client and the addresses of the authorization server.
func (d *deviceLogin) config(ctx context.Context, server *oauthex.AuthServerMeta) (*oauth2.Config, error) {
	o := d.section()
	c := &oauth2.Config{Endpoint: oauth2.Endpoint{DeviceAuthURL: d.endpoint, TokenURL: server.TokenEndpoint, AuthStyle: oauth2.AuthStyleInParams}}
	methods := server.TokenEndpointAuthMethodsSupported
	switch {
	case o.ClientID != "":
		registered, err := credentialsOf(d.server)
		if err != nil {
			return nil, err
		}
		if c.ClientID = registered.ClientID; registered.ClientSecretAuth != nil {
			c.ClientSecret = registered.ClientSecretAuth.ClientSecret
		}
		if slices.Contains(methods, "client_secret_basic") && !slices.Contains(methods, "client_secret_post") {
			c.Endpoint.AuthStyle = oauth2.AuthStyleInHeader
		}
	case o.ClientMetadataURL != "" && server.ClientIDMetadataDocumentSupported:
		c.ClientID = o.ClientMetadataURL
	case server.RegistrationEndpoint != "":
		m := &oauthex.ClientRegistrationMetadata{ClientName: clientName, TokenEndpointAuthMethod: "none", GrantTypes: []string{deviceGrant, "refresh_token"}, Scope: strings.Join(o.Scopes, " ")}
		registered, err := oauthex.RegisterClient(ctx, server.RegistrationEndpoint, m, d.client)
		if err != nil {
			return nil, err
		}
		c.ClientID, c.ClientSecret = registered.ClientID, registered.ClientSecret
	default:
		return nil, errors.New("the authorization server registers no clients: set client_id in [mcp." + d.server.config.Name + ".oauth]")
	}
	return c, nil
}

// scopes returns the scopes to request: those of the manifest, or those that the server names.
func (d *deviceLogin) scopes(challenged []string, resource *oauthex.ProtectedResourceMetadata, server *oauthex.AuthServerMeta) []string {
	scopes := slices.Clone(d.section().Scopes)
	if scopes == nil {
		if scopes = challenged; len(scopes) == 0 {
			scopes = slices.Clone(resource.ScopesSupported)
		}
	}
	const offline = "offline_access" // the scope of refresh tokens
	if slices.Contains(server.ScopesSupported, offline) && !slices.Contains(scopes, offline) {
		scopes = append(scopes, offline)
	}
	return scopes
}

// isProtected reports whether requests to an address are protected by TLS, or stay on this machine.
func isProtected(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http" && mcpport.IsLoopbackHost(u.Hostname()))
}

// deviceDocuments is an http.RoundTripper that reads the member device_authorization_endpoint of
// metadata, which the SDK ignores.
type deviceDocuments struct {
	next     http.RoundTripper
	endpoint *string
}

func (d deviceDocuments) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := d.next.RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument))
	if err != nil {
		return nil, err
	}
	var m struct {
		Endpoint string `json:"device_authorization_endpoint"`
	}
	if json.Unmarshal(text, &m) == nil { // the SDK reports what is no document
		*d.endpoint = m.Endpoint
	}
	resp.Body = io.NopCloser(bytes.NewReader(text))
	return resp, nil
}
