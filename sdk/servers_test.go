package sdk_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// transport is a way to connect an application to the server.
type transport struct {
	name    string
	command string // path of the concerto binary to start
	begin   func(t *testing.T, x transport) *server
}

func (x transport) start(t *testing.T) *server {
	t.Helper()
	return x.begin(t, x)
}

// server is a server for an application.
type server struct {
	url, token string
	env        []string // environment of the application
	dead       string   // message of the application after the server was killed
	kill       func(t *testing.T)
	restart    func(t *testing.T) // replaces the server by another one
	way        *proxy             // proxy between the application and the server; nil for stdio
}

// The transports. Connections of a transport over a network can be closed by a proxy.
var (
	transports = append([]transport{{name: "stdio", begin: onStdio}}, network...)
	network    = []transport{{name: "sse", begin: over("http")}, {name: "websocket", begin: over("ws")}}
)

// onStdio makes the application start the server. The server records its process ID.
func onStdio(t *testing.T, x transport) *server {
	dir := t.TempDir()
	script, number := filepath.Join(dir, "concerto"), filepath.Join(dir, "pid")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho $$ > "+number+"\nexec "+x.command+" \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return &server{url: "stdio", env: []string{"CONCERTO=" + script}, dead: "was ended by SIGKILL", kill: func(t *testing.T) {
		text, err := os.ReadFile(number)
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		var p *os.Process
		if err == nil {
			p, err = os.FindProcess(pid)
		}
		if err == nil {
			err = p.Kill()
		}
		if err != nil {
			t.Fatal(err)
		}
	}}
}

// token is the token of the servers in these tests.
const token = "correct horse"

// over returns a function that starts a listening server and a proxy for it.
func over(scheme string) func(t *testing.T, x transport) *server {
	return func(t *testing.T, x transport) *server {
		s := &server{token: strings.ReplaceAll(token, " ", "-"), dead: "was lost and could not be restored within 0.1 s"}
		cmd, addr := listens(t, x)
		s.way = newProxy(t, addr)
		s.url = scheme + "://" + s.way.Addr().String()
		s.kill = func(t *testing.T) {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // the process was killed, so that Wait returns an error
		}
		s.restart = func(t *testing.T) {
			t.Helper()
			s.kill(t)
			cmd, addr = listens(t, x)
			s.way.to(addr)
		}
		return s
	}
}

var serving = regexp.MustCompile(`^serving http://(\S+)$`)

// listens starts a server on the loopback interface.
func listens(t *testing.T, x transport) (*exec.Cmd, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	c := exec.CommandContext(ctx, x.command, "serve", "--http", "127.0.0.1:0", "--token-env", "TOKEN", "--max-message", "1000000", "--drain", "0")
	c.Dir = "testdata/app"
	c.Env = append(os.Environ(), "TOKEN="+strings.ReplaceAll(token, " ", "-"))
	errs, err := c.StderrPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill() // the process may have exited already
		_ = c.Wait()
	})
	lines := bufio.NewScanner(errs)
	if !lines.Scan() {
		t.Fatal("the server printed no line")
	}
	m := serving.FindStringSubmatch(lines.Text())
	if m == nil {
		t.Fatalf("first line of the server = %q", lines.Text())
	}
	go func() {
		for lines.Scan() {
		}
	}()
	return c, m[1]
}

// proxy forwards connections, and can close all of them.
type proxy struct {
	net.Listener

	mu   sync.Mutex
	addr string
	open map[net.Conn]bool
}

func newProxy(t *testing.T, addr string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: l, addr: addr, open: map[net.Conn]bool{}}
	t.Cleanup(func() {
		l.Close()
		p.cut()
	})
	go p.serve()
	return p
}

func (p *proxy) serve() {
	for {
		from, err := p.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		to, err := net.Dial("tcp", p.addr)
		if err == nil {
			p.open[from], p.open[to] = true, true
			go p.hand(from, to)
			go p.hand(to, from)
		} else {
			from.Close()
		}
		p.mu.Unlock()
	}
}

func (p *proxy) hand(from, to net.Conn) {
	_, _ = io.Copy(to, from) // the copy ends when either side closes the connection
	from.Close()
	to.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, from)
	delete(p.open, to)
}

// cut closes all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		c.(*net.TCPConn).SetLinger(0) // discard unsent data
		c.Close()
	}
}

// to sets the address to which new connections are forwarded.
func (p *proxy) to(addr string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.addr = addr
}
