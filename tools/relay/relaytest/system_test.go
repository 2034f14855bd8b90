//go:build linux

package relaytest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/process/proc"
	"github.com/concerto-lang/concerto/internal/testkit/faultproxy"
	"github.com/concerto-lang/concerto/internal/testkit/testproc"
)

// system is a server and a hostd, with a proxy before the server for each kind of client.
type system struct {
	t             *testing.T
	dir, exe      string
	self          string // path of this test binary, which is also the tool
	machine, apps *faultproxy.Proxy
	server        *exec.Cmd
	hostd         *exec.Cmd
	local         *http.Client // for requests to hostd
	log           *os.File     // log of the server and hostd
	db, logDir    string       // database of the server, and directory for the logs of runs
	replicas      *replicas    // servers that replace the single server; nil otherwise
}

// newSystem starts a system. The functions in first are called before the processes start.
func newSystem(t *testing.T, first ...func(*system)) *system {
	t.Helper()
	s := &system{t: t, dir: t.TempDir()}
	s.db, s.logDir = s.path("relay.db"), s.dir
	var err error
	if s.exe, err = testproc.Relay(); err != nil {
		t.Fatal(err)
	}
	if s.self, err = os.Executable(); err != nil {
		t.Fatal(err)
	}
	s.put("password", "correct horse battery\n")
	s.put("token", "the machine's token\n")
	if s.log, err = os.Create(filepath.Join(s.dir, "said")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	for _, to := range []**faultproxy.Proxy{&s.machine, &s.apps} {
		if *to, err = faultproxy.New("127.0.0.1:1", nil); err != nil {
			t.Fatal(err)
		}
		t.Cleanup((*to).Close)
	}
	s.local = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", s.path("sock"))
	}}}
	for _, do := range first {
		do(s)
	}
	if s.replicas == nil {
		s.startServer()
	}
	s.startHostd()
	return s
}

func (s *system) path(name string) string { return filepath.Join(s.dir, name) }

func (s *system) put(name, text string) {
	if err := os.WriteFile(s.path(name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// start starts a daemon and waits until it serves.
func (s *system) start(args ...string) (c *exec.Cmd, ready string) {
	s.t.Helper()
	file := s.path("ready")
	_ = os.Remove(file)
	c = exec.Command(s.exe, append(args, "--ready-file", file)...)
	c.Env = append(os.Environ(), toolVariable+"="+s.dir, "XDG_CONFIG_HOME="+s.dir, "HOME="+s.dir)
	c.Stdout, c.Stderr = s.log, s.log
	if err := c.Start(); err != nil {
		s.t.Fatal(err)
	}
	if err := testproc.AwaitFile(file); err != nil {
		s.t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	return c, strings.TrimSpace(string(text))
}

func (s *system) startServer() {
	s.t.Helper()
	var url string
	s.server, url = s.start("serve", "--listen", "127.0.0.1:0", "--db", "sqlite:"+s.db, "--admin", "ann", "--admin-password-file", s.path("password"), "--tofu", "loopback")
	at := strings.TrimPrefix(url, "http://")
	s.machine.SetTarget(at)
	s.apps.SetTarget(at)
}

func (s *system) startHostd() {
	s.t.Helper()
	s.hostd, _ = s.start("hostd", "--server", s.machine.URL(), "--host-id", "host_a", "--token-file", s.path("token"), "--state", s.path("state"), "--socket", s.path("sock"), "--root", s.dir)
}

// kill kills a daemon with SIGKILL.
func kill(c *exec.Cmd) {
	_ = c.Process.Kill()
	_ = c.Wait()
}

// close stops what is still running, and prints the log if the test failed.
func (s *system) close() {
	for _, shim := range s.shims() {
		_ = syscall.Kill(shim, syscall.SIGKILL)
	}
	all := []*exec.Cmd{s.hostd, s.server}
	if s.replicas != nil {
		all = append(all, s.replicas.all...)
	}
	for _, c := range all {
		if c != nil {
			kill(c)
		}
	}
	if s.t.Failed() {
		text, _ := os.ReadFile(s.path("said"))
		s.t.Logf("server and hostd printed\n%s", text[max(0, len(text)-8000):])
	}
}

// shims returns the processes that own this system's runs.
func (s *system) shims() (all []int) {
	for pid := range proc.All {
		line, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		if args := strings.Split(string(line), "\x00"); len(args) > 1 && args[0] == s.exe && args[1] == "shim" && bytes.Contains(proc.Environ(pid), []byte(toolVariable+"="+s.dir+"\x00")) {
			all = append(all, pid)
		}
	}
	return all
}

// run starts a run of the tool.
func (s *system) run() string {
	s.t.Helper()
	body, _ := json.Marshal(map[string]string{"tool": "counter", "cmd": "exec " + s.self, "cwd": s.dir})
	r, err := s.local.Post("http://hostd/runs", "application/json", bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	defer r.Body.Close()
	text, _ := io.ReadAll(r.Body)
	var resp struct {
		Run string `json:"run_id"`
	}
	if err := json.Unmarshal(text, &resp); err != nil || resp.Run == "" {
		s.t.Fatalf("start a run: %s %s", r.Status, text)
	}
	return resp.Run
}

// saveLog stores a copy of a run's log, because hostd removes the log once the server has all
// events.
func (s *system) saveLog(run string) {
	s.t.Helper()
	files, err := filepath.Glob(filepath.Join(s.path("state"), "runs", run, "out*"))
	if err != nil || len(files) != 1 {
		s.t.Fatalf("the log of %s is %q (%v), want one file", run, files, err)
	}
	if err := os.Link(files[0], filepath.Join(s.logDir, run+".log")); err != nil {
		s.t.Fatal(err)
	}
}

// raw returns the output of a run from its shim's log.
func (s *system) raw(run string) string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.logDir, run+".log"))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// expectLog waits until the server or hostd logs a text.
func (s *system) expectLog(what string) {
	s.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		text, err := os.ReadFile(s.path("said"))
		if err != nil {
			s.t.Fatal(err)
		}
		if bytes.Contains(text, []byte(what)) {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("neither server nor hostd prints %q", what)
		}
	}
}
