package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// TestServeWithHostd runs the server and this machine's hostd in one process. Each uses its own
// table of relay.toml. The server accepts this machine, although --tofu off makes it refuse all
// others. One signal stops both. After a restart, both list the run again, which continued while
// they were stopped.
func TestServeWithHostd(t *testing.T) {
	t.Parallel()
	h := newMachine(t)
	if err := os.MkdirAll(filepath.Join(h.dir, "concerto"), 0o700); err != nil {
		t.Fatal(err)
	}
	settings := "[serve]\ntofu = \"off\"\n[hostd]\nstate = \"state\"\nhost-id = \"desk\"\nserver = \"http://127.0.0.1:1\"\nlog = \"hostd.log\"\n"
	if err := os.WriteFile(filepath.Join(h.dir, "concerto", "relay.toml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	hash := run(t, h.dir, "correct horse\n", "token", "hash-password")
	env := []string{"XDG_CONFIG_HOME=" + h.dir, "LOCAL_UNIX_SOCKET=" + filepath.Join(h.dir, "s"), "ADMIN_USERNAME=ann", "ADMIN_PASSWORD_HASH=" + hash}
	both := func(listen string) *daemon {
		return start(t, h.dir, env, "--with-hostd", "--listen", listen)
	}
	d := both("127.0.0.1:0")
	if text, err := os.ReadFile(filepath.Join(h.dir, "ready")); err != nil || string(text) != d.url {
		t.Errorf("ready file = %q, error = %v", text, err)
	}
	token := d.login("ann", "correct horse")
	if err := os.WriteFile(filepath.Join(h.dir, "token"), []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	id := h.detached(`printf 'Go on? [y/N] '; read x; echo "said $x"; exit 4`)
	asked := h.until(id, protocol.RunPermissionRequested, "Go on?")
	q, err := protocol.Decode[protocol.PermissionRequested](&asked)
	if err != nil {
		t.Fatal(err)
	}
	var machines []struct {
		ID     string
		Online bool
	}
	if code := d.ask("GET", "/hosts", token, "", &machines); code != 200 || len(machines) != 1 || machines[0].ID != "desk" {
		t.Errorf("response to GET /hosts = %d %+v, want only desk", code, machines)
	}
	if code := dial(d, "/ws/host?host_id=other&host_token=x", http.Header{}); code != http.StatusUnauthorized {
		t.Errorf("status for an unknown machine = %d, want 401", code)
	}
	if got := h.do(0, "doctor"); !strings.Contains(got, "ok    auth        the server accepts this machine as desk") || !strings.Contains(got, "ok    server      "+d.url) {
		t.Errorf("doctor =\n%s\nwant the server and the machine of serve --with-hostd", got)
	}
	d.stop()
	if out := h.do(2, "runs"); !strings.Contains(out, "no hostd serves") {
		t.Errorf("output of runs after serve has stopped = %s, want \"no hostd serves\"", out)
	}

	d = both("127.0.0.1:0")
	at := []string{"--server", d.url, "--token-file", "token"}
	seen := h.startDetached(d, token, id)
	if seen.MachineID != "desk" || seen.Tool != "bash" && seen.Tool != "printf" {
		t.Errorf("run on the server = %+v", seen)
	}
	h.do(0, append([]string{"approve", id, q.RequestID}, at...)...)
	if out := h.do(4, append([]string{"attach", id}, at...)...); !strings.Contains(out, "said y") {
		t.Errorf("output of the run = %q", out)
	}
	d.stop()
	log, err := os.ReadFile(filepath.Join(h.dir, "hostd.log"))
	if err != nil || !strings.Contains(string(log), ".toml: hostd.server") || strings.Contains(string(log), "level=ERROR") {
		t.Errorf("log of hostd: error = %v\n%s", err, log)
	}

	for _, c := range []struct {
		env, want string
		code      int
	}{
		{"HOST_TOKEN=another-one", "registered with other credentials", 1},
		{"HOST_ID=a b", "$HOST_ID: \"a b\" is not a valid id", 2},
		{"REDACTION_EXTRA_REGEX=(", "REDACTION_EXTRA_REGEX", 2},
	} {
		c2 := h.command("serve", "--with-hostd", "--listen", "127.0.0.1:0", "--db", "sqlite:relay.db")
		c2.Env = append(c2.Env, c.env)
		if out, _ := c2.CombinedOutput(); c2.ProcessState.ExitCode() != c.code || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: exit code = %d\n%s", c.env, c2.ProcessState.ExitCode(), out)
		}
	}
}

// TestServeWithHostdElsewhere starts serve --with-hostd on an address that is not the loopback
// address. hostd must reach the server nevertheless. With --public-url, clients may use that
// address; without it, the server refuses them and prints the missing flag.
func TestServeWithHostdElsewhere(t *testing.T) {
	t.Parallel()
	address := ownAddress(t)
	h := newMachine(t)
	hash := run(t, h.dir, "correct horse\n", "token", "hash-password")
	env := []string{"XDG_CONFIG_HOME=" + h.dir, "HOST_ID=desk", "LOCAL_UNIX_SOCKET=" + filepath.Join(h.dir, "s"), "ADMIN_USERNAME=ann", "ADMIN_PASSWORD_HASH=" + hash}
	d := start(t, h.dir, env, "--with-hostd", "--listen", net.JoinHostPort(address, "0"))
	var refused struct {
		Error struct{ Code, Message string }
	}
	if code := d.ask("GET", "/auth/me", "", "", &refused); code != http.StatusForbidden || !strings.Contains(refused.Error.Message, "--public-url") {
		t.Errorf("response at an address without --public-url = %d %+v, want 403", code, refused)
	}
	h.do(7, "run", "--", "exit 7")
	d.stop() // wait until all output has been written
	if !strings.HasPrefix(d.url, "http://"+address+":") || !strings.Contains(d.output(), "are refused: add --public-url "+d.url) {
		t.Errorf("URL = %s, output =\n%s", d.url, d.output())
	}

	at := strings.TrimPrefix(d.url, "http://")
	d = start(t, h.dir, env, "--with-hostd", "--listen", at, "--public-url", "http://"+at)
	token := d.login("ann", "correct horse")
	d.machines(token, func(all []machineSeen) bool { return len(all) == 1 && all[0].ID == "desk" && all[0].Online })
	if code := dial(d, "/ws/host?host_id=other&host_token=x", http.Header{}); code != http.StatusUnauthorized {
		t.Errorf("status for an unknown machine = %d, want 401", code)
	}
	h.do(6, "run", "--", "exit 6")
	d.stop()
	if strings.Contains(d.output(), "are refused: add") || strings.Contains(d.output(), "level=ERROR") {
		t.Errorf("output with --public-url =\n%s", d.output())
	}

	d = start(t, h.dir, env, "--listen", "0.0.0.0:0")
	d.stop()
	port := d.url[strings.LastIndex(d.url, ":"):]
	if d.url != "http://127.0.0.1"+port || !strings.Contains(d.output(), "add --public-url http://NAME"+port) {
		t.Errorf("URL of a server on all interfaces = %s, output =\n%s", d.url, d.output())
	}
}

// ownAddress returns an address of this machine that is not a loopback address.
func ownAddress(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && ip.IP.IsGlobalUnicast() {
			return ip.IP.String()
		}
	}
	t.Skip("this machine has no address but the loopback's")
	return ""
}

// TestServeWithPairedMachine pairs a machine with a server, and then starts this server with
// --with-hostd at another address. The machine must keep its id and key. A server without the
// pairing must accept the same machine as a new machine, which uses a token.
func TestServeWithPairedMachine(t *testing.T) {
	t.Parallel()
	h := newMachine(t)
	if err := os.MkdirAll(filepath.Join(h.dir, "concerto"), 0o700); err != nil {
		t.Fatal(err)
	}
	settings := "[serve]\ntofu = \"off\"\n[hostd]\nstate = \"state\"\n"
	if err := os.WriteFile(filepath.Join(h.dir, "concerto", "relay.toml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	hash := run(t, h.dir, "correct horse\n", "token", "hash-password")
	env := []string{"XDG_CONFIG_HOME=" + h.dir, "LOCAL_UNIX_SOCKET=" + filepath.Join(h.dir, "s"), "ADMIN_USERNAME=ann", "ADMIN_PASSWORD_HASH=" + hash}
	d := start(t, h.dir, env)
	p := h.pair("--server", d.url, "--name", "desk")
	run(t, h.dir, "", "pair", "confirm", p.Code, "--db", "sqlite:relay.db")
	id := p.wait()
	was := d.url
	d.stop()

	for _, more := range [][]string{nil, {"--public-url", "https://relay.example"}} {
		d = start(t, h.dir, env, append(more, "--with-hostd")...)
		if d.url == was {
			t.Fatalf("the server listens at %s again: the test cannot distinguish them", was)
		}
		token := d.login("ann", "correct horse")
		d.machines(token, func(all []machineSeen) bool { return len(all) == 1 && all[0] == machineSeen{id, "desk", "key", true} })
		h.do(7, "run", "--", "exit 7")
		d.stop()
		if log := d.output(); strings.Contains(log, "level=ERROR") {
			t.Errorf("output with an error:\n%s", log)
		}
	}

	for _, file := range []string{"relay.db", "relay.db-wal", "relay.db-shm"} {
		if err := os.Remove(filepath.Join(h.dir, file)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	d = start(t, h.dir, env, "--with-hostd")
	token := d.login("ann", "correct horse")
	all := d.machines(token, func(all []machineSeen) bool { return len(all) == 1 && all[0].Online })
	if all[0].Auth != "token" || all[0].ID == id {
		t.Errorf("machine on a server without the pairing = %+v, want another id and a token", all[0])
	}
	d.stop()
}

// startDetached waits until the server lists the run, and returns the server's description of the
// run.
func (h *machine) startDetached(d *daemon, token, id string) (r struct {
	MachineID string `json:"host_id"`
	Tool      string `json:"tool"`
}) {
	d.Helper()
	for cursor, found := []string{}, false; !found; {
		// A run can be requested by its id only after a machine has reported it.
		var page struct {
			Events []json.RawMessage
			Cursor map[string]int64
		}
		if code := d.ask("GET", "/events?rest=start&wait=30&cursor="+strings.Join(cursor, ","), token, "", &page); code != 200 || len(page.Events) == 0 {
			d.Fatalf("the server has no run %s: status = %d", id, code)
		}
		cursor = nil
		for run, seq := range page.Cursor {
			cursor = append(cursor, fmt.Sprintf("%s:%d", run, seq))
		}
		_, found = page.Cursor[id]
	}
	if code := d.ask("GET", "/runs/"+id, token, "", &r); code != 200 {
		d.Fatalf("GET of run %s: status = %d", id, code)
	}
	return r
}

func dial(d *daemon, path string, head http.Header) int {
	d.Helper()
	r, err := http.NewRequest(http.MethodGet, d.url+path, nil)
	if err != nil {
		d.Fatal(err)
	}
	r.Header = head
	head.Set("Connection", "Upgrade")
	head.Set("Upgrade", "websocket")
	head.Set("Sec-WebSocket-Version", "13")
	head.Set("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		d.Fatal(err)
	}
	got.Body.Close()
	return got.StatusCode
}
