package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/cli/console"
)

// toolCommand runs `concerto tools` in a directory that contains file as tools.yaml.
func toolCommand(t *testing.T, file string, environ []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tools.yaml"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, err strings.Builder
	code = run(append([]string{"tools"}, args...), &console.Console{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &err, Dir: dir, Environ: environ})
	return code, out.String(), err.String()
}

// TestToolsCheckSandboxes checks that the command warns about missing requirements of a sandbox. In
// this test, the missing requirement is the program concerto.
func TestToolsCheckSandboxes(t *testing.T) {
	code, stdout, stderr := toolCommand(t, `
tools:
  - {name: a, description: A, command: {run: [echo], sandbox: {net: false}}}
  - {name: b, description: B, command: {run: [echo], sandbox: {open_files: 20, missing: warn}}}
  - {name: c, description: C, command: [echo]}
`, nil, "check", "tools.yaml")
	want := `warning: tool 'a': this machine lacks the program concerto, which sets sandboxes up: its calls fail
warning: tool 'b': this machine lacks the program concerto, which sets sandboxes up: it runs without it
`
	if code != 0 || stdout != "" || stderr != want {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
}

// TestToolsHTTP calls tools that a tool file maps to an HTTP server.
func TestToolsHTTP(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer k" || r.Header.Get("Idempotency-Key") == "" {
			http.Error(w, "who are you?", http.StatusForbidden)
			return
		}
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, r.URL.Query().Encode())
			return
		}
		var m struct {
			Input   json.RawMessage
			Context struct{ Tool, Route, By string }
		}
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Error(err)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"got": m.Input, "for": m.Context})
	}))
	defer server.Close()
	file := strings.ReplaceAll(`
tools:
  - {name: post, description: P, http: {url: "URL", headers_env: {Authorization: AUTH}}}
  - {name: get, description: G, http: {url: "URL?v=1", method: GET, answer: text, headers_env: {Authorization: AUTH}}}
  - {name: bare, description: B, http: "URL"}
`, "URL", server.URL+"/")
	environ := []string{"AUTH=Bearer k"}
	for _, c := range []struct {
		name, args string
		environ    []string
		code       int
		want       string
	}{
		{"post", `{"sku": "a1"}`, environ, 0, `{"success":true,"output":{"for":{"Tool":"post","Route":"client","By":"client:tools"},"got":{"sku":"a1"}},"error":null,`},
		{"get", `{"sku": "a 1", "n": 2, "list": []}`, environ, 0, `{"success":true,"output":"n=2&sku=a+1&v=1","error":null,`},
		{"bare", `{}`, environ, 1, `{"success":false,"output":null,"error":"answered with status 403 Forbidden: who are you?",`},
		{"post", `{}`, nil, 1, `{"success":false,"output":null,"error":"environment variable AUTH is not set: it contains the header Authorization",`},
	} {
		code, stdout, stderr := toolCommand(t, file, c.environ, "call", c.name, "--args", c.args, "--host-tools", "tools.yaml")
		if code != c.code || !strings.HasPrefix(stdout, c.want) {
			t.Errorf("exit code %d, output:\n%s%s\nwant stdout %s", code, stdout, stderr, c.want)
		}
		if strings.Contains(stderr, "list was left out") != (c.name == "get") {
			t.Errorf("unexpected stderr: %s", stderr)
		}
	}
}
