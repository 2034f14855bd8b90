// Command concerto-relay is the relay: the server, the daemon on machines where agents run, and the
// commands that use both (spec/24-relay.md).
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
)

// The exit codes, in addition to those of a run.
const (
	exitOK      = 0
	exitFailed  = 1
	exitRefused = 2  // the command was misused, or its settings are invalid
	exitBroken  = 76 // an audit log was changed
)

func main() {
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintf(os.Stderr, "concerto-relay: find the working directory: %v\n", err)
		os.Exit(exitRefused)
	}
	a := &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, environ: os.Environ(), dir: dir}
	os.Exit(a.main(append([]string{filepath.Base(os.Args[0])}, os.Args[1:]...)))
}

// app has the state that all commands share.
type app struct {
	stdin   io.Reader
	stdout  io.Writer
	stderr  io.Writer
	environ []string
	dir     string                    // the working directory
	config  string                    // --config; "" for the usual file
	file    string                    // the file of the settings
	tables  map[string]map[string]any // the content of relay.toml
	places  map[string]string
	exit    int // exit code of a command without an error
}

// calledAs maps the names of links to the daemon that they start.
var calledAs = map[string]string{"relay-server": "serve", "relay-hostd": "hostd"}

// arguments returns the arguments of a command line, whose first element is the name of the
// command.
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

// main runs a command line and returns the exit code.
func (a *app) main(line []string) (code int) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(a.stderr, "concerto-relay: internal error: %v\n\nThis is a bug in concerto-relay. Please report it with these lines:\n%s", p, debug.Stack())
			code = exitFailed
		}
	}()
	if signal.Ignored(syscall.SIGHUP) { // by nohup; child processes decide for themselves
		procgroup.Discard(syscall.SIGHUP)
	}
	if code, done := a.passThrough(line[0], line[1:]); done {
		return code
	}
	root := a.root()
	root.SetArgs(arguments(line))
	if err := root.Execute(); err != nil {
		return a.failed(err)
	}
	return a.exit
}

// usageError reports that the command line, or a setting, is invalid.
type usageError struct {
	message string
	hint    string // the next step; "" without one
}

func (e *usageError) Error() string { return e.message }

func usage(hint, format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...), hint}
}

// exitError ends the command with a code after its message was printed.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// failed reports an error and returns its exit code.
func (a *app) failed(err error) int {
	var wrong *usageError
	var exit exitError
	var refused *httpguard.Refusal
	switch {
	case errors.As(err, &exit):
		return int(exit)
	case errors.As(err, &refused) && refused.Code == protocol.BadMessage:
		fmt.Fprintf(a.stderr, "concerto-relay: %s\n", refused.Why)
		return exitRefused
	case errors.As(err, &refused):
		fmt.Fprintf(a.stderr, "concerto-relay: %s\n", refused.Why)
		return exitFailed
	case errors.As(err, &wrong):
		fmt.Fprintf(a.stderr, "concerto-relay: %s\n", wrong.message)
		if wrong.hint != "" {
			fmt.Fprintf(a.stderr, "  hint: %s\n", wrong.hint)
		}
		return exitRefused
	}
	fmt.Fprintf(a.stderr, "concerto-relay: %v\n", err)
	var respErr *responseError
	if errors.As(err, &respErr) && nextSteps[protocol.Code(respErr.Code)] != "" {
		fmt.Fprintf(a.stderr, "  hint: %s\n", nextSteps[protocol.Code(respErr.Code)])
	}
	return exitFailed
}

// env returns an environment variable, or "" if it is not set.
func (a *app) env(name string) string {
	value := ""
	for _, e := range a.environ {
		if v, found := strings.CutPrefix(e, name+"="); found {
			value = v // the last of two counts
		}
	}
	return value
}

// abs returns a path relative to the working directory as an absolute one.
func (a *app) abs(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(a.dir, path)
}

// xdgDir returns the directory of an XDG variable, or else one in the home directory.
func (a *app) xdgDir(variable string, home ...string) string {
	if dir := a.env(variable); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(append([]string{a.env("HOME")}, home...)...)
}
