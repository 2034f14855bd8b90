package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/servertest"
)

// testServer is a running server with an owner, access tokens, and a machine. The machine has the
// run run_a with the open request q.
type testServer struct {
	*daemon
	owner   string
	machine *servertest.Peer
	tokens  map[string]string
	ids     map[string]string
}

func serveWithHostd(t *testing.T) *testServer {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "password"), []byte("correct horse\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &testServer{daemon: start(t, dir, nil, "--admin", "ann", "--admin-password-file", "password"), tokens: map[string]string{}, ids: map[string]string{}}
	s.owner = s.login("ann", "correct horse")
	for name, body := range map[string]string{"viewer": `{"role":"viewer"`, "operator": `{"role":"operator"`, "narrow": `{"role":"operator","runs":["other*"]`} {
		var made struct{ ID, Token string }
		if code := s.ask("POST", "/tokens", s.owner, body+`,"name":"`+name+`"}`, &made); code != 200 {
			t.Fatalf("creation of the token %s: status = %d", name, code)
		}
		s.tokens[name], s.ids[name] = made.Token, made.ID
	}
	s.machine = servertest.Dial(t, s.url+"/ws/host?host_id=host_a&host_token=s3cret")
	s.machine.Send(protocol.RunStarted, "run_a", 1, `{"tool":"codex","cwd":"/w","command":"codex"}`)
	s.machine.Send(protocol.RunPermissionRequested, "run_a", 2, `{"request_id":"q","reason":"permission","prompt":"?","approve_text":"y\n","deny_text":"n\n"}`)
	s.machine.Acked("run_a", 2)
	return s
}

// expectRefused sends an HTTP request and requires a response with this status and error code.
func (s *testServer) expectRefused(method, path, token, body string, status int, code string) {
	s.Helper()
	var failure struct{ Error struct{ Code string } }
	if got := s.ask(method, path, token, body, &failure); got != status || failure.Error.Code != code {
		s.Errorf("%s %s: response = %d %s, want %d %s", method, path, got, failure.Error.Code, status, code)
	}
}

// records reads the server's audit log, checks it, and returns its records.
func (s *testServer) records() (out []audit.Line) {
	s.Helper()
	r, err := http.NewRequest("GET", s.url+"/audit", nil)
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.owner)
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer got.Body.Close()
	for line, err := range audit.Lines(got.Body, "audit") {
		if err != nil {
			s.Fatal(err)
		}
		out = append(out, line)
	}
	return out
}

// has reports whether a record of this kind contains the text.
func has(all []audit.Line, kind, text string) bool {
	for _, l := range all {
		if l.Kind == kind && strings.Contains(string(l.Text), text) {
			return true
		}
	}
	return false
}

// TestHostileUsers sends requests that the user's token does not permit, over WebSockets and HTTP.
// The server must refuse and record all of them. A run that the user may not see must look like a
// run that does not exist.
func TestHostileUsers(t *testing.T) {
	t.Parallel()
	s := serveWithHostd(t)
	input := `{"input_id":"i1","text":"rm -rf /\n"}`
	decide := `{"decision":"approve"}`
	for _, path := range []string{"/runs/run_a/input", "/runs/run_a/stop", "/runs/run_a/permissions/q"} {
		s.expectRefused("POST", path, s.tokens["viewer"], input, 403, "forbidden")
		s.expectRefused("POST", path, s.tokens["narrow"], `{"input_id":"i1","text":"x","decision":"approve"}`, 404, "unknown_run")
		s.expectRefused("POST", path, "", input, 401, "unauthorized")
		s.expectRefused("POST", path, "ct_forged", input, 401, "unauthorized")
	}
	for _, path := range []string{"/runs/run_a", "/runs/run_a/events", "/runs/run_a/messages"} {
		s.expectRefused("GET", path, s.tokens["narrow"], "", 404, "unknown_run")
	}
	s.expectRefused("POST", "/runs/run_a/permissions/forged", s.tokens["operator"], decide, 404, "unknown_request")
	for _, path := range []string{"/runs", "/inbox"} {
		var none []json.RawMessage
		if code := s.ask("GET", path, s.tokens["narrow"], "", &none); code != 200 || len(none) != 0 {
			t.Errorf("%s with a restricted token = %d %s, want 200 and no entries", path, code, none)
		}
	}
	s.expectRefused("POST", "/rpc", s.tokens["narrow"], `{"type":"rpc.host.info","data":{"request_id":"r1","host_id":"host_a"}}`, 403, "forbidden")
	s.expectRefused("POST", "/rpc", s.tokens["viewer"], `{"type":"rpc.fs.read","run_id":"run_a","data":{"request_id":"r1","path":"../../etc/passwd"}}`, 403, "forbidden")

	app := servertest.Dial(t, s.url+"/ws/app?follow=none&token="+s.tokens["viewer"])
	for typ, data := range map[string]string{
		protocol.RunSendInput: input, protocol.RunSendKeys: `{"keys":"x"}`, protocol.RunStop: `{}`, protocol.RunResize: `{"cols":1,"rows":1}`,
		protocol.RunApprove: `{"request_id":"q"}`, protocol.RunDeny: `{"request_id":"q"}`, "rpc.bash": `{"request_id":"r2","cmd":"x"}`,
	} {
		app.Send(typ, "run_a", 0, data)
		if f := app.NextError(); f.Code != protocol.Forbidden {
			t.Errorf("error of %s = %+v, want forbidden", typ, f)
		}
	}
	narrow := servertest.Dial(t, s.url+"/ws/app?follow=none&token="+s.tokens["narrow"])
	for typ, data := range map[string]string{protocol.RunSendInput: input, protocol.RunApprove: `{"request_id":"q"}`, protocol.RunStop: `{}`} {
		narrow.Send(typ, "run_a", 0, data)
		if f := narrow.NextError(); f.Code != protocol.UnknownRun {
			t.Errorf("error of %s for an invisible run = %+v, want unknown_run", typ, f)
		}
	}
	s.expectRefused("GET", "/audit", s.tokens["operator"], "", 403, "forbidden")
	s.expectRefused("DELETE", "/hosts/host_a", s.tokens["operator"], "", 403, "forbidden")

	var inbox []json.RawMessage // the refused messages must not have decided the request
	if code := s.ask("GET", "/inbox", s.owner, "", &inbox); code != 200 || len(inbox) != 1 {
		t.Errorf("inbox = %d %s, want one request", code, inbox)
	}
	all := s.records()
	for _, kind := range []string{"input", "decision", "stop", "rpc", "host_removed"} {
		if !has(all, kind, `"data":{"refused":"forbidden"}`) {
			t.Errorf("the audit log does not record a refused %s", kind)
		}
	}
	if !has(all, "run_started", `"run":"run_a"`) || !has(all, "host_tofu", `"host":"host_a"`) {
		t.Error("the audit log does not record the machine and its run")
	}
}

