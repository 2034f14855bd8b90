package runner

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/runs"
	"github.com/concerto-lang/concerto/relay/client"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// Environment variables that connect a run to hostd.
const (
	relaySocket = "CONCERTO_RELAY_SOCK" // hostd's socket; the run is reported there
	hostdSocket = "RELAY_HOSTD_SOCK"    // the same, for processes that hostd has started
	relayParent = "RELAY_RUN_ID"        // id of the run that has started this process
)

// anySocket is the value of --share when the flag names no socket.
const anySocket = "auto"

const relayUsage = "share the run through the relay's daemon on this machine, at `SOCKET`"

// addRelayFlag adds --share.
func addRelayFlag(c *cobra.Command, socket *string) {
	c.Flags().StringVar(socket, "share", "", relayUsage)
	c.Flags().Lookup("share").NoOptDefVal = anySocket
}

// hostdWait is the maximum time that a run with --share waits for hostd, if hostd's socket exists.
const hostdWait = 10 * time.Second

// connectRelay connects this process to the relay if the flag, the manifest or the environment
// requires it. A process connects only once, even if several programs run in it. If the flag is
// set, connectRelay waits for hostd, and returns an error with the reason if hostd cannot be
// reached.
func connectRelay(ctx context.Context, a *console.Console, p *engine.Program, flag string, o *engine.Options) error {
	share, title := p.Sharing()
	if a.Relay == nil && (flag != "" || share || a.Getenv(relaySocket) != "") {
		source, err := connectHostd(ctx, a, flag, title)
		if err != nil {
			return err
		}
		a.Relay = source
	}
	if a.Relay != nil {
		o.Answers.Relay = a.Relay
	}
	return nil
}

// connectHostd connects to hostd and reports this process to it.
func connectHostd(ctx context.Context, a *console.Console, flag, title string) (*client.Source, error) {
	socket := ""
	if flag != anySocket {
		socket = flag
	}
	for _, name := range []string{relaySocket, hostdSocket} {
		if socket == "" {
			socket = a.Getenv(name)
		}
	}
	if socket == "" {
		socket = protocol.HostdSocket(a.Getenv)
	}
	dir := a.Dir
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	source := client.New(client.Options{Socket: a.Abs(socket), Started: protocol.Started{
		Tool: "concerto", Cwd: dir, Command: secret.WithoutTokens(strings.Join(append([]string{"concerto"}, os.Args[1:]...), " "), protocol.Redacted), Title: title, Source: "concerto", ParentRunID: a.Getenv(relayParent),
	}})
	if flag != "" {
		if err := source.Await(ctx, hostdWait); err != nil {
			if ctx.Err() != nil {
				return nil, console.ErrInterrupted
			}
			return nil, &runs.Problem{Message: fmt.Sprintf("--share: could not reach hostd at %s: %v", a.Abs(socket), err), Hint: "check hostd with `concerto-relay doctor`, or run without --share"}
		}
	}
	if err := source.Absent(); err != nil && !a.Quiet {
		a.Complain(fmt.Sprintf("could not reach hostd at %s: %v; continuing, and sharing the run when hostd is available", a.Abs(socket), err), "")
	}
	return source, nil
}

// relayWriter is an output stream that also sends its text to the relay.
type relayWriter struct {
	io.Writer
	to     *client.Source
	stream string
}

func (t relayWriter) Write(b []byte) (int, error) {
	t.to.Wrote(t.stream, string(b))
	return t.Writer.Write(b)
}

// beginDrawing calls Console.BeginDrawing. If the run is shared, it makes stderr also send its text
// to the relay, during the drawing and afterwards.
func beginDrawing(a *console.Console) func() {
	if a.Relay == nil {
		return a.BeginDrawing()
	}
	if t, shared := a.Stderr.(relayWriter); shared {
		a.Stderr = t.Writer
	}
	end := a.BeginDrawing()
	shareStderr := func() {
		if _, already := a.Stderr.(relayWriter); !already {
			a.Stderr = relayWriter{a.Stderr, a.Relay, "stderr"}
		}
	}
	shareStderr()
	return func() {
		end()
		shareStderr()
	}
}
