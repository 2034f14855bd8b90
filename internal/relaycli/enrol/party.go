// Package enrol implements the commands for the account of a machine and for its devices
// (relay/seal): they create the account, add and remove members, and show what this machine has.
package enrol

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/relaycli/daemon"
	"github.com/concerto-lang/concerto/internal/relaycli/device"
	"github.com/concerto-lang/concerto/relay/client/machineapi"
	"github.com/concerto-lang/concerto/relay/hostd/sealer"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
)

// party is this machine and this command line, with what they have of an account.
type party struct {
	*console.Console
	id     *daemon.Identity
	host   sealer.Files   // of this machine
	device *device.Device // this command line; nil if it is none
	in     *bufio.Reader
}

func open(ctx context.Context, a *console.Console, s *daemon.HostdSettings) (p *party, err error) {
	p = &party{Console: a, in: bufio.NewReader(a.Stdin)}
	if p.id, err = s.Identity(ctx, a); err != nil {
		return nil, err
	}
	if p.host, err = sealer.ReadFiles(p.id.State); err != nil {
		return nil, err
	}
	if p.device, err = device.Load(p.id.State); err != nil || p.device == nil || p.host.Roster == nil || p.host.Roster.Account() != p.device.Roster.Account() {
		return p, err
	}
	// The server cannot take back from one of the two the lines that the other has read.
	if err = p.device.Extend(p.host.Roster.Text()); errors.As(err, new(*seal.Refusal)) {
		p.host.Fork, err = cmp.Or(p.host.Fork, "hostd and this command line know different lists of members"), nil
	}
	return p, err
}

// roster returns the roster of this machine, or nil if there is no account: after a fork that of
// hostd.
func (p *party) roster() *seal.Roster {
	if p.device == nil || p.host.Roster != nil && p.host.Fork != "" {
		return p.host.Roster
	}
	return p.device.Roster
}

// hasHost reports whether this machine is a host of the account.
func (p *party) hasHost() bool {
	if p.host.Roster == nil {
		return false
	}
	m, ok := p.roster().Member(p.id.MachineID)
	return ok && m.Kind == seal.Host
}

const noAccount = "`concerto-relay seal init` creates one; `concerto-relay devices join CODE` joins one"

// act calls do with this machine and its command line, until it is interrupted.
func act(a *console.Console, s *daemon.HostdSettings, do func(context.Context, *party) error) error {
	ctx, stop := a.SignalContext()
	defer stop()
	p, err := open(ctx, a, s)
	if err != nil {
		return err
	}
	return do(ctx, p)
}

// owner returns the server, or an error unless this command line is a device of an owner, which can
// change the account's members. It reads the newest roster.
func (p *party) owner(ctx context.Context) (*machineapi.Client, error) {
	s, err := newServer(p.id)
	if err != nil {
		return nil, err
	}
	if p.device == nil && p.host.Roster == nil {
		return nil, console.Usage(noAccount, "this machine has no account")
	}
	if p.host.Fork != "" {
		return nil, console.Usage("`concerto-relay seal status --resolve` shows where they differ", "the account has two lists of members: %s", p.host.Fork)
	}
	if p.device == nil {
		return nil, console.Usage("`concerto-relay seal recover` enrols it by the recovery code; `concerto-relay devices join CODE` by another device", "this command line is no device of the account")
	}
	if err := p.refresh(ctx, s); err != nil {
		return nil, err
	}
	switch m, _ := p.device.Roster.Member(p.device.ID); {
	case !p.device.IsMember():
		return nil, console.Usage("`concerto-relay devices join CODE` enrols it again", "this command line, %s, was removed from the account", p.device.ID)
	case m.Role != seal.Owner:
		return nil, console.Usage("use a device of an owner: `concerto-relay devices list` shows them", "this command line has the role %s, and only an owner changes the members", m.Role)
	}
	return s, nil
}

// refresh extends the roster of this command line by the server's new lines.
func (p *party) refresh(ctx context.Context, s *machineapi.Client) error {
	r := p.device.Roster
	// The last known line is read again, which shows whether the server has another roster.
	text, err := s.Roster(ctx, r.Account(), r.Head().N-1)
	switch {
	case errors.Is(err, machineapi.ErrUnknownAccount):
		return s.Publish(ctx, r.Account(), r.Text())
	case err != nil:
		return err
	case len(text) == 0:
		return console.Usage("`concerto-relay seal status --resolve` sends it the missing lines", "the server's list of members has fewer than the %d lines that this command line knows (roster_fork)", r.Head().N)
	}
	return device.ForkError(p.device.Extend(text))
}

