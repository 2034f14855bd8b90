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

// Start starts a shim, as "exe args…", for a run, and gives the number of the run's process.
// The run's directory is there. The error says why the run cannot be started.
func Start(exe string, args []string, spec Spec) (pid int, err error) {
	cmd := exec.Command(exe, args...)
	cmd.Env = spec.Env
	var r ready
	if err := holder.Launch(cmd, filepath.Join(spec.Dir, logFile), spec, &r); err != nil {
		return 0, fmt.Errorf("start the run's shim: %w", err)
	}
	if r.Error != "" {
		return 0, errors.New(r.Error)
	}
	return r.PID, nil
}

// ErrLost is that the shim was killed, and the run with it.
var ErrLost = errors.New("the run's shim is gone, and nobody knows how the run ended")

// Client is hostd's end. Safe for concurrent use.
type Client struct {
	dir  string
	conn *net.UnixConn // nil: there is no shim any more
	link *holder.Link[said]

	mu    sync.Mutex
	total int64
	news  chan struct{} // closed, and made anew, when total has grown
}

// Attach connects to the shim of a run; taken is how much of the log the caller has. When
// there is no shim any more, the error is nil and the client knows the end: see Read.
func Attach(dir string, taken int64) (*Client, error) {
	c := &Client{dir: dir, news: make(chan struct{})}
	lost := func() error { return ErrLost }
	conn, err := holder.Dial(dir, socketFile)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED):
		c.link = holder.NewLink[said](nil, nil, lost)
		return c, nil
	case err != nil:
		return nil, fmt.Errorf("attach to the run in %s: %w", dir, err)
	}
	c.conn, c.link = conn, holder.NewLink(conn, c.grow, lost)
	answer, err := c.ask(context.Background(), asked{Op: "attach", Taken: taken})
	if err == nil {
		c.grow(answer)
	}
	return c, nil
}

// grow notes how long the log is.
func (c *Client) grow(s said) {
	c.mu.Lock()
	if s.Out != nil && *s.Out > c.total {
		c.total = *s.Out
		close(c.news)
		c.news = make(chan struct{})
	}
	c.mu.Unlock()
}

// ask waits for the answer.
func (c *Client) ask(ctx context.Context, a asked) (said, error) {
	return c.link.Ask(ctx, func(n int64) any { a.N = n; return a })
}

// Read reads the run's output from an offset on, and waits for it. at is where the bytes
// begin: later than off when a part is no longer kept. io.EOF says that the run has ended and
// all was read: End then says how.
func (c *Client) Read(ctx context.Context, off int64, b []byte) (n int, at int64, err error) {
	for {
		c.mu.Lock()
		news := c.news
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

// Ahead says whether there is more output than so much: a hint, for who waits for silence.
func (c *Client) Ahead(off int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total > off
}

// Taken says that the caller has the log up to an offset.
func (c *Client) Taken(off int64) { _ = c.link.Send(asked{Op: "taken", Taken: off}) }

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
func (c *Client) Keys(text string) error { return c.link.Send(asked{Op: "keys", Text: text}) }

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
func (c *Client) Close() { c.link.Close() }

// Keeper is the shim's process; 0 when it is gone, or not known on this system.
func (c *Client) Keeper() (pid int) {
	if c.link.IsLost() {
		return 0
	}
	return peerOf(c.conn)
}
