// Package cli is the command concerto. It turns flags into calls of package concerto,
// and their results into text and exit codes (spec/18-cli.md).
package cli

import (
	"fmt"
	"os"
	"runtime/debug"

	"golang.org/x/term"

	_ "github.com/concerto-lang/concerto/internal/process/guard" // concerto host guard
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	_ "github.com/concerto-lang/concerto/internal/process/sandbox/inside" // concerto host sandbox
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

// run runs the command line args and returns the exit code.
func run(args []string, a *app) (code int) {
	defer func() {
		if p := recover(); p != nil {
			a.bug(p)
			code = exitFailed
		}
		a.told.End(code)
	}()
	root := root(a)
	root.SetArgs(args)
	if err := root.Execute(); err != nil {
		return a.failed(err)
	}
	return a.code
}
