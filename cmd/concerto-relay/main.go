// Command concerto-relay contains the relay's server, the daemon for the machines on which agents
// run, and the commands that connect to either of them (spec/24-relay.md).
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

// Exit codes of the relay's own commands. The commands run and attach exit with the code of the
// run.
const (
	exitOK          = 0
	exitFailed      = 1
	exitRefused     = 2  // the command was misused, or its settings are invalid
	exitUnavailable = 69 // the server of an engine does not respond
	exitBroken      = 76 // an audit log was changed
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

// app holds the state that all commands share.
type app struct {
	stdin   io.Reader
	stdout  io.Writer
	stderr  io.Writer
	environ []string
	dir     string                    // working directory
	config  string                    // value of --config; "" selects the default file
	file    string                    // path of relay.toml
	tables  map[string]map[string]any // content of relay.toml: settings by table and key
	places  map[string]string         // source of each setting, by flag
	exit    int                       // exit code of a command that returns no error
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

// main runs a command line and returns the exit code. The first element of line is the name of the
// program.
func (a *app) main(line []string) (code int) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(a.stderr, "concerto-relay: internal error: %v\n\nThis is a bug in concerto-relay. Please report it with these lines:\n%s", p, debug.Stack())
			code = exitFailed
		}
	}()
	if signal.Ignored(syscall.SIGHUP) { // nohup ignores SIGHUP; child processes must not inherit that
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

// usageError reports an invalid command line or setting.
type usageError struct {
	message string
	hint    string // next step, printed after the message; "" prints none
}

func (e *usageError) Error() string { return e.message }

func usage(hint, format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...), hint}
}

// unavailableError means that the server of an engine does not respond.
type unavailableError struct{ error }

// exitError is the exit code of a command that has already printed its error, or of an attached
// run.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// failed prints an error, unless it is an exitError, and returns its exit code.
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
	if errors.As(err, new(*unavailableError)) {
		return exitUnavailable
	}
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
			value = v // the last of several definitions applies
		}
	}
	return value
}

// abs returns path as an absolute path. Relative paths refer to the working directory.
func (a *app) abs(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(a.dir, path)
}

// xdgDir returns the directory that an XDG variable names, or the default directory below the home
// directory.
func (a *app) xdgDir(variable string, home ...string) string {
	if dir := a.env(variable); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(append([]string{a.env("HOME")}, home...)...)
}
