// Package httpguard protects the HTTP server of the relay. It checks the Host and Origin of a
// request, sets security headers, and determines the client's address. It prevents pages of other
// origins from using a browser's cookie, and from reaching a server on the loopback interface under
// another host name.
package httpguard

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/web"
)

// Config describes the addresses at which the server is reachable.
type Config struct {
	Public   *url.URL       // the public URL; nil if there is none
	Allow    []string       // other origins whose pages may send requests
	Loopback bool           // the server listens only on the loopback interface
	Trusted  []netip.Prefix // proxies whose X-Forwarded-For is trusted
}

// Guard checks requests.
type Guard struct{ c Config }

// New returns a Guard.
func New(c Config) *Guard { return &Guard{c} }

// Public returns the public URL, or nil.
func (g *Guard) Public() *url.URL { return g.c.Public }

// headers are the security headers of every response.
var headers = map[string]string{
	"Content-Security-Policy": web.Policy,
	"X-Content-Type-Options":  "nosniff",
	"Referrer-Policy":         "same-origin", // with no-referrer, Firefox sends "null" as the page's Origin
	"Cache-Control":           "no-store",
}

// hsts is the value of Strict-Transport-Security.
const hsts = "max-age=31536000"

// Wrap returns a handler that checks requests before it calls next.
func (g *Guard) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		if g.Secure(r) {
			w.Header().Set("Strict-Transport-Security", hsts)
		}
		if err := g.check(r); err != nil {
			Fail(w, err)
			return
		}
		if origin := r.Header.Get("Origin"); slices.Contains(g.c.Allow, origin) && !g.isOwn(origin, r) {
			allowOrigin(w.Header(), origin)
			if r.Method == http.MethodOptions {
				w.WriteHeader(http.StatusNoContent)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// allowOrigin allows pages of an origin to read the response. Requests from such pages contain no
// cookies.
func allowOrigin(h http.Header, origin string) {
	h.Set("Access-Control-Allow-Origin", origin)
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Last-Event-ID, X-Concerto")
	h.Set("Access-Control-Expose-Headers", "Date, Retry-After")
	h.Set("Access-Control-Max-Age", "600")
}

func (g *Guard) check(r *http.Request) error {
	if !isLoopback(r.Host) && !g.isPublic(r.Host) {
		return Refused(protocol.Forbidden, "the host name %q is not this server's: start it with --public-url", r.Host)
	}
	origins := r.Header.Values("Origin")
	switch {
	case len(origins) == 0:
	case len(origins) > 1:
		return Refused(protocol.Forbidden, "a request must have one Origin")
	case !g.isOwn(origins[0], r) && !slices.Contains(g.c.Allow, origins[0]):
		return Refused(protocol.Forbidden, "pages of %q may not call this server: allow them with --allow-origin", origins[0])
	}
	return nil
}

// isOwn reports whether an origin is the origin of this server.
func (g *Guard) isOwn(origin string, r *http.Request) bool {
	if g.c.Public != nil && strings.EqualFold(origin, Origin(g.c.Public)) {
		return true
	}
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	return g.c.Loopback && isLoopback(r.Host) && strings.EqualFold(origin, scheme+r.Host)
}

// Origin returns the origin of a URL in the form that browsers send.
func Origin(u *url.URL) string { return protocol.OriginOf(u) }

// isPublic reports whether the value of a Host header is the host of the public URL.
func (g *Guard) isPublic(host string) bool {
	if g.c.Public == nil || host == "" {
		return false
	}
	return Origin(&url.URL{Scheme: g.c.Public.Scheme, Host: host}) == Origin(g.c.Public)
}

// isLoopback reports whether the value of a Host header, with or without a port, is a loopback name
// or address.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	return err == nil && ip.Unmap().IsLoopback()
}

// Secure reports whether a client sent the request over HTTPS, either to this server or to its
// proxy.
func (g *Guard) Secure(r *http.Request) bool {
	return r.TLS != nil || g.c.Public != nil && g.c.Public.Scheme == "https" && g.isPublic(r.Host)
}

// ToLoopback reports whether the request's Host is a loopback name or address.
func (g *Guard) ToLoopback(r *http.Request) bool { return isLoopback(r.Host) }

// Local reports whether a request came from this machine without a proxy.
func (g *Guard) Local(r *http.Request) bool {
	for name := range r.Header {
		if name == "Forwarded" || strings.HasPrefix(name, "X-Forwarded-") {
			return false
		}
	}
	return peer(r).IsLoopback()
}

// Address returns the address of the client. This is the address of the connection's peer. If the
// peer is a trusted proxy, it is the last address in X-Forwarded-For that is not a trusted proxy.
// An IPv6 address is reduced to its /64 network, because one client may own all addresses of such a
// network.
func (g *Guard) Address(r *http.Request) netip.Addr {
	at := peer(r)
	list := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(list) - 1; i >= 0 && g.trusts(at); i-- {
		next, err := netip.ParseAddr(strings.TrimSpace(list[i]))
		if err != nil {
			break
		}
		at = next.Unmap().WithZone("")
	}
	if at.Is6() {
		if net, err := at.Prefix(64); err == nil {
			return net.Addr()
		}
	}
	return at
}

func (g *Guard) trusts(a netip.Addr) bool {
	return slices.ContainsFunc(g.c.Trusted, func(p netip.Prefix) bool { return p.Contains(a) })
}

// peer returns the address of the connection's peer.
func peer(r *http.Request) netip.Addr {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap().WithZone("")
}

// ByCookie returns a Refusal for a request that may have been sent by a page of another origin. It
// is called for requests with a cookie, because browsers send cookies automatically.
func (g *Guard) ByCookie(r *http.Request) error {
	safe := r.Method == http.MethodGet || r.Method == http.MethodHead
	site := r.Header.Get("Sec-Fetch-Site")
	switch {
	case site != "" && site != "same-origin" && site != "none":
		return Refused(protocol.Forbidden, "only pages of this server may send its cookie")
	case (!safe || IsUpgrade(r)) && !g.isOwn(r.Header.Get("Origin"), r):
		return Refused(protocol.Forbidden, "a request with a cookie requires this server's Origin")
	case !safe && r.Header.Get("X-Concerto") != "1":
		return Refused(protocol.Forbidden, "a request with a cookie requires the header X-Concerto: 1")
	}
	return nil
}

// IsUpgrade reports whether a request upgrades to a WebSocket.
func IsUpgrade(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}
