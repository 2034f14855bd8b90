// Package console holds the state that all commands of concerto-relay share: the standard streams,
// the environment and the settings. It also has what several commands print.
package console

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// Exit codes of the relay's own commands. The commands run and attach exit with the code of the
// run.
const (
	exitOK          = 0
	ExitFailed      = 1
	ExitRefused     = 2  // the command was misused, or its settings are invalid
	ExitUnavailable = 69 // the server of an engine does not respond
	ExitBroken      = 76 // an audit log or a page was changed
)

// Console holds the state that all commands share.
type Console struct {
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Environ []string
	Release string                    // version of the program
	Dir     string                    // working directory
	Config  string                    // value of --config; "" selects the default file
	file    string                    // path of relay.toml
	tables  map[string]map[string]any // content of relay.toml: settings by table and key
	Places  map[string]string         // source of each setting, by flag
	Exit    int                       // exit code of a command that returns no error
}

// UsageError reports an invalid command line or setting.
type UsageError struct {
	Message string
	Hint    string // next step, printed after the message; "" prints none
}

func (e *UsageError) Error() string { return e.Message }

// Usage returns a UsageError. hint may be "".
func Usage(hint, format string, args ...any) error {
	return &UsageError{fmt.Sprintf(format, args...), hint}
}

// UnavailableError means that the server of an engine does not respond.
type UnavailableError struct{ Err error }

func (e *UnavailableError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }

// ExitError is the exit code of a command that has already printed its error, or of an attached
// run.
type ExitError int

func (e ExitError) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// Env returns an environment variable, or "" if it is not set.
func (a *Console) Env(name string) string {
	value := ""
	for _, e := range a.Environ {
		if v, found := strings.CutPrefix(e, name+"="); found {
			value = v // the last of several definitions applies
		}
	}
	return value
}

// Abs returns path as an absolute path. Relative paths refer to the working directory.
func (a *Console) Abs(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(a.Dir, path)
}

// XDGDir returns the directory that an XDG variable names, or the default directory below the home
// directory.
func (a *Console) XDGDir(variable string, home ...string) string {
	if dir := a.Env(variable); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(append([]string{a.Env("HOME")}, home...)...)
}

// DefaultState returns the default state directory of hostd.
func DefaultState(a *Console) string {
	return filepath.Join(a.XDGDir("XDG_STATE_HOME", ".local", "state"), "concerto", "hostd")
}
