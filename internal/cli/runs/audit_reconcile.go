package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/runs/locate"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/record/transcript"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/internal/term/terminal"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
)

// reconcileCommand is the command audit reconcile with its options.
type reconcileCommand struct {
	console  *console.Console
	agent    string
	sessions []string
	logs     string
	unasked  []string
	format   *cmdline.Format
}

// callKinds lists the kinds that --unasked accepts.
var callKinds = []string{"read", "search", "think", "fetch", "edit", "delete", "move", "execute", "other"}

func newAuditReconcile(a *console.Console) *cobra.Command {
	cmd := reconcileCommand{console: a}
	c := &cobra.Command{
		Use:   "reconcile LEDGER|RUN",
		Short: "Compare a ledger with the transcripts of its agents",
		Long: `Compares the decisions in a ledger with what Claude Code and Codex, by their own transcripts, have
executed. Lists each call that was executed

  bypassed     without a decision
  denied       although it was denied
  different    with other arguments than those shown
  undelivered  although its decision did not arrive

and prints the number of the others: decided, tools of the program (own), covered by a lasting
decision (granted), and of a kind that agents do not ask about (unasked, see --unasked). A command
that an agent considers harmless, such as ls, is bypassed unless you add execute to --unasked.

Reads the sessions that the ledger names. A session in which the agent requested nothing is not in
the ledger: name it with --session.

Exit codes: 0 no call is listed; 1 a call is listed, or a line cannot be read; 2 a transcript is
missing; 76 the ledger was changed.`,
		Example: `  concerto audit reconcile job                     the ledger of a stored run
  concerto audit reconcile ledger.ndjson --agent codex
  concerto audit reconcile ledger.ndjson --logs backup/projects --session ID
  concerto audit reconcile job --unasked read,search --format json`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return console.Usage("for example: "+c.CommandPath()+" ledger.ndjson", "%s requires one ledger or run", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return cmd.reconcile(c.Context(), args[0]) },
	}
	locate.AddEngineFlag(a, c)
	c.Flags().StringVar(&cmd.agent, "agent", "", "read only transcripts of `AGENT`: claude-code or codex")
	c.Flags().StringSliceVar(&cmd.sessions, "session", nil, "compare only the session `ID`; may be repeated (default: those in the ledger)")
	c.Flags().StringVar(&cmd.logs, "logs", "", "read the transcripts below `DIR` (default: where the agents store them)")
	c.Flags().StringSliceVar(&cmd.unasked, "unasked", []string{"read", "search", "think"}, "expect no requests for calls of `KINDS`, separated by commas")
	cmd.format = cmdline.AddFormat(c, "text", "json")
	console.CompleteFlag(c, "agent", func() []string { return transcript.Vendors })
	console.CompleteFlag(c, "unasked", func() []string { return callKinds })
	return c
}

// foundCall is a call in the output of --format json.
type foundCall struct {
	Class transcript.Class `json:"class"`
	*transcript.Call
	Summary string `json:"summary"`
	Seq     int64  `json:"seq,omitempty"` // record of the decision
}

func (cmd *reconcileCommand) reconcile(ctx context.Context, path string) error {
	if cmd.agent != "" {
		if err := console.OneOf("--agent", cmd.agent, transcript.Vendors); err != nil {
			return err
		}
	}
	for _, kind := range cmd.unasked {
		if err := console.OneOf("--unasked", kind, callKinds); err != nil {
			return err
		}
	}
	decisions, err := cmd.decisions(ctx, path)
	if err != nil {
		return err
	}
	sessions := cmd.sessions
	if len(sessions) == 0 {
		sessions = decisions.Sessions
	}
	if len(sessions) == 0 {
		return console.Usage("name the sessions with --session", "%s: no record names a session of an agent", path)
	}
	problems := []transcript.Problem{}
	files, err := cmd.files(sessions, &problems)
	if err != nil {
		return err
	}
	calls := []foundCall{}
	result, err := transcript.Reconcile(decisions, files, transcript.Options{
		Kinds:   transcript.Kinds{Claude: hostmsg.ClaudeKind, ClaudeInside: adapter.ClaudeInside, CodexCommand: adapter.CodexCommandKind},
		Unasked: cmd.unasked,
		Problem: func(p transcript.Problem) { problems = append(problems, p) },
		Each: func(class transcript.Class, c *transcript.Call, seq int64) {
			if !class.IsCovered() {
				x := *c
				calls = append(calls, foundCall{class, &x, terminal.Brief(adapter.Subject(c.Args), maxSummary), seq})
				x.Args = nil
			}
		},
	})
	if err != nil {
		return err
	}
	if err := cmd.print(result, calls, problems); err != nil {
		return err
	}
	if len(calls) > 0 || len(problems) > 0 {
		return console.ExitError(console.ExitFailed)
	}
	return nil
}

