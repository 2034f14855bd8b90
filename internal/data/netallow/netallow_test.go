package netallow

import "testing"

// TestParseAddress checks which entries are valid, and the messages for those that are not.
func TestParseAddress(t *testing.T) {
	const star = "`*` may only be the first label, as in \"*.example.org\""
	for text, want := range map[string]string{
		"api.example.com": "", "API.example.com.": "", "*.example.org:8443": "", "10.0.0.5": "", "10.0.0.5:80": "", "[fd00::1]:443": "", "fd00::1": "", "localhost:8080": "",
		"a_b.example.com":         "",
		"":                        "it is empty",
		"https://api.example.com": "it must be a host name or an IP address, without a scheme or a path",
		"api.example.com/v1":      "it must be a host name or an IP address, without a scheme or a path",
		"a b":                     "it must be a host name or an IP address, optionally with a port",
		"user@example.com":        "it must be a host name or an IP address, optionally with a port",
		"example.com:http":        `"http" is not a port`,
		"example.com:0":           `"0" is not a port`,
		"example.com:65536":       `"65536" is not a port`,
		"[fd00::1":                "the `]` is missing",
		"fe80::1%eth0":            "an address with a zone is not supported",
		"*":                       star,
		"a.*.example.org":         star,
		"*example.org":            star,
		"-a.example.org":          "it is neither a host name nor an IP address",
		"127.1":                   "it is neither a host name nor an IP address",
	} {
		_, err := ParseAddress(text)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("ParseAddress(%q) = %q, want %q", text, got, want)
		}
	}
}
