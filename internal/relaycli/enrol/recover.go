package enrol

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/relaycli/daemon"
	"github.com/concerto-lang/concerto/internal/relaycli/device"
	"github.com/concerto-lang/concerto/relay/client/machineapi"
	"github.com/concerto-lang/concerto/relay/seal"
)

func recoverCommand(a *console.Console, s *daemon.HostdSettings) *cobra.Command {
	var name, file, account string
	c := &cobra.Command{
		Use:   "recover",
		Short: "Add this command line by the recovery code",
		Long: `Makes this command line a device of an owner, by the recovery code that 'concerto-relay seal init'
has shown. Use it when all devices are lost, and remove those afterwards.

On a machine that is no host of the account, name the account with --account. That machine becomes a
host, too.`,
		Example: `  concerto-relay seal recover
  concerto-relay seal recover --account a_… --server https://relay.example --token-file token`,
		Args: console.ArgsBetween(0, 0, "concerto-relay seal recover"),
		RunE: func(*cobra.Command, []string) error {
			return act(a, s, func(ctx context.Context, p *party) error { return p.recover(ctx, name, file, account) })
		},
	}
	c.Flags().StringVar(&name, "user", "", "record `NAME` as the user of this command line (default: your user name)")
	c.Flags().StringVar(&file, "code-file", "", "read the recovery code from `FILE` instead of the terminal")
	c.Flags().StringVar(&account, "account", "", "recover the account `ID` (default: that of this machine)")
	return c
}

func (p *party) recover(ctx context.Context, name, file, account string) error {
	r := p.roster()
	switch {
	case r == nil && account == "":
		return console.Usage("add --account ID; `concerto-relay seal status` shows it on a machine of the account", "this machine has no account")
	case r != nil && account != "" && account != r.Account():
		return console.Usage("`concerto-relay seal leave` leaves it", "this machine has another account, %s", r.Account())
	case p.device != nil && p.device.IsMember():
		return console.Usage("`concerto-relay devices remove` removes the lost ones", "this command line is a device of the account")
	}
	var known seal.Position
	if r != nil {
		account, known = r.Account(), r.Head()
	}
	s, err := newServer(p.id)
	if err != nil {
		return err
	}
	text, err := s.Roster(ctx, account, 0)
	if errors.Is(err, machineapi.ErrUnknownAccount) && r != nil {
		text, err = r.Text(), s.Publish(ctx, account, r.Text())
	}
	if err != nil {
		return err
	}
	if r, err = seal.ParseRoster(text, account, known); err != nil {
		return device.ForkError(err)
	}
	recovery, err := p.recoveryKeys(ctx, r, file)
	if err != nil {
		return err
	}
	keys, self := newDevice(account, p.userName(name), seal.Owner)
	line, err := r.AddMember(seal.ByRecovery, recovery, self, now())
	if err == nil {
		err = r.Append(line)
	}
	if err == nil {
		err = s.Publish(ctx, account, append(line, '\n'))
	}
	if err != nil {
		return err
	}
	if p.device, err = device.Create(p.id.State, keys, r); err != nil {
		return err
	}
	if err := p.setName(self.ID, "command line of "+hostname()); err != nil {
		return err
	}
	if _, err := p.reload(ctx); err != nil {
		return err
	}
	fmt.Fprintf(p.Stdout, "account  %s\ndevice   %s (this command line, user %s, role owner)\nnext: concerto-relay devices list, and devices remove for each lost device\n", account, self.ID, display(self.User))
	if err := p.recoverEpochs(ctx, s, recovery); err != nil {
		return err
	}
	return p.joinHost(ctx, s, self)
}

// recoveryKeys opens the recovery keys with the code that the user types, or that a file contains.
func (p *party) recoveryKeys(ctx context.Context, r *seal.Roster, file string) (*seal.Keys, error) {
	var typed string
	if file != "" {
		text, err := userfile.ReadStream(p.Abs(file), userfile.MaxSecret)
		if err != nil {
			return nil, p.InvalidSetting("code-file", "", "%v", err)
		}
		typed = string(text)
	} else {
		if err := p.requireTerminal("add --code-file FILE"); err != nil {
			return nil, err
		}
		var err error
		if typed, err = p.ask(ctx, "Recovery code: "); err != nil {
			return nil, err
		}
	}
	code, err := seal.ParseRecoveryCode(strings.TrimSpace(typed))
	if err != nil {
		return nil, console.Usage("a code has seven groups of four; case, spaces and hyphens do not matter", "this is not a recovery code")
	}
	keys, err := r.RecoveryKeys(code)
	return keys, explain(err)
}
