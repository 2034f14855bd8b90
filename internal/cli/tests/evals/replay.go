package evals

import (
	"context"

	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"strings"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
	"github.com/concerto-lang/concerto/internal/cli/program"
	"github.com/concerto-lang/concerto/internal/cli/runs/locate"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/eval/policy"
	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/internal/term/screen"
)

// replayCommand is the command replay with its options.
type replayCommand struct {
	console *console.Console
	program string
	match   string
	all     bool
	format  *cmdline.Format

	mu       sync.Mutex
	programs map[string]*engine.Program // compiled programs by path
}

// matches are the values of --match.
var matches = []string{"normalized", "exact"}

func newReplay(a *console.Console) *cobra.Command {
	cmd := &replayCommand{console: a, programs: map[string]*engine.Program{}}
	c := &cobra.Command{
		Use:   "replay TAPE|DIR|RUN...",
		Short: "Compare the decisions of a program with recorded runs",
		Long: `Replays recorded runs with the current program, and lists each decision that differs: answers to
questions and approvals of hosts, and the prompts of hosts. Hosts, models, tools and people answer
as recorded, so replay makes no requests and costs nothing. For a directory it replays the files
*.tape and the stored runs in it.

If the program makes a request that was not recorded, its result is unknown, and the session is
undecidable from there on. White space, the working directory and ids of runs may differ, unless
--match is exact. Without --program, replay uses the project in this directory or above,
otherwise the recorded program.

Exit codes: 0 all decisions are the same, 1 a decision differs or the program failed, 2 a recording
cannot be read or the program does not compile, 3 a session is undecidable.`,
		Example: `  concerto run --record tapes/monday.tape     record a run
  concerto eval replay tapes                  compare all tapes in a directory
  concerto eval replay tapes --program strict.conc
  concerto eval replay job --format json      compare the stored run in job`,
		Args: console.Arguments(1, -1),
		RunE: func(c *cobra.Command, args []string) error { return cmd.replay(c.Context(), args) },
	}
	locate.AddEngineFlag(a, c)
	c.Flags().StringVar(&cmd.program, "program", "", "compare with the program at `PATH`")
	c.Flags().StringVar(&cmd.match, "match", matches[0], "match requests with recorded ones by `HOW`: normalized or exact")
	c.Flags().BoolVar(&cmd.all, "all", false, "show equal differences of several sessions separately")
	cmd.format = cmdline.AddFormat(c, "text", "json")
	console.CompleteFlag(c, "match", func() []string { return matches })
	c.ValidArgsFunction = console.CompleteFiles("tape")
	return c
}

// recording is a recorded run. open reads it.
type recording struct {
	name string
	open func() (*engine.Tape, error)
}

func (cmd *replayCommand) replay(parent context.Context, args []string) error {
	if err := console.OneOf("--match", cmd.match, matches); err != nil {
		return err
	}
	ctx, signals := interrupt.Catch(parent)
	defer signals.Stop()
	cmd.console.Interrupt = signals.Interrupt
	var all []recording
	for _, name := range args {
		found, err := cmd.find(ctx, name)
		if err != nil {
			return err
		}
		all = append(all, found...)
	}
	report, err := cmd.compare(ctx, all)
	if err != nil {
		return err
	}
	if cmd.format.IsText() {
		err = report.WriteText(cmd.console.Stdout, cmd.all)
	} else {
		err = cmd.console.WriteJSON(report)
	}
	if err == nil && report.Exit() != console.ExitOK {
		return console.ExitError(report.Exit())
	}
	return printed(err)
}

// find returns the recordings of an argument.
func (cmd *replayCommand) find(ctx context.Context, name string) ([]recording, error) {
	path := cmd.console.Abs(name)
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.IsDir():
		return []recording{{name, func() (*engine.Tape, error) { return readTape(path) }}}, nil
	case err == nil && !rundir.At(path).Begun():
		return cmd.findIn(name, path)
	}
	run, err := locate.Find(ctx, cmd.console, name, locate.Reader)
	if err != nil {
		return nil, err
	}
	return []recording{{name, run.Tape}}, nil
}

