// Package cli implements the command concerto. It turns flags into calls of package engine, and
// their results into text and exit codes (spec/18-cli.md).
package cli

import (
	"fmt"
	"os"
	"runtime/debug"
	_ "time/tzdata" // for machines and containers without time zones

	"golang.org/x/term"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	_ "github.com/concerto-lang/concerto/internal/process/guard" // concerto host guard
	"github.com/concerto-lang/concerto/internal/process/heap"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	_ "github.com/concerto-lang/concerto/internal/process/sandbox/inside" // concerto host sandbox
	"github.com/concerto-lang/concerto/internal/term/cmdline"
)

// Build describes how the program was built.
type Build struct {
	Release string // version of the command and of the language
	// Commit and Date are those of the sources, and Modified reports whether the sources differ
	// from the commit. If Commit is "", the information that the Go command has stored applies.
	Commit, Date string
	Modified     bool
}

// Main runs the command for this process and returns its exit code.
func Main(b Build) int {
	driver.Release = b.Release
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintf(os.Stderr, "concerto: find the working directory: %v\n", err)
		return console.ExitRefused
	}
	_, growth := os.LookupEnv("GOGC")
	_, memory := os.LookupEnv("GOMEMLIMIT")
	_, processors := os.LookupEnv("GOMAXPROCS")
	if !growth {
		debug.SetGCPercent(heap.UsualGrowth)
	}
	isTerminal := func(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
	oneFile := func(f, g *os.File) bool {
		a, errA := f.Stat()
		b, errB := g.Stat()
		return errA == nil && errB == nil && os.SameFile(a, b)
	}
	hasSequences := func(f *os.File) bool { return isTerminal(f) && console.EnableSequences(f) }
	colours := os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	stderr, flush := console.NewStderr(os.Stderr)
	procgroup.Adopt()
	executable, _ := os.Executable() // on error the path stays empty, and run -v reports that
	code := run(os.Args[1:], &console.Console{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: stderr, Environ: os.Environ(), Dir: dir, Binary: console.Binary{Release: b.Release, Stamp: console.Source{Commit: b.Commit, Date: b.Date, Modified: b.Modified}, Executable: executable, OwnProcess: !processors, OwnHeap: !growth && !memory},
		TTY: console.TTY{In: isTerminal(os.Stdin), Out: isTerminal(os.Stdout), Err: isTerminal(os.Stderr), OneFile: oneFile(os.Stdout, os.Stderr),
			Color:     colours && hasSequences(os.Stderr),
			OutColor:  colours && hasSequences(os.Stdout),
			Screen:    os.Getenv("TERM") != "dumb" && hasSequences(os.Stdout),
			ErrScreen: os.Getenv("TERM") != "dumb" && hasSequences(os.Stderr),
			Size: func() (int, int) {
				for _, f := range []*os.File{os.Stderr, os.Stdout} {
					if width, height, err := term.GetSize(int(f.Fd())); err == nil && width > 0 && height > 0 {
						return width, height
					}
				}
				return 80, 24
			},
			Raw: func() (func(), error) {
				state, err := term.MakeRaw(int(os.Stdin.Fd()))
				if err != nil {
					return nil, err
				}
				return func() { _ = term.Restore(int(os.Stdin.Fd()), state) }, nil // no output is left for reporting an error
			}},
	})
	flush()
	procgroup.Farewell()
	return code
}

// run runs the command line args and returns the exit code.
func run(args []string, a *console.Console) (code int) {
	defer func() {
		if p := recover(); p != nil {
			a.ReportBug(p)
			code = console.ExitFailed
		}
		a.Relay.End(code)
		a.Exit()
	}()
	a.Binary.Execute = run
	root := newRoot(a, commandsFor(args))
	root.SetArgs(cmdline.ResolveAlias(root, args))
	if err := root.Execute(); err != nil {
		return a.Fail(err)
	}
	return a.ExitCode
}
