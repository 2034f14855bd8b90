package runs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
	"github.com/concerto-lang/concerto/internal/cli/program"
	"github.com/concerto-lang/concerto/internal/cli/runs/locate"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/engine/live"
	"github.com/concerto-lang/concerto/internal/engine/runs"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
)

// redraws is the interval at which top reads the states of the runs.
const redraws = time.Second

// exitTerminated is the exit code after SIGTERM.
const exitTerminated = 143

// topCommand is the command top with its options.
type topCommand struct {
	console *console.Console
	format  *cmdline.Format
	once    bool
	roots   []string // absolute paths
	dir     string   // of the sockets; "" if they are turned off
	running *live.Client
	warned  bool
}

func NewTop(a *console.Console) *cobra.Command {
	cmd := topCommand{console: a}
	c := &cobra.Command{
		Use:   "top [ROOT…]",
		Short: "Show running and waiting runs, and answer their questions",
		Long: `Shows your runs on this machine that are running, and those below each ROOT that wait for an answer;
the default ROOT is [run] journal of the manifest. The keys are shown with ?. Without a terminal, or
with --once, it prints the table and exits. A run is shown after its first second, unless
CONCERTO_TOP=off is set in its environment.`,
		Example: `  concerto top                    watch runs, and answer their questions
  concerto top --once             print the table
  concerto top --format json      print the states as JSON`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := cmd.findRoots(args); err != nil {
				return err
			}
			cmd.dir = live.Directory(a.Environ)
			cmd.running = live.NewClient(cmd.dir)
			defer cmd.running.Close()
			if cmd.once || !cmd.format.IsText() || !a.TTY.In || !a.TTY.Screen || a.TTY.Raw == nil {
				return cmd.print()
			}
			return cmd.watch(c.Context())
		},
	}
	cmd.format = cmdline.AddFormat(c, "text", "json")
	c.Flags().BoolVar(&cmd.once, "once", false, "print the table once, and exit")
	return c
}

// findRoots sets the directories with stored runs.
func (cmd *topCommand) findRoots(args []string) error {
	for _, arg := range args {
		root, err := locate.Root(cmd.console, []string{arg})
		if err != nil {
			return err
		}
		cmd.roots = append(cmd.roots, root)
	}
	if len(args) > 0 {
		return nil
	}
	root, err := runs.Root(cmd.console.Dir)
	if err == nil && root != "" {
		cmd.roots = []string{root}
	}
	return err
}

// states returns the states of the runs: those that are running, and those that wait in a
// directory.
func (cmd *topCommand) states() ([]live.State, error) {
	all := []live.State{}
	if cmd.dir != "" {
		running, err := cmd.running.List()
		if errors.Is(err, live.ErrForeign) {
			if !cmd.warned {
				cmd.console.Complain(fmt.Sprintf("warning: ignoring %s: %v", cmd.dir, err), "")
			}
			cmd.warned = true
		} else if err != nil {
			return nil, err
		}
		all = append(all, running...)
	}
	for _, root := range cmd.roots {
		stored, err := runs.List(root)
		if err != nil {
			return nil, err
		}
		for _, r := range stored {
			isLive := slices.ContainsFunc(all, func(s live.State) bool { return s.Run == r.Run })
			if !isLive && (r.State == durable.Waiting || (r.State == durable.Suspend || r.State == durable.Killed) && len(r.Pending) > 0) {
				all = append(all, storedState(r))
			}
		}
	}
	byUrgency(all)
	return all, nil
}

// storedState returns the state of a run that no process executes.
func storedState(r *durable.Shown) live.State {
	s := live.State{Run: r.Run, Program: r.Program, State: live.Waiting, Started: r.Started, Hosts: []live.Host{}, Pending: []live.Pending{}, Journal: r.Dir}
	for _, q := range r.Pending {
		p := live.Pending{ID: q.ID, Channel: q.Channel, Type: typeOf(q.Channel), Text: string(q.Payload), Since: q.Since}
		if p.Type != "await" {
			p.Payload = q.Payload
		}
		s.Pending = append(s.Pending, p)
	}
	if started, err := time.Parse(time.RFC3339, r.Started); err == nil {
		s.Seconds = time.Since(started).Round(time.Millisecond).Seconds()
	}
	s.Usage = live.UsageOf(models.Sum{Calls: r.Usage.Calls, Exchanges: r.Usage.Exchanges, TokensIn: r.Usage.TokensIn, TokensOut: r.Usage.TokensOut, Cost: r.Usage.Cost})
	return s
}

