// Package netallow contains the entries of a list of allowed addresses: the manifest's reader
// checks them, and the proxy of a sandbox compares addresses with them. It also knows which IP
// addresses are public.
package netallow

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Address is an entry: "api.example.com", "*.example.org:8443",
// "10.0.0.5", "[fd00::1]:80".
type Address struct {
	Name  string     // host name in lower case, or the part of it after the `*`; "" for an IP address
	Below bool       // Name begins with a dot: all names that end with it are allowed
	IP    netip.Addr // the zero value for a name
	Port  uint16     // 0 means 443 and 80
}

// ParseAddress parses an allowed address.
func ParseAddress(text string) (a Address, err error) {
	switch {
	case text == "":
		return a, errors.New("it is empty")
	case strings.Contains(text, "://") || strings.Contains(text, "/"):
		return a, errors.New("it must be a host name or an IP address, without a scheme or a path")
	case strings.ContainsAny(text, " \t\r\n@?#"):
		return a, errors.New("it must be a host name or an IP address, optionally with a port")
	}
	host := text
	if at := strings.LastIndexByte(text, ':'); at >= 0 && (strings.Count(text, ":") == 1 || strings.HasSuffix(text[:at], "]")) {
		port, err := strconv.ParseUint(text[at+1:], 10, 16)
		if err != nil || port == 0 {
			return a, fmt.Errorf("%q is not a port", text[at+1:])
		}
		host, a.Port = text[:at], uint16(port)
	}
	if bare, ok := strings.CutPrefix(host, "["); ok {
		if host, ok = strings.CutSuffix(bare, "]"); !ok {
			return a, errors.New("the `]` is missing")
		}
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip.Zone() != "" {
			return a, errors.New("an address with a zone is not supported")
		}
		a.IP = ip.Unmap()
		return a, nil
	}
	a.Name = NormalName(host)
	if rest, ok := strings.CutPrefix(a.Name, "*."); ok {
		a.Name, a.Below = "."+rest, true
	}
	if !IsHostName(strings.TrimPrefix(a.Name, ".")) {
		if strings.Contains(host, "*") {
			return Address{}, errors.New("`*` may only be the first label, as in \"*.example.org\"")
		}
		return Address{}, errors.New("it is neither a host name nor an IP address")
	}
	return a, nil
}

// IsHostName reports whether a text in lower case consists of labels. A text of digits and dots is
// no name: some programs read it as an IP address.
func IsHostName(text string) bool {
	if len(text) > 253 {
		return false
	}
	digits := true
	for label := range strings.SplitSeq(text, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, c := range []byte(label) {
			if c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
				return false
			}
			digits = digits && c >= '0' && c <= '9'
		}
	}
	return !digits
}

// NormalName returns the form of a host name in which names are compared.
func NormalName(name string) string { return strings.TrimSuffix(strings.ToLower(name), ".") }

// AllowsPort reports whether the entry allows a port.
func (a Address) AllowsPort(port uint16) bool {
	return a.Port == port || a.Port == 0 && (port == 443 || port == 80)
}

// AllowsName reports whether the entry allows a host name in its normal form.
func (a Address) AllowsName(name string, port uint16) bool {
	if a.IP.IsValid() || !a.AllowsPort(port) {
		return false
	}
	return name == a.Name && !a.Below || a.Below && strings.HasSuffix(name, a.Name) && len(name) > len(a.Name)
}

// AllowsIP reports whether the entry is this IP address.
func (a Address) AllowsIP(ip netip.Addr, port uint16) bool {
	return a.IP.IsValid() && a.IP == ip.Unmap() && a.AllowsPort(port)
}

// JoinAddress returns a host and a port as HOST:PORT.
func JoinAddress(host string, port uint16) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(int(port))
}
