package mcp

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Listen specifies where tools are offered over streamable HTTP, and to which clients.
type Listen struct {
	Address string   // host:port; without a host, the loopback interface is used
	Token   string   // bearer token that clients must send; "" means that no token is required
	Origins []string // origins of web pages that may send requests, in addition to those on the loopback host
}

// idle is the time without a request after which a session is removed.
const idle = 4 * time.Hour

// ServeHTTP offers tools over HTTP until ctx ends. It calls ready with the URL when clients can
// connect.
func ServeHTTP(ctx context.Context, name, version string, offers Offers, l Listen, ready func(url string)) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", loopback(l.Address))
	if err != nil {
		return fmt.Errorf("could not listen on %s: %w", l.Address, err)
	}
	server := newServer(ctx, name, version, offers)
	h := l.guard(wholeBody(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{SessionTimeout: idle})))
	s := &http.Server{Handler: h, ReadHeaderTimeout: readTime, IdleTimeout: idleConnection, BaseContext: func(net.Listener) context.Context { return ctx }}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() }) // connected clients are notified of the end
	defer stop()
	ready("http://" + listener.Addr().String())
	if err := s.Serve(&bounded{Listener: listener, free: make(chan struct{}, maxConnections)}); ctx.Err() == nil {
		return err
	}
	return context.Cause(ctx)
}

// loopback adds the loopback host to an address without a host, so that a port alone is not open to
// other machines.
func loopback(address string) string {
	if !strings.Contains(address, ":") {
		return net.JoinHostPort("127.0.0.1", address)
	}
	if host, port, err := net.SplitHostPort(address); err == nil && host == "" {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return address
}

// IsLoopback reports whether only this machine can reach the address.
func IsLoopback(address string) bool {
	host, _, err := net.SplitHostPort(loopback(address))
	return err == nil && isLoopback(host)
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// guard refuses requests without the token, and requests that a browser sends for a web page of
// another site. Such a page may reach this server under the page's host name (DNS rebinding), but
// the Origin header still contains the origin of the page.
func (l Listen) guard(next http.Handler) http.Handler {
	want := sha256.Sum256([]byte("Bearer " + l.Token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if origin := r.Header.Get("Origin"); origin != "" && !l.allows(origin) {
			http.Error(w, "the origin "+origin+" may not call this server", http.StatusForbidden)
			return
		}
		got := sha256.Sum256([]byte(r.Header.Get("Authorization")))
		if l.Token != "" && subtle.ConstantTimeCompare(got[:], want[:]) == 0 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "this server requires a bearer token", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (l Listen) allows(origin string) bool {
	if slices.Contains(l.Origins, origin) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && isLoopback(u.Hostname())
}
