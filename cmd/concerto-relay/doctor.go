package main

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/relay/hostd/doctor"
)

func (a *app) doctorCommand() *cobra.Command {
	var s hostdSettings
	var format *cmdline.Format
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check the setup of hostd on this machine",
		Long: `Prints a line for each check: its result (ok, warn or fail) and what to do. The checks use the
settings of hostd. Exit code 1 reports a failed check.`,
		Example: `  concerto-relay doctor
  concerto-relay doctor --format ndjson | jq -r 'select(.status != "ok") | .do'`,
		Args: argsBetween(0, 0, "concerto-relay doctor"),
		RunE: func(c *cobra.Command, _ []string) error {
			s.complete(a)
			all := doctor.Run(c.Context(), doctor.Options{Environ: a.environ, State: s.state, Socket: s.socket, Server: s.server, MachineID: s.machineID,
				TokenFile: s.tokenFile, Token: a.env("HOST_TOKEN"), LogFile: s.log})
			return a.printChecks(all, !format.IsText())
		},
	}
	a.hostdPathFlags(c.Flags(), &s)
	format = cmdline.AddFormat(c, "text", "ndjson")
	return c
}

func (a *app) printChecks(all []doctor.Check, asJSON bool) error {
	if !asJSON {
		failed, err := doctor.Write(a.stdout, all)
		if err == nil && failed {
			a.exit = exitFailed
		}
		return err
	}
	to := json.NewEncoder(a.stdout)
	for _, c := range all {
		if err := to.Encode(c); err != nil {
			return err
		}
		if c.Status == doctor.Fail {
			a.exit = exitFailed
		}
	}
	return nil
}
