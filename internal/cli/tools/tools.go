// Package tools has the commands that check, list, call and serve tools.
package tools

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
	"github.com/concerto-lang/concerto/internal/cli/program"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/runtime/tool"
	"github.com/concerto-lang/concerto/runtime/world/emit"
)

func NewTools(a *console.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "tools COMMAND",
		Short: "List, check and call tools of an application",
		Long: `These tools come from files (--host-tools FILE), programs (--host-tools-module FILE.conc) and the
sections [tools.X] of Concerto.toml.`,
		Example: `  concerto tools check tools.yaml
  concerto tools list --host-tools tools.yaml
  concerto tools call query --args '{"sql": "select 1"}' --host-tools tools.yaml`,
		Args: console.UnknownCommand,
		RunE: func(c *cobra.Command, _ []string) error {
			return console.Usage("`concerto tools --help` lists the commands", "tools requires a command")
		},
	}
	c.AddCommand(newToolsCheck(a), newToolsList(a), newToolsCall(a))
	return c
}

// checkCommand is the command tools check with its options.
type checkCommand struct {
	console *console.Console
	program.ToolFlags
}

func newToolsCheck(a *console.Console) *cobra.Command {
	cmd := checkCommand{console: a}
	c := &cobra.Command{
		Use:   "check FILE…",
		Short: "Check files of tools for errors",
		Long: `Checks files of tools and the tools of Concerto.toml, and whether all of them can be used together.
Warns if this machine cannot sandbox a command. Prints nothing if there are no errors. A tool:

  tools:
    - name: query
      description: Query the database
      parameters: {type: object, properties: {sql: {type: string}}, required: [sql]}
      command: [python3, query.py]`,
		Example: `  concerto tools check tools.yaml more.yaml`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args)+len(cmd.Files)+len(cmd.Modules) == 0 {
				return console.Usage("for example: concerto tools check tools.yaml", "tools check requires a file of tools")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			cmd.Files = append(args, cmd.Files...)
			return withTools(c.Context(), a, &cmd.ToolFlags, cmd.checkSandboxes)
		},
	}
	cmd.Add(c)
	return c
}

// checkSandboxes prints a warning for each tool whose sandbox this machine does not support.
func (cmd *checkCommand) checkSandboxes(_ context.Context, tools *tool.Registry) error {
	run := cmd.console.Processes()
	defer run.End()
	for _, t := range tools.List() {
		lacks, fails := tool.Lacks(t, run)
		if len(lacks) == 0 {
			continue
		}
		then := "it runs without it"
		if fails {
			then = "its calls fail"
		}
		if _, err := fmt.Fprintf(cmd.console.Stderr, "warning: tool '%s': this machine lacks %s: %s\n", t.Name, strings.Join(lacks, ", and "), then); err != nil {
			return err
		}
	}
	return nil
}

// listCommand is the command tools list with its options.
type listCommand struct {
	console *console.Console
	program.ToolFlags
	format *cmdline.Format
}

func newToolsList(a *console.Console) *cobra.Command {
	cmd := listCommand{console: a}
	c := &cobra.Command{
		Use:   "list",
		Short: "List the tools of an application",
		Long:  `Lists the tools of Concerto.toml and of the flags: name, version, owner and description.`,
		Example: `  concerto tools list
  concerto tools list --host-tools tools.yaml --format json`,
		Args: console.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return withTools(c.Context(), a, &cmd.ToolFlags, cmd.list)
		},
	}
	cmd.format = cmdline.AddFormatUsage(c, "print as `FORMAT`: text or json (default text)", "text", "json")
	cmd.Add(c)
	return c
}

// callCommand is the command tools call with its options.
type callCommand struct {
	console *console.Console

	program.ToolFlags
	args    string
	answers []string
	audit   program.AuditFlags
}

func newToolsCall(a *console.Console) *cobra.Command {
	cmd := callCommand{console: a}
	c := &cobra.Command{
		Use:   "call NAME",
		Short: "Call a tool",
		Long: `Calls a tool as an agent does: validates the arguments against the schema, and requests approval if
the tool requires it. Prints the result as one line of JSON with success, output, error and
metadata.

Exit codes: 0 the call succeeded, 1 it failed, 2 the tools have errors.`,
		Example: `  concerto tools call query --args '{"sql": "select 1"}'
  concerto tools call query@2 --args @args.json --host-tools tools.yaml
  concerto tools call drop --answer tool:approval=yes`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return console.Usage("for example: concerto tools call query --args '{\"sql\": \"select 1\"}'", "tools call requires the name of one tool")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return cmd.callTool(c.Context(), args[0]) },
		ValidArgsFunction: func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return toolNames(c.Context(), a, args, &cmd.ToolFlags)
		},
	}
	c.Flags().StringVar(&cmd.args, "args", "", "pass the arguments: a `JSON` object, or @FILE")
	c.Flags().StringArrayVar(&cmd.answers, "answer", nil, "answer questions, and approvals on tool:approval: `CHANNEL=VALUE`")
	cmd.Add(c)
	cmd.audit.Add(c)
	return c
}

