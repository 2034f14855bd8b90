package hostpolicy

import (
	"encoding/json"
	"net/netip"
	"net/url"
	"slices"
	"strconv"

	"github.com/concerto-lang/concerto/internal/data/netallow"
)

// Net contains addresses, as entries of netallow.
type Net struct {
	Allow []string `json:"allow"`
	Ask   []string `json:"ask"`
	Deny  []string `json:"deny"`
}

// CheckAddress returns an error if an entry of Net is invalid.
func CheckAddress(entry string) error {
	_, err := netallow.ParseAddress(entry)
	return err
}

// address is an address that an agent requests to reach.
type address struct {
	name string     // in the normal form of netallow; "" for an IP address
	ip   netip.Addr // the zero value for a name
	port uint16     // 0 if it is unknown
}

// ports are the ports of URLs and of Codex's protocols that name none.
var ports = map[string]uint16{"https": 443, "http": 80}

// parseAddress returns the address of an approval of the kind fetch: that of its member network, or
// of the URL in its arguments. It returns nil if there is none that can be read.
func parseAddress(network, link json.RawMessage) *address {
	var n struct {
		Host     string `json:"host"`
		Protocol string `json:"protocol"`
		Port     uint16 `json:"port"`
	}
	if len(network) > 0 {
		if json.Unmarshal(network, &n) != nil || n.Host == "" {
			return nil
		}
		if n.Port == 0 {
			n.Port = ports[n.Protocol]
		}
		return newAddress(n.Host, n.Port)
	}
	texts := textsOf(link)
	if len(texts) != 1 {
		return nil
	}
	at, err := url.Parse(texts[0])
	if err != nil || ports[at.Scheme] == 0 || at.Hostname() == "" {
		return nil
	}
	port := ports[at.Scheme]
	if at.Port() != "" {
		n, err := strconv.ParseUint(at.Port(), 10, 16)
		if err != nil || n == 0 {
			return nil
		}
		port = uint16(n)
	}
	return newAddress(at.Hostname(), port)
}

func newAddress(host string, port uint16) *address {
	if ip, err := netip.ParseAddr(host); err == nil {
		return &address{ip: ip.Unmap(), port: port}
	}
	name := netallow.NormalName(host)
	if !netallow.IsHostName(name) {
		return nil
	}
	return &address{name: name, port: port}
}

// addressRules are the parsed entries of Net.
type addressRules struct{ allow, ask, deny []netallow.Address }

func newAddressRules(n Net) (r addressRules) {
	for _, x := range []struct {
		texts []string
		to    *[]netallow.Address
	}{{n.Allow, &r.allow}, {n.Ask, &r.ask}, {n.Deny, &r.deny}} {
		for _, text := range x.texts {
			if a, err := netallow.ParseAddress(text); err == nil { // the manifest's reader has reported others
				*x.to = append(*x.to, a)
			}
		}
	}
	return r
}

// matches reports whether an entry names the address. Without a port, it means every port, and an
// unknown port may be each.
func (a *address) matches(all []netallow.Address) bool {
	return a != nil && slices.ContainsFunc(all, func(x netallow.Address) bool {
		port := x.Port
		if port == 0 {
			port, x.Port = a.port, a.port
		} else if a.port != 0 {
			port = a.port
		}
		return x.AllowsName(a.name, port) || x.AllowsIP(a.ip, port)
	})
}

// isIn reports whether an entry allows the address. An unknown port is allowed by none.
func (a *address) isIn(all []netallow.Address) bool {
	return a != nil && a.port != 0 && slices.ContainsFunc(all, func(x netallow.Address) bool {
		return x.AllowsName(a.name, a.port) || x.AllowsIP(a.ip, a.port)
	})
}
