package netallow

import (
	"net/netip"
	"strings"
	"testing"
)

// TestIsPublic checks which addresses are public.
func TestIsPublic(t *testing.T) {
	for _, text := range strings.Fields(`127.0.0.1 127.9.9.9 10.0.0.1 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 0.1.2.3 192.0.0.1 192.0.2.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 240.0.0.1
		255.255.255.255 ::1 :: fe80::1 fc00::1 fd12::1 ff02::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 64:ff9b::a00:1 64:ff9b:1::1 2001::1 2001:db8::1 2002:a00:1:: 3fff::1 fec0::1 2606:4700::1%eth0`) {
		if IsPublic(netip.MustParseAddr(text)) {
			t.Errorf("IsPublic(%s) = true, want false", text)
		}
	}
	for _, text := range strings.Fields(`1.1.1.1 8.8.8.8 142.250.0.1 2606:4700::1 2a00:1450:4001::1 ::ffff:8.8.8.8`) {
		if !IsPublic(netip.MustParseAddr(text)) {
			t.Errorf("IsPublic(%s) = false, want true", text)
		}
	}
}
