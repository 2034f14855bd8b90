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
	interaction
	// Pause waits between two checks of the files for --watch. If it is nil, package rerun's
	// interval applies.
	Pause func(context.Context) error

	Began    time.Time // start of the run with --emit-detail; otherwise zero
	Quiet    bool
	NoCache  bool // the cache of compiled programs is not used
	Verbose  int  // number of --verbose flags
	LogLevel string
	ExitCode int            // exit code of a command that returns no error
	Relay    *client.Source // connection that sends the run's events to the relay; nil without a relay
	subject
	Debugging Debugging

	EngineURL string            // value of --engine
	Explain   func(error) error // returns the errors of an engine for the user; nil without an engine
	closing   []func()
}

// OnExit registers a function that is called when the command has ended.
func (a *Console) OnExit(do func()) { a.closing = append(a.closing, do) }

// Exit calls the functions that OnExit has registered.
func (a *Console) Exit() {
	for _, do := range a.closing {
		do()
	}
}

// Binary describes the running program.
type Binary struct {
	Release    string // version of the command and of the language
	Stamp      Source // sources of a release; empty in other builds
	Executable string // path of the executable, which is also started as the guardian
	// OwnProcess is true if the process runs only this command, so that a run may set the number of
	// processors. OwnHeap is true if a run may set how Go's heap grows.
	OwnProcess, OwnHeap bool
	// Execute runs a command line of this program and returns the exit code.
	Execute func(args []string, c *Console) int
}

// Source describes the sources of a program.
type Source struct {
	Commit   string // "" if the program was not built in a repository
	Date     string // of the commit, as in RFC 3339; or ""
	Modified bool   // the sources differ from the commit
}

// Source returns the stamp of the program, or else the description that the Go command has stored.
func (b Binary) Source() Source {
	s := b.Stamp
	info, ok := debug.ReadBuildInfo()
	if s.Commit != "" || !ok {
		return s
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			s.Commit = setting.Value
		case "vcs.time":
			s.Date = setting.Value
		case "vcs.modified":
			s.Modified = setting.Value == "true"
		}
	}
	return s
}

// Debugging is the state of a program that a debugger runs.
type Debugging struct {
	Debugger *dap.Run     // nil if no debugger is attached
	Answers  []emit.Fixed // answers to awaited emits
}

// subject identifies the program and the run of a command.
type subject struct {
	Overlay map[string][]byte // texts that replace files on disk, by path (--overlay)
	Loaded  string            // path of the compiled program that runs, "" for a program from sources
	RunName string            // the run's directory or id, as given on the command line
}

// TTY reports which standard streams are terminals, and their capabilities.
type TTY struct {
	In bool // stdin is a terminal: awaited emits may prompt
	// Out and Err report whether stdout and stderr are terminals. Text from models and hosts must
	// not send control sequences to a terminal.
	Out, Err bool
	OneFile  bool // stdout and stderr are the same file or pipe
	Color    bool // stderr supports colours
	OutColor bool // stdout supports colours
	Screen   bool // stdout is a terminal that can be cleared
	// ErrScreen reports whether stderr is a terminal on which lines can be redrawn. Size returns
	// its size. Raw puts stdin into raw mode until restore is called.
	ErrScreen bool
	Size      func() (width, height int)
	Raw       func() (restore func(), err error)
}

// maxStack is the maximum number of stack lines in a bug report.
const maxStack = 40

// ReportBug reports a broken invariant of Concerto's own code, with the caller's stack.
func (a *Console) ReportBug(p any) { a.reportBugAt(p, string(debug.Stack())) }

// reportBugAt is ReportBug with the stack of another goroutine.
func (a *Console) reportBugAt(p any, text string) {
	stack := strings.SplitAfterN(text, "\n", maxStack+2)
	stack = stack[1:min(len(stack), maxStack+1)] // without the goroutine's number
	fmt.Fprintf(a.Stderr, "concerto: internal error: %v\n\nThis is a bug in Concerto. Please report it with the program and these lines:\nconcerto %s\n%s",
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
		a.writeRecord(message{a.elapsed(), "debug", fmt.Sprintf(format, args...), ""})
	default:
		fmt.Fprintf(a.Stderr, "concerto: "+format+"\n", args...)
	}
}

// ApplyFlags applies the flags that all commands share.
func (a *Console) ApplyFlags(chdir, overlay string) error {
	if chdir != "" {
		a.Dir = a.Abs(chdir)
		if info, err := os.Stat(a.Dir); err != nil || !info.IsDir() {
			return Usage("name an existing directory", "-C: no such directory: %s", chdir)
		}
	}
	if err := a.readOverlay(overlay); err != nil {
		return err
	}
	switch {
	case a.Quiet && a.Verbose > 0:
		return Usage("leave one of them out", "--quiet and --verbose cannot be used together")
	case a.LogLevel != "":
		return OneOf("--log-level", a.LogLevel, logs.Levels)
	case a.Quiet:
		a.LogLevel = "error"
	case a.Verbose > 0:
		a.LogLevel = "debug"
	}
	return nil
}

// readOverlay reads the texts of --overlay.
func (a *Console) readOverlay(file string) error {
	if file == "" {
		return nil
	}
	var texts map[string]string
	data, err := userfile.Read(a.Abs(file), userfile.MaxText)
	if err == nil {
		err = json.Unmarshal(data, &texts)
	}
	if err != nil {
		return Usage(`write a JSON object of texts by path: {"/home/me/main.conc": "fn main() { }"}`, "--overlay: %v", Cause(err))
	}
	a.Overlay = map[string][]byte{}
	for path, text := range texts {
		a.Overlay[a.Abs(path)] = []byte(text)
	}
	return nil
}

// Relative returns path relative to the working directory if it is inside it.
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

// UserDir returns the program's directory in the directory that variable names, or otherwise in the
// directory home below HOME, on Windows in LocalAppData; "" without either.
func (a *Console) UserDir(variable string, home ...string) string {
	return userfile.Dir(a.Getenv, variable, home...)
}

// StateFile returns the path of a file or directory in the program's state directory; "" if neither
// XDG_STATE_HOME nor HOME is set.
func (a *Console) StateFile(name string) string {
	state := a.UserDir("XDG_STATE_HOME", ".local", "state")
	if state == "" {
		return ""
	}
	return filepath.Join(state, name)
}

// Getenv returns a variable of the environment, or "" if it is not set.
func (a *Console) Getenv(name string) string { return procgroup.Getenv(a.Environ, name) }
