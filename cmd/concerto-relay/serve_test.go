package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// daemon is a running serve command.
type daemon struct {
	*testing.T
	cmd    *exec.Cmd
	url    string
	stdout *bufio.Reader
	before []string // lines that serve printed before it was ready
	mu     sync.Mutex
	stderr bytes.Buffer
}

func (d *daemon) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stderr.Write(b)
}

func (d *daemon) output() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stderr.String()
}

// start starts serve with a SQLite file in dir, on a free port, and waits until it is ready.
func start(t *testing.T, dir string, env []string, args ...string) *daemon {
	t.Helper()
	d := &daemon{T: t}
	d.cmd = exec.Command(filepath.Join(links(t), "concerto-relay"), append([]string{"serve", "--listen", "127.0.0.1:0", "--db", "sqlite:relay.db", "--ready-file", "ready"}, args...)...)
	d.cmd.Dir, d.cmd.Stderr = dir, d
	d.cmd.Env = append(append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="), env...)
	out, err := d.cmd.StdoutPipe()
	if err == nil {
		err = d.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.cmd.Process.Kill(); _ = d.cmd.Wait() })
	d.stdout = bufio.NewReader(out)
	for d.url == "" {
		line := d.line()
		d.url, _ = strings.CutPrefix(line, "the relay serves ")
		if d.url == line {
			d.url, d.before = "", append(d.before, line)
		}
	}
	return d
}

// links returns the directory that contains a link to the test program for each name of the
// command.
func links(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("concerto-relay")
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(path)
}

func (d *daemon) line() string {
	d.Helper()
	line, err := d.stdout.ReadString('\n')
	if err != nil {
		d.Fatalf("read the output of serve: %v\n%s", err, d.output())
	}
	return strings.TrimSuffix(line, "\n")
}

// stop stops the server with SIGTERM, and checks that it exits without an error.
func (d *daemon) stop() {
	d.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		d.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, d.stdout) // read the remaining output
	if err := d.cmd.Wait(); err != nil {
		d.Fatalf("error of serve after SIGTERM = %v\n%s", err, d.output())
	}
}

func (d *daemon) ask(method, path, token, body string, into any) int {
	d.Helper()
	r, err := http.NewRequest(method, d.url+path, strings.NewReader(body))
	if err != nil {
		d.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		d.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		d.Fatal(err)
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			d.Fatalf("%s %s: response = %s %s", method, path, got.Status, text)
		}
	}
	return got.StatusCode
}

// text returns what the server has at a path.
func (d *daemon) text(t *testing.T, path, token string) string {
	t.Helper()
	q, err := http.NewRequest(http.MethodGet, d.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+token)
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil || a.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %s, %v", path, a.Status, text, err)
	}
	return string(text)
}

func (d *daemon) login(name, password string) (token string) {
	d.Helper()
	var in struct {
		AccessToken string `json:"access_token"`
	}
	if code := d.ask("POST", "/auth/login", "", fmt.Sprintf(`{"username":%q,"password":%q}`, name, password), &in); code != 200 {
		d.Fatalf("login: status = %d, want 200", code)
	}
	return in.AccessToken
}

