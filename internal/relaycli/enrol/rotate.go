package enrol

import (
	"context"
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
backup, because hostd has then forgotten which signatures were used, and which links have ended. If
hostd seals events, their keys are new from the next event on. Devices need to do nothing. The links
of ` + "`concerto-relay share`" + ` end.`,
		Example: `  concerto-relay seal rotate`,
		Args:    console.ArgsBetween(0, 0, "concerto-relay seal rotate"),
		RunE: func(*cobra.Command, []string) error {
			return act(a, s, func(ctx context.Context, p *party) error { return p.rotate(ctx) })
		},
	}
}

func (p *party) rotate(ctx context.Context) error {
	if !p.hasHost() {
		return console.Usage("`concerto-relay seal init` creates one", "this machine is no host of an account")
	}
	var st sealer.Status
	if err := p.id.Hostd.Call(ctx, http.MethodPost, "/seal/rotate", nil, &st); err != nil {
		return err
	}
	_, err := fmt.Fprintf(p.Stdout, "hostd refuses what was signed before; links that share runs have ended; epoch %d has begun\n", st.Epoch)
	return err
}
