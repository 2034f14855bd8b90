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

// List returns the states of the runs with a socket in a directory, in the order of their ids. It
// removes the sockets of processes that have exited. A run that does not reply has the state
// Invalid. The error wraps ErrForeign if the directory belongs to another user.
func List(dir string) ([]State, error) {
	err := check(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	paths, err := filepath.Glob(filepath.Join(escaped(dir), "*"+suffix))
	if err != nil {
		return nil, err
	}
	all, dead := make([]State, len(paths)), make([]bool, len(paths))
	var asked sync.WaitGroup
	for i, path := range paths {
		asked.Go(func() {
			s, err := stateAt(path)
			if err != nil {
				s = State{Run: strings.TrimSuffix(filepath.Base(path), suffix), State: Invalid, Hosts: []Host{}, Pending: []Pending{}}
			}
			if errors.Is(err, syscall.ECONNREFUSED) {
				dead[i] = true
				_ = os.Remove(path) // its process has exited without removing it
			}
			dead[i] = dead[i] || errors.Is(err, fs.ErrNotExist) || errors.Is(err, io.EOF)
			all[i] = s
		})
	}
	asked.Wait()
	var out []State
	for i, s := range all {
		if !dead[i] {
			out = append(out, s)
		}
	}
	return out, nil
}

// escaped returns a path without characters that a pattern would interpret.
func escaped(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// ask sends a request to a run.
func ask(path string, q request) (reply, error) {
	var out reply
	c, err := net.DialTimeout("unix", path, patience)
	if err != nil {
		return out, err
	}
	defer c.Close()
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
	line, err := bufio.NewReader(io.LimitReader(c, maxReply)).ReadBytes('\n')
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

func stateAt(path string) (State, error) {
	r, err := ask(path, request{Op: "state"})
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
func Cancel(dir, run string) error {
	_, err := ask(socketOf(dir, run), request{Op: "cancel"})
	return err
}
