package hostpolicy

import (
	"fmt"
	"testing"
)

// TestAddresses checks which addresses the rules allow and deny. Denials are read broadly,
// permissions narrowly.
func TestAddresses(t *testing.T) {
	network := func(host, protocol, port string) string {
		return fmt.Sprintf(`{"kind":"fetch","tool":"network","network":{"host":%q,"protocol":%q%s},"args":{}}`, host, protocol, port)
	}
	link := func(url string) string {
		return fmt.Sprintf(`{"kind":"fetch","tool":"WebFetch","args":{"url":%q}}`, url)
	}
	rules := Net{Allow: []string{"packages.example.org", "*.docs.example.org:8443", "10.0.0.5", "*.example.net"}, Ask: []string{"ask.example.net"}, Deny: []string{"*.evil.example", "deny.example.net:8080", "[fd00::1]"}}
	for _, c := range []struct {
		request string
		byAsk   Verdict // with the default ask
		byAllow Verdict
	}{
		{network("packages.example.org", "https", ""), Allow, Allow},
		{network("PACKAGES.example.org.", "http", ""), Allow, Allow},
		{network("packages.example.org", "https", `,"port":443`), Allow, Allow},
		{network("packages.example.org", "socks5Tcp", ""), Ask, Allow}, // its port is unknown
		{network("packages.example.org", "https", `,"port":8443`), Ask, Allow},
		{network("a.docs.example.org", "https", `,"port":8443`), Allow, Allow},
		{network("a.docs.example.org", "https", ""), Ask, Allow},
		{network("docs.example.org", "https", `,"port":8443`), Ask, Allow},
		{network("10.0.0.5", "http", ""), Allow, Allow},
		{network("::ffff:10.0.0.5", "http", ""), Allow, Allow},
		{network("a.evil.example", "socks5Udp", ""), Deny, Deny},
		{network("a.evil.example", "https", `,"port":1`), Deny, Deny},
		{network("evil.example", "https", ""), Ask, Allow},
		{network("deny.example.net", "socks5Tcp", ""), Deny, Deny}, // it may be the denied port
		{network("deny.example.net", "https", ""), Allow, Allow},
		{network("deny.example.net", "https", `,"port":8080`), Deny, Deny},
		{network("fd00::1", "https", ""), Deny, Deny},
		{network("ask.example.net", "https", ""), Ask, Ask},
		{network("b.example.net", "https", ""), Allow, Allow},
		{network("", "https", ""), Ask, Ask},
		{network("a b", "https", ""), Ask, Ask},
		{`{"kind":"fetch","network":[],"args":{}}`, Ask, Ask},
		{link("https://packages.example.org/x?y=a.evil.example"), Allow, Allow},
		{link("https://user@packages.example.org/"), Allow, Allow},
		{link("https://packages.example.org@a.evil.example/"), Deny, Deny},
		{link("https://a.evil.example:444/"), Deny, Deny},
		{link("http://[fd00::1]:9/"), Deny, Deny},
		{link("ftp://packages.example.org/"), Ask, Ask},
		{link("packages.example.org"), Ask, Ask},
		{link("https://packages.example.org:99999/"), Ask, Ask},
		{`{"kind":"fetch","args":{"url":7}}`, Ask, Ask},
		{`{"kind":"fetch","args":{"query":"x"}}`, Ask, Ask},
		{`{"kind":"other","network":{"host":"packages.example.org","protocol":"https"},"args":{}}`, Ask, Allow}, // only fetch reaches an address
		{`{"kind":"fetch","network":{"host":"packages.example.org","protocol":"https"},"args":{"command":"curl x"}}`, Ask, Allow},
	} {
		for by, want := range map[string]Verdict{"ask": c.byAsk, "allow": c.byAllow} {
			if got := New(Rules{Net: rules, Default: by}, Place{Dir: "/work"}).Decide(ParseRequest([]byte(c.request))); got != want {
				t.Errorf("with default %s, %s = %s, want %s", by, c.request, got, want)
			}
		}
	}
}

// TestForbiddenInput checks that a changed input, which has no kind, cannot reach a denied address.
func TestForbiddenInput(t *testing.T) {
	p := New(Rules{Net: Net{Allow: []string{"a.example"}, Deny: []string{"*.evil.example"}}}, Place{Dir: "/work"})
	if !p.Forbids(ParseRequest([]byte(`{"args":{"url":"https://x.evil.example"}}`))) || p.Forbids(ParseRequest([]byte(`{"args":{"url":"https://a.example"}}`))) {
		t.Error("a changed input is compared with no rule for addresses")
	}
}

// TestCheckAddress checks that the manifest's reader refuses what is no address.
func TestCheckAddress(t *testing.T) {
	for _, entry := range []string{"", "https://a.example", "a.*.example", "a.example:0", "a b"} {
		if CheckAddress(entry) == nil {
			t.Errorf("%q is accepted", entry)
		}
	}
}

// TestReach checks that an address which the sandbox does not let the host reach is denied,
// whatever the rules say.
func TestReach(t *testing.T) {
	p := New(Rules{Net: Net{Allow: []string{"*.example"}}, Default: "allow", Reach: []string{"a.example:443", "*.b.example"}}, Place{Dir: "/work"})
	for request, want := range map[string]Verdict{
		`{"kind":"fetch","network":{"host":"a.example","protocol":"https"}}`:       Allow,
		`{"kind":"fetch","network":{"host":"a.example","protocol":"http"}}`:        Deny,
		`{"kind":"fetch","network":{"host":"c.example","protocol":"https"}}`:       Deny,
		`{"kind":"fetch","network":{"host":"x.b.example","protocol":"socks5Tcp"}}`: Allow, // its port is unknown, and the default decides
		`{"kind":"fetch","args":{"url":"https://c.example/"}}`:                     Deny,
		`{"kind":"fetch","args":{"query":"x"}}`:                                    Allow,
		`{"kind":"execute","args":{"command":"make"}}`:                             Allow,
	} {
		if got := p.Decide(ParseRequest([]byte(request))); got != want {
			t.Errorf("%s = %s, want %s", request, got, want)
		}
	}
	none := New(Rules{Reach: []string{}}, Place{})
	if q := ParseRequest([]byte(`{"kind":"fetch","network":{"host":"a.example","protocol":"https"}}`)); none.Decide(q) != Deny || !none.IsUnreachable(q) {
		t.Error("without a network, an address is not denied")
	}
}