// maxSummary limits the length of a call's summary, in characters.
const maxSummary = 200

// decisions verifies and reads the ledger.
func (cmd *reconcileCommand) decisions(ctx context.Context, path string) (*transcript.Decisions, error) {
	f, name, head, err := auditLog(ctx, cmd.console, path)
	if err != nil {
		return nil, err
	}
	_, err = audit.Verify(f, name, head)
	_ = f.Close() // it was only read
	if err != nil {
		return nil, auditReadError(cmd.console, err)
	}
	if f, name, _, err = auditLog(ctx, cmd.console, path); err != nil {
		return nil, err
	}
	defer f.Close()
	all, err := transcript.ReadDecisions(f, name)
	if err != nil {
		return nil, auditReadError(cmd.console, err)
	}
	return all, nil
}

// files returns the transcripts of the sessions. It fails if a session has none.
func (cmd *reconcileCommand) files(sessions []string, problems *[]transcript.Problem) ([]transcript.File, error) {
	vendors := transcript.Vendors
	if cmd.agent != "" {
		vendors = []string{cmd.agent}
	}
	missing := map[string]bool{}
	for _, id := range sessions {
		missing[id] = true
	}
	wanted := maps.Clone(missing)
	var files []transcript.File
	var dirs []string
	for _, vendor := range vendors {
		dir := cmd.console.Abs(cmp.Or(cmd.logs, transcript.Dir(vendor, cmd.console.Getenv)))
		dirs = append(dirs, dir)
		found, err := transcript.Find(vendor, dir, wanted, func(p transcript.Problem) { *problems = append(*problems, p) })
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			if f.Main {
				delete(missing, f.Session)
			}
		}
		files = append(files, found...)
	}
	if len(missing) > 0 {
		ids := slices.Sorted(maps.Keys(missing))
		return nil, console.Usage("name the directory with --logs, or the sessions to compare with --session",
			"no transcript of the session %s in %s", strings.Join(ids, ", "), strings.Join(slices.Compact(dirs), " and "))
	}
	return files, nil
}

func (cmd *reconcileCommand) print(r transcript.Result, calls []foundCall, problems []transcript.Problem) error {
	out := cmd.console.Stdout
	if !cmd.format.IsText() {
		classes := map[transcript.Class]int{}
		for _, class := range transcript.Classes {
			classes[class] = r.Classes[class]
		}
		text, err := json.Marshal(map[string]any{"calls": calls, "classes": classes, "no_result": r.NoResult, "no_call": r.NoCall, "problems": problems})
		if err == nil {
			_, err = fmt.Fprintln(out, string(text))
		}
		return err
	}
	for _, p := range problems {
		fmt.Fprintln(cmd.console.Stderr, console.Printable(p.Error()))
	}
	for _, c := range calls {
		line := strings.TrimRight(fmt.Sprintf("%s %s %s %s %s", c.Class, c.Session, c.ID, c.Tool, c.Summary), " ")
		if why := c.why(); why != "" {
			line += " (" + why + ")"
		}
		if _, err := fmt.Fprintln(out, console.Printable(line)); err != nil {
			return err
		}
	}
	var parts []string
	for _, class := range transcript.Classes {
		if class.IsCovered() {
			parts = append(parts, diag.Thousands(r.Classes[class])+" "+string(class))
		}
	}
	_, err := fmt.Fprintf(out, "%s, %s not covered\n%s calls without a result, %s decisions without a call\n", strings.Join(parts, ", "),
		diag.Thousands(len(calls)), diag.Thousands(r.NoResult), diag.Thousands(r.NoCall))
	return err
}

// why returns the agent's reason for a call without a decision, and otherwise the record of the
// decision.
func (c *foundCall) why() string {
	switch {
	case c.Seq > 0:
		return fmt.Sprintf("seq %d", c.Seq)
	case c.Agent != "":
		return strings.Join(slices.DeleteFunc([]string{c.Reason, "agent " + c.Agent}, func(s string) bool { return s == "" }), ", ")
	}
	return c.Reason
}
