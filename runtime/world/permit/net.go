package permit

import (
	"net"
	"net/url"
	"strings"
)

// ports maps the schemes to their default ports.
var ports = map[string]string{"http": "80", "https": "443"}

// hostOf returns the host with its port of a URL, or "" if the URL has no host.
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

// plainHost returns the host of a target without its port.
func plainHost(target string) string {
	if host, _, err := net.SplitHostPort(target); err == nil {
		return host
	}
	return target
}

// matchesHost reports whether a pattern matches a target "host:port". A pattern is "host" (any
// port), "host:port", or "*.host" (all hosts below it).
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
