package postgres

import (
	"errors"
	"net"
	"strings"
	"testing"
)

// TestTLS checks the default of TLS by where the server is.
func TestTLS(t *testing.T) {
	for _, c := range []struct{ url, want string }{
		{"postgres://u@localhost/d", "none"},
		{"postgres://u@127.0.0.1:5433/d", "none"},
		{"postgres://u@[::1]/d", "none"},
		{"postgres://u@/d?host=/tmp", "none"},
		{"postgres://u@db.example.com/d", "verify"},
		{"postgres://u@db.example.com/d?connect_timeout=3", "verify"},
		{"postgres://u@localhost,db.example.com/d", "verify"},
		{"postgres://u@db.example.com/d?sslmode=disable", "none"},
		{"postgres://u@db.example.com/d?sslmode=require", "unverified"},
	} {
		config, err := parse(c.url)
		if err != nil {
			t.Errorf("%s: %v", c.url, err)
			continue
		}
		got := "none"
		if tls := config.ConnConfig.TLSConfig; tls != nil {
			got = "unverified"
			if !tls.InsecureSkipVerify && tls.ServerName != "" {
				got = "verify"
			}
		}
		for _, f := range config.ConnConfig.Fallbacks {
			if (f.TLSConfig == nil) != (got == "none") {
				t.Errorf("%s: a fallback with another level of TLS", c.url)
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.url, got, c.want)
		}
	}
}

// testNotReachable checks the errors of connecting. None contains the password.
func testNotReachable(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	socket := server("missing")
	for _, c := range []struct{ url, want string }{
		{"mysql://u:geheim@localhost/d", `engine URL has the unsupported scheme "mysql"`},
		{"geheim", "engine URL must have the form postgres://"},
		{"postgres://u:geheim@localhost:x/d", "engine URL is invalid: "},
		{"postgres://u:geheim@localhost/d?sslmode=maybe", "engine URL is invalid: "},
		{"postgres://u:geheim@" + closed + "/d", "could not connect to engine postgres://" + closed + "/d: connect: connection refused"},
		{socket, `database "missing" does not exist`},
	} {
		_, err := Connect(t.Context(), c.url, 0)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.url, err, c.want)
		}
		for ; err != nil; err = errors.Unwrap(err) {
			if strings.Contains(err.Error(), "geheim") {
				t.Errorf("%s: the error contains the password: %v", c.url, err)
			}
		}
	}
}
