// Package cli is the command concerto. It turns flags into calls of package concerto,
// and their results into text and exit codes (spec/18-cli.md).
package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/concerto-lang/concerto/internal/editor/dap"
	"github.com/concerto-lang/concerto/internal/engine"
	_ "github.com/concerto-lang/concerto/internal/process/guard" // concerto host guard
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	_ "github.com/concerto-lang/concerto/internal/process/sandbox/inside" // concerto host sandbox
	"github.com/concerto-lang/concerto/relay/client"
)

// The exit codes (spec/18-cli.md).
const (
	exitOK          = 0
	exitFailed      = 1   // the program failed
	exitRefused     = 2   // it did not compile, or the command was misused
	exitUnwritable  = 74  // a run's journal cannot be written
	exitWaiting     = 75  // a run waits for an answer, or a time
	exitBroken      = 76  // an audit log or a journal was changed, or a replay left its tape
	exitInterrupted = 130 // Ctrl-C, SIGTERM or SIGHUP
)

// Main runs the command for this process and returns its exit code. release is the version of the
// command and of the language.
func Main(release string) int {
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintf(os.Stderr, "concerto: find the working directory: %v\n", err)
		return exitRefused
	}
	_, growth := os.LookupEnv("GOGC")
	_, memory := os.LookupEnv("GOMEMLIMIT")
	_, processors := os.LookupEnv("GOMAXPROCS")
	if !growth {
		debug.SetGCPercent(usualGrowth)
	}
	colours := os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	stderr, flush := stderrOf(os.Stderr)
	procgroup.Adopt()
	executable, _ := os.Executable() // without one, run -v says so
	code := run(os.Args[1:], &app{
		stdin: os.Stdin, stdout: os.Stdout, stderr: stderr, environ: os.Environ(), dir: dir, binary: binary{release, executable}, ownProcess: !processors, ownHeap: !growth && !memory,
		terminals: terminals{terminal: term.IsTerminal(int(os.Stdin.Fd())), outTerminal: term.IsTerminal(int(os.Stdout.Fd())), errTerminal: term.IsTerminal(int(os.Stderr.Fd())),
			color:     colours && term.IsTerminal(int(os.Stderr.Fd())),
			outColor:  colours && term.IsTerminal(int(os.Stdout.Fd())),
			screen:    os.Getenv("TERM") != "dumb" && term.IsTerminal(int(os.Stdout.Fd())),
			errScreen: os.Getenv("TERM") != "dumb" && term.IsTerminal(int(os.Stderr.Fd())),
			size: func() (int, int) {
				for _, f := range []*os.File{os.Stderr, os.Stdout} {
					if width, height, err := term.GetSize(int(f.Fd())); err == nil && width > 0 && height > 0 {
						return width, height
					}
				}
				return 80, 24
			},
			raw: func() (func(), error) {
				state, err := term.MakeRaw(int(os.Stdin.Fd()))
				if err != nil {
					return nil, err
				}
				return func() { _ = term.Restore(int(os.Stdin.Fd()), state) }, nil // there is nowhere to report it
			}},
	})
	flush()
	procgroup.Farewell()
	return code
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

// run runs the command line args and returns the exit code.
func run(args []string, a *app) (code int) {
	defer func() {
		if p := recover(); p != nil {
			a.bug(p)
			code = exitFailed
		}
		a.told.End(code)
	}()
	root := a.root()
	root.SetArgs(args)
	if err := root.Execute(); err != nil {
		return a.failed(err)
	}
	return a.code
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
