package redact_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/relay/hostd/redact"
)

// TestText: what is secret by its form is taken out, and nothing else.
func TestText(t *testing.T) {
	r, err := redact.New(`ticket-\d+`)
	if err != nil {
		t.Fatal(err)
	}
	const m = redact.Mark
	for in, want := range map[string]string{
		"ls -la /tmp":                                                 "ls -la /tmp",
		"API_KEY=abc123 run":                                          "API_KEY=" + m + " run",
		`{"password": "a b\"c", "user": "ada"}`:                       `{"password": ` + m + `, "user": "ada"}`,
		"token: xyz, next":                                            "token: " + m + ", next",
		"curl --password hunter2 u":                                   "curl --password " + m + " u",
		"Authorization: Bearer abcdefgh1234":                          "Authorization: " + m,
		"Bearer abcdefgh1234":                                         m,
		"the token is here, the password too":                         "the token is here, the password too",
		"sk-abcdefgh12345678":                                         m,
		"ghp_abcdefghijklmnop1234 AKIAABCDEFGHIJKLMNOP":               m + " " + m,
		"xoxb-1234567890-abc":                                         m,
		"secret password=abc Bearer xyz":                              "secret password=" + m + " " + m,
		"sk-abc123 ghp_abcd AKIA1234 xoxb-1234":                       m + " " + m + " " + m + " " + m,
		"-H 'Authorization: token abc'":                               "-H 'Authorization: " + m + "'",
		"git add sk-y":                                                "git add sk-y",
		"-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----": m,
		"see ticket-42":                                               "see " + m,
		"-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nrest": m + "\nrest",
		"q7Zp2LkX9vB4nM1cR8tY5uW3eD6fG0hJ!":                                         m + "!",
		strings.Repeat("a", 40):                                                     strings.Repeat("a", 40),
		"y\n":                                                                       "y\n",
	} {
		if got := r.Text(in); got != want {
			t.Errorf("%q: %q, not %q", in, got, want)
		}
	}
	if got := string(r.JSON(json.RawMessage(`{"cmd":"TOKEN=abc ls <x>","n":12345678901234567890,"secret":"s","list":["Bearer abcdefgh1234",true]}`))); got !=
		`{"cmd":"TOKEN=`+m+` ls <x>","list":["`+m+`",true],"n":12345678901234567890,"secret":"`+m+`"}` {
		t.Error(got)
	}
	if got := string(r.JSON(json.RawMessage(`{"a`))); got != `"`+m+`"` {
		t.Error(got)
	}
	if _, err := redact.New("("); err == nil || !strings.Contains(err.Error(), "REDACTION_EXTRA_REGEX") {
		t.Error(err)
	}
}