// typeOf returns the type of a request on a channel.
func typeOf(channel string) string {
	switch channel {
	case "host:question":
		return "question"
	case "host:approval", effect.ToolApproval:
		return "approval"
	}
	return "await"
}

// byUrgency sorts runs by the number of their pending requests, and then by their start.
func byUrgency(all []live.State) {
	slices.SortStableFunc(all, func(a, b live.State) int {
		if a, b := len(a.Pending), len(b.Pending); a != b {
			return b - a
		}
		return strings.Compare(a.Started, b.Started)
	})
}

// print prints the table, or the states as JSON.
func (cmd *topCommand) print() error {
	all, err := cmd.states()
	if err != nil {
		return err
	}
	if !cmd.format.IsText() {
		return cmd.console.WriteJSON(all)
	}
	width := 0
	if cmd.console.TTY.Out && cmd.console.TTY.Size != nil {
		width, _ = cmd.console.TTY.Size()
	}
	for _, row := range drawTable(all, columns, width) {
		fmt.Fprintln(cmd.console.Stdout, row)
	}
	return nil
}

// watch shows the table until the user quits.
func (cmd *topCommand) watch(parent context.Context) error {
	ctx, signals := interrupt.Catch(parent)
	defer signals.Stop()
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	defer signal.Stop(terminated)
	all, err := cmd.states()
	if err != nil {
		return err
	}
	v := &topView{cmd: cmd, report: func(s *live.State) (string, error) { return cmd.report(ctx, s, signals) }}
	v.show(all, nil)
	updated, stopped := make(chan struct{}, 1), make(chan struct{})
	reading, stop := context.WithCancel(ctx)
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(redraws)
		defer ticker.Stop()
		for {
			select {
			case <-reading.Done():
				return
			case <-ticker.C:
				v.show(cmd.states())
				select {
				case updated <- struct{}{}:
				default:
				}
			}
		}
	}()
	err = interact(ctx, cmd.console, v, updated, signals)
	stop()
	<-stopped
	if errors.Is(err, console.ErrInterrupted) {
		select {
		case <-terminated:
			return console.ExitError(exitTerminated)
		default:
			return console.ExitError(console.ExitInterrupted)
		}
	}
	return err
}

// answer answers a request of a stored run.
func (cmd *topCommand) answer(s *live.State, p *live.Pending, reply runs.Response) error {
	if s.Journal == "" {
		return live.Answer(cmd.dir, s.Run, p, reply.Text, userName())
	}
	stored, err := runs.Show(rundir.At(s.Journal))
	if err != nil {
		return err
	}
	i := slices.IndexFunc(stored.Pending, func(q durable.ShownQuestion) bool { return q.ID == p.ID })
	if i < 0 { // a request of a host has an id of its own
		i = slices.IndexFunc(stored.Pending, func(q durable.ShownQuestion) bool { return q.Channel == p.Channel })
	}
	if i < 0 {
		return errors.New("a handler of the program answers this request")
	}
	reply.By = userName()
	return runs.Answer(rundir.At(s.Journal), stored.Pending[i].ID, reply)
}

// cancel ends a run.
func (cmd *topCommand) cancel(s *live.State) error {
	if s.PID == 0 {
		return fmt.Errorf("no process executes the run; end it with: concerto runs stop %s", s.Run)
	}
	return live.Cancel(cmd.dir, s.Run)
}

// report writes the report of a stored run, and returns its path.
func (cmd *topCommand) report(ctx context.Context, s *live.State, signals *interrupt.Handler) (path string, err error) {
	if s.Journal == "" {
		return "", errors.New("the run is not stored: start it with --report or --journal")
	}
	r, played := BuildReport(ctx, cmd.console, s.Journal, "", signals)
	if r == nil {
		return "", played
	}
	text, err := program.EncodeReport(r, "html")
	if err != nil {
		return "", err
	}
	path = r.Run.ID + ".html"
	return path, program.WriteReport(cmd.console, path, text)
}
