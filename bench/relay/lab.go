package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// lab is the directory of a measurement, with its processes.
type lab struct {
	length time.Duration
	exe    string // path of concerto-relay
	dir    string
	url    string
	token  string
	procs  []*exec.Cmd
}

const password = "correct horse battery"

// one runs the measurement of a row in a new directory, and stops the processes that it started.
func (l *lab) one(r row) (text string, err error) {
	if l.dir, err = os.MkdirTemp("", "relay-bench"); err != nil {
		return "", err
	}
	defer os.RemoveAll(l.dir)
	l.token = ""
	defer func() {
		for _, c := range l.procs {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
		l.procs = nil
	}()
	if err := l.build(); err != nil {
		return "", err
	}
	return r.measure(l)
}

// build builds the command with the options of a release.
func (l *lab) build() error {
	l.exe = filepath.Join(l.dir, "concerto-relay")
	c := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", l.exe, "./cmd/concerto-relay")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := c.CombinedOutput()
	if err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	return nil
}

func (l *lab) path(name string) string { return filepath.Join(l.dir, name) }

// start starts a daemon and waits until it is ready. The log of the daemon is written to stderr.
func (l *lab) start(env []string, args ...string) (c *exec.Cmd, ready string, took time.Duration, err error) {
	file := l.path("ready")
	_ = os.Remove(file)
	c = exec.Command(l.exe, append(args, "--ready-file", file)...)
	c.Env = append(append(os.Environ(), "XDG_CONFIG_HOME="+l.dir, "HOME="+l.dir), env...)
	c.Stderr = os.Stderr
	begun := time.Now()
	if err := c.Start(); err != nil {
		return nil, "", 0, err
	}
	l.procs = append(l.procs, c)
	for {
		if text, err := os.ReadFile(file); err == nil {
			return c, strings.TrimSpace(string(text)), time.Since(begun), nil
		}
		if time.Since(begun) > 20*time.Second {
			return nil, "", 0, fmt.Errorf("%v is not ready after 20 s", args)
		}
		time.Sleep(200 * time.Microsecond)
	}
}

// serve starts the server with a token of an owner. Another process, which has exited, created the
// token: hashing a password takes 64 MiB, which would distort the measurement.
func (l *lab) serve() (c *exec.Cmd, took time.Duration, err error) {
	if l.token == "" || l.token == noToken {
		if err := l.own(); err != nil {
			return nil, 0, err
		}
	}
	c, l.url, took, err = l.start(nil, "serve", "--listen", "127.0.0.1:0", "--db", "sqlite:"+l.path("relay.db"))
	return c, took, err
}

// own creates the database, with an owner who is logged in.
func (l *lab) own() error {
	if err := os.WriteFile(l.path("password"), []byte(password), 0o600); err != nil {
		return err
	}
	c, url, _, err := l.start(nil, "serve", "--listen", "127.0.0.1:0", "--db", "sqlite:"+l.path("relay.db"), "--admin", "ann", "--admin-password-file", l.path("password"))
	if err != nil {
		return err
	}
	defer func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait()
	}()
	l.token, err = login(url)
	return err
}

// login returns a token of the owner.
func login(url string) (token string, err error) {
	body, _ := json.Marshal(map[string]string{"username": "ann", "password": password})
	r, err := http.Post(url+"/auth/login", "application/json", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	text, _ := io.ReadAll(r.Body)
	var resp struct {
		Token string `json:"access_token"`
	}
	if err := json.Unmarshal(text, &resp); err != nil || resp.Token == "" {
		return "", fmt.Errorf("login: %s %s", r.Status, text)
	}
	return resp.Token, nil
}

// noToken is the token for the server that only forwards messages.
const noToken = "none"

// echo starts the server that only forwards messages.
func (l *lab) echo() (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	file := l.path("echo")
	c := exec.Command(self)
	c.Env = append(os.Environ(), echoVariable+"="+file)
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		return nil, err
	}
	l.procs = append(l.procs, c)
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		if text, err := os.ReadFile(file); err == nil && len(text) > 0 {
			l.url, l.token = string(text), noToken
			return c, nil
		}
		if time.Since(begun) > 20*time.Second {
			return nil, fmt.Errorf("the bare server is not ready after 20 s")
		}
	}
}

// memory returns the resident memory of a process in bytes.
func memory(c *exec.Cmd) int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.Process.Pid))
	for line := range strings.Lines(string(text)) {
		var kb int64
		if _, err := fmt.Sscanf(line, "VmRSS: %d kB", &kb); err == nil {
			return kb << 10
		}
	}
	return 0
}

// started measures the size of the binary, and the time that it needs to start on an existing
// database.
func started(l *lab) (string, error) {
	var best time.Duration
	for range 6 {
		c, took, err := l.serve()
		if err != nil {
			return "", err
		}
		if best == 0 || took < best {
			best = took
		}
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait()
	}
	info, err := os.Stat(l.exe)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%.1f MB, %.0f ms", float64(info.Size())/1e6, float64(best.Microseconds())/1e3), nil
}