// TestEndedCredentials checks that the server closes connections when their token is revoked or
// their machine is removed, and that a ticket opens only one connection.
func TestEndedCredentials(t *testing.T) {
	t.Parallel()
	s := serveWithHostd(t)
	var ticket struct{ Ticket string }
	if code := s.ask("POST", "/auth/ticket", s.tokens["viewer"], "", &ticket); code != 200 {
		t.Fatal(code)
	}
	by := servertest.Dial(t, s.url+"/ws/app?ticket="+ticket.Ticket)
	if p, status := servertest.TryDial(t, s.url+"/ws/app?ticket="+ticket.Ticket); p != nil || status != 401 {
		t.Errorf("second use of a ticket: status = %d, want 401", status)
	}
	for url, want := range map[string]int{"/ws/app": 401, "/ws/app?token=forged": 401, "/ws/host?host_id=host_a&host_token=other": 401, "/ws/host?host_id=host_a": 401} {
		if p, status := servertest.TryDial(t, s.url+url); p != nil || status != want {
			t.Errorf("%s: status = %d, want %d", url, status, want)
		}
	}
	token := servertest.Dial(t, s.url+"/ws/app?token="+s.tokens["viewer"])
	if code := s.ask("DELETE", "/tokens/"+s.ids["viewer"], s.owner, "", nil); code != 204 {
		t.Fatal(code)
	}
	for _, p := range []*servertest.Peer{by, token} {
		if code := p.Closed(); code != protocol.CloseUnauthorized {
			t.Errorf("close code after the end of the credentials = %d, want unauthorized", code)
		}
	}
	if code := s.ask("DELETE", "/hosts/host_a", s.owner, "", nil); code != 204 {
		t.Fatal(code)
	}
	if code := s.machine.Closed(); code != protocol.CloseUnauthorized {
		t.Errorf("close code of the removed machine = %d, want unauthorized", code)
	}
	second := servertest.Dial(t, s.url+"/ws/host?host_id=host_a&host_token=other")
	second.Send(protocol.RunOutput, "run_a", 3, `{"stream":"stdout","text":"x"}`)
	second.Acked("run_a", 3)
	all := s.records()
	for kind, text := range map[string]string{"login_failed": "ticket used before", "host_refused": "token differs", "token_revoked": s.ids["viewer"], "host_removed": "host_a"} {
		if !has(all, kind, text) {
			t.Errorf("the audit log has no record %s with %q", kind, text)
		}
	}
	s.stop()
	if code := second.Closed(); code != protocol.CloseRestart {
		t.Errorf("close code when the server stops = %d, want restart", code)
	}
	for _, secret := range []string{"s3cret", s.owner, s.tokens["viewer"], ticket.Ticket} {
		if strings.Contains(s.output(), secret) {
			t.Errorf("the log contains the secret %q", secret)
		}
	}
}
