package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/agents/guard"
	"github.com/concerto-lang/concerto/internal/engine/live"
	"github.com/concerto-lang/concerto/internal/process/holder"
)

// Client asks persons through the process `guard serve`, and starts it if it does not run. It
// implements guard.Persons.
type Client struct {
	Dir    string       // directory of the ledgers, in which the process has its socket
	Launch func() error // starts the process, and returns when it accepts connections
}

const (
	firstPause = 20 * time.Millisecond // delay before the second attempt to reach the process
	maxPause   = time.Second
	maxFailed  = 3       // number of failed starts after which no person can be asked
	maxReply   = 1 << 20 // maximum size of a reply in bytes

	withdrawTimeout = time.Second
)

// Ask implements guard.Persons. If the process ends, Ask starts it again, until ctx ends.
func (c *Client) Ask(ctx context.Context, q *guard.Question) (*guard.Answer, error) {
	if err := live.Prepare(c.Dir); err != nil {
		return nil, fmt.Errorf("%s: %w", c.Dir, err)
	}
	failed := 0
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, maxPause) {
		conn, err := holder.Dial(c.Dir, socketName)
		if err == nil {
			r, err := exchange(ctx, conn, request{Ask: q})
			if err == nil {
				return r.Answer, nil
			}
		} else if err := c.launch(ctx); err == nil {
			failed, pause = 0, firstPause
		} else if failed++; failed == maxFailed {
			return nil, fmt.Errorf("guard serve could not be started: %w", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return nil, nil
}

// launch starts the process. It returns nil if ctx ends before.
func (c *Client) launch(ctx context.Context) error {
	launched := make(chan error, 1)
	go func() { launched <- c.Launch() }()
	select {
	case err := <-launched:
		return err
	case <-ctx.Done():
		return nil
	}
}

// Withdraw implements guard.Persons.
func (c *Client) Withdraw(session, hash string) {
	conn, err := holder.Dial(c.Dir, socketName)
	if err != nil {
		return // nothing waits
	}
	ctx, cancel := context.WithTimeout(context.Background(), withdrawTimeout)
	defer cancel()
	_, _ = exchange(ctx, conn, request{Withdraw: &withdrawal{session, hash}}) // a process that does not reply shows nothing
}

// exchange sends a request, and returns the reply. It closes the connection.
func exchange(ctx context.Context, conn net.Conn, q request) (r reply, err error) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if err := holder.WriteLine(conn, q); err != nil {
		return r, err
	}
	line, err := bufio.NewReader(io.LimitReader(conn, maxReply)).ReadBytes('\n')
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(line, &r)
}

// ready is the line that the process prints when it accepts connections, or cannot start.
type ready struct {
	PID   int    `json:"pid,omitempty"`
	Error string `json:"error,omitempty"`
}

// Launch starts `guard serve` in a session of its own. It returns when the process accepts
// connections, or when another one runs.
func Launch(executable, dir string) error {
	var r ready
	// The process belongs to no run, even if the agent of its first hook does.
	environ := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "RELAY_RUN_ID=") })
	cmd := &exec.Cmd{Path: executable, Args: []string{"concerto", "guard", "serve"}, Env: environ}
	err := holder.Launch(cmd, filepath.Join(dir, logName), struct{}{}, &r)
	if err == nil && r.Error != "" {
		err = errors.New(r.Error)
	}
	return err
}

var _ guard.Persons = (*Client)(nil)
