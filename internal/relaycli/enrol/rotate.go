package enrol

import (
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/relaycli/daemon"
	"github.com/concerto-lang/concerto/relay/hostd/sealer"
)

func rotateCommand(a *console.Console, s *daemon.HostdSettings) *cobra.Command {
	return &cobra.Command{
		Use:   "rotate",
		Short: "Change the keys of this machine, and refuse what was signed before",
		Long: `hostd refuses everything that was signed before: run it after you have restored this machine from a
backup, because hostd has then forgotten which signatures were used. If hostd seals events, their
keys are new from the next event on. Devices need to do nothing.`,
		Example: `  concerto-relay seal rotate`,
		Args:    console.ArgsBetween(0, 0, "concerto-relay seal rotate"),
		RunE: func(*cobra.Command, []string) error {
			ctx, stop := a.SignalContext()
			defer stop()
			p, err := open(ctx, a, s)
			if err != nil {
				return err
			}
			if !p.hasHost() {
				return console.Usage("`concerto-relay seal init` creates one", "this machine is no host of an account")
			}
			var st sealer.Status
			if err := p.id.Hostd.Call(ctx, http.MethodPost, "/seal/rotate", nil, &st); err != nil {
				return err
			}
			text := "hostd refuses what was signed before"
			if st.Epoch > 0 {
				text += fmt.Sprintf("; epoch %d has begun", st.Epoch)
			}
			_, err = fmt.Fprintln(a.Stdout, text)
			return err
		},
	}
}
