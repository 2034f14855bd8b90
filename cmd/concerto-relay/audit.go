package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/record/audit"
)

func (a *app) auditCommand() *cobra.Command {
	return a.group(&cobra.Command{
		Use:   "audit",
		Short: "Look at the server's audit log",
		Long: `The server records who logged in, who gave which input and decision, and what was
refused, in a chain: each line has the hash of the one before. An owner gets it by

  curl -H "Authorization: Bearer TOKEN" http://127.0.0.1:8787/audit > audit.ndjson`,
	}, a.auditVerifyCommand())
}

func (a *app) auditVerifyCommand() *cobra.Command {
	var head string
	c := &cobra.Command{
		Use:   "verify FILE",
		Short: "Say whether an audit log was changed",
		Long: `Goes through a log and holds each line to the one before, as ` + "`concerto audit verify`" + ` does.

  concerto-relay audit verify audit.ndjson
  concerto-relay audit verify audit.ndjson --head HASH

A chain does not show that its end was cut off: --head does, with the hash that was told
before.

Exit codes: 0 it is whole, 76 it is not, 2 the command was misused.`,
		Args: takes(1, 1, "concerto-relay audit verify audit.ndjson"),
		RunE: func(_ *cobra.Command, args []string) error { return a.auditVerify(args[0], head) },
	}
	c.Flags().StringVar(&head, "head", "", "one of its lines must have this `HASH`")
	return c
}

func (a *app) auditVerify(path, head string) error {
	f, err := userfile.Open(a.abs(path), userfile.Unlimited)
	if err != nil {
		return usage("an owner gets the log from GET /audit", "read the audit log: %v", err)
	}
	defer f.Close()
	said, err := audit.Verify(f, path, head)
	var broken *audit.BrokenError
	if errors.As(err, &broken) {
		fmt.Fprintln(a.stderr, broken.Error())
		return exitError(exitBroken)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "%d records, head %s\n", said.Records, said.Head.Hash)
	return err
}
