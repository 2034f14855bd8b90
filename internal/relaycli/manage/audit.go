package manage

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/relaycli/console"
)

// NewAudit returns the command audit.
func NewAudit(a *console.Console) *cobra.Command {
	return a.Group(&cobra.Command{
		Use:   "audit COMMAND",
		Short: "Verify the server's audit log",
		Long: `The server records logins, inputs, decisions and changes of users, tokens and machines in a log
whose records are chained by hashes.`,
		Example: `  curl -H "Authorization: Bearer TOKEN" http://127.0.0.1:8787/audit > audit.ndjson
  concerto-relay audit verify audit.ndjson`,
	}, auditVerifyCommand(a))
}

func auditVerifyCommand(a *console.Console) *cobra.Command {
	var head string
	c := &cobra.Command{
		Use:   "verify FILE",
		Short: "Verify that an audit log is unchanged",
		Long: `Recomputes the hashes of an audit log, as 'concerto audit verify' does. If the last records of a log
were removed, its hashes are still correct. To detect this, note the hash that verify prints, and
require it with --head in a later call.

Exit codes: 0 unchanged, 76 changed, 2 the command was misused.`,
		Example: `  concerto-relay audit verify audit.ndjson
  concerto-relay audit verify audit.ndjson --head HASH`,
		Args: console.ArgsBetween(1, 1, "concerto-relay audit verify audit.ndjson"),
		RunE: func(_ *cobra.Command, args []string) error { return auditVerify(a, args[0], head) },
	}
	c.Flags().StringVar(&head, "head", "", "fail if no record has `HASH`")
	return c
}

func auditVerify(a *console.Console, path, head string) error {
	f, err := userfile.Open(a.Abs(path), userfile.Unlimited)
	if err != nil {
		return console.Usage("an owner can download the log from GET /audit", "read the audit log: %v", err)
	}
	defer f.Close()
	report, err := audit.Verify(f, path, head)
	var broken *audit.BrokenError
	if errors.As(err, &broken) {
		fmt.Fprintln(a.Stderr, broken.Error())
		return console.ExitError(console.ExitBroken)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Stdout, "%d records, head %s\n", report.Records, report.Head.Hash)
	return err
}
