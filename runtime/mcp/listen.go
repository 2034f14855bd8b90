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
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/concerto-lang/concerto/runtime/mcp/mcpport"
)

// idle is the time without a request after which a session is removed.
const idle = 4 * time.Hour

// serveHTTP offers tools over HTTP until ctx ends. It calls ready with the URL when clients can
// connect.
func serveHTTP(ctx context.Context, name, version string, offers mcpport.Offers, l mcpport.Listen, ready func(url string)) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", mcpport.Loopback(l.Address))
	if err != nil {
		return fmt.Errorf("could not listen on %s: %w", l.Address, err)
	}
	server := newServer(ctx, name, version, offers)
	h := guard(l, wholeBody(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{SessionTimeout: idle})))
	s := &http.Server{Handler: h, ReadHeaderTimeout: readTime, IdleTimeout: idleConnection, BaseContext: func(net.Listener) context.Context { return ctx }}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() }) // connected clients are notified of the end
	defer stop()
	ready("http://" + listener.Addr().String())
	if err := s.Serve(&bounded{Listener: listener, free: make(chan struct{}, maxConnections)}); ctx.Err() == nil {
		return err
	}
	return context.Cause(ctx)
}

// guard refuses requests without the token, and requests that a browser sends for a web page of
// another site. Such a page may reach this server under the page's host name (DNS rebinding), but
// the Origin header still contains the origin of the page.
func guard(l mcpport.Listen, next http.Handler) http.Handler {
	want := sha256.Sum256([]byte("Bearer " + l.Token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if origin := r.Header.Get("Origin"); origin != "" && !allows(l, origin) {
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

func allows(l mcpport.Listen, origin string) bool {
	if slices.Contains(l.Origins, origin) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && mcpport.IsLoopbackHost(u.Hostname())
}
