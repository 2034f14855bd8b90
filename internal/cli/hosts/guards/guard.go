// Package guards implements the command guard.
package guards

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/agents/guard"
	"github.com/concerto-lang/concerto/internal/agents/guard/serve"
	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/data/hostpolicy"
	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
)

// New returns the command guard.
func New(a *console.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "guard COMMAND",
		Short: "Check the tool calls of agents that people start themselves",
		Long: `The section [guard] in Concerto.toml decides which tool calls an agent such as Claude Code may make,
also if no Concerto program has started it. The agent calls 'concerto guard hook' before and after
each call, and each decision is recorded in the ledger of the session.`,
		Example: `  concerto guard test 'git push origin main'`,
		Args:    console.UnknownCommand,
		RunE: func(*cobra.Command, []string) error {
			return console.Usage("`concerto guard --help` lists the commands", "guard requires a command")
		},
	}
	c.AddCommand(newGuardTest(a), newGuardHook(a), newInstall(a), newUninstall(a), newCheck(a), newRun(a), newStatus(a), newRelease(a), newGuardServe(a), newLog(a), newReplay(a), newSuggest(a), newTrust(a), newExport(a))
	return c
}

// guardPlaces returns the directories of the policies and of the ledgers.
func guardPlaces(a *console.Console) guard.Places {
	return guard.Places{
		Home:   a.Getenv("HOME"),
		Config: a.UserDir("XDG_CONFIG_HOME", ".config"),
		System: "/etc/concerto",
		State:  a.UserDir("XDG_STATE_HOME", ".local", "state"),

		Functions: &functions{console: a},
	}
}

// guardTestCommand is the command guard test with its options.
type guardTestCommand struct {
	console     *console.Console
	agent, file string
	format      *cmdline.Format
}

func newGuardTest(a *console.Console) *cobra.Command {
	cmd := guardTestCommand{console: a}
	c := &cobra.Command{
		Use:   "test COMMAND | --json FILE",
		Short: "Show what the policy decides about a call, and by which rule",
		Long: `Decides about a command, or about the call in an input of an agent's hook, without an agent.
Nothing runs and nothing is recorded. Prints the decision, and the file and line of the rule.

Exit codes: 0 the call is allowed or passed to the agent's own rules, 1 denied, also because of an
error in a policy, 75 a person decides, 2 the command was misused.`,
		Example: `  concerto guard test 'git push origin main'
  concerto guard test --agent codex python
  concerto guard test --json call.json --format json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error { return cmd.run(args) },
	}
	c.Flags().StringVar(&cmd.agent, "agent", "claude-code", "decide about a command of `AGENT`")
	c.Flags().StringVar(&cmd.file, "json", "", "decide about the call in `FILE`, an input of the agent's hook; - is stdin")
	cmd.format = cmdline.AddFormat(c, "text", "json")
	console.CompleteFlag(c, "agent", func() []string { return manifest.GuardAgents })
	return c
}

func (cmd *guardTestCommand) run(args []string) error {
	if err := console.OneOf("--agent", cmd.agent, manifest.GuardAgents); err != nil {
		return err
	}
	if (len(args) == 1) == (cmd.file != "") || len(args) > 1 {
		return console.Usage("for example: concerto guard test 'git push origin main'", "guard test requires one command, or --json FILE")
	}
	a := cmd.console
	var call *guard.Call
	if cmd.file == "" {
		call = guard.ParseCommand(cmd.agent, args[0], a.Dir)
	} else {
		text, err := cmd.read()
		if err != nil {
			return console.Usage("name a file with the input of a hook", "read %s: %v", cmd.file, console.Cause(err))
		}
		if call, err = guard.ParseInput(cmd.agent, text); err != nil {
			return console.Usage("see chapter 51 of the manual for the input of a hook", "%s: %v", cmd.file, err)
		}
	}
	places := guardPlaces(a)
	places.Functions = &functions{a, a.Stderr}
	d := places.Decide(call)
	switch d.Verdict {
	case hostpolicy.Deny:
		a.ExitCode = console.ExitFailed
	case hostpolicy.Ask:
		a.ExitCode = console.ExitWaiting
	}
	if !cmd.format.IsText() {
		return a.WriteJSON(d)
	}
	_, err := fmt.Fprintf(a.Stdout, "%s: %s\n", d.Verdict, console.Printable(d.Reason))
	return err
}

// read reads the file of --json.
func (cmd *guardTestCommand) read() ([]byte, error) {
	if cmd.file == "-" {
		return io.ReadAll(io.LimitReader(cmd.console.Stdin, guard.MaxInput))
	}
	return userfile.Read(cmd.console.Abs(cmd.file), guard.MaxInput)
}

func newGuardHook(a *console.Console) *cobra.Command {
	return &cobra.Command{
		Use:   "hook AGENT [EVENT]",
		Short: "Check one event of an agent's hook",
		Long: `Reads one event of the agent from stdin, decides about it, records the decision, and prints the
answer in the agent's form. Agents start this command, if 'concerto guard install' has added it to
their settings: ` + strings.Join(guard.SupportedAgents(), ", ") + `.
EVENT names the event for agents whose input does not.
A call about which a person must decide waits for an answer of 'concerto top' or of the relay, for
at most the time of 'guard.wait'.

Exit codes: 0 the call is not denied, 2 it is denied, which is also the result of each failure.`,
		Example: `  concerto guard hook claude-code < event.json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 && len(args) != 2 {
				return console.Usage("write `concerto guard hook claude-code`", "guard hook requires the name of a supported agent")
			}
			return console.OneOf("AGENT", args[0], guard.SupportedAgents())
		},
		RunE: func(_ *cobra.Command, args []string) error {
			h := guard.Hook{Agent: args[0], Places: guardPlaces(a), Environ: a.Environ, Getenv: a.Getenv, CanAsk: guard.HasTerminal, Program: guard.AgentProgram}
			h.Event = append(args, "")[1]
			h.CursorHooked = func() bool {
				text, err := userfile.Read(filepath.Join(h.Places.Home, ".cursor", "hooks.json"), guard.MaxInput)
				return err == nil && strings.Contains(string(text), "guard hook cursor")
			}
			if h.Places.State != "" {
				dir := h.Places.Guard()
				h.Persons = &serve.Client{Dir: dir, Launch: func() error { return serve.Launch(a.Binary.Executable, dir) }}
			}
			a.ExitCode = h.Run(a.Stdin, a.Stdout, a.Stderr)
			return nil
		},
	}
}
