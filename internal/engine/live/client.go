package live

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// patience is the time within which a run must reply.
const patience = 500 * time.Millisecond

// maxReply is the maximum size of a state in bytes.
const maxReply = 4 << 20

// Client reads the states of runs. Its connections stay open between two calls of List.
type Client struct {
	dir         string
	connections map[string]*connection // by the paths of sockets
}

// connection is a connection to a run.
type connection struct {
	net.Conn
	in *bufio.Reader
}

// NewClient returns a Client for the runs with a socket in a directory. The caller must call Close.
func NewClient(dir string) *Client { return &Client{dir, map[string]*connection{}} }

// Close closes the connections.
func (c *Client) Close() {
	for _, x := range c.connections {
		_ = x.Close()
	}
	clear(c.connections)
}

// List returns the states of the runs in the order of their ids. It removes the sockets of
// processes that have exited. A run that does not reply has the state Invalid. The error wraps
// ErrForeign if the directory belongs to another user.
func (c *Client) List() ([]State, error) {
	err := check(c.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	paths, err := filepath.Glob(filepath.Join(escaped(c.dir), "*"+suffix))
	if err != nil {
		return nil, err
	}
	results, used := make([]result, len(paths)), make([]*connection, len(paths))
	var asked sync.WaitGroup
	for i, path := range paths {
		used[i] = c.connections[path]
		asked.Go(func() { results[i], used[i] = stateAt(path, used[i]) })
	}
	asked.Wait()
	clear(c.connections)
	var out []State
	for i, r := range results {
		if used[i] != nil {
			c.connections[paths[i]] = used[i]
		}
		if !r.hasEnded {
			out = append(out, r.State)
		}
	}
	return out, nil
}

// result is the state of a run, unless it has ended.
type result struct {
	State
	hasEnded bool
}

// escaped returns a path without characters that a pattern would interpret.
func escaped(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// dial connects to a run.
func dial(path string) (*connection, error) {
	c, err := net.DialTimeout("unix", path, patience)
	if err != nil {
		return nil, err
	}
	return &connection{c, bufio.NewReader(c)}, nil
}

// ask sends a request to the run.
func (c *connection) ask(q request) (reply, error) {
	var out reply
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return out, err
	}
	text, err := json.Marshal(q)
	if err != nil {
		return out, err
	}
	if _, err := c.Write(append(text, '\n')); err != nil {
		return out, err
	}
	line, err := readLine(c.in, maxReply)
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(line, &out); err != nil {
		return out, fmt.Errorf("the run has sent invalid data: %w", err)
	}
	if out.Error != "" {
		return out, errors.New(out.Error)
	}
	return out, nil
}

// readLine reads a line of at most about max bytes.
func readLine(in *bufio.Reader, max int) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if err == nil || !errors.Is(err, bufio.ErrBufferFull) || len(line) > max {
			return line, err
		}
	}
}

// listenGrace is the time within which a process listens on the socket that it has created.
const listenGrace = 10 * time.Second

// stateAt returns the state of the run with a socket. c is an open connection, or nil. The result
// is the connection for the next call, or nil after an error.
func stateAt(path string, c *connection) (result, *connection) {
	if c != nil {
		if s, err := c.state(); err == nil {
			return result{State: s}, c
		}
		_ = c.Close() // the run may have closed it: try again with a new one
	}
	c, err := dial(path)
	if err == nil {
		var s State
		if s, err = c.state(); err == nil {
			return result{State: s}, c
		}
		_ = c.Close()
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		// A new socket refuses connections until its process listens. The process of an old one has
		// exited.
		if file, err := os.Stat(path); err == nil && time.Since(file.ModTime()) > listenGrace {
			_ = os.Remove(path)
		}
	}
	s := State{Run: strings.TrimSuffix(filepath.Base(path), suffix), State: Invalid, Hosts: []Host{}, Pending: []Pending{}}
	return result{s, errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, io.EOF)}, nil
}

func (c *connection) state() (State, error) {
	r, err := c.ask(request{Op: "state"})
	if err != nil {
		return State{}, err
	}
	if r.State == nil || r.State.Run == "" {
		return State{}, errors.New("the run has sent no state")
	}
	if r.State.Hosts == nil {
		r.State.Hosts = []Host{}
	}
	if r.State.Pending == nil {
		r.State.Pending = []Pending{}
	}
	return *r.State, nil
}

// Cancel ends a run with a socket in a directory.
func Cancel(dir, run string) error { return send(dir, run, request{Op: "cancel"}) }

// Answer answers an open request of a run with a socket in a directory. by is the name of the user.
func Answer(dir, run string, p *Pending, text, by string) error {
	return send(dir, run, request{Op: "answer", ID: p.ID, Host: p.Host, Text: text, By: by})
}

// send sends a request to a run with a socket in a directory.
func send(dir, run string, q request) error {
	c, err := dial(socketOf(dir, run))
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.ask(q)
	return err
}