// run runs the command with a standard input, and returns its output. The command must succeed.
func run(t *testing.T, dir, stdin string, args ...string) string {
	t.Helper()
	c := exec.Command(filepath.Join(links(t), "concerto-relay"), args...)
	c.Dir, c.Stdin, c.Env = dir, strings.NewReader(stdin), append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME=")
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("command %v: %v\n%s", args, err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

// TestServe starts serve with an owner in its settings, and restarts it several times. The owner
// and sessions remain valid. Changes of users and tokens by other commands take effect at once. The
// server stops without errors, and its log contains no secrets.
func TestServe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "password"), []byte("correct horse\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	admin := []string{"--admin", "ann", "--admin-password-file", "password"}
	d := start(t, dir, nil, admin...)
	if text, err := os.ReadFile(filepath.Join(dir, "ready")); err != nil || string(text) != d.url {
		t.Errorf("ready file = %q, error = %v", text, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "relay.db")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("database file = %v, error = %v; want mode 0600", info, err)
	}
	var health map[string]string
	if code := d.ask("GET", "/health", "", "", &health); code != 200 || health["name"] != "concerto-relay" || health["status"] != "ok" {
		t.Errorf("health = %d %v", code, health)
	}
	token := d.login("ann", "correct horse")
	if code := d.ask("GET", "/metrics", token, "", nil); code != 200 {
		t.Errorf("metrics: status = %d, want 200", code)
	}
	d.stop()

	d = start(t, dir, nil, admin...) // the session remains valid, because the settings have not changed
	if code := d.ask("GET", "/auth/me", token, "", nil); code != 200 {
		t.Errorf("session after a restart: status = %d, want 200", code)
	}
	made := run(t, dir, "", "token", "create", "--db", "sqlite:relay.db", "--name", "x", "--role", "owner", "--format", "json")
	var by struct{ ID, Token string }
	if err := json.Unmarshal([]byte(made), &by); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte(by.Token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	over := []string{"--server", d.url, "--token-file", "token"}
	run(t, dir, "0123456789\n", append([]string{"user", "add", "bob", "--role", "operator"}, over...)...)
	if got := run(t, dir, "", append([]string{"user", "list"}, over...)...); got != "NAME  ROLE\nann   owner\nbob   operator" {
		t.Errorf("users = %s", got)
	}
	viewer := run(t, dir, "", append([]string{"token", "create", "--role", "viewer"}, over...)...)
	if code := d.ask("GET", "/users", viewer, "", nil); code != 403 {
		t.Errorf("GET /users as a viewer: status = %d, want 403", code)
	}
	for at, args := range map[string][]string{d.url: over, "https://relay.example": {"--db", "sqlite:relay.db", "--public-url", "https://relay.example/"}} {
		var link struct{ Token, Link string }
		text := run(t, dir, "", append([]string{"token", "create", "--runs", "run_7", "--ttl", "1h", "--format", "json"}, args...)...)
		if err := json.Unmarshal([]byte(text), &link); err != nil || link.Link != at+"/#/t/"+link.Token+"/run_7" || link.Token == "" {
			t.Errorf("created token = %s, error = %v", text, err)
		}
	}
	run(t, dir, "", append([]string{"user", "remove", "bob"}, over...)...)
	run(t, dir, "", "token", "revoke", by.ID, "--db", "sqlite:relay.db")
	if code := d.ask("GET", "/users", by.Token, "", nil); code != 401 {
		t.Errorf("token that was revoked in the database: status = %d, want 401", code)
	}
	d.stop()

	if err := os.WriteFile(filepath.Join(dir, "password"), []byte("changed horse\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d = start(t, dir, nil, admin...)
	d.login("ann", "changed horse") // the login requires the new password
	d.stop()

	hash := run(t, dir, "another horse\n", "token", "hash-password")
	d = start(t, dir, []string{"ADMIN_USERNAME=ann", "ADMIN_PASSWORD_HASH=" + hash})
	if code := d.ask("GET", "/auth/me", token, "", nil); code != 401 {
		t.Errorf("session after a change of the password: status = %d, want 401", code)
	}
	token = d.login("ann", "another horse")
	text := d.text(t, "/audit", token)
	if err := os.WriteFile(filepath.Join(dir, "audit.ndjson"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := run(t, dir, "", "audit", "verify", "audit.ndjson"); !strings.HasPrefix(got, "14 records, head ") {
		t.Errorf("audit verify = %s\n%s", got, text)
	}
	d.stop()
	if log := d.output(); strings.Contains(log, token) || strings.Contains(log, "horse") {
		t.Errorf("the log contains a secret: %s", log)
	}
}

// TestSetupLink starts a server without users. The server must print a link that creates the first
// owner, and the link must work only once.
func TestSetupLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := start(t, dir, nil)
	var code string
	for _, line := range d.before {
		if _, found, ok := strings.Cut(line, d.url+"/setup#"); ok {
			code = found
		}
	}
	if code == "" {
		t.Fatalf("output without users = %q, want a setup link", d.before)
	}
	body := `{"code":"` + code + `","username":"ann","password":"correct horse"}`
	if got := d.ask("POST", "/auth/setup", "", body, nil); got != 200 {
		t.Errorf("setup: status = %d, want 200", got)
	}
	if got := d.ask("POST", "/auth/setup", "", body, nil); got != 401 {
		t.Errorf("second setup: status = %d, want 401", got)
	}
	d.login("ann", "correct horse")
	d.stop()
	if d = start(t, dir, nil); len(d.before) != 0 {
		t.Errorf("output after the setup = %q, want none", d.before)
	}
	d.stop()
}

// TestSecondServerIsRefused starts two servers with the same SQLite file. The second one must be
// refused until the first has stopped.
func TestSecondServerIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := start(t, dir, nil)
	second := exec.Command(filepath.Join(links(t), "concerto-relay"), "serve", "--listen", "127.0.0.1:0", "--db", "sqlite:relay.db")
	second.Dir, second.Env = dir, append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME=")
	out, err := second.CombinedOutput()
	if err == nil || second.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), "--db: another server uses this file") || !strings.Contains(string(out), "postgres://") {
		t.Errorf("second server: error = %v\n%s", err, out)
	}
	_ = first.cmd.Process.Kill()
	_ = first.cmd.Wait()
	start(t, dir, nil)
}

// TestServeInMissingDirectory checks that serve does not create a missing directory of --db,
// because the path is probably mistyped.
func TestServeInMissingDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := exec.Command(filepath.Join(links(t), "concerto-relay"), "serve", "--listen", "127.0.0.1:0", "--db", "sqlite:typo/relay.db")
	c.Dir, c.Env = dir, append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME=")
	out, err := c.CombinedOutput()
	if err == nil || c.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), "--db: there is no directory "+filepath.Join(dir, "typo")) {
		t.Errorf("serve in a missing directory: error = %v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "typo")); !os.IsNotExist(err) {
		t.Errorf("the directory was created (%v)", err)
	}
}
