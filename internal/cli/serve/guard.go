package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"slices"
	"strings"
)

// Web configures which clients may call over HTTP.
type Web struct {
	Token    string   // bearer token of clients; "" accepts clients without one
	Made     bool     // the token was generated: it is printed
	Origins  []string // web pages that may call, besides those of the server itself
	Loopback bool     // it listens on the loopback interface: only hosts of this name are accepted
}

// bearerProtocol precedes the token in a WebSocket's subprotocol, because a browser cannot set
// headers of a WebSocket.
const bearerProtocol = "bearer."

// guard rejects requests that may not call. It checks the Origin of other pages, and the Host
// against pages that reach this server under a host name of their own.
func (w Web) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		switch {
		case w.Loopback && !isLoopback(r.Host):
			http.Error(out, "unknown host "+r.Host, http.StatusForbidden)
			return
		case origin != "" && !w.allows(origin, r):
			http.Error(out, "the origin "+origin+" may not call this server; allow it with --allow-origin "+origin, http.StatusForbidden)
			return
		case origin != "":
			w.allowRead(out.Header(), origin)
		}
		switch {
		case r.Method == http.MethodOptions && origin != "":
			out.WriteHeader(http.StatusNoContent)
		case r.URL.Path != "/healthz" && r.URL.Path != "/readyz" && !w.isAuthorized(r):
			out.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(out, "this server requires a bearer token", http.StatusUnauthorized)
		default:
			next.ServeHTTP(out, r)
		}
	})
}

// Address returns the address to listen on. A port without a host is on the loopback interface.
func Address(text string) (address string, loopback bool) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		host, port = "", text
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), isLoopback(host)
}

// isLoopback reports whether a host, with or without a port, is the loopback interface.
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

// allowRead lets pages of an origin read responses.
func (w Web) allowRead(h http.Header, origin string) {
	h.Set("Access-Control-Allow-Origin", origin)
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Allow-Methods", "GET, POST")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, "+clientHeader+", Last-Event-ID")
}

// isAuthorized reports whether a request has the token.
func (w Web) isAuthorized(r *http.Request) bool {
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

// subprotocols returns the subprotocols that a WebSocket's client offers.
func subprotocols(r *http.Request) (all []string) {
	for _, line := range r.Header.Values("Sec-WebSocket-Protocol") {
		for p := range strings.SplitSeq(line, ",") {
			all = append(all, strings.TrimSpace(p))
		}
	}
	return all
}
