package cli

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
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/relay/client"
)

// version is the release with what it runs and was built with.
func (b binary) version() string {
	return fmt.Sprintf("%s (IR %s, %s %s/%s)", b.release, engine.IRVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// app is what all commands share: the standard streams, the environment, the
// working directory and the global flags.
type app struct {
	stdin   io.Reader
	stdout  io.Writer
	stderr  io.Writer
	environ []string
	binary  binary
	// ownProcess says that the process runs nothing but this command, so that a
	// run may set how many processors it uses.
	ownProcess bool
	// ownHeap says the same for the growth of Go's heap.
	ownHeap bool
	dir     string // working directory; -C changes it
	terminals
	person
	// pause waits between two looks of --watch at the files; nil waits for
	// lookEvery.
	pause func(context.Context) error

	began    time.Time // of a run with --emit-detail; else zero
	quiet    bool
	verbose  int // how often it is given
	logLevel string
	code     int            // exit code of what went well so far
	told     *client.Source // sends the run to the relay; nil without one
	subject
	debugging
}

// binary is this program.
type binary struct {
	release    string // of the command and of the language
	executable string // its file, which is started again as the guardian
}

// debugging is what an editor has launched.
type debugging struct {
	debugged *dap.Run        // nil without one
	answered []engine.Answer // to its awaited emits
}

// subject are the program and the run that a command is about.
type subject struct {
	overlay map[string][]byte // texts that count instead of the disk's, by path (--overlay)
	loaded  string            // the compiled program that runs, "" for one from sources
	naming  string            // a run's directory, as its name was given
}

// terminals say which of the standard streams are terminals, and what they can do.
type terminals struct {
	terminal bool // stdin is one: awaited emits may be asked for
	// outTerminal and errTerminal say that stdout and stderr are terminals.
	// There, text from models and hosts must not contain control sequences.
	outTerminal, errTerminal bool
	color                    bool // stderr takes colours
	outColor                 bool // stdout does
	screen                   bool // stdout is a terminal that can be cleared
	// errScreen says that stderr is a terminal on which lines can be drawn. size is
	// its size; raw has stdin hand on each key, until restore is called.
	errScreen bool
	size      func() (width, height int)
	raw       func() (restore func(), err error)
}

// maxStack is how many lines of the stack a report of a bug shows.
const maxStack = 40

// bug reports a broken invariant of ours.
func (a *app) bug(p any) { a.bugAt(p, string(debug.Stack())) }

// bugAt is bug with the stack of the goroutine that found it.
func (a *app) bugAt(p any, text string) {
	stack := strings.SplitAfterN(text, "\n", maxStack+2)
	stack = stack[1:min(len(stack), maxStack+1)] // without the goroutine's number
	fmt.Fprintf(a.stderr, "concerto: this is our bug, not yours: %v\n\nPlease report it with the program and these lines:\nconcerto %s\n%s",
		p, a.binary.version(), strings.Join(stack, ""))
}

// abs is a path seen from the working directory.
func (a *app) abs(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(a.dir, path)
}

// say writes what is done, for --verbose.
func (a *app) say(format string, args ...any) {
	switch {
	case a.verbose == 0:
	case a.records():
		a.record(message{a.since(), "debug", fmt.Sprintf(format, args...), ""})
	default:
		fmt.Fprintf(a.stderr, "concerto: "+format+"\n", args...)
	}
}

// global applies the flags of all commands.
func (a *app) global(chdir, overlay string) error {
	if chdir != "" {
		a.dir = a.abs(chdir)
		if info, err := os.Stat(a.dir); err != nil || !info.IsDir() {
			return usage("-C takes a directory that exists", "no directory %s", chdir)
		}
	}
	if err := a.overlayOf(overlay); err != nil {
		return err
	}
	switch {
	case a.quiet && a.verbose > 0:
		return usage("give one of them", "--quiet and --verbose contradict each other")
	case a.logLevel != "":
		return oneOf("--log-level", a.logLevel, engine.LogLevels)
	case a.quiet:
		a.logLevel = "error"
	case a.verbose > 0:
		a.logLevel = "debug"
	}
	return nil
}

// overlayOf reads the texts that --overlay gives.
func (a *app) overlayOf(file string) error {
	if file == "" {
		return nil
	}
	var texts map[string]string
	data, err := userfile.Read(a.abs(file), userfile.MaxText)
	if err == nil {
		err = json.Unmarshal(data, &texts)
	}
	if err != nil {
		return usage(`it is as {"/home/me/main.conc": "fn main() { }"}`, "--overlay: %v", cause(err))
	}
	a.overlay = map[string][]byte{}
	for path, text := range texts {
		a.overlay[a.abs(path)] = []byte(text)
	}
	return nil
}

// relative is a path as it is shown: below the directory worked in, from there.
func (a *app) relative(path string) string {
	if r, err := filepath.Rel(a.dir, path); err == nil && !strings.HasPrefix(r, "..") {
		return r
	}
	return path
}

// shown is a path as seen from the working directory.
func (a *app) shown(path string) string {
	if rel, err := filepath.Rel(a.dir, path); err == nil && filepath.IsLocal(rel) {
		path = rel
	}
	return filepath.ToSlash(path)
}

func (a *app) writeJSON(v any) error {
	e := json.NewEncoder(a.stdout)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// processes is whose the processes are that a command starts outside a run.
func (a *app) processes() *procgroup.Run {
	return &procgroup.Run{ID: procgroup.NewID(), Executable: a.binary.executable}
}

// below is the user's directory of a kind for this program: below what a variable names, or below HOME; ""
// without either.
func (a *app) below(variable string, home ...string) string {
	dir := procgroup.Getenv(a.environ, variable)
	if !filepath.IsAbs(dir) {
		own := procgroup.Getenv(a.environ, "HOME")
		if !filepath.IsAbs(own) {
			return ""
		}
		dir = filepath.Join(own, filepath.Join(home...))
	}
	return filepath.Join(dir, "concerto")
}

// stateFile is a file or directory of ours in the state directory; "" when neither XDG_STATE_HOME
// nor HOME names one.
func (a *app) stateFile(name string) string {
	state := a.below("XDG_STATE_HOME", ".local", "state")
	if state == "" {
		return ""
	}
	return filepath.Join(state, name)
}

// lookup is a variable of the environment; "" without it.
func (a *app) lookup(name string) string {
	for i := len(a.environ) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(a.environ[i], name+"="); ok {
			return v
		}
	}
	return ""
}
