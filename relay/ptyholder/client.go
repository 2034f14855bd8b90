package ptyholder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/concerto-lang/concerto/internal/process/holder"
)

// Start starts a PTY holder with the command line "exe args…" and returns the process id of the
// run. The directory in spec must exist. If the run cannot be started, the error contains the
// reason.
func Start(exe string, args []string, spec Spec) (pid int, err error) {
	cmd := exec.Command(exe, args...)
	cmd.Env = spec.Env
	var r ready
	if err := holder.Launch(cmd, filepath.Join(spec.Dir, logFile), spec, &r); err != nil {
		return 0, fmt.Errorf("start the process that holds the run's terminal: %w", err)
	}
	if r.Error != "" {
		return 0, errors.New(r.Error)
	}
	return r.PID, nil
}

// ErrLost reports that the PTY holder was killed, which also ends the run.
var ErrLost = errors.New("the process that held the run's terminal was killed, and the run's exit code is unknown")

// Client is hostd's connection to a PTY holder. It is safe for concurrent use.
type Client struct {
	dir  string
	conn *net.UnixConn // nil if the holder has exited
	link *holder.Link[response]

	mu      sync.Mutex
	total   int64
	changed chan struct{} // closed and replaced when the log grows
}

// Attach connects to the PTY holder of a run. stored is the number of bytes of the log that the
// caller has stored. If the holder has exited, Attach still succeeds, and Read reports the end of
// the run.
func Attach(dir string, stored int64) (*Client, error) {
	c := &Client{dir: dir, changed: make(chan struct{})}
	lost := func() error { return ErrLost }
	conn, err := holder.Dial(dir, socketFile)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED):
		c.link = holder.NewLink[response](nil, nil, lost)
		return c, nil
	case err != nil:
		return nil, fmt.Errorf("attach to the run in %s: %w", dir, err)
	}
	c.conn, c.link = conn, holder.NewLink(conn, c.setTotal, lost)
	answer, err := c.request(context.Background(), request{Op: "attach", Acked: stored})
	if err == nil {
		c.setTotal(answer)
	}
	return c, nil
}

// setTotal records the length of the log that a response contains.
func (c *Client) setTotal(s response) {
	c.mu.Lock()
	if s.Out != nil && *s.Out > c.total {
		c.total = *s.Out
		close(c.changed)
		c.changed = make(chan struct{})
	}
	c.mu.Unlock()
}

// request sends a request and waits for its response.
func (c *Client) request(ctx context.Context, a request) (response, error) {
	return c.link.Ask(ctx, func(n int64) any { a.N = n; return a })
}

// Read reads the output of the run at an offset. If there is none yet, it waits. at is the offset
// of the first byte that it returns, which is greater than off if earlier output was deleted. Read
// returns io.EOF when the run has ended and all output was read. End then returns the exit of the
// run.
func (c *Client) Read(ctx context.Context, off int64, b []byte) (n int, at int64, err error) {
	for {
		c.mu.Lock()
		news := c.changed
		c.mu.Unlock()
		over := c.link.IsLost()
		n, at, err := ReadLog(c.dir, off, b)
		if n > 0 || err != nil && !errors.Is(err, io.EOF) {
			return n, at, err
		}
		if over {
			return 0, off, io.EOF
		}
		select {
		case <-news:
		case <-c.link.Lost():
		case <-ctx.Done():
			return 0, off, context.Cause(ctx)
		}
	}
}

// Ahead reports whether there is output after an offset. The result may be out of date.
func (c *Client) Ahead(off int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total > off
}

// Ack reports to the holder that the caller has stored the log up to an offset.
func (c *Client) Ack(off int64) { _ = c.link.Send(request{Op: "taken", Acked: off}) }

// Input writes a text to the terminal. A text with the same id is written at most once. echoed
// reports whether the terminal echoed at that time. After ErrLost or an error of ctx, InputState
// returns the state of the input.
func (c *Client) Input(ctx context.Context, id, hash, text string) (state State, echoed bool, err error) {
	s, err := c.request(ctx, request{Op: "input", ID: id, SHA256: hash, Text: text})
	return s.State, s.Echo, err
}

// InputState returns the state of an input and the hash of its text. If the holder has exited, it
// reads them from the recorded inputs.
func (c *Client) InputState(ctx context.Context, id string) (State, string, error) {
	s, err := c.request(ctx, request{Op: "state", ID: id})
	if errors.Is(err, ErrLost) {
		return ReadInput(c.dir, id)
	}
	return s.State, s.SHA256, err
}

// Keys writes keys to the terminal. They may be lost, but are never written twice.
func (c *Client) Keys(text string) error { return c.link.Send(request{Op: "keys", Text: text}) }

// Modes reports whether the terminal echoes, and whether the run reads a line without echo, such as
// a password.
func (c *Client) Modes(ctx context.Context) (echo, secret bool, err error) {
	s, err := c.request(ctx, request{Op: "modes"})
	return s.Echo, s.Secret, err
}

// Resize changes the size of the terminal.
func (c *Client) Resize(ctx context.Context, cols, rows int64) error {
	_, err := c.request(ctx, request{Op: "resize", Cols: cols, Rows: rows})
	return err
}

// Stop stops the process group of the run. If kill is set, it kills the group at once, and
// otherwise after the grace period.
func (c *Client) Stop(ctx context.Context, kill bool, graceS int64) error {
	a := request{Op: "stop", Signal: "term", GraceS: graceS}
	if kill {
		a.Signal = "kill"
	}
	_, err := c.request(ctx, a)
	return err
}

// End returns how the run ended. It returns ErrLost if the holder was killed.
func (c *Client) End() (Exit, error) {
	if e, ok := ReadExit(c.dir); ok {
		return e, nil
	}
	return Exit{Code: -1, Reason: "lost"}, ErrLost
}

// Close disconnects from the holder. The run continues.
func (c *Client) Close() { c.link.Close() }

// Holder returns the process id of the PTY holder. It returns 0 if the holder has exited, or if the
// id is not available on this system.
func (c *Client) Holder() (pid int) {
	if c.link.IsLost() {
		return 0
	}
	return peerOf(c.conn)
}