// withTools calls do with the tools of the manifest and the tools that the flags add.
func withTools(ctx context.Context, a *console.Console, f *program.ToolFlags, do func(context.Context, *tool.Registry) error) error {
	ctx, signals := interrupt.Catch(ctx)
	defer signals.Stop()
	s := program.ToolSources(a, f, nil)
	s.Manifest = true
	set, err := program.LoadTools(ctx, a, s)
	if err != nil {
		return err
	}
	var tools tool.Registry
	if err = set.Register(&tools); err != nil {
		err = console.Usage("rename one of them, or give it another version", "%v", err)
	} else {
		err = do(ctx, &tools)
	}
	tools.Close()
	if closing := set.Close(); err == nil {
		err = closing
	}
	return err
}

// toolSession returns the context for tool calls of a command that runs no program.
func toolSession(a *console.Console) tool.Context {
	return tool.Context{Caller: "client:tools", Cwd: a.Dir}
}

func (cmd *listCommand) list(ctx context.Context, tools *tool.Registry) error {
	s, err := tools.Open(ctx, toolSession(cmd.console))
	if err != nil {
		return err
	}
	list := append([]tool.Listed{}, s.List()...)
	if !cmd.format.IsText() {
		err = cmd.console.WriteJSON(map[string]any{"tools": list})
	} else {
		err = writeTools(cmd.console.Stdout, list)
	}
	if closing := s.Close(); err == nil {
		err = closing
	}
	return err
}

// writeTools writes a table of tools.
func writeTools(w io.Writer, list []tool.Listed) error {
	wide := [2]int{}
	rows := make([][2]string, len(list))
	for i, t := range list {
		rows[i] = [2]string{fmt.Sprintf("%s@%d", t.Name, t.Version), t.Owner}
		for j, cell := range rows[i] {
			wide[j] = max(wide[j], len(cell))
		}
	}
	for i, t := range list {
		more, _, _ := strings.Cut(t.Description, "\n")
		if t.HiddenBy != "" {
			more += " (hidden by the tool of " + t.HiddenBy + ")"
		}
		if t.RequiresApproval {
			more += " (requires approval)"
		}
		if _, err := fmt.Fprintf(w, "%-*s  %-*s  %s\n", wide[0], rows[i][0], wide[1], rows[i][1], more); err != nil {
			return err
		}
	}
	return nil
}

// callTool calls a tool and prints its result.
func (cmd *callCommand) callTool(ctx context.Context, name string) error {
	fixed, err := program.ParseAnswers(cmd.answers)
	if err != nil {
		return err
	}
	args, err := program.ReadObject(cmd.console, "--args", cmd.args)
	if err != nil {
		return err
	}
	return withTools(ctx, cmd.console, &cmd.ToolFlags, func(ctx context.Context, tools *tool.Registry) error {
		o := engine.Options{WorkDir: cmd.console.Dir, Environ: cmd.console.Environ, Executable: cmd.console.Binary.Executable, Log: cmd.console.LogWriter(), LogLevel: cmd.console.LogLevel, Tools: tools, Session: toolSession(cmd.console),
			Answers: engine.Answers{Fixed: fixed, Prompter: cmd.console.Prompter()}, Output: engine.Output{To: cmd.console.Stderr, Mode: emit.Text, Terminal: cmd.console.TTY.Err}}
		endAudit, err := program.OpenAudit(cmd.console, nil, &o, &cmd.audit)
		if err != nil {
			return err
		}
		result, err := engine.CallTool(ctx, o, name, args)
		if err = endAudit(err); err != nil {
			return err
		}
		if err := cmd.console.WriteJSON(result); err != nil {
			return err
		}
		if !result.Success {
			return console.ExitError(console.ExitFailed)
		}
		return nil
	})
}

// toolNames returns the names of tools for shell completion.
func toolNames(ctx context.Context, a *console.Console, args []string, f *program.ToolFlags) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	s := program.ToolSources(a, f, nil)
	s.Manifest, s.Static = true, true
	set, _, err := engine.LoadTools(ctx, s)
	if err != nil || set == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var tools tool.Registry
	if set.Register(&tools) == nil {
		for _, t := range tools.List() {
			names = append(names, t.Name)
		}
	}
	_ = set.Close() // an error cannot occur, because no process was started
	return slices.Compact(names), cobra.ShellCompDirectiveNoFileComp
}
