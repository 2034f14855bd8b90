package httpguard

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
)

// Origins returns the origins under which a client may have reached this server: the public origin,
// and loopback names with the request's port. Each is returned for HTTP and for WebSocket.
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

// localPort returns the port at which the request arrived, or -1 if it is unknown.
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

// Base returns the URL at which the client reaches the server. It is the public URL if one is
// configured.
func (g *Guard) Base(r *http.Request) string {
	switch {
	case g.c.Public != nil:
		return Origin(g.c.Public)
	case r.TLS != nil:
		return "https://" + r.Host
	}
	return "http://" + r.Host
}
