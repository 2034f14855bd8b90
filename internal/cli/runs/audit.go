package runs

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/runner"
	"github.com/concerto-lang/concerto/internal/cli/runs/locate"
	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/internal/term/terminal"
	"github.com/concerto-lang/concerto/runtime/tool"
)

func NewAudit(a *console.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "audit COMMAND",
		Short: "Verify, show and reconcile audit logs",
		Long: `With --audit FILE, or [audit] file in the manifest, a run records every tool call, performed or
denied, in a log whose records are chained by hashes. 'concerto help recordings' lists all
recordings of a run.`,
		Example: `  concerto run --audit audit.ndjson triage.conc
  concerto audit verify audit.ndjson
  concerto audit show audit.ndjson --since 24h`,
		Args: console.UnknownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newAuditVerify(a), newAuditShow(a), newAuditReconcile(a))
	return c
}

// verifyCommand is the command audit verify with its options.
type verifyCommand struct {
	console         *console.Console
	head            string
	roster, account string // with roster, the signatures of decisions are verified, too
}

func newAuditVerify(a *console.Console) *cobra.Command {
	cmd := verifyCommand{console: a}
	c := &cobra.Command{
		Use:   "verify FILE|RUN",
		Short: "Verify that an audit log is unchanged",
		Long: `Recomputes the hashes of an audit log, or of the ledger of a stored run. Prints the number of
records and calls, the calls without an end, and the hash of the last record.

If the last records of a log were removed, its hashes are still correct. To detect this, note the
hash that the run or verify prints, and require it with --head in a later call.

With --roster, also verifies who has signed the decisions in the ledger of a machine with an account
('concerto-relay seal'): FILE is its list of members, STATE/seal/roster.ndjson. Prints the decisions
by devices, those at the machine itself (local), and those without a signature.

Exit codes: 0 unchanged, 76 changed or not signed by a member, 2 the command was misused.`,
		Example: `  concerto audit verify audit.ndjson
  concerto audit verify audit.ndjson --head HASH
  concerto audit verify ledger.ndjson --roster seal/roster.ndjson --account a_…
  concerto audit verify job                        verify the ledger of a stored run`,
		Args: oneFile,
		RunE: func(c *cobra.Command, args []string) error { return cmd.verify(c.Context(), args[0]) },
	}
	locate.AddEngineFlag(a, c)
	c.Flags().StringVar(&cmd.head, "head", "", "fail if no record has `HASH`")
	c.Flags().StringVar(&cmd.roster, "roster", "", "verify the signatures of decisions by the members in `FILE`")
	c.Flags().StringVar(&cmd.account, "account", "", "fail if the roster is not that of the account `ID`")
	return c
}

// oneFile accepts exactly one argument, the path of a log.
func oneFile(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return console.Usage("for example: "+c.CommandPath()+" audit.ndjson", "%s requires one file", c.CommandPath())
	}
	return nil
}

// auditLog opens a log for reading: a file, or the ledger of a stored run. It returns the name of
// the log. For the ledger of a finished run it also returns the hash of the last record.
func auditLog(ctx context.Context, a *console.Console, path string) (f io.ReadCloser, name, head string, err error) {
	if info, err := os.Stat(a.Abs(path)); err != nil || info.IsDir() {
		run, err := locate.Find(ctx, a, path, locate.Reader)
		if err == nil {
			stored, err := runner.OpenStored(a, run)
			if err != nil {
				return nil, "", "", err
			}
			head = stored.LedgerHead
			if run.Engine != nil {
				lines, err := run.Engine.Ledger(ctx, run.ID)
				text := strings.Join(append(lines, ""), "\n")
				return io.NopCloser(strings.NewReader(text)), "ledger of run " + run.ID, head, err
			}
			path = filepath.Join(a.Relative(run.Dir), rundir.LedgerFile)
		} else if url, uerr := locate.EngineURL(a); uerr != nil || url != "" {
			return nil, "", "", err
		}
	}
	f, err = userfile.Open(a.Abs(path), userfile.Unlimited)
	if err != nil {
		return nil, "", "", console.Usage("name the FILE of `concerto run --audit FILE`, or a stored run", "read %s: %v", path, console.Cause(err))
	}
	return f, path, head, nil
}

