package runs

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/relaycli/connect"
	"github.com/concerto-lang/concerto/internal/relaycli/console"
	tell "github.com/concerto-lang/concerto/relay/client"
	"github.com/concerto-lang/concerto/relay/hostrun"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// agentRun is a run whose program exchanges messages with the relay instead of using a terminal.
type agentRun struct {
	ndjson, acp         bool
	tool, title, prompt string
}

// sourceName returns the protocol of the run's messages, which is also the source of its events.
func (s *agentRun) sourceName() string {
	if s.acp {
		return "acp"
	}
	return "ndjson"
}

// start starts the run as a separate process and returns the run's id. The process continues when
// this command or hostd exits.
func (s *agentRun) start(a *console.Console, e *connect.Endpoint, args []string) (run string, err error) {
	exe, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the path of this program: %w", err)
	}
	c := exec.Command(exe)
	c.Args = append([]string{"concerto-relay", "talk", "--socket", e.Name, "--" + s.sourceName(), "--tool", s.tool, "--title", s.title, "--prompt", s.prompt, "--"}, args...)
	c.Dir, c.Env, c.SysProcAttr = a.Dir, a.Environ, ownSession()
	var output strings.Builder
	c.Stderr = &output
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return "", fmt.Errorf("start the run: %w", err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err == nil {
		return strings.TrimSpace(line), nil
	}
	_ = c.Wait() // the error is not needed: the exit code is in ProcessState
	fmt.Fprint(a.Stderr, output.String())
	return "", console.ExitError(max(c.ProcessState.ExitCode(), console.ExitFailed))
}

// NewAgent returns the hidden command whose process executes an agent's run.
func NewAgent(a *console.Console) *cobra.Command {
	var s agentRun
	var socket string
	c := &cobra.Command{
		Use: "talk", Short: "Talk to a run in messages (run starts it)", Hidden: true,
		Args: console.ArgsBetween(1, 1<<20, "concerto-relay run --ndjson -- ./host"),
		RunE: func(_ *cobra.Command, args []string) error { return runAgent(a, &s, socket, args) },
	}
	f := c.Flags()
	f.SetInterspersed(false)
	f.BoolVar(&s.ndjson, "ndjson", false, "it speaks Concerto's protocol")
	f.BoolVar(&s.acp, "acp", false, "it speaks ACP")
	f.StringVar(&s.tool, "tool", "", "what runs")
	f.StringVar(&s.title, "title", "", "what it is about")
	f.StringVar(&s.prompt, "prompt", "", "what it is asked to do")
	f.StringVar(&socket, "socket", "", "hostd's socket")
	return c
}

func runAgent(a *console.Console, s *agentRun, socket string, args []string) error {
	ctx, stop := a.SignalContext()
	defer stop()
	dir, err := filepath.EvalSymlinks(a.Dir)
	if err != nil {
		return fmt.Errorf("find the working directory: %w", err)
	}
	src := tell.New(tell.Options{Socket: socket, Started: protocol.Started{Tool: s.tool, Cwd: dir, Command: console.ShellLine(args), Title: s.title, Source: s.sourceName(), ParentRunID: a.Env("RELAY_RUN_ID")}})
	run := src.Run(ctx)
	if run == "" {
		why := src.Absent()
		src.End(console.ExitFailed)
		return console.Usage("start hostd with `concerto-relay hostd`, or name its socket with --socket", "no hostd serves %s: %v", socket, why)
	}
	fmt.Fprintln(a.Stdout, run) // the parent process reads no further output after this line
	src.End(runToEnd(ctx, a, s, src, run, dir, args))
	return nil
}

// withheld lists the environment variables of the relay's daemons, which are removed from the
// environment of a run.
var withheld = []string{"HOST_TOKEN", "HOST_ID", "DATABASE_URL", "ADMIN_PASSWORD_HASH", "ADMIN_USERNAME"}

// runToEnd runs the agent until it exits, and returns its exit code.
func runToEnd(ctx context.Context, a *console.Console, s *agentRun, src *tell.Source, run, dir string, args []string) int {
	env := slices.DeleteFunc(slices.Clone(a.Environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(withheld, name)
	})
	env = append(env, "RELAY_RUN_ID="+run, "RELAY_TOOL="+s.tool, "RELAY_CWD="+dir)
	o := hostrun.Options{Source: src, ACP: s.acp, Name: s.tool, Command: args, Dir: dir, Environ: env, Prompt: s.prompt}
	if s.acp && o.Prompt == "" {
		text, err := s.askTask(ctx, src)
		if err != nil {
			src.Wrote(tell.Stderr, err.Error()+"\n")
			return console.ExitFailed
		}
		o.Prompt = text
	}
	return hostrun.Run(ctx, o)
}

// askTask asks the user for the task that the agent should perform. An ACP agent without --prompt
// needs it to begin.
func (s *agentRun) askTask(ctx context.Context, src *tell.Source) (string, error) {
	message, err := json.Marshal(map[string]string{"question": "Which task should " + s.tool + " do?"})
	if err != nil {
		return "", err
	}
	a, err := src.Ask(ctx, "", &effect.AskHost{Asking: effect.Asking{Host: s.tool, Type: hostmsg.Question}, Message: message}, true)
	switch {
	case err != nil:
		return "", err
	case a == nil:
		return "", errors.New("the question for the agent's task got no answer: pass the task as an argument")
	}
	var text string
	if json.Unmarshal(a.Value, &text) != nil {
		text = string(a.Value)
	}
	return text, nil
}
