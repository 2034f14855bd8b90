package netallow

import "net/netip"

// special lists networks that are not part of the public Internet, and networks that route to such
// addresses (RFC 6890). It omits those that package netip recognises.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"), netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("192.88.99.0/24"), netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("2001::/23"), netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("2002::/16"),
	netip.MustParsePrefix("3fff::/20"),
}

// global is the IPv6 range of public addresses.
var global = netip.MustParsePrefix("2000::/3")

// IsPublic reports whether an address is on the public Internet, and not on this machine or its
// network. An IPv6 address that contains an IPv4 address of another kind than ::ffff:0:0/96 is not.
func IsPublic(at netip.Addr) bool {
	if at.Zone() != "" {
		return false
	}
	at = at.Unmap()
	if !at.IsGlobalUnicast() || at.IsPrivate() || at.Is6() && !global.Contains(at) {
		return false
	}
	for _, p := range special {
		if p.Contains(at) {
			return false
		}
	}
	return true
}
