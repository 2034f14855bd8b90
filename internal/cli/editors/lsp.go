package editors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/help"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/editor/lsp"
	"github.com/concerto-lang/concerto/internal/process/heap"
	"github.com/concerto-lang/concerto/internal/process/lockfile"
	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/runtime/mcp/mcpport"
)

// lspCommand is the command lsp with its options.
type lspCommand struct {
	console *console.Console

	stdio     bool
	tcp       string
	log       string
	checkSync bool
}

// editorsStart is printed if a user starts lsp on a terminal. It explains how to configure an
// editor.
const editorsStart = "configure `concerto lsp` as your editor's language server for *.conc files: " +
	"in Neovim `vim.lsp.start({name = 'concerto', cmd = {'concerto', 'lsp'}})`, in Helix `command = \"concerto\"` and `args = [\"lsp\"]`"

func NewLsp(a *console.Console) *cobra.Command {
	cmd := lspCommand{console: a}
	c := &cobra.Command{
		Use:   "lsp",
		Short: "Start the language server for editors",
		Long: `Speaks the Language Server Protocol on stdin and stdout: diagnostics, fixes, completion,
formatting. Editors start it.

Exit codes: 0 after the editor's shutdown and exit, 1 if the editor disconnected without them.`,
		Example: `  concerto lsp                        serve the editor that started it
  concerto lsp --tcp 127.0.0.1:9257   wait for one editor there
  concerto lsp --log lsp.log          log requests and responses`,
		Args: console.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error { return cmd.serveEditor(c.Context()) },
	}
	c.Flags().BoolVar(&cmd.stdio, "stdio", false, "use stdin and stdout (the default)")
	c.Flags().StringVar(&cmd.tcp, "tcp", "", "wait for one editor at `ADDR`, a host and a port")
	c.Flags().StringVar(&cmd.log, "log", "", "append requests and responses to `FILE`, without the text of documents")
	c.Flags().BoolVar(&cmd.checkSync, "check-sync", false, "answer concerto/text, with which tests compare documents")
	cmdline.Hide(c, "check-sync")
	return c
}

func (cmd *lspCommand) serveEditor(ctx context.Context) error {
	switch {
	case cmd.stdio && cmd.tcp != "":
		return console.Usage("leave one of them out", "--stdio and --tcp cannot be used together")
	case cmd.tcp == "" && cmd.console.TTY.In:
		return console.Usage(editorsStart, "an editor must start `concerto lsp`; its stdin is a terminal here")
	}
	o := lsp.Options{In: cmd.console.Stdin, Out: cmd.console.Stdout, Err: cmd.console.Stderr, Dir: cmd.console.Dir, Name: cmd.console.Binary.Release, State: cmd.console.UserDir("XDG_STATE_HOME", ".local", "state"), Cache: cmd.console.UserDir("XDG_CACHE_HOME", ".cache"),
		Alive: func(pid int) bool { return !lockfile.IsDead(pid) }, Explain: explanation, CheckSync: cmd.checkSync, Command: func(ctx context.Context, child *lsp.Child) (int, error) { return runChild(ctx, cmd.console, child) }}
	if cmd.log != "" {
		file, err := userfile.OpenWrite(cmd.console.Abs(cmd.log), os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			return console.Usage("name a writable file", "--log: %v", console.Cause(err))
		}
		defer file.Close()
		o.Log = file
	}
	if cmd.tcp != "" {
		conn, err := accept(ctx, cmd.console, cmd.tcp)
		if err != nil {
			return err
		}
		defer conn.Close()
		o.In, o.Out = conn, conn
	}
	if cmd.console.Binary.OwnHeap {
		debug.SetGCPercent(heap.ServingGrowth)
	}
	cmd.console.ExitCode = lsp.Serve(ctx, o)
	return nil
}

// accept waits for one editor.
func accept(ctx context.Context, a *console.Console, addr string) (net.Conn, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, console.Usage("write a host and a free port, such as 127.0.0.1:9257, or port 0", "--tcp: %v", console.Cause(err))
	}
	defer l.Close()
	if !mcpport.IsLoopback(addr) {
		fmt.Fprintf(a.Stderr, "warning: every client that reaches %s can read and change the editor's files; use a loopback address\n", l.Addr())
	}
	fmt.Fprintf(a.Stderr, "waiting for an editor at %s\n", l.Addr())
	return l.Accept()
}

// childExitTimeout is the time that a child process of the language server has to exit after its
// request was cancelled. A run needs this time to stop its hosts.
const childExitTimeout = 5 * time.Second

// runChild runs this program as a child process for the language server. It interrupts the process
// when ctx is cancelled.
func runChild(ctx context.Context, a *console.Console, child *lsp.Child) (code int, err error) {
	args := child.Args
	if len(child.Texts) > 0 {
		file, err := overlayFile(child.Texts)
		if err != nil {
			return 0, err
		}
		defer os.Remove(file)
		args = append([]string{"--overlay", file}, args...)
	}
	c := exec.CommandContext(ctx, a.Binary.Executable, args...)
	c.Dir, c.Env, c.Stdout, c.Stderr, c.WaitDelay = child.Dir, a.Environ, child.Stdout, child.Stderr, childExitTimeout
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	err = c.Run()
	if exit, ended := errors.AsType[*exec.ExitError](err); ended {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// overlayFile writes texts into a temporary file in the format of --overlay.
func overlayFile(texts map[string]string) (path string, err error) {
	data, err := json.Marshal(texts)
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp("", "concerto-overlay-*.json")
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	return f.Name(), errors.Join(err, f.Close())
}

// explanation returns the catalogue's text for a code, as `concerto explain` prints it.
func explanation(code string) string {
	var b strings.Builder
	if i := diag.Lookup(code); i != nil {
		if err := help.WriteDiagnostic(&b, i); err != nil {
			panic(err) // writing to a strings.Builder never fails
		}
	}
	return b.String()
}
