package enrol

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/relaycli/daemon"
	"github.com/concerto-lang/concerto/internal/relaycli/device"
	"github.com/concerto-lang/concerto/relay/client/machineapi"
	"github.com/concerto-lang/concerto/relay/hostd/sealer"
	"github.com/concerto-lang/concerto/relay/seal"
)

func joinCommand(a *console.Console, s *daemon.HostdSettings) *cobra.Command {
	return &cobra.Command{
		Use:   "join CODE",
		Short: "Add this command line to an account by a code",
		Long: `Makes this command line a device of an account. CODE is what 'concerto-relay devices add --by-code'
shows on a device of an owner. Shows six digits, which are typed there, and asks whether they were
accepted.

If the new device has the role owner and hostd has an id on this machine, this machine becomes a
host of the account, too: hostd then performs only signed commands.`,
		Example: `  concerto-relay devices join 7KQM-2XWD
  concerto-relay devices join 7KQM-2XWD --server https://relay.example --token-file token`,
		Args: console.ArgsBetween(1, 1, "concerto-relay devices join 7KQM-2XWD"),
		RunE: func(_ *cobra.Command, args []string) error {
			return act(a, s, func(ctx context.Context, p *party) error { return p.join(ctx, args[0]) })
		},
	}
}

// codeLetters are those of a code: Crockford's base 32, in which no two letters look the same.
const codeLetters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// newCode returns a random code of an enrolment, in two groups. It only names the session: the six
// digits detect whoever takes part in it uninvited.
func newCode() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	var code strings.Builder
	for i, c := range b {
		if i == len(b)/2 {
			code.WriteByte('-')
		}
		code.WriteByte(codeLetters[int(c)%len(codeLetters)])
	}
	return code.String()
}

// sessionOf returns the session that a code names, as a user types it.
func sessionOf(code string) string {
	return "j_" + strings.NewReplacer("O", "0", "I", "1", "L", "1", "-", "", " ", "").Replace(strings.ToUpper(code))
}

func isCode(code string) bool {
	letters := strings.TrimPrefix(sessionOf(code), "j_")
	return len(letters) == 8 && strings.Trim(letters, codeLetters) == ""
}

func (p *party) join(ctx context.Context, code string) error {
	switch {
	case !isCode(code):
		return console.Usage("`concerto-relay devices add --by-code`, on a device of an owner, shows one", "%q is no code of an enrolment", code)
	case p.device != nil && p.device.IsMember():
		return console.Usage("`concerto-relay seal status` shows it; `concerto-relay seal leave` leaves it", "this command line is already a device of the account %s", p.device.Roster.Account())
	}
	if err := p.requireTerminal("run it on a terminal"); err != nil {
		return err
	}
	s, err := newServer(p.id)
	if err != nil {
		return err
	}
	keys := seal.NewKeys()
	joiner := seal.NewJoiner(sessionOf(code), keys, seal.Device, "", "command line of "+hostname())
	box := &mailbox{server: s, session: sessionOf(code), side: "join"}
	expires := now().Add(enrolmentTime)
	if err := box.send(ctx, joiner.Commit()); err != nil {
		return err
	}
	var known seal.Position
	digits, account, err := exchange(ctx, box, expires, joiner.Reveal, func(text []byte) (digits, account string, err error) {
		digits, account, known, err = joiner.Receive(text)
		return digits, account, err
	})
	if err != nil {
		return err
	}
	if r := p.host.Roster; r != nil && r.Account() != account {
		return console.Usage("`concerto-relay seal leave` leaves it", "this machine is a host of another account, %s", r.Account())
	}
	fmt.Fprintf(p.Stderr, "digits  %s %s\n\nType them on the other device.\n", digits[:3], digits[3:])
	if ok, err := p.confirm(ctx, "Does it accept them?"); err != nil || !ok {
		return errors.Join(errNotAdded, err)
	}
	confirm, err := joiner.Confirm()
	if err != nil {
		return err
	}
	if err := box.send(ctx, confirm); err != nil {
		return err
	}
	r, err := awaitMember(ctx, s, box, expires, account, known, keys)
	if err != nil {
		return err
	}
	if p.device, err = device.Create(p.id.State, keys, r); err != nil {
		return err
	}
	if err := p.setName(p.device.ID, "command line of "+hostname()); err != nil {
		return err
	}
	self, _ := r.Member(p.device.ID) // awaitMember has checked it
	fmt.Fprintf(p.Stdout, "account  %s\ndevice   %s (this command line, user %s, role %s)\n", account, p.device.ID, display(self.User), self.Role)
	return p.joinHost(ctx, s, self)
}

// rosterPoll is the number of seconds between two attempts to read the roster.
const rosterPoll = 2

// awaitMember waits until the account's roster has the device with these keys.
func awaitMember(ctx context.Context, s *machineapi.Client, box *mailbox, expires time.Time, account string, known seal.Position, keys *seal.Keys) (*seal.Roster, error) {
	for time.Now().Before(expires) {
		text, err := s.Roster(ctx, account, 0)
		if err != nil {
			return nil, err
		}
		r, err := seal.ParseRoster(text, account, known)
		if err != nil {
			return nil, err
		}
		if m, ok := r.Member(keys.Public().DeviceID()); ok && m.PublicKeys == keys.Public() {
			return r, nil
		}
		note, err := box.receive(ctx, rosterPoll)
		switch {
		case ctx.Err() != nil:
			return nil, errStopped
		case err != nil:
			return nil, err
		case bytes.Contains(note, []byte(`"refused"`)):
			return nil, errors.New("the other device has refused this one")
		}
	}
	return nil, errExpired
}

// joinHost makes this machine a host of the account that this command line has joined, if its role
// allows that.
func (p *party) joinHost(ctx context.Context, s *machineapi.Client, self seal.Member) error {
	switch {
	case p.host.Roster != nil || p.id.MachineID == "":
		return nil
	case self.Role != seal.Owner:
		fmt.Fprintf(p.Stderr, "concerto-relay: hostd on this machine still performs unsigned commands: only an owner makes it a host of the account\n")
		return nil
	}
	keys, m := p.newHost(p.device.Roster.Account(), self.User)
	err := p.change(ctx, s, func(r *seal.Roster) ([]byte, error) { return r.AddMember(p.device.ID, p.device.Keys, m, now()) })
	if err != nil {
		return fmt.Errorf("this command line is a device, but this machine is no host of the account: %w", err)
	}
	return p.storeHost(ctx, keys, m)
}

// storeHost stores that this machine is a host of the account.
func (p *party) storeHost(ctx context.Context, keys *seal.Keys, m seal.Member) error {
	if err := errors.Join(p.setName(m.ID, hostname()), sealer.Create(p.id.State, keys, p.device.Roster)); err != nil {
		return err
	}
	if _, err := p.reload(ctx); err != nil {
		return err
	}
	_, err := fmt.Fprintf(p.Stdout, "host     %s (this machine): hostd performs only signed commands\n", m.ID)
	return err
}
