package enrol

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/relaycli/daemon"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/relay/client/machineapi"
	"github.com/concerto-lang/concerto/relay/seal"
)

// NewDevices returns the command devices.
func NewDevices(a *console.Console) *cobra.Command {
	var s daemon.HostdSettings
	c := a.Group(&cobra.Command{
		Use:   "devices COMMAND",
		Short: "Add, list and remove the devices of the account",
		Long: `A device is a browser or a command line that may decide, type and start runs on the machines of an
account. 'concerto-relay seal init' creates the account; an owner's device adds and removes others.`,
		Example: `  concerto-relay devices add                 enrol a phone by a QR code
  concerto-relay devices add --by-code       enrol a command line by six digits
  concerto-relay devices list
  concerto-relay devices remove phone`,
	}, addCommand(a, &s), joinCommand(a, &s), listCommand(a, &s), removeCommand(a, &s), grantCommand(a, &s))
	daemon.IdentityFlags(a, c.PersistentFlags(), &s)
	return c
}

func listCommand(a *console.Console, s *daemon.HostdSettings) *cobra.Command {
	var format *cmdline.Format
	c := &cobra.Command{
		Use:   "list",
		Short: "List the members of the account",
		Long: `Lists the devices and hosts of the account. Names are those that this command line has seen: the
account itself contains ids and users.`,
		Example: `  concerto-relay devices list
  concerto-relay devices list --format ndjson | jq -r 'select(.role == "owner") | .id'`,
		Args: console.ArgsBetween(0, 0, "concerto-relay devices list"),
		RunE: func(*cobra.Command, []string) error {
			return act(a, s, func(ctx context.Context, p *party) error { return p.list(ctx, !format.IsText()) })
		},
	}
	format = cmdline.AddFormat(c, "text", "ndjson")
	return c
}

func removeCommand(a *console.Console, s *daemon.HostdSettings) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "remove ID|NAME",
		Short: "Remove a device or a host from the account",
		Long: `Removes a member, and waits until the machines of the account have confirmed that. Each machine
refuses the member's commands as soon as it has read the change at the server: this machine at once,
connected ones within a minute, others when they connect. The confirmations are signed. A removed
host performs no signed command any more; run 'concerto-relay seal leave' there.

Remove a lost phone here, and end its session: 'concerto-relay token list' and 'token revoke'.`,
		Example: `  concerto-relay devices list
  concerto-relay devices remove phone
  concerto-relay devices remove d_2Fq0a7cQyZbq9c3Jm0d6kw --yes`,
		Args: console.ArgsBetween(1, 1, "concerto-relay devices remove phone"),
		RunE: func(_ *cobra.Command, args []string) error {
			return act(a, s, func(ctx context.Context, p *party) error { return p.remove(ctx, args[0], yes) })
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "remove without asking")
	return c
}

func (p *party) list(ctx context.Context, asJSON bool) error {
	if p.roster() == nil {
		return console.Usage(noAccount, "this machine has no account")
	}
	if err := p.refreshIfPossible(ctx); err != nil {
		return err
	}
	all, err := p.members()
	if err != nil {
		return err
	}
	if asJSON {
		return console.JSONLines(p.Stdout, all)
	}
	return printMembers(p.Console, all)
}

func (p *party) remove(ctx context.Context, what string, yes bool) error {
	if !yes {
		if err := p.requireTerminal("add --yes"); err != nil {
			return err
		}
	}
	s, err := p.owner(ctx)
	if err != nil {
		return err
	}
	m, err := p.find(what)
	if err != nil {
		return err
	}
	if !yes {
		ok, err := p.confirm(ctx, "Remove %s%s?", m.describe(), m.warning(p.device.ID))
		if err != nil {
			return err
		}
		if !ok {
			return errors.New("nothing was removed")
		}
	}
	err = p.change(ctx, s, func(r *seal.Roster) ([]byte, error) {
		return r.RemoveMember(p.device.ID, p.device.Keys, m.ID, now())
	})
	if err != nil {
		return err
	}
	if err := p.device.SetName(m.ID, ""); err != nil {
		return err
	}
	fmt.Fprintf(p.Stdout, "removed %s\n", m.describe())
	if m.Kind == seal.Host {
		return nil // no keys of the other hosts change
	}
	return p.awaitHosts(ctx, s)
}

// confirmTimeout is for how long a removal waits for machines, which read the list every minute.
const confirmTimeout = 75 * time.Second

// awaitHosts waits until the machines of the account have confirmed the last line of the list, and
// reports those that have not.
func (p *party) awaitHosts(ctx context.Context, s *machineapi.Client) error {
	wait, cancel := context.WithTimeout(ctx, confirmTimeout)
	defer cancel()
	each := time.NewTicker(time.Second)
	defer each.Stop()
	var open []string
	for _, m := range p.device.Roster.Members() {
		if m.Kind == seal.Host {
			open = append(open, m.ID)
		}
	}
	for isFirst := true; ; isFirst = false {
		var rest []string
		for _, host := range open {
			n, err := p.device.ConfirmedLine(wait, s, host)
			switch {
			case err != nil && wait.Err() == nil:
				return err
			case n == p.device.Roster.Head().N:
				fmt.Fprintf(p.Stdout, "confirmed by %s\n", display(host))
			default:
				rest = append(rest, host)
			}
		}
		if open = rest; len(open) == 0 {
			return nil
		}
		if isFirst {
			fmt.Fprintln(p.Stderr, "waiting until the machines have read that, at most 75 s; Ctrl-C does not undo it")
		}
		select {
		case <-each.C:
			continue
		case <-wait.Done():
		}
		for i := range open {
			open[i] = display(open[i])
		}
		_, err := fmt.Fprintf(p.Stdout, "not confirmed by %s, which may be offline: until then, `concerto-relay seal status` shows an earlier line\n", strings.Join(open, ", "))
		return err
	}
}

// find returns the member with an id or a name.
func (p *party) find(what string) (*member, error) {
	all, err := p.members()
	if err != nil {
		return nil, err
	}
	var found []*member
	for i := range all {
		if all[i].ID == what {
			return &all[i], nil
		}
		if all[i].Name == what {
			found = append(found, &all[i])
		}
	}
	switch len(found) {
	case 0:
		return nil, console.Usage("`concerto-relay devices list` shows the members", "the account has no member %q", what)
	case 1:
		return found[0], nil
	}
	return nil, console.Usage("name it by its id: `concerto-relay devices list` shows it", "%d members have the name %q", len(found), what)
}
