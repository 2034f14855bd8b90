package main_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/testproc"
	"github.com/concerto-lang/concerto/tools/browser"
)

func TestMain(m *testing.M) {
	code := browser.Main(m)
	testproc.RemoveCommand()
	os.Exit(code)
}

// relay is a relay server that contains hostd, with the home directory of its user.
type relay struct {
	t      *testing.T
	exe    string // path of the command
	dir    string // path of the home directory
	url    string // address of the server
	setup  string // link that creates the owner's account; "" if the server has an owner
	server *exec.Cmd
	stdout *bufio.Reader
	stderr bytes.Buffer // complete only after the server has exited
}

// newRelay builds the command and creates the home directory. It skips the test if there is no
// browser.
func newRelay(t *testing.T) *relay {
	t.Helper()
	t.Parallel()
	browser.Full(t)
	browser.Need(t)
	exe, err := testproc.Relay()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "relay") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{t: t, exe: exe, dir: dir}
	t.Cleanup(func() {
		if r.server != nil {
			_ = r.server.Process.Kill()
			_ = r.server.Wait()
		}
		r.killRuns()
		os.RemoveAll(dir)
	})
	return r
}

// killRuns kills the processes of the runs, which outlive the server.
func (r *relay) killRuns() {
	files, _ := filepath.Glob(filepath.Join(r.dir, ".local", "state", "concerto", "hostd", "runs", "*", "run.json"))
	for _, file := range files {
		var run struct {
			PID int `json:"pid"`
		}
		if text, err := os.ReadFile(file); err == nil && json.Unmarshal(text, &run) == nil && run.PID > 1 {
			_ = syscall.Kill(-run.PID, syscall.SIGKILL)
		}
	}
}

// command returns an exec.Cmd that runs the relay command in the home directory.
func (r *relay) command(args ...string) *exec.Cmd {
	c := exec.Command(r.exe, args...)
	c.Dir = r.dir
	c.Env = append(os.Environ(), "HOME="+r.dir, "XDG_CONFIG_HOME="+r.dir, "LOCAL_UNIX_SOCKET="+filepath.Join(r.dir, "s"), "HOST_ID=desk")
	return c
}

// serve starts the server with hostd and waits until it serves.
func (r *relay) serve(env []string, args ...string) {
	r.t.Helper()
	r.start(env, append([]string{"--db", "sqlite:relay.db", "--with-hostd"}, args...)...)
}

// start starts the server on a free port and waits until it serves.
func (r *relay) start(env []string, args ...string) {
	r.t.Helper()
	r.server = r.command(append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	r.server.Env = append(r.server.Env, env...)
	r.server.Stderr = &r.stderr
	out, err := r.server.StdoutPipe()
	if err == nil {
		err = r.server.Start()
	}
	if err != nil {
		r.t.Fatal(err)
	}
	r.stdout = bufio.NewReader(out)
	for {
		line, err := r.stdout.ReadString('\n')
		if err != nil {
			_ = r.server.Wait()
			r.t.Fatalf("the server does not start: %v\n%s", err, r.stderr.String())
		}
		line = strings.TrimSuffix(line, "\n")
		if url, ok := strings.CutPrefix(line, "the relay serves "); ok {
			r.url = url
			return
		}
		if _, link, ok := strings.Cut(line, "(it works once): "); ok {
			r.setup = link
		}
	}
}

// stop sends SIGTERM to the server and requires that the server exits without an error.
func (r *relay) stop() {
	r.t.Helper()
	if err := r.server.Process.Signal(syscall.SIGTERM); err != nil {
		r.t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, r.stdout)
	if err := r.server.Wait(); err != nil {
		r.t.Fatalf("the server exits with %v\n%s", err, r.stderr.String())
	}
}

// do runs the relay command, requires the exit code, and returns the output.
func (r *relay) do(code int, stdin string, args ...string) string {
	r.t.Helper()
	c := r.command(args...)
	c.Stdin = strings.NewReader(stdin)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); c.ProcessState == nil || c.ProcessState.ExitCode() != code {
		r.t.Fatalf("%v: %v, want exit code %d\n%s%s", args, err, code, out.String(), errs.String())
	}
	return strings.TrimSpace(out.String())
}

// login types the name and password of ann into the page.
func login(b *browser.Tab) {
	b.Click("@login-user")
	b.Type("ann")
	b.Press("Tab")
	b.Type("correct horse")
	b.Press("Enter")
}
