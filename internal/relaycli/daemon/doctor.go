package daemon

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/relay/hostd/doctor"
)

// NewDoctor returns the command doctor.
func NewDoctor(a *console.Console) *cobra.Command {
	var s HostdSettings
	var format *cmdline.Format
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check the setup of hostd on this machine",
		Long: `Prints a line for each check: its result (ok, warn or fail) and what to do. The checks use the
settings of hostd. Exit code 1 reports a failed check.`,
		Example: `  concerto-relay doctor
  concerto-relay doctor --format ndjson | jq -r 'select(.status != "ok") | .do'`,
		Args: console.ArgsBetween(0, 0, "concerto-relay doctor"),
		RunE: func(c *cobra.Command, _ []string) error {
			s.Complete(a)
			all := doctor.Run(c.Context(), doctor.Options{Environ: a.Environ, State: s.state, Socket: s.socket, Server: s.Server, MachineID: s.machineID,
				TokenFile: s.tokenFile, Token: a.Env("HOST_TOKEN"), LogFile: s.log})
			return printChecks(a, append(all, pageChecks(c.Context(), a, &s)...), !format.IsText())
		},
	}
	hostdPathFlags(a, c.Flags(), &s)
	pageCertFlags(c.Flags(), &s)
	format = cmdline.AddFormat(c, "text", "ndjson")
	return c
}

func printChecks(a *console.Console, all []doctor.Check, asJSON bool) error {
	if !asJSON {
		failed, err := doctor.Write(a.Stdout, all)
		if err == nil && failed {
			a.Exit = console.ExitFailed
		}
		return err
	}
	to := json.NewEncoder(a.Stdout)
	for _, c := range all {
		if err := to.Encode(c); err != nil {
			return err
		}
		if c.Status == doctor.Fail {
			a.Exit = console.ExitFailed
		}
	}
	return nil
}
