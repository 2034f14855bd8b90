package enrol

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/relaycli/daemon"
	"github.com/concerto-lang/concerto/relay/client/machineapi"
	"github.com/concerto-lang/concerto/relay/seal"
)

func grantCommand(a *console.Console, s *daemon.HostdSettings) *cobra.Command {
	return &cobra.Command{
		Use:   "grant ID|NAME",
		Short: "Send the keys of older runs to a device",
		Long: `Wraps the keys that this command line has, of sealed runs of all machines, for another device. A
machine does that itself when it is online, so this is only needed if a machine is lost. This
command line has the keys of the machines whose runs it has opened, and all after 'concerto-relay
seal recover'.`,
		Example: `  concerto-relay devices grant phone`,
		Args:    console.ArgsBetween(1, 1, "concerto-relay devices grant phone"),
		RunE: func(_ *cobra.Command, args []string) error {
			return act(a, s, func(ctx context.Context, p *party) error { return p.grant(ctx, args[0]) })
		},
	}
}

func (p *party) grant(ctx context.Context, what string) error {
	s, err := p.owner(ctx)
	if err != nil {
		return err
	}
	m, err := p.find(what)
	if err != nil {
		return err
	}
	if m.Kind != seal.Device {
		return console.Usage("`concerto-relay devices list` shows the devices", "%s is no device", m.describe())
	}
	all, err := p.device.Histories(m.ID)
	if err != nil {
		return explain(err)
	}
	if len(all) == 0 {
		return console.Usage("`concerto-relay runs --server URL --token-file FILE` opens the runs that it can", "this command line has no keys of sealed runs")
	}
	for host, text := range all {
		if err := s.PublishHistory(ctx, p.device.Roster.Account(), host, m.ID, text); err != nil {
			return fmt.Errorf("send the keys of machine %s: %w", display(host), err)
		}
	}
	_, err = fmt.Fprintf(p.Stdout, "sent the keys of %d of the account's machines to %s\n", len(all), m.describe())
	return err
}

// recoverEpochs stores the keys of older runs that the recovery keys open, of all machines of the
// account.
func (p *party) recoverEpochs(ctx context.Context, s *machineapi.Client, recovery *seal.Keys) error {
	r := p.device.Roster
	for _, m := range r.Members() {
		if m.Kind != seal.Host {
			continue
		}
		records, err := s.KeyRecords(ctx, r.Account(), m.ID, 0)
		if errors.Is(err, machineapi.ErrUnknownAccount) {
			continue // the machine does not seal its events
		}
		n := 0
		if err == nil {
			n, err = p.device.RecoverEpochs(m.ID, records, recovery)
		}
		if err != nil {
			return fmt.Errorf("recover the keys of machine %s: %w", display(m.ID), err)
		}
		fmt.Fprintf(p.Stdout, "keys     of %s: its runs of %d epochs can be read\n", display(m.ID), n)
	}
	return nil
}
