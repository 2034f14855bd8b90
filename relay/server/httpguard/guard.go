// Package httpguard stands before everything that the relay's server serves (its API promises
// nothing): it holds a request's Host and Origin to where the server is meant to be, sets the
// headers of what is answered, and says from where a request came. Pages of elsewhere cannot use
// a browser's cookie by that, nor reach a server on the loopback under a name of their own.
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

// Config says where a server is meant to be.
type Config struct {
	Public   *url.URL       // as which it is known outside; nil when it is not
	Allow    []string       // origins of pages of elsewhere that may call
	Loopback bool           // it listens on the loopback alone
	Trusted  []netip.Prefix // proxies whose X-Forwarded-For is believed
}

// Guard is a Config in use.
type Guard struct{ c Config }

// New makes a guard.
func New(c Config) *Guard { return &Guard{c} }

// Public is as what the server is known outside; nil when it is not.
func (g *Guard) Public() *url.URL { return g.c.Public }

// headers are those of every answer.
var headers = map[string]string{
	"Content-Security-Policy": web.Policy,
	"X-Content-Type-Options":  "nosniff",
	"Referrer-Policy":         "no-referrer",
	"Cache-Control":           "no-store",
}

// hsts is for how long a browser keeps to https.
const hsts = "max-age=31536000"

// Wrap puts the guard before a handler.
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
		if origin := r.Header.Get("Origin"); slices.Contains(g.c.Allow, origin) && !g.own(origin, r) {
			letRead(w.Header(), origin)
			if r.Method == http.MethodOptions {
				w.WriteHeader(http.StatusNoContent)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// letRead lets pages of an origin use what is answered. Cookies are not for them.
func letRead(h http.Header, origin string) {
	h.Set("Access-Control-Allow-Origin", origin)
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Last-Event-ID, X-Concerto")
	h.Set("Access-Control-Expose-Headers", "Retry-After")
}

func (g *Guard) check(r *http.Request) error {
	if !isLoopback(r.Host) && !g.isPublic(r.Host) {
		return Refused(protocol.Forbidden, "the host %q is not this server's: start it with --public-url", r.Host)
	}
	origins := r.Header.Values("Origin")
	switch {
	case len(origins) == 0:
	case len(origins) > 1:
		return Refused(protocol.Forbidden, "a request has one Origin")
	case !g.own(origins[0], r) && !slices.Contains(g.c.Allow, origins[0]):
		return Refused(protocol.Forbidden, "pages of %q may not call this server: --allow-origin lets them", origins[0])
	}
	return nil
}

// own says whether an origin is the server's own.
func (g *Guard) own(origin string, r *http.Request) bool {
	if g.c.Public != nil && strings.EqualFold(origin, Origin(g.c.Public)) {
		return true
	}
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	return g.c.Loopback && isLoopback(r.Host) && strings.EqualFold(origin, scheme+r.Host)
}

// Origin is a URL's, as browsers write it.
func Origin(u *url.URL) string { return protocol.OriginOf(u) }

// isPublic says whether a Host is the public URL's.
func (g *Guard) isPublic(host string) bool {
	if g.c.Public == nil || host == "" {
		return false
	}
	return Origin(&url.URL{Scheme: g.c.Public.Scheme, Host: host}) == Origin(g.c.Public)
}

// isLoopback says whether a Host, with a port or without, is a name of the loopback.
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

// Secure says whether a request came over https, to this server or to the proxy before it.
func (g *Guard) Secure(r *http.Request) bool {
	return r.TLS != nil || g.c.Public != nil && g.c.Public.Scheme == "https" && g.isPublic(r.Host)
}

// ToLoopback says whether a request was made to a name of the loopback.
func (g *Guard) ToLoopback(r *http.Request) bool { return isLoopback(r.Host) }

// Local says whether a request came from this machine, and by no proxy.
func (g *Guard) Local(r *http.Request) bool {
	for name := range r.Header {
		if name == "Forwarded" || strings.HasPrefix(name, "X-Forwarded-") {
			return false
		}
	}
	return peer(r).IsLoopback()
}

// Address is from where a request came: the peer's, or, when that is a trusted proxy, the
// last in X-Forwarded-For that is none. Of IPv6 it is the network of 64 bits, which one has whole.
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

// peer is the other end of a request's connection.
func peer(r *http.Request) netip.Addr {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap().WithZone("")
}

// ByCookie holds a request whose credentials are a cookie, which a browser sends without
// being asked, to what only a page of this server can send.
func (g *Guard) ByCookie(r *http.Request) error {
	safe := r.Method == http.MethodGet || r.Method == http.MethodHead
	site := r.Header.Get("Sec-Fetch-Site")
	switch {
	case site != "" && site != "same-origin" && site != "none":
		return Refused(protocol.Forbidden, "a cookie is for pages of this server alone")
	case (!safe || IsUpgrade(r)) && !g.own(r.Header.Get("Origin"), r):
		return Refused(protocol.Forbidden, "a request with a cookie needs an Origin of this server's")
	case !safe && r.Header.Get("X-Concerto") != "1":
		return Refused(protocol.Forbidden, "a request with a cookie needs the header X-Concerto: 1")
	}
	return nil
}

// IsUpgrade says whether a request is for a WebSocket.
func IsUpgrade(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}
