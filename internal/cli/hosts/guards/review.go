package guards

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/agents/guard"
	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/engine/telemetry"
	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
)

// reviewCommand is one of the commands about recorded decisions, with its options.
type reviewCommand struct {
	console                *console.Console
	since, agent, decision string
	limit                  int
	apply                  bool
	format                 *cmdline.Format
}

// sinceFlag adds the flag --since.
func (cmd *reviewCommand) sinceFlag(c *cobra.Command, value string) {
	c.Flags().StringVar(&cmd.since, "since", value, "consider only calls after `TIME`, or of the last 12h or 7d")
}

func (cmd *reviewCommand) begin() (time.Time, error) {
	for _, form := range console.TimeForms {
		if at, err := time.ParseInLocation(form, cmd.since, time.Local); err == nil {
			return at, nil
		}
	}
	age, err := console.ParseDuration("--since", cmd.since)
	return time.Now().Add(-age), err
}

func newLog(a *console.Console) *cobra.Command {
	cmd := reviewCommand{console: a}
	c := &cobra.Command{
		Use:   "log",
		Short: "List decisions about calls",
		Long: `Lists the decisions about the calls of all sessions, the latest first: when, which agent, the
decision, which rule or person has made it, and the call. 'concerto audit show' of a session's
ledger shows each record.`,
		Example: `  concerto guard log --since 1d --decision deny
  concerto guard log --agent codex --format json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return cmd.log() },
	}
	cmd.sinceFlag(c, "7d")
	c.Flags().StringVar(&cmd.agent, "agent", "", "list only calls of `AGENT`")
	c.Flags().StringVar(&cmd.decision, "decision", "", "list only calls with the decision `DECISION`: allow, ask, deny or pass")
	c.Flags().IntVar(&cmd.limit, "limit", 100, "list at most `N` calls")
	cmd.format = cmdline.AddFormat(c, "text", "json")
	console.CompleteFlag(c, "agent", guard.SupportedAgents)
	return c
}

func (cmd *reviewCommand) log() error {
	since, err := cmd.begin()
	if err != nil {
		return err
	}
	if cmd.agent != "" {
		if err := console.OneOf("--agent", cmd.agent, guard.SupportedAgents()); err != nil {
			return err
		}
	}
	if cmd.decision != "" {
		if err := console.OneOf("--decision", cmd.decision, []string{"allow", "ask", "deny", "pass"}); err != nil {
			return err
		}
	}
	a, places := cmd.console, guardPlaces(cmd.console)
	rows := []guard.Past{}
	for past, err := range places.History(since) {
		if err != nil {
			return err
		}
		if (cmd.agent == "" || past.Agent == cmd.agent) && (cmd.decision == "" || past.Decision == cmd.decision) {
			rows = append(rows, past)
		}
		if len(rows) >= cmd.limit {
			break
		}
	}
	if !cmd.format.IsText() {
		return a.WriteJSON(rows)
	}
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TIME\tAGENT\tDECISION\tBY\tCALL")
	for _, r := range rows {
		decision := r.Decision
		if r.Ran == "alarm" {
			decision += ", alarm"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.Time.Local().Format(time.DateTime), r.Agent, decision, console.Printable(r.Actor.Name), console.Printable(r.Text()))
	}
	return w.Flush()
}

func newReplay(a *console.Console) *cobra.Command {
	cmd := reviewCommand{console: a}
	c := &cobra.Command{
		Use:   "replay",
		Short: "Replay recorded calls with the policy as it is now",
		Long: `Decides about the recorded calls of all sessions again, by the policies as they are now, and lists
the calls about which they decide otherwise; what is now allowed comes first. A call about which a
person has decided was a question. Nothing runs and nothing is recorded.

Exit codes: 0 there is no difference, 1 there are differences.`,
		Example: `  concerto guard replay --since 30d`,
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return cmd.replay() },
	}
	cmd.sinceFlag(c, "30d")
	cmd.format = cmdline.AddFormat(c, "text", "json")
	return c
}

func (cmd *reviewCommand) replay() error {
	since, err := cmd.begin()
	if err != nil {
		return err
	}
	a, places := cmd.console, guardPlaces(cmd.console)
	result, err := places.Replay(since)
	if err != nil {
		return err
	}
	if len(result.Differences) > 0 {
		a.ExitCode = console.ExitFailed
	}
	if !cmd.format.IsText() {
		return a.WriteJSON(result)
	}
	for _, d := range result.Differences {
		times := ""
		if d.Times > 1 {
			times = fmt.Sprintf(" (%d times)", d.Times)
		}
		fmt.Fprintf(a.Stdout, "%s -> %s  %s%s\n    %s\n", d.Was, d.Now, console.Printable(d.Last.Text()), times, console.Printable(d.By))
	}
	fmt.Fprintf(a.Stdout, "%s, %s", count(result.Calls, "call"), count(len(result.Differences), "difference"))
	if result.Skipped > 0 {
		fmt.Fprintf(a.Stdout, "; %d not decided again: stopped sessions, and calls that are not recorded completely", result.Skipped)
	}
	fmt.Fprintln(a.Stdout)
	return nil
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func newSuggest(a *console.Console) *cobra.Command {
	cmd := reviewCommand{console: a}
	c := &cobra.Command{
		Use:   "suggest",
		Short: "Print rules for calls that a person has always decided alike",
		Long: `Suggests rules for the project in the current directory, as a difference of its Concerto.toml: for
plain commands, tools of MCP servers and addresses, about which a person has decided at least five
times, and always alike. A rule covers the calls seen, and a trailing * only what follows their
first words, of which there are at least two. Chains of commands and files are never suggested, and
no rule allows a call that was denied. For each rule, the calls that it covers are listed, and what
else it covers.`,
		Example: `  concerto guard suggest
  concerto guard suggest --since 30d --apply`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return cmd.suggest() },
	}
	cmd.sinceFlag(c, "14d")
	c.Flags().BoolVar(&cmd.apply, "apply", false, "ask, and then change Concerto.toml")
	cmd.format = cmdline.AddFormat(c, "text", "json")
	return c
}

func (cmd *reviewCommand) suggest() error {
	since, err := cmd.begin()
	if err != nil {
		return err
	}
	a, places := cmd.console, guardPlaces(cmd.console)
	path := filepath.Join(a.Dir, manifest.FileName)
	before, err := userfile.Read(path, guard.MaxPolicy)
	if err != nil {
		return console.Usage("run the command in the directory of the project", "read %s: %v", manifest.FileName, console.Cause(err))
	}
	all, err := places.Suggest(since, a.Dir)
	if err != nil {
		return err
	}
	after := before
	for i := 0; i < len(all); i++ {
		next, err := manifest.AddGuardRule(after, all[i].Key, all[i].Rule)
		if err != nil {
			return console.Usage("then run the command again", "%v", err)
		}
		after = next
	}
	if !cmd.format.IsText() {
		return a.WriteJSON(map[string]any{"suggestions": append([]guard.Suggestion{}, all...)})
	}
	if len(all) == 0 {
		fmt.Fprintln(a.Stdout, "No calls were decided alike often enough.")
		return nil
	}
	for _, s := range all {
		fmt.Fprintf(a.Stdout, "%s %q answers %s as before:\n", s.Key, console.Printable(s.Rule), count(s.Times, "call"))
		for _, call := range s.Calls {
			fmt.Fprintf(a.Stdout, "    %s\n", console.Printable(call))
		}
		fmt.Fprintf(a.Stdout, "  it also covers: %s\n", console.Printable(s.Also))
	}
	for line := range strings.Lines(string(diff.Diff(manifest.FileName, before, manifest.FileName, after))) {
		if !strings.HasPrefix(line, "diff ") {
			fmt.Fprintln(a.Stdout, console.Printable(strings.TrimSuffix(line, "\n")))
		}
	}
	if !cmd.apply {
		return nil
	}
	fmt.Fprintf(a.Stdout, "Change %s? [y/N] ", manifest.FileName)
	line, _ := bufio.NewReader(a.Stdin).ReadString('\n') // without an answer, nothing changes
	if answer := strings.ToLower(strings.TrimSpace(line)); answer != "y" && answer != "yes" {
		fmt.Fprintln(a.Stdout, "nothing was changed")
		return nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if err := userfile.Replace(path, after, info.Mode().Perm()); err != nil {
		return err
	}
	_, _, err = places.Trust(a.Dir) // the person has seen the change
	return err
}

func newExport(a *console.Console) *cobra.Command {
	cmd := reviewCommand{console: a}
	c := &cobra.Command{
		Use:   "export",
		Short: "Send recorded decisions to a collector of OpenTelemetry",
		Long: `Sends the decisions of all sessions to the collector that OTEL_EXPORTER_OTLP_ENDPOINT and the other
variables of OpenTelemetry name. A session is a trace, and each call a span with the decision, who
has made it, and whether it was executed. Sending them again sends the same spans. The arguments are
not sent, but their hash.`,
		Example: `  OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318 concerto guard export --since 1d`,
		Args:    console.Arguments(0, 0),
		RunE:    func(*cobra.Command, []string) error { return cmd.export() },
	}
	cmd.sinceFlag(c, "1d")
	return c
}

func (cmd *reviewCommand) export() error {
	since, err := cmd.begin()
	if err != nil {
		return err
	}
	a, places := cmd.console, guardPlaces(cmd.console)
	sessions, total := map[string][]guard.Past{}, 0
	for past, err := range places.History(since) {
		if err != nil {
			return err
		}
		sessions[past.Session] = append(sessions[past.Session], past)
		total++
	}
	// All spans are added at once, so the queue must have room for them.
	size := fmt.Sprint("OTEL_BSP_MAX_QUEUE_SIZE=", max(2048, total+len(sessions)))
	t, problems := telemetry.Open(append(slices.Clone(a.Environ), size), telemetry.Options{Service: "concerto-guard", Version: a.Binary.Release})
	for _, p := range problems {
		a.Complain("warning: "+p, "")
	}
	if t == nil {
		return console.Usage("set OTEL_EXPORTER_OTLP_ENDPOINT to the address of a collector, such as http://localhost:4318", "no collector is configured")
	}
	for _, id := range slices.Sorted(maps.Keys(sessions)) {
		var calls []telemetry.GuardCall
		for _, p := range slices.Backward(sessions[id]) {
			calls = append(calls, telemetry.GuardCall{Tool: p.Tool, ID: p.ID, Args: p.Hash, Decision: p.Decision, ActorType: p.Actor.Type, Name: p.Actor.Name, Rule: p.Actor.At, At: p.Time, Took: p.Took, Executed: p.Ran != "", Alarm: p.Ran == "alarm"})
		}
		t.ExportGuarded(id, sessions[id][0].Agent, calls)
	}
	if failed := t.Close(); len(failed) > 0 {
		return errors.New(fmt.Sprint(&failed[0]))
	}
	fmt.Fprintf(a.Stdout, "exported %s in %s\n", count(total, "call"), count(len(sessions), "session"))
	return nil
}
