package ptyholder

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
)

// Start starts a shim, as "exe args…", for a run, and gives the number of the run's process.
// The run's directory is there. The error says why the run cannot be started.
func Start(exe string, args []string, spec Spec) (pid int, err error) {
	cmd := exec.Command(exe, args...)
	cmd.Dir, cmd.Env = "/", spec.Env
	logged, err := os.OpenFile(filepath.Join(spec.Dir, logFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	defer logged.Close()
	cmd.Stderr = logged
	ownSession(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start the run's shim: %w", err)
	}
	err = json.NewEncoder(in).Encode(spec)
	in.Close()
	var r ready
	if e := json.NewDecoder(out).Decode(&r); e != nil {
		err = errors.Join(err, fmt.Errorf("the run's shim said nothing: %w", e))
	}
	go func() { _ = cmd.Wait() }() // it is our child as long as we live; what it has to say is in the run's directory
	if r.Error != "" {
		return 0, errors.New(r.Error)
	}
	return r.PID, err
}

// ErrLost is that the shim was killed, and the run with it.
var ErrLost = errors.New("the run's shim is gone, and nobody knows how the run ended")

// Client is hostd's end. Safe for concurrent use.
type Client struct {
	dir  string
	conn net.Conn

	mu      sync.Mutex
	n       int64
	waiting map[int64]chan said
	total   int64
	news    chan struct{} // closed, and made anew, when total has grown
	over    chan struct{} // the connection has ended
}

// Attach connects to the shim of a run; taken is how much of the log the caller has. When
// there is no shim any more, the error is nil and the client knows the end: see Read.
func Attach(dir string, taken int64) (*Client, error) {
	c := &Client{dir: dir, waiting: map[int64]chan said{}, news: make(chan struct{}), over: make(chan struct{})}
	conn, err := dial(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED):
		close(c.over)
		return c, nil
	case err != nil:
		return nil, fmt.Errorf("attach to the run in %s: %w", dir, err)
	}
	c.conn = conn
	go c.hear()
	answer, err := c.ask(context.Background(), asked{Op: "attach", Taken: taken})
	if err == nil && answer.Out != nil {
		c.grow(*answer.Out)
	}
	return c, nil
}

func (c *Client) hear() {
	in := json.NewDecoder(bufio.NewReader(c.conn))
	for {
		var s said
		if in.Decode(&s) != nil {
			break
		}
		if s.Out != nil && s.N == 0 {
			c.grow(*s.Out)
			continue
		}
		c.mu.Lock()
		wait := c.waiting[s.N]
		delete(c.waiting, s.N)
		c.mu.Unlock()
		if wait != nil {
			wait <- s
		}
	}
	c.conn.Close()
	close(c.over)
}

func (c *Client) grow(total int64) {
	c.mu.Lock()
	if total > c.total {
		c.total = total
		close(c.news)
		c.news = make(chan struct{})
	}
	c.mu.Unlock()
}

func (c *Client) send(a asked) error {
	if c.conn == nil {
		return ErrLost
	}
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.conn.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	return nil
}

// ask waits for the answer.
func (c *Client) ask(ctx context.Context, a asked) (said, error) {
	wait := make(chan said, 1)
	c.mu.Lock()
	c.n++
	a.N = c.n
	c.waiting[a.N] = wait
	c.mu.Unlock()
	if err := c.send(a); err != nil {
		return said{}, err
	}
	select {
	case s := <-wait:
		if s.Error != "" {
			return s, errors.New(s.Error)
		}
		return s, nil
	case <-c.over:
		select {
		case s := <-wait:
			return s, nil
		default:
			return said{}, ErrLost
		}
	case <-ctx.Done():
		return said{}, context.Cause(ctx)
	}
}

// Read reads the run's output from an offset on, and waits for it. at is where the bytes
// begin: later than off when a part is no longer kept. io.EOF says that the run has ended and
// all was read: End then says how.
func (c *Client) Read(ctx context.Context, off int64, b []byte) (n int, at int64, err error) {
	for {
		c.mu.Lock()
		news := c.news
		c.mu.Unlock()
		over := c.isOver()
		n, at, err := ReadLog(c.dir, off, b)
		if n > 0 || err != nil && !errors.Is(err, io.EOF) {
			return n, at, err
		}
		if over {
			return 0, off, io.EOF
		}
		select {
		case <-news:
		case <-c.over:
		case <-ctx.Done():
			return 0, off, context.Cause(ctx)
		}
	}
}

func (c *Client) isOver() bool {
	select {
	case <-c.over:
		return true
	default:
		return false
	}
}

// Ahead says whether there is more output than so much: a hint, for who waits for silence.
func (c *Client) Ahead(off int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total > off
}

// Taken says that the caller has the log up to an offset.
func (c *Client) Taken(off int64) { _ = c.send(asked{Op: "taken", Taken: off}) }

// Input has a text written, once whatever happens: one whose id is known is not written again.
// echoed says whether the terminal showed what is typed. The error is ErrLost or ctx's; what
// has become of the input is then in the record.
func (c *Client) Input(ctx context.Context, id, hash, text string) (state State, echoed bool, err error) {
	s, err := c.ask(ctx, asked{Op: "input", ID: id, SHA256: hash, Text: text})
	return s.State, s.Echo, err
}

// InputState is what has become of an input, and its text's hash; without a shim the record
// says it.
func (c *Client) InputState(ctx context.Context, id string) (State, string, error) {
	s, err := c.ask(ctx, asked{Op: "state", ID: id})
	if errors.Is(err, ErrLost) {
		return ReadInput(c.dir, id)
	}
	return s.State, s.SHA256, err
}

// Keys writes to the terminal, at most once.
func (c *Client) Keys(text string) error { return c.send(asked{Op: "keys", Text: text}) }

// Modes says whether the terminal shows what is typed, and whether a password is read.
func (c *Client) Modes(ctx context.Context) (echo, secret bool, err error) {
	s, err := c.ask(ctx, asked{Op: "modes"})
	return s.Echo, s.Secret, err
}

// Resize gives the terminal another size.
func (c *Client) Resize(ctx context.Context, cols, rows int64) error {
	_, err := c.ask(ctx, asked{Op: "resize", Cols: cols, Rows: rows})
	return err
}

// Stop ends the run's process group: kill at once, else after the grace.
func (c *Client) Stop(ctx context.Context, kill bool, graceS int64) error {
	a := asked{Op: "stop", Signal: "term", GraceS: graceS}
	if kill {
		a.Signal = "kill"
	}
	_, err := c.ask(ctx, a)
	return err
}

// End is how the run ended; ErrLost when its shim was killed.
func (c *Client) End() (Exit, error) {
	if e, ok := ReadExit(c.dir); ok {
		return e, nil
	}
	return Exit{Code: -1, Reason: "lost"}, ErrLost
}

// Close leaves the run alone.
func (c *Client) Close() {
	if c.conn != nil {
		c.conn.Close()
		<-c.over
	}
}
