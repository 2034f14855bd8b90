package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"slices"
	"strings"
)

// Web configures who may call over HTTP.
type Web struct {
	Token    string   // what clients must give as bearer token; "": anybody may call
	Made     bool     // the token was generated: it is printed
	Origins  []string // of web pages that may call, besides those of the server itself
	Loopback bool     // it listens on the loopback: only hosts of this name are meant
}

// bearerProtocol is what a browser, which cannot set headers of a WebSocket, puts before the
// token.
const bearerProtocol = "bearer."

// guard refuses who may not call. Pages of elsewhere show by their Origin; where a page
// reaches this server under a host name of its own, that shows, too.
func (w Web) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		switch {
		case w.Loopback && !isLoopback(r.Host):
			http.Error(out, "the host "+r.Host+" is not this server's", http.StatusForbidden)
			return
		case origin != "" && !w.allows(origin, r):
			http.Error(out, "the origin "+origin+" may not call this server: --allow-origin lets it", http.StatusForbidden)
			return
		case origin != "":
			w.letRead(out.Header(), origin)
		}
		switch {
		case r.Method == http.MethodOptions && origin != "":
			out.WriteHeader(http.StatusNoContent)
		case r.URL.Path != "/healthz" && r.URL.Path != "/readyz" && !w.known(r):
			out.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(out, "this server wants a bearer token", http.StatusUnauthorized)
		default:
			next.ServeHTTP(out, r)
		}
	})
}

// Address is an address to listen on: a port alone is one of the loopback.
func Address(given string) (address string, loopback bool) {
	host, port, err := net.SplitHostPort(given)
	if err != nil {
		host, port = "", given
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), isLoopback(host)
}

// isLoopback reports whether a host, with a port or without, is this machine to itself.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// allows reports whether pages of an origin may call.
func (w Web) allows(origin string, r *http.Request) bool {
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	return origin == scheme+r.Host || slices.Contains(w.Origins, origin)
}

// letRead lets pages of an origin read answers.
func (w Web) letRead(h http.Header, origin string) {
	h.Set("Access-Control-Allow-Origin", origin)
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Allow-Methods", "GET, POST")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, "+clientHeader+", Last-Event-ID")
}

// known reports whether a request has the token.
func (w Web) known(r *http.Request) bool {
	if w.Token == "" {
		return true
	}
	if scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") && same(token, w.Token) {
		return true
	}
	return slices.ContainsFunc(subprotocols(r), func(p string) bool {
		token, ok := strings.CutPrefix(p, bearerProtocol)
		return ok && same(token, w.Token)
	})
}

func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// subprotocols are those that a WebSocket's client offers.
func subprotocols(r *http.Request) (all []string) {
	for _, line := range r.Header.Values("Sec-WebSocket-Protocol") {
		for p := range strings.SplitSeq(line, ",") {
			all = append(all, strings.TrimSpace(p))
		}
	}
	return all
}