func (cmd *verifyCommand) verify(ctx context.Context, path string) error {
	if raw, err := hex.DecodeString(cmd.head); err != nil || cmd.head != "" && len(raw) != 32 || strings.ToLower(cmd.head) != cmd.head {
		return console.Usage("give the 64 digits that `concerto audit verify` prints after `head`", "invalid value %q for --head", cmd.head)
	}
	signatures, err := cmd.readRoster()
	if err != nil {
		return err
	}
	f, path, last, err := auditLog(ctx, cmd.console, path)
	if err != nil {
		return err
	}
	defer f.Close()
	if signatures != nil {
		return cmd.verifySigned(f, path, cmp.Or(cmd.head, last), signatures)
	}
	s, err := audit.Verify(f, path, cmp.Or(cmd.head, last))
	if err != nil {
		return auditReadError(cmd.console, err)
	}
	_, err = fmt.Fprintln(cmd.console.Stdout, s)
	return err
}

// auditReadError returns the error for a log that could not be read. If the log was modified, it
// prints the position and returns an ExitError.
func auditReadError(a *console.Console, err error) error {
	var broken *audit.BrokenError
	if !errors.As(err, &broken) {
		return err
	}
	fmt.Fprintln(a.Stderr, terminal.Escape(broken.Error()))
	return console.ExitError(console.ExitBroken)
}

// outcomes returns the valid values of --outcome.
func outcomes() []string {
	var all []string
	for _, o := range tool.Outcomes {
		all = append(all, string(o))
	}
	return all
}

// showCommand is the command audit show with its options.
type showCommand struct {
	console *console.Console
	filter  audit.Filter
	since   string
	format  *cmdline.Format
}

func newAuditShow(a *console.Console) *cobra.Command {
	cmd := showCommand{console: a}
	c := &cobra.Command{
		Use:   "show FILE|RUN",
		Short: "Show the records of an audit log",
		Long: `Prints the records for people, or with --format ndjson as they are in the file. Exits with code 76
if a record was changed. --since accepts a time (2026-01-05T10:00:00Z, 2026-01-05) or an age (90s,
2h).`,
		Example: `  concerto audit show audit.ndjson
  concerto audit show audit.ndjson --tool deploy --since 24h
  concerto audit show audit.ndjson --outcome denied --format ndjson`,
		Args: oneFile,
		RunE: func(c *cobra.Command, args []string) error { return cmd.show(c.Context(), args[0]) },
	}
	locate.AddEngineFlag(a, c)
	c.Flags().StringVar(&cmd.filter.Tool, "tool", "", "show only calls of the tool `NAME`")
	c.Flags().StringVar(&cmd.filter.Session, "session", "", "show only records of `ID`: a run, or an agent's conversation")
	c.Flags().StringVar(&cmd.filter.Outcome, "outcome", "", "show only calls with `OUTCOME`: ok, denied, …")
	c.Flags().StringVar(&cmd.since, "since", "", "show only records after `TIME`")
	cmd.format = cmdline.AddFormatUsage(c, "print as `FORMAT`: text or ndjson (default text)", "text", "ndjson")
	console.CompleteFlag(c, "outcome", outcomes)
	return c
}

// sinceTime parses the value of --since; it returns the zero time for "".
func sinceTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	for _, form := range console.TimeForms {
		if at, err := time.Parse(form, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, console.Usage("write a time (2026-01-05T10:00:00Z, 2026-01-05) or an age (2h)", "invalid value %q for --since", text)
}

func (cmd *showCommand) show(ctx context.Context, path string) (err error) {
	if cmd.filter.Since, err = sinceTime(cmd.since, time.Now()); err != nil {
		return err
	}
	if cmd.filter.Outcome != "" {
		if err := console.OneOf("--outcome", cmd.filter.Outcome, outcomes()); err != nil {
			return err
		}
	}
	file, path, _, err := auditLog(ctx, cmd.console, path)
	if err != nil {
		return err
	}
	defer file.Close()
	for l, err := range audit.Lines(file, path) {
		if err != nil {
			return auditReadError(cmd.console, err)
		}
		if !cmd.filter.Match(l) {
			continue
		}
		text := string(l.Text)
		if cmd.format.IsText() {
			text = console.Printable(l.String())
		}
		if _, err := fmt.Fprintln(cmd.console.Stdout, text); err != nil {
			return err
		}
	}
	return nil
}
