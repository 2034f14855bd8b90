package permit

import (
	"net"
	"net/url"
	"strings"
)

// ports are those of addresses that name none.
var ports = map[string]string{"http": "80", "https": "443"}

// hostOf is the host and port that an address leads to, "" when it leads to none.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return ""
	}
	port := u.Port()
	if port == "" {
		port = ports[strings.ToLower(u.Scheme)]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// plainHost is the host without its port.
func plainHost(target string) string {
	if host, _, err := net.SplitHostPort(target); err == nil {
		return host
	}
	return target
}

// matchesHost says whether a pattern covers a target "host:port". A pattern is
// "host" (at any port), "host:port", or "*.host" (all hosts below it).
func matchesHost(pattern, target string) bool {
	host, port, err := net.SplitHostPort(target)
	if err != nil {
		return false
	}
	pattern = strings.ToLower(pattern)
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if h, p, err := net.SplitHostPort(pattern); err == nil {
		if p != port {
			return false
		}
		pattern = h
	}
	if below, ok := strings.CutPrefix(pattern, "*"); ok {
		return strings.HasPrefix(below, ".") && strings.HasSuffix(host, below)
	}
	return strings.TrimSuffix(strings.Trim(pattern, "[]"), ".") == host
}
