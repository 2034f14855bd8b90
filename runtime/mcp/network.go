package mcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"github.com/concerto-lang/concerto/internal/data/netallow"
	"github.com/concerto-lang/concerto/runtime/mcp/mcpport"
)

// loginTime limits one request to an authorization server.
const loginTime = 30 * time.Second

// loginClient returns the client for requests to the authorization server of a server. The server
// names it, so it may not send the client to addresses that only this machine or its network
// reaches, unless the server itself is there.
func loginClient(c *mcpport.Config, refused func(address string) string) (*http.Client, error) {
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	near := &net.Dialer{Timeout: loginTime}
	if !mcpport.IsLoopbackHost(u.Hostname()) && !usesProxy(u) {
		own, far := u.Hostname(), &net.Dialer{Timeout: loginTime, Control: onlyPublic}
		transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			if host, _, err := net.SplitHostPort(address); err == nil && host == own {
				return near.DialContext(ctx, network, address)
			}
			return far.DialContext(ctx, network, address)
		}
	} else {
		transport.DialContext = near.DialContext
	}
	return &http.Client{Timeout: loginTime, Transport: permitted{transport, refused}}, nil
}

// usesProxy reports whether requests go through a proxy, whose address may be a private one.
func usesProxy(u *url.URL) bool {
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u})
	return err != nil || proxy != nil
}

// onlyPublic refuses connections to addresses that are not public.
func onlyPublic(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if !netallow.IsPublic(at.Addr()) {
		return fmt.Errorf("%s is not a public address", at.Addr())
	}
	return nil
}

// permitted is an http.RoundTripper that refuses addresses which the run may not call.
type permitted struct {
	next    http.RoundTripper
	refused func(address string) string
}

func (p permitted) RoundTrip(r *http.Request) (*http.Response, error) {
	if p.refused != nil {
		if why := p.refused(r.URL.String()); why != "" {
			return nil, errors.New(why)
		}
	}
	return p.next.RoundTrip(r)
}