// maxAttempts is the number of attempts to append a line while others change the roster.
const maxAttempts = 3

// change appends the line to the roster that sign returns. If another device changes the roster at
// the same time, it signs again.
func (p *party) change(ctx context.Context, s *machineapi.Client, sign func(r *seal.Roster) ([]byte, error)) error {
	for n := 1; ; n++ {
		line, err := sign(p.device.Roster)
		if err != nil {
			return err
		}
		line = append(line, '\n')
		err = s.Publish(ctx, p.device.Roster.Account(), line)
		var refused *machineapi.Error
		if n < maxAttempts && errors.As(err, &refused) && refused.Code == protocol.RosterConflict {
			if err := p.refresh(ctx, s); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		if err := p.device.Extend(line); err != nil {
			return err
		}
		_, err = p.reload(ctx)
		return err
	}
}

// reload makes hostd read its files and the server's roster. It reports whether hostd runs.
func (p *party) reload(ctx context.Context) (isRunning bool, err error) {
	err = p.id.Hostd.Call(ctx, http.MethodPost, "/seal/reload", nil, nil)
	if errors.As(err, new(*console.UsageError)) { // no hostd serves the socket
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("hostd could not read its account: %w", err)
	}
	return true, nil
}

// newDevice returns the member of new keys of this command line.
func newDevice(account, owner, role string) (*seal.Keys, seal.Member) {
	k := seal.NewKeys()
	m := seal.NewMember(k, account, seal.Device, "")
	m.User, m.Role, m.Page = owner, role, seal.PageCLI
	return k, m
}

// newHost returns the member of new keys of this machine.
func (p *party) newHost(account, owner string) (*seal.Keys, seal.Member) {
	k := seal.NewKeys()
	m := seal.NewMember(k, account, seal.Host, p.id.MachineID)
	m.User = owner
	return k, m
}

// requireTerminal returns an error if the command cannot ask.
func (p *party) requireTerminal(hint string) error {
	if p.Terminal().Keys {
		return nil
	}
	return console.Usage(hint, "the command asks a question, and there is no terminal")
}

// ask prints a question on stderr and returns the line that the user types.
func (p *party) ask(ctx context.Context, format string, args ...any) (string, error) {
	fmt.Fprintf(p.Stderr, format, args...)
	type line struct {
		text string
		err  error
	}
	typed := make(chan line, 1)
	go func() {
		text, err := p.in.ReadString('\n')
		typed <- line{strings.TrimSpace(text), err}
	}()
	select {
	case l := <-typed:
		if l.err == io.EOF && l.text == "" {
			return "", errors.New("stopped: the input has ended")
		}
		return l.text, nil
	case <-ctx.Done():
		fmt.Fprintln(p.Stderr)
		return "", errors.New("stopped")
	}
}

// confirm asks a question, and reports whether the answer begins with y.
func (p *party) confirm(ctx context.Context, format string, args ...any) (bool, error) {
	text, err := p.ask(ctx, format+" [y/N] ", args...)
	return strings.HasPrefix(strings.ToLower(text), "y"), err
}

// setName stores a name for the lists of this command line.
func (p *party) setName(id, name string) error { return p.device.SetName(id, name) }

// hostname returns the name of this machine for people.
func hostname() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return "this machine"
	}
	return name
}

// userName returns the value of --user, or else the name of the user of this process.
func (p *party) userName(flag string) string {
	if flag != "" {
		return flag
	}
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "owner"
}

// explain converts a refusal of package seal to an error with the next step.
func explain(err error) error {
	var why *seal.Refusal
	if errors.As(err, &why) && why.Code == seal.WrongCode {
		return console.Usage("a code has seven groups of four; case, spaces and hyphens do not matter", "this is not the recovery code of the account")
	}
	return err
}

// display returns an untrusted name on one line.
func display(text string) string { return console.DisplayText(text, 64) }

func formatTime(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }
