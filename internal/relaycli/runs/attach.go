package runs

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/relaycli/connect"
	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/relaycli/device"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// NewAttach returns the command attach.
func NewAttach(a *console.Console) *cobra.Command {
	var r connect.Target
	var format *cmdline.Format
	var state string
	c := &cobra.Command{
		Use:   "attach RUN",
		Short: "Attach to a run",
		Long: `Shows the last output of a run and its new output, and sends what you type to it. Ctrl-] d
detaches. The exit code is the run's, or 1 if it is unknown. A run without a terminal reads no
keys: attach shows its emits, its exchanges and its requests. For each request it shows the command
that answers it. Ctrl-C stops such a run.` + connect.ReachHelp + `

If the connection to a server is lost, attach reconnects at the same place; input typed in the
meantime is not sent. A viewer's token only shows the run. If the machine has an account
('concerto-relay seal'), this command line must be a device of it, and signs what you type.`,
		Example: `  concerto-relay attach run_4vd4sd65dabx
  concerto-relay attach run_4vd4sd65dabx --server https://relay.example --token-file token
  concerto-relay attach run_4vd4sd65dabx --format ndjson | jq -c .data`,
		Args: console.ArgsBetween(1, 1, "concerto-relay attach RUN"),
		RunE: func(c *cobra.Command, args []string) error {
			e, err := connect.EndpointOf(a, &r)
			if err != nil {
				return err
			}
			x := &attachment{Console: a, run: args[0], state: a.Abs(state), asJSON: !format.IsText()}
			return x.attach(ctxOf(c), e, false)
		},
	}
	format = cmdline.AddFormat(c, "text", "ndjson")
	connect.TargetFlags(a, c, &r, true)
	device.StateFlag(a, c, &state)
	return c
}

// attachment displays a run on this terminal and sends the terminal's input to the run.
type attachment struct {
	*console.Console
	t      *console.TTY
	run    string
	state  string // directory with the keys of this command line, for a run at a server
	flags  string // flags that select the server or socket of this attachment, for printed commands
	asJSON bool

	spoken atomic.Bool // the run has no terminal, so its events are described
	mu     sync.Mutex
	noted  string // last printed note; "" after the next event of the run
}

// session follows a run and sends input to it. localSession connects to hostd's socket.
// remoteSession connects to a server's WebSocket and, after a lost connection, continues at the
// last event that it showed.
type session interface {
	// follow passes the run's envelopes to handle until the run ends or handle returns an error.
	follow(ctx context.Context, handle func(protocol.Envelope) error) error
	keys(ctx context.Context, text string) error
	stop(ctx context.Context) error
	resize(ctx context.Context, cols, rows int64)
}

// errDetached is the cause of the cancelled context when the user detaches.
var errDetached = errors.New("detached")

// attach displays a run until the run ends or the user detaches. It displays all output if whole or
// asJSON is set, otherwise only the latest. If the run's exit code is not 0, the returned error
// contains it.
func (x *attachment) attach(ctx context.Context, e *connect.Endpoint, whole bool) error {
	ctx, detach := context.WithCancelCause(ctx)
	defer detach(nil)
	x.t, x.flags = x.Terminal(), e.Flags
	at := x.connect(e, whole || x.asJSON)
	if !x.asJSON {
		restore, err := x.t.SetRaw()
		if err != nil {
			return err
		}
		defer restore()
		go x.copyInput(ctx, at, func() { detach(errDetached) })
		stop := x.t.WatchSize(func(cols, rows int64) { at.resize(ctx, cols, rows) })
		defer stop()
	}
	var exit *protocol.Exited
	err := at.follow(ctx, func(env protocol.Envelope) error {
		if env.Type == protocol.RunExited {
			x, err := protocol.Decode[protocol.Exited](&env)
			if err != nil {
				return err
			}
			exit = &x
		}
		return x.show(&env)
	})
	switch {
	case errors.Is(context.Cause(ctx), errDetached):
		fmt.Fprintf(x.Stderr, "\r\ndetached: the run continues; attach again with `concerto-relay attach %s%s`\r\n", x.run, x.flags)
		return nil
	case err != nil:
		return err
	case exit == nil:
		return fmt.Errorf("the exit code of run %s is unknown: the connection ended before the run did", x.run)
	}
	return ended(x.Console, x.run, exit)
}

func (x *attachment) connect(e *connect.Endpoint, whole bool) session {
	if e.IsRemote() {
		return newRemoteSession(x, e, whole)
	}
	off := "-16384"
	if whole {
		off = "0"
	}
	return &localSession{e, x.run, off}
}

// RunPath returns the path of a run in the API of hostd and of servers.
func RunPath(run string) string { return "/runs/" + url.PathEscape(run) }

// ended returns nil if the run exited with code 0, and otherwise the exit code as an exitError. If
// the exit code is unknown, it prints that.
func ended(a *console.Console, run string, x *protocol.Exited) error {
	switch {
	case x.ExitCode == 0:
		return nil
	case x.ExitCode < 0 || x.ExitCode > 255:
		fmt.Fprintf(a.Stderr, "concerto-relay: run %s was lost, and its exit code is unknown\n", run)
		return console.ExitError(console.ExitFailed)
	}
	return console.ExitError(int(x.ExitCode))
}

// note prints a remark about the run. It does not repeat the previous remark until clearNote is
// called.
func (x *attachment) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	x.mu.Lock()
	same := x.noted == text
	x.noted = text
	x.mu.Unlock()
	if !same {
		end := x.t.LineEnd()
		fmt.Fprintf(x.Stderr, "%sconcerto-relay: %s%s", strings.TrimPrefix(end, "\n"), text, end)
	}
}

// clearNote allows the previous remark to be printed again.
func (x *attachment) clearNote() {
	x.mu.Lock()
	x.noted = ""
	x.mu.Unlock()
}

// detachKey followed by d detaches from the run. Pressed twice, it sends one detachKey to the run.
const detachKey = 0x1d // Ctrl-]

// stopKey stops a run that reads no terminal input.
const stopKey = 0x03 // Ctrl-C

// copyInput sends the user's input to the run until the input ends or the user detaches.
func (x *attachment) copyInput(ctx context.Context, at session, detach func()) {
	b := make([]byte, 4<<10)
	var rest []byte // first bytes of a character whose other bytes have not been read yet
	for held := false; ; {
		n, err := x.Stdin.Read(b)
		if err != nil {
			return
		}
		var keys []byte
		for _, c := range b[:n] {
			switch {
			case held && c == 'd':
				detach()
				return
			case x.t.Keys && !held && c == detachKey:
				held = true
				continue
			case held && c != detachKey:
				keys = append(keys, detachKey)
			}
			held = false
			keys = append(keys, c)
		}
		text, left := console.SplitText(append(rest, keys...))
		if rest = left; text != "" {
			x.sendKeys(ctx, at, text)
		}
	}
}

// sendKeys sends keys to a run with a terminal. If the run has no terminal, it stops the run when
// the keys contain stopKey, and ignores other keys.
func (x *attachment) sendKeys(ctx context.Context, at session, text string) {
	what, do := "could not send the input", func() error { return at.keys(ctx, text) }
	if x.spoken.Load() {
		if !strings.ContainsRune(text, stopKey) {
			return
		}
		what, do = "could not stop the run", func() error { return at.stop(ctx) }
	}
	if err := do(); err != nil && ctx.Err() == nil {
		x.note("%s: %v", what, err)
	}
}
