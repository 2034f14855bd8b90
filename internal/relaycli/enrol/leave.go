package enrol

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/relaycli/daemon"
	"github.com/concerto-lang/concerto/relay/hostd/sealer"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
)

func leaveCommand(a *console.Console, s *daemon.HostdSettings) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "leave",
		Short: "Remove this machine and this command line from the account",
		Long: `Deletes the keys on this machine. If this command line is a device of an owner, it first removes
itself and this machine from the account. From then on hostd performs every command that its server
sends.

If no other device of an owner remains, only the recovery code changes the account later.`,
		Example: `  concerto-relay seal leave
  concerto-relay seal leave --yes`,
		Args: console.ArgsBetween(0, 0, "concerto-relay seal leave"),
		RunE: func(*cobra.Command, []string) error {
			return act(a, s, func(ctx context.Context, p *party) error { return p.leave(ctx, yes) })
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "leave without asking")
	return c
}

func (p *party) leave(ctx context.Context, yes bool) error {
	r := p.roster()
	if r == nil {
		return console.Usage(noAccount, "this machine has no account")
	}
	if err := p.noSealedRuns(ctx); err != nil {
		return err
	}
	if !yes {
		if err := p.requireTerminal("add --yes"); err != nil {
			return err
		}
		ok, err := p.confirm(ctx, "hostd will perform every command that its server sends, without a signature.\nLeave the account %s?", r.Account())
		if err != nil {
			return err
		}
		if !ok {
			return errors.New("this machine remains in the account")
		}
	}
	left, err := p.removeOwn(ctx)
	if err != nil { // the server may be lost, and leaving must remain possible
		fmt.Fprintf(p.Stderr, "concerto-relay: the account still lists this machine: %v\n", err)
	}
	reload := func() error {
		_, err := p.reload(ctx)
		return err
	}
	if err := sealer.Remove(p.id.State, reload); err != nil {
		return err
	}
	fmt.Fprintf(p.Stdout, "left the account %s\n", r.Account())
	for _, id := range left {
		fmt.Fprintf(p.Stdout, "on a device of an owner: concerto-relay devices remove %s\n", id)
	}
	return nil
}

// removeOwn removes this machine and this command line from the roster. It returns the ids that
// remain in it.
func (p *party) removeOwn(ctx context.Context) (left []string, err error) {
	if p.hasHost() {
		left = append(left, p.id.MachineID)
	}
	if p.device != nil && p.device.IsMember() {
		left = append(left, p.device.ID)
	}
	if p.device == nil {
		return left, nil
	}
	if self, _ := p.device.Roster.Member(p.device.ID); self.Role != seal.Owner {
		return left, nil
	}
	s, err := newServer(p.id)
	if err != nil {
		return left, err
	}
	if err := p.refresh(ctx, s); err != nil {
		return left, err
	}
	for len(left) > 0 {
		err := p.change(ctx, s, func(r *seal.Roster) ([]byte, error) {
			return r.RemoveMember(p.device.ID, p.device.Keys, left[0], now())
		})
		if err != nil {
			return left, err
		}
		left = left[1:]
	}
	return nil, nil
}

// noSealedRuns returns an error if the machine has a run whose events it could not seal any more
// without its account.
func (p *party) noSealedRuns(ctx context.Context) error {
	var st sealer.Status
	var list protocol.ListRunsResult
	err := p.id.Hostd.Call(ctx, http.MethodGet, "/seal", nil, &st)
	if err == nil && st.Epoch > 0 {
		err = p.id.Hostd.Call(ctx, http.MethodGet, "/runs", nil, &list)
	}
	for _, r := range list.Runs {
		if r.Status != protocol.StatusExited {
			return console.Usage("stop it, or wait for its end: `concerto-relay runs`", "run %s is sealed, and needs the keys of the account", r.RunID)
		}
	}
	if errors.As(err, new(*console.UsageError)) { // no hostd serves the socket, and so no run continues
		return nil
	}
	return err
}
