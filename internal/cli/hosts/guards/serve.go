package guards

import (
	"cmp"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/agents/guard/serve"
	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/engine/live"
	"github.com/concerto-lang/concerto/relay/protocol"
)

func newGuardServe(a *console.Console) *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Show the calls that wait for a person",
		Long: `Holds the calls of all guarded sessions of your user that wait for a person, and shows them in
'concerto top' and the relay. A hook starts this command when a call must wait. It prints a line
when it accepts connections, and ends ten minutes after the last call, or at once if another one
runs.`,
		Example: `  concerto guard serve`,
		Args:    console.Arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			places := guardPlaces(a)
			if places.State == "" {
				return errors.New("neither XDG_STATE_HOME nor HOME is set")
			}
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			var secrets secret.Set
			secrets.AddFromEnviron(a.Environ)
			return serve.Serve(ctx, serve.Options{
				Dir: places.Guard(), Shown: live.Directory(a.Environ), Secrets: &secrets, Log: a.Stderr,
				Hostd: cmp.Or(a.Getenv("CONCERTO_RELAY_SOCK"), a.Getenv("RELAY_HOSTD_SOCK"), protocol.HostdSocket(a.Getenv)),
			}, a.Stdout)
		},
	}
}
