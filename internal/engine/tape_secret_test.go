package engine

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// secretive is a program that sends and receives a secret in several forms.
const secretive = `
use std::http;
fn main() {
    let secret = env("CUSTOMER_DB")?;
    let page = http::post(std::env::args()[0], "cust_17 says ${secret}", { "Authorization": "Token abc", "X-Api-Key": secret, "X-Trace": "t-1" })?;
    emit("body", page.body);
    emit("same", page.body.contains(secret));
    emit("status", page.status);
}`

// TestTapeSecrets records a run that uses a secret of [run]. The tape must not contain the secret
// in any form. Replaying must restore the secret exactly, except in redacted texts. Requests must
// be found on the tape although they contain secrets or redacted texts.
func TestTapeSecrets(t *testing.T) {
	const value = `hunter two/"3"`
	encoded := base64.StdEncoding.EncodeToString([]byte(value))
	var received string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		body.ReadFrom(r.Body)
		received = fmt.Sprintf("%s, %s, %s", r.Header.Get("Authorization"), r.Header.Get("X-Api-Key"), &body)
		w.Header().Set("X-Api-Key", "another key")
		fmt.Fprintf(w, "raw %s url %s base64 %s json {\"s\":\"hunter two/\\\"3\\\"\"} mark «secret:CUSTOMER_DB» form ghp_0123456789abcdef0123 cust_99", value, url.QueryEscape(value), encoded)
	}))
	defer server.Close()
	p := compile(t, map[string]string{"main.conc": secretive, "Concerto.toml": "[run]\nsecrets = [\"CUSTOMER_DB\"]\nredact = ['cust_\\d+']\n"})
	environ := []string{"CUSTOMER_DB=" + value}
	live, tape := taped(t, p, Options{Environ: environ, Args: []string{server.URL + "/orders"}})
	if want := "Token abc, " + value + ", cust_17 says " + value; received != want {
		t.Fatalf("request received by the server = %s, want %s", received, want)
	}
	for _, text := range []string{"hunter", encoded, "Token abc", "another key", "ghp_", "cust_1", "cust_9", url.QueryEscape(value)} {
		if bytes.Contains(tape, []byte(text)) {
			t.Errorf("the tape contains the secret text %s:\n%s", text, tape)
		}
	}
	for _, there := range []string{
		`raw «secret:CUSTOMER_DB» url «secret:CUSTOMER_DB:url» base64 «secret:CUSTOMER_DB:base64» json {\"s\":\"«secret:CUSTOMER_DB:json»\"} mark ««secret:CUSTOMER_DB» form «redacted» «redacted»`,
		`{"name":"Authorization","value":"«redacted»"}`, `"body":"«redacted» says «secret:CUSTOMER_DB»"`, `{"name":"X-Trace","value":"t-1"}`,
	} {
		if !bytes.Contains(tape, []byte(there)) {
			t.Errorf("the tape does not contain %s:\n%s", there, tape)
		}
	}
	redacted := strings.NewReplacer("ghp_0123456789abcdef0123 cust_99", "«redacted» «redacted»").Replace(live)
	if got := playedIn(t, p, tape, environ); got != redacted {
		t.Errorf("replayed output = %s\nwant %s", got, redacted)
	}
	// A person may add text to the tape that would be redacted. Requests are compared after
	// redacting both sides.
	edited := bytes.Replace(tape, []byte("«redacted» says «secret:CUSTOMER_DB»"), []byte(`cust_4 says hunter two/\"3\"`), 1)
	if got := playedIn(t, p, edited, environ); got != redacted {
		t.Errorf("output of the edited tape = %s\nwant %s", got, redacted)
	}
	// Without the secret, the output contains its placeholders. Requests that contain a placeholder
	// are still found.
	without := playedIn(t, p, tape, nil)
	for _, want := range []string{`raw «secret:CUSTOMER_DB» url «secret:CUSTOMER_DB:url»`, `"channel":"same","payload":true`} {
		if !strings.Contains(without, want) {
			t.Errorf("output without the secret does not contain %s:\n%s", want, without)
		}
	}
}

// playedIn replays a tape with an environment and returns the output.
func playedIn(t *testing.T, p *Program, tape []byte, environ []string) string {
	t.Helper()
	r, err := ReadTape(bytes.NewReader(tape))
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	unused, _, err := p.Replay(t.Context(), r, Options{Environ: environ, Output: Output{To: &text, Mode: r.Mode()}})
	if len(unused) > 0 {
		t.Errorf("unused effects = %v, want none", unused)
	}
	return fmt.Sprintf("%s%v", &text, err)
}