// findIn returns the recordings in a directory.
func (cmd *replayCommand) findIn(name, path string) (all []recording, err error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, console.Usage("", "read %s: %v", name, console.Cause(err))
	}
	for _, e := range entries {
		file := filepath.Join(path, e.Name())
		r := recording{name: filepath.ToSlash(filepath.Join(name, e.Name()))}
		info, err := os.Stat(file)
		switch {
		case err != nil:
			continue
		case !info.IsDir() && strings.HasSuffix(e.Name(), ".tape"):
			r.open = func() (*engine.Tape, error) { return readTape(file) }
		case info.IsDir() && rundir.At(file).Begun():
			r.open = (&locate.Run{Dir: file}).Tape
		default:
			continue
		}
		all = append(all, r)
	}
	if len(all) == 0 {
		return nil, console.Usage("record one with `concerto run --record "+name+"/NAME.tape`", "%s contains no tapes and no stored runs", name)
	}
	return all, nil
}

func readTape(path string) (*engine.Tape, error) {
	f, err := userfile.Open(path, userfile.MaxRecording)
	if err != nil {
		return nil, console.Cause(err)
	}
	defer f.Close()
	return engine.ReadCutOffTape(f)
}

// compare replays the recordings, as many at a time as there are processors.
func (cmd *replayCommand) compare(ctx context.Context, all []recording) (*policy.Report, error) {
	report := &policy.Report{}
	sessions := make([]*policy.Session, len(all))
	unreadable := make([]error, len(all))
	var fatal error
	var stop sync.Once
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var next, done atomic.Int64
	end := cmd.console.BeginDrawing()
	defer end()
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(all)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(all) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				t, err := all[i].open()
				if err != nil {
					unreadable[i] = err
					continue
				}
				p, err := cmd.programOf(report, t)
				if err != nil {
					stop.Do(func() { fatal = err; cancel() })
					return
				}
				sessions[i], unreadable[i] = cmd.session(ctx, p, all[i].name, t)
				cmd.showProgress(int(done.Add(1)), len(all))
			}
		})
	}
	workers.Wait()
	if fatal == nil && ctx.Err() != nil {
		fatal = context.Cause(ctx)
	}
	if fatal != nil {
		return nil, fatal
	}
	for i, s := range sessions {
		if s != nil {
			report.Sessions = append(report.Sessions, s)
		} else {
			report.Unreadable = append(report.Unreadable, policy.Problem{Session: all[i].name, Message: unreadable[i].Error()})
		}
	}
	return report, nil
}

func (cmd *replayCommand) showProgress(n, of int) {
	if !cmd.console.TTY.ErrScreen || cmd.console.Quiet {
		return
	}
	text := fmt.Sprintf("replayed %d of %s", n, console.Count(of, "session"))
	cmd.console.Bottom().Show(func(int, int) []screen.Line { return []screen.Line{{Mark: "⇢", Text: text}} })
}

// session replays one recording.
func (cmd *replayCommand) session(ctx context.Context, p *engine.Program, name string, t *engine.Tape) (*policy.Session, error) {
	r, err := p.ReplayPolicy(ctx, t, cmd.match == matches[0], engine.Options{WorkDir: cmd.console.Dir, Dir: cmd.console.Dir})
	if err != nil {
		return nil, err
	}
	return policy.Compare(name, r), nil
}

// programOf returns the program to replay a tape with: that of --program, the project, or the
// recorded program.
func (cmd *replayCommand) programOf(report *policy.Report, t *engine.Tape) (*engine.Program, error) {
	cmd.mu.Lock()
	defer cmd.mu.Unlock()
	path := cmd.program
	if path == "" && !cmd.hasProject() {
		if path = t.Program(); path == "" {
			return nil, console.Usage("name the program with --program PATH", "no %s in this directory or its parents, and the tape does not name its program", manifest.FileName)
		}
	}
	p, found := cmd.programs[path]
	if !found {
		s, err := program.Source(cmd.console, path, nil)
		if err != nil {
			return nil, err
		}
		if p, err = cmd.console.Compile(s); err != nil {
			return nil, err
		}
		cmd.programs[path] = p
	}
	if report.Program == "" {
		report.Program = p.MainFile()
		if path != "" {
			report.Program = path
		}
	}
	return p, nil
}

func (cmd *replayCommand) hasProject() bool {
	_, found := manifest.Locate(cmd.console.Dir, console.IsFile)
	return found
}
