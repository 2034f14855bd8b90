package manage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/relay/server/pair"
)

func (l *localManager) lookPairing(ctx context.Context, code string) (name, fingerprint string, err error) {
	return pair.Look(ctx, l.store, code, time.Now().UnixMilli())
}

func (l *localManager) confirmPairing(ctx context.Context, code string) (machine string, err error) {
	return pair.Confirm(ctx, l.store, CommandLine, code, time.Now().UnixMilli())
}

func (s *remoteManager) lookPairing(ctx context.Context, code string) (name, fingerprint string, err error) {
	var out struct{ Name, Fingerprint string }
	err = s.Call(ctx, "POST", "/pair/look", map[string]string{"code": code}, &out)
	return out.Name, out.Fingerprint, err
}

func (s *remoteManager) confirmPairing(ctx context.Context, code string) (machine string, err error) {
	var out struct {
		MachineID string `json:"host_id"`
	}
	err = s.Call(ctx, "POST", "/pair/confirm", map[string]string{"code": code}, &out)
	return out.MachineID, err
}

// NewPairConfirm returns the command pair confirm.
func NewPairConfirm(a *console.Console) *cobra.Command {
	w := &managerFlags{}
	var format *cmdline.Format
	c := &cobra.Command{
		Use:   "confirm CODE",
		Short: "Confirm the machine that shows a code",
		Long: `On a terminal, shows the machine's fingerprint and asks before it confirms the machine. Answer yes
only if that machine shows the same fingerprint. Without a terminal, confirms without asking.` + whereHelp,
		Example: `  concerto-relay pair confirm ABCD-EFGH
  concerto-relay pair confirm ABCD-EFGH --server https://relay.example --token-file token`,
		Args: console.ArgsBetween(1, 1, "concerto-relay pair confirm ABCD-EFGH"),
	}
	yes := false
	c.RunE = func(_ *cobra.Command, args []string) error {
		return withManager(a, w, false, func(ctx context.Context, p manager) error {
			name, print, err := p.lookPairing(ctx, args[0])
			if err != nil {
				return err
			}
			name = console.DisplayText(name, MostName) // the name comes from the server, which is not trusted
			if !yes && format.IsText() && a.Terminal().Keys {
				fmt.Fprintf(a.Stderr, "%s shows %s; is it the fingerprint on that machine? [y/N] ", name, print)
				if answer, err := console.FirstLine(a.Stdin); err != nil || !strings.HasPrefix(strings.ToLower(answer), "y") {
					return errors.New("the pairing was not confirmed")
				}
			}
			machine, err := p.confirmPairing(ctx, args[0])
			switch {
			case err != nil:
				return err
			case !format.IsText():
				return json.NewEncoder(a.Stdout).Encode(map[string]string{"host_id": machine, "name": name, "fingerprint": print})
			}
			_, err = fmt.Fprintf(a.Stdout, "%s (%s) is paired as %s\n", name, print, machine)
			return err
		})
	}
	f := c.Flags()
	addManagerFlags(a, c, w)
	format = cmdline.AddFormat(c, "text", "json")
	f.BoolVar(&yes, "yes", false, "confirm without asking")
	return c
}

// Maximum widths of a name and a link that the server sent, in terminal columns.
const MostName, MostLink = 64, 2048
