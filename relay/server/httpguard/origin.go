package httpguard

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
)

// Origins are the server's own, as one of which a client may have dialled it: the public URL's, and that of
// a name of the loopback with the port on which the request came. Each is there for http and, as a
// WebSocket's URL has it, for ws.
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
			port, _ = strconv.Atoi(text) // 0 is nobody's
		}
		if port == cameTo(r) {
			all = append(all, Origin(&url.URL{Scheme: scheme, Host: r.Host}))
		}
	}
	for _, o := range all {
		all = append(all, "ws"+o[len("http"):])
	}
	return all
}

// cameTo is the port on which a request came; -1 when that is not known.
func cameTo(r *http.Request) int {
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

// Base is the server's URL, as who sends a request may dial it: the public one, if there is one.
func (g *Guard) Base(r *http.Request) string {
	switch {
	case g.c.Public != nil:
		return Origin(g.c.Public)
	case r.TLS != nil:
		return "https://" + r.Host
	}
	return "http://" + r.Host
}
