// Package console holds the state that all commands share: the standard streams, the terminal, the
// environment, the working directory and the global flags. It reports errors and returns exit
// codes.
package console

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/editor/dap"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/relay/client"
	"github.com/concerto-lang/concerto/runtime/world/emit"
	"github.com/concerto-lang/concerto/runtime/world/logs"
)

// Version returns the release, the IR version, and the Go version and platform of the build.
func (b Binary) Version() string {
	return fmt.Sprintf("%s (IR %s, %s %s/%s)", b.Release, ir.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// Console is the state that all commands share.
type Console struct {
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Environ []string
	Binary  Binary
	Dir     string // working directory; -C changes it
	TTY     TTY
	person
	// Pause waits between two checks of the files for --watch; nil uses package rerun's interval.
	Pause func(context.Context) error

	Began    time.Time // of a run with --emit-detail; else zero
	Quiet    bool
	Verbose  int // how often --verbose is given
	LogLevel string
	ExitCode int            // exit code of a command that returns no error
	Relay    *client.Source // sends the run to the relay; nil without one
	subject
	Debugging Debugging
}

// Binary is this program.
type Binary struct {
	Release    string // of the command and of the language
	Executable string // its file, which is started again as the guardian
	// OwnProcess is true if the process runs nothing but this command, so that a run may set how
	// many processors it uses, and OwnHeap if it may set how Go's heap grows.
	OwnProcess, OwnHeap bool
	// Execute runs a command line of it and returns the exit code.
	Execute func(args []string, c *Console) int
}

// Debugging is the state of a program that an editor debugs.
type Debugging struct {
	Debugger *dap.Run     // nil without one
	Answers  []emit.Fixed // answers to awaited emits
}

// subject names the program and the run of a command.
type subject struct {
	Overlay map[string][]byte // texts that replace files on disk, by path (--overlay)
	Loaded  string            // the compiled program that runs, "" for one from sources
	RunName string            // a run's directory, as its name was given
}

// TTY reports which standard streams are terminals, and their capabilities.
type TTY struct {
	In bool // stdin is a terminal: awaited emits may be prompted for
	// Out and Err report that stdout and stderr are terminals.
	// There, text from models and hosts must not contain control sequences.
	Out, Err bool
	Color    bool // stderr takes colours
	OutColor bool // stdout does
	Screen   bool // stdout is a terminal that can be cleared
	// ErrScreen reports that stderr is a terminal on which lines can be drawn. Size returns
	// its size; Raw makes stdin pass on each key, until restore is called.
	ErrScreen bool
	Size      func() (width, height int)
	Raw       func() (restore func(), err error)
}

// maxStack is how many lines of the stack a report of a bug shows.
const maxStack = 40

// Bug reports a broken invariant of our own code, with the stack of the caller.
func (a *Console) Bug(p any) { a.bugAt(p, string(debug.Stack())) }

// bugAt is Bug with the stack of the goroutine that found it.
func (a *Console) bugAt(p any, text string) {
	stack := strings.SplitAfterN(text, "\n", maxStack+2)
	stack = stack[1:min(len(stack), maxStack+1)] // without the goroutine's number
	fmt.Fprintf(a.Stderr, "concerto: this is our bug, not yours: %v\n\nPlease report it with the program and these lines:\nconcerto %s\n%s",
		p, a.Binary.Version(), strings.Join(stack, ""))
}

// Abs returns an absolute path; a relative path is relative to the working directory.
func (a *Console) Abs(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(a.Dir, path)
}

// Verbosef logs a step with --verbose.
func (a *Console) Verbosef(format string, args ...any) {
	switch {
	case a.Verbose == 0:
	case a.WritesRecords():
		a.record(message{a.since(), "debug", fmt.Sprintf(format, args...), ""})
	default:
		fmt.Fprintf(a.Stderr, "concerto: "+format+"\n", args...)
	}
}

// ApplyFlags applies the flags of all commands.
func (a *Console) ApplyFlags(chdir, overlay string) error {
	if chdir != "" {
		a.Dir = a.Abs(chdir)
		if info, err := os.Stat(a.Dir); err != nil || !info.IsDir() {
			return Usage("-C takes a directory that exists", "no directory %s", chdir)
		}
	}
	if err := a.overlayOf(overlay); err != nil {
		return err
	}
	switch {
	case a.Quiet && a.Verbose > 0:
		return Usage("give one of them", "--quiet and --verbose contradict each other")
	case a.LogLevel != "":
		return OneOf("--log-level", a.LogLevel, logs.Levels)
	case a.Quiet:
		a.LogLevel = "error"
	case a.Verbose > 0:
		a.LogLevel = "debug"
	}
	return nil
}

// overlayOf reads the texts of --overlay.
func (a *Console) overlayOf(file string) error {
	if file == "" {
		return nil
	}
	var texts map[string]string
	data, err := userfile.Read(a.Abs(file), userfile.MaxText)
	if err == nil {
		err = json.Unmarshal(data, &texts)
	}
	if err != nil {
		return Usage(`it is as {"/home/me/main.conc": "fn main() { }"}`, "--overlay: %v", Cause(err))
	}
	a.Overlay = map[string][]byte{}
	for path, text := range texts {
		a.Overlay[a.Abs(path)] = []byte(text)
	}
	return nil
}

// Relative returns a path relative to the working directory if it is below it.
func (a *Console) Relative(path string) string {
	if rel, err := filepath.Rel(a.Dir, path); err == nil && filepath.IsLocal(rel) {
		path = rel
	}
	return filepath.ToSlash(path)
}

// WriteJSON writes v to stdout as a line of JSON.
func (a *Console) WriteJSON(v any) error {
	e := json.NewEncoder(a.Stdout)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// Processes returns the owner of the processes that a command starts outside a run.
func (a *Console) Processes() *procgroup.Run {
	return &procgroup.Run{ID: procgroup.NewID(), Executable: a.Binary.Executable}
}

// UserDir is the user's directory of a kind for this program: below what a variable names, or below
// HOME; "" without either.
func (a *Console) UserDir(variable string, home ...string) string {
	dir := a.Getenv(variable)
	if !filepath.IsAbs(dir) {
		own := a.Getenv("HOME")
		if !filepath.IsAbs(own) {
			return ""
		}
		dir = filepath.Join(own, filepath.Join(home...))
	}
	return filepath.Join(dir, "concerto")
}

// StateFile is a file or directory of ours in the state directory; "" when neither XDG_STATE_HOME
// nor HOME names one.
func (a *Console) StateFile(name string) string {
	state := a.UserDir("XDG_STATE_HOME", ".local", "state")
	if state == "" {
		return ""
	}
	return filepath.Join(state, name)
}

// Getenv returns a variable of the environment, or "" if it is not set.
func (a *Console) Getenv(name string) string { return procgroup.Getenv(a.Environ, name) }
