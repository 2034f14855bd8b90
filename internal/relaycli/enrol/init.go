package enrol

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/relaycli/daemon"
	"github.com/concerto-lang/concerto/internal/relaycli/device"
	"github.com/concerto-lang/concerto/relay/hostd/sealer"
	"github.com/concerto-lang/concerto/relay/seal"
)

// NewSeal returns the command seal.
func NewSeal(a *console.Console) *cobra.Command {
	var s daemon.HostdSettings
	c := a.Group(&cobra.Command{
		Use:   "seal COMMAND",
		Short: "Set up the account whose devices this machine obeys",
		Long: `Without an account, hostd performs every command that its server sends. With one, it performs only
what a device of the account has signed, so whoever runs or has broken into the server cannot
approve, type or start anything on this machine. The server can still read everything.

The commands use the settings of hostd. Their files are in STATE/seal: of hostd's state directory.`,
		Example: `  concerto-relay pair --server https://relay.example
  concerto-relay seal init                   create the account, and note the recovery code
  concerto-relay devices add                 enrol your phone by a QR code`,
	}, initCommand(a, &s), statusCommand(a, &s), policyCommand(a, &s), rotateCommand(a, &s), recoverCommand(a, &s), leaveCommand(a, &s))
	daemon.IdentityFlags(a, c.PersistentFlags(), &s)
	return c
}

func initCommand(a *console.Console, s *daemon.HostdSettings) *cobra.Command {
	var name, file string
	c := &cobra.Command{
		Use:   "init",
		Short: "Create an account with this machine and this command line",
		Long: `Creates an account whose first members are this machine and this command line, as a device of an
owner. Prints the recovery code, of which you type two groups: write it down, on paper or in a
password manager. It is stored nowhere else, and is needed if all devices are lost.

From then on hostd performs only signed commands. Enrol your other devices before you rely on them:
'concerto-relay devices add'.`,
		Example: `  concerto-relay seal init
  concerto-relay seal init --user ann
  concerto-relay seal init --code-file recovery-code     without a terminal`,
		Args: console.ArgsBetween(0, 0, "concerto-relay seal init"),
		RunE: func(*cobra.Command, []string) error {
			return act(a, s, func(ctx context.Context, p *party) error { return p.create(ctx, name, file) })
		},
	}
	c.Flags().StringVar(&name, "user", "", "record `NAME` as the user of this command line (default: your user name)")
	c.Flags().StringVar(&file, "code-file", "", "write the recovery code to the new `FILE` instead of showing it")
	return c
}

// create creates an account. Nothing is stored before the user has confirmed the recovery code, and
// nothing here before the server has the roster: a server without accounts would make the machine
// unusable from other devices.
func (p *party) create(ctx context.Context, name, file string) error {
	if r := p.roster(); r != nil {
		return console.Usage("`concerto-relay seal status` shows it; `concerto-relay seal leave` leaves it", "this machine already has the account %s", r.Account())
	}
	if p.id.MachineID == "" {
		return console.Usage("pair this machine with `concerto-relay pair`, or start `concerto-relay hostd` once", "this machine has no id at a server yet")
	}
	s, err := newServer(p.id)
	if err != nil {
		return err
	}
	if file == "" {
		if err := p.requireTerminal("add --code-file FILE"); err != nil {
			return err
		}
	}
	code, owner := seal.NewRecoveryCode(), p.userName(name)
	r, recovery := seal.NewAccount(code, time.Now())
	keys, self := newDevice(r.Account(), owner, seal.Owner)
	hostKeys, host := p.newHost(r.Account(), owner)
	for _, m := range []seal.Member{self, host} {
		line, err := r.AddMember(seal.ByRecovery, recovery, m, time.Now())
		if err == nil {
			err = r.Append(line)
		}
		if err != nil {
			return err
		}
	}
	if err := p.confirmCode(ctx, code, p.Abs(file), file != ""); err != nil {
		return err
	}
	if err := s.Publish(ctx, r.Account(), r.Text()); err != nil {
		if file != "" {
			_ = os.Remove(p.Abs(file)) // the code is for an account that does not exist
		}
		return err
	}
	if p.device, err = device.Create(p.id.State, keys, r); err != nil {
		return err
	}
	if err := errors.Join(p.setName(self.ID, "command line of "+hostname()), p.setName(host.ID, hostname())); err != nil {
		return err
	}
	if err := sealer.Create(p.id.State, hostKeys, r); err != nil {
		return err
	}
	isRunning, err := p.reload(ctx)
	if err != nil {
		return err
	}
	when := "now"
	if !isRunning {
		when = "its next start"
	}
	fmt.Fprintf(p.Stdout, `account  %s
host     %s (this machine)
device   %s (this command line, user %s, role owner)

From %s on, hostd performs only commands that a device of this account has signed.
next: concerto-relay devices add    shows a QR code that enrols your phone
`, r.Account(), host.ID, self.ID, display(owner), when)
	return nil
}

// confirmCode shows the recovery code: in a new file, or on the terminal, where the user types two
// of its groups.
func (p *party) confirmCode(ctx context.Context, code seal.RecoveryCode, file string, toFile bool) error {
	if toFile {
		return writeCode(file, code)
	}
	groups := strings.Split(code.String(), "-")
	fmt.Fprintf(p.Stderr, "Recovery code:\n\n  %s\n\nWrite it down now: on paper, or in a password manager. It enrols a new device when all devices are\nlost, it is stored nowhere, and it is not shown again.\n\n", code)
	order := rand.Perm(len(groups))[:2]
	for _, i := range order {
		for tries := 1; ; tries++ {
			typed, err := p.ask(ctx, "Group %d of the code: ", i+1)
			if err != nil {
				return err
			}
			if isGroup(typed, groups[i]) {
				break
			}
			if tries == maxAttempts {
				return errors.New("this is not the group that was shown: no account was created; run the command again, and write the code down")
			}
			fmt.Fprintln(p.Stderr, "This is not the group that was shown.")
		}
	}
	return nil
}

// isGroup compares a group of a recovery code as ParseRecoveryCode reads it.
func isGroup(typed, group string) bool {
	return strings.NewReplacer("O", "0", "I", "1", "L", "1", "-", "", " ", "").Replace(strings.ToUpper(typed)) == group
}

// writeCode writes a recovery code to a file that does not exist.
func writeCode(file string, code seal.RecoveryCode) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return console.Usage("name a file that does not exist", "write the recovery code: %v", err)
	}
	_, err = io.WriteString(f, code.String()+"\n")
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write the recovery code: %w", err)
	}
	return nil
}
