package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"slices"
	"strings"
)

// Web configures which HTTP clients the server accepts.
type Web struct {
	Token    string   // token that clients must send as a bearer token; "" accepts clients without a token
	Made     bool     // the token was generated, so the server prints it
	Origins  []string // origins of web pages that may send requests, in addition to the server's own origin
	Loopback bool     // the server listens on the loopback interface and accepts only requests to a loopback host name
}

// bearerProtocol precedes the token in a WebSocket's subprotocol, because a browser cannot set
// headers of a WebSocket.
const bearerProtocol = "bearer."

// guard rejects requests without permission. It checks the header Origin against requests from
// other web pages. It checks the header Host against pages that reach this server through a host
// name that their owner controls.
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

// isLoopback reports whether host, with or without a port, names the loopback interface.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// allows reports whether web pages of an origin may send requests.
func (w Web) allows(origin string, r *http.Request) bool {
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	return origin == scheme+r.Host || slices.Contains(w.Origins, origin)
}

// allowRead sets headers that let web pages of an origin read the response.
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

// subprotocols returns the subprotocols that the WebSocket client offers.
func subprotocols(r *http.Request) (all []string) {
	for _, line := range r.Header.Values("Sec-WebSocket-Protocol") {
		for p := range strings.SplitSeq(line, ",") {
			all = append(all, strings.TrimSpace(p))
		}
	}
	return all
}
