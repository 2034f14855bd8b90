// Package relaycli implements the command concerto-relay: the relay's server, the daemon for the
// machines on which agents run, and the commands that connect to either of them (spec/24-relay.md).
package relaycli

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/relaycli/connect"
	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
)

// Main runs the command line of this process and returns the exit code. release is the version of
// the program.
func Main(release string) int {
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintf(os.Stderr, "concerto-relay: find the working directory: %v\n", err)
		return console.ExitRefused
	}
	a := &console.Console{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Environ: os.Environ(), Release: release, Dir: dir}
	return execute(a, append([]string{filepath.Base(os.Args[0])}, os.Args[1:]...))
}

// calledAs maps the name of a symbolic link to the command that it runs.
var calledAs = map[string]string{"relay-server": "serve", "relay-hostd": "hostd"}

// arguments returns the arguments of a command line. The first element of line is the name by which
// the program was called, which may select a command.
func arguments(line []string) []string {
	name, args := strings.TrimSuffix(line[0], ".exe"), line[1:]
	if len(args) > 0 && args[0] == "--hash-password" {
		return append([]string{"token", "hash-password"}, args[1:]...)
	}
	if len(args) > 0 {
		if password, found := strings.CutPrefix(args[0], "--hash-password="); found {
			return append([]string{"token", "hash-password", "--", password}, args[1:]...)
		}
	}
	if as, found := calledAs[name]; found {
		return append([]string{as}, args...)
	}
	return args
}

// execute runs a command line and returns the exit code. The first element of line is the name of
// the program.
func execute(a *console.Console, line []string) (code int) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(a.Stderr, "concerto-relay: internal error: %v\n\nThis is a bug in concerto-relay. Please report it with these lines:\n%s", p, debug.Stack())
			code = console.ExitFailed
		}
	}()
	if signal.Ignored(syscall.SIGHUP) { // nohup ignores SIGHUP; child processes must not inherit that
		procgroup.Discard(syscall.SIGHUP)
	}
	if code, done := passThrough(a, line[0], line[1:]); done {
		return code
	}
	root := root(a)
	root.SetArgs(arguments(line))
	if err := root.Execute(); err != nil {
		return failed(a, err)
	}
	return a.Exit
}

// failed prints an error, unless it is an exitError, and returns its exit code.
func failed(a *console.Console, err error) int {
	var wrong *console.UsageError
	var exit console.ExitError
	var refused *httpguard.Refusal
	switch {
	case errors.As(err, &exit):
		return int(exit)
	case errors.As(err, &refused) && refused.Code == protocol.BadMessage:
		fmt.Fprintf(a.Stderr, "concerto-relay: %s\n", refused.Why)
		return console.ExitRefused
	case errors.As(err, &refused):
		fmt.Fprintf(a.Stderr, "concerto-relay: %s\n", refused.Why)
		return console.ExitFailed
	case errors.As(err, &wrong):
		fmt.Fprintf(a.Stderr, "concerto-relay: %s\n", wrong.Message)
		if wrong.Hint != "" {
			fmt.Fprintf(a.Stderr, "  hint: %s\n", wrong.Hint)
		}
		return console.ExitRefused
	}
	fmt.Fprintf(a.Stderr, "concerto-relay: %v\n", err)
	if errors.As(err, new(*console.UnavailableError)) {
		return console.ExitUnavailable
	}
	var respErr *connect.ResponseError
	if errors.As(err, &respErr) && connect.NextSteps[respErr.Code] != "" {
		fmt.Fprintf(a.Stderr, "  hint: %s\n", connect.NextSteps[respErr.Code])
	}
	return console.ExitFailed
}
