package httpguard

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
)

// Origins returns the server's own origins that a client may have dialled: the public one, and
// loopback names with the request's port, each for HTTP and WebSocket.
func (g *Guard) Origins(r *http.Request) (all []string) {
	if g.c.Public != nil {
		all = append(all, Origin(g.c.Public))
	}
	if isLoopback(r.Host) {
		scheme, port := "http", 80
		if r.TLS != nil {
			scheme, port = "https", 443
		}
		if _, text, err := net.SplitHostPort(r.Host); err == nil {
			port, _ = strconv.Atoi(text) // 0 for an invalid port
		}
		if port == localPort(r) {
			all = append(all, Origin(&url.URL{Scheme: scheme, Host: r.Host}))
		}
	}
	for _, o := range all {
		all = append(all, "ws"+o[len("http"):])
	}
	return all
}

// localPort returns the port at which a request arrived, or -1 if unknown.
func localPort(r *http.Request) int {
	at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return -1
	}
	local, err := netip.ParseAddrPort(at.String())
	if err != nil {
		return -1
	}
	return int(local.Port())
}

// Base returns the URL at which the client can reach the server: the public one if there is one.
func (g *Guard) Base(r *http.Request) string {
	switch {
	case g.c.Public != nil:
		return Origin(g.c.Public)
	case r.TLS != nil:
		return "https://" + r.Host
	}
	return "http://" + r.Host
}
