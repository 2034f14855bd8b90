package enrol

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/relaycli/daemon"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/relay/client/machineapi"
	"github.com/concerto-lang/concerto/relay/seal"
)

// enrolmentTime is the time in which a device must be added.
const enrolmentTime = 10 * time.Minute

// addition is the command devices add with its options.
type addition struct {
	user, role, page  string
	byCode, yes, noQR bool
	asJSON            bool
}

func addCommand(a *console.Console, s *daemon.HostdSettings) *cobra.Command {
	var o addition
	var format *cmdline.Format
	c := &cobra.Command{
		Use:   "add",
		Short: "Add a device to the account",
		Long: `Prints a link as a QR code, and waits 10 minutes until a browser has opened it. Shows the device's
name and asks before it adds it: compare the name with the one on the device. The link contains a
secret: show it to no one else.

With --by-code it prints a code for 'concerto-relay devices join' on another command line, which
then shows six digits; type them here. The digits prove that no one is between the two.

Viewers only read. Operators also decide, type and start runs. Owners also add and remove members.`,
		Example: `  concerto-relay devices add                          enrol a phone
  concerto-relay devices add --user bob --role viewer
  concerto-relay devices add --by-code --role owner   enrol another machine and its command line
  concerto-relay devices add --page https://pages.example/relay/`,
		Args: console.ArgsBetween(0, 0, "concerto-relay devices add"),
		RunE: func(*cobra.Command, []string) error {
			o.asJSON = !format.IsText()
			if err := a.OneOf("role", o.role, seal.Viewer, seal.Operator, seal.Owner); err != nil {
				return err
			}
			if o.byCode && (o.yes || o.page != "") {
				return console.Usage("omit --yes and --page", "--by-code requires digits, and adds a command line")
			}
			return act(a, s, func(ctx context.Context, p *party) error { return p.add(ctx, &o) })
		},
	}
	f := c.Flags()
	f.StringVar(&o.user, "user", "", "record `NAME` as the user of the device (default: that of this device)")
	f.StringVar(&o.role, "role", seal.Operator, "grant `ROLE`: viewer, operator or owner (default operator)")
	f.StringVar(&o.page, "page", "", "open the page at `URL` instead of the server's")
	f.BoolVar(&o.byCode, "by-code", false, "add a command line by a code and six digits")
	f.BoolVar(&o.yes, "yes", false, "add the first device that opens the link without asking")
	console.NoQRFlag(f, &o.noQR)
	format = cmdline.AddFormat(c, "text", "ndjson")
	return c
}

func (p *party) add(ctx context.Context, o *addition) error {
	s, err := p.owner(ctx)
	if err != nil {
		return err
	}
	if !o.yes {
		hint := "add --yes, which adds the first device that opens the link"
		if o.byCode {
			hint = "run it on a terminal"
		}
		if err := p.requireTerminal(hint); err != nil {
			return err
		}
	}
	if o.user == "" {
		self, _ := p.device.Roster.Member(p.device.ID) // owner has checked that it is a member
		o.user = self.User
	}
	if o.byCode {
		return p.addByCode(ctx, s, o)
	}
	return p.addByLink(ctx, s, o)
}

func (p *party) addByLink(ctx context.Context, s *machineapi.Client, o *addition) error {
	page := s.Base + "/"
	if o.page != "" {
		u, err := url.Parse(o.page)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.Fragment != "" || u.User != nil {
			return p.InvalidSetting("page", "for example https://pages.example/relay/", "%q is not the URL of a page", o.page)
		}
		if u.Path == "" {
			u.Path = "/"
		}
		page = u.String()
	}
	l := seal.NewLink(page, p.device.Roster.Account(), s.Base, now().Add(enrolmentTime))
	if err := p.showLink(s, l, o); err != nil {
		return err
	}
	box := &mailbox{server: s, session: l.Session, side: "add"}
	for {
		text, err := box.next(ctx, l.Expires)
		if err != nil {
			return err
		}
		m, name, err := l.Accept(text, now())
		if err != nil {
			fmt.Fprintf(p.Stderr, "concerto-relay: ignored a device that did not open this link: %v\n", err)
			continue
		}
		m.User, m.Role, m.Page = o.user, o.role, l.MemberPage()
		if !o.yes {
			ok, err := p.confirm(ctx, "%q (%s %s, page %s) has opened the link.\nAdd it as a device of %s with the role %s?", display(name), m.Kind, m.ID, m.Page, display(m.User), m.Role)
			if err != nil {
				return err
			}
			if !ok {
				return errors.Join(errNotAdded, box.send(ctx, []byte(`{"refused":true}`)))
			}
		}
		return p.finishAdd(ctx, s, box, m, name, o)
	}
}

var errNotAdded = errors.New("the device was not added")

// showLink prints the link of an enrolment.
func (p *party) showLink(s *machineapi.Client, l *seal.Link, o *addition) error {
	if o.asJSON {
		return p.PrintJSON(map[string]string{"link": l.String(), "expires_at": l.Expires.UTC().Format(time.RFC3339)})
	}
	if !o.noQR {
		console.PrintQR(p.Console, p.Stdout, l.String())
	}
	if u, err := url.Parse(s.Base); o.page == "" && err == nil && isLoopback(u.Hostname()) {
		fmt.Fprintf(p.Stderr, "concerto-relay: the link leads to this machine only: for a phone, add --server URL, with the server's address in the network\n")
	}
	_, err := fmt.Fprintf(p.Stdout, "%s\n\nScan the code with the camera of the new device, or open the link there, until %s.\n", l, l.Expires.Local().Format("15:04"))
	return err
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// finishAdd signs that a member is added, and notifies the new device, which then reads the roster.
func (p *party) finishAdd(ctx context.Context, s *machineapi.Client, box *mailbox, m seal.Member, name string, o *addition) error {
	err := p.change(ctx, s, func(r *seal.Roster) ([]byte, error) { return r.AddMember(p.device.ID, p.device.Keys, m, now()) })
	if err != nil {
		return err
	}
	if err := errors.Join(p.device.SetName(m.ID, name), box.send(ctx, []byte(`{"added":true}`))); err != nil {
		return err
	}
	if o.asJSON {
		return p.PrintJSON(map[string]string{"id": m.ID, "kind": m.Kind, "name": name, "user": m.User, "role": m.Role, "page": m.Page})
	}
	_, err = fmt.Fprintf(p.Stdout, "added %s (%s) of %s with the role %s\n", display(name), m.ID, display(m.User), m.Role)
	return err
}

func (p *party) addByCode(ctx context.Context, s *machineapi.Client, o *addition) error {
	code := newCode()
	adder := seal.NewAdder(sessionOf(code), p.device.Roster)
	box := &mailbox{server: s, session: sessionOf(code), side: "add"}
	expires := now().Add(enrolmentTime)
	if err := box.send(ctx, adder.Commit()); err != nil {
		return err
	}
	if !o.asJSON {
		fmt.Fprintf(p.Stdout, "code  %s\n\nOn the other machine, until %s:\n  concerto-relay devices join %s\nIf it is not paired with the server, add --server %s --token-file FILE, with an access token.\n", code, expires.Local().Format("15:04"), code, s.Base)
	} else if err := p.PrintJSON(map[string]string{"code": code, "expires_at": expires.UTC().Format(time.RFC3339)}); err != nil {
		return err
	}
	name, kind, err := exchange(ctx, box, expires, adder.Reveal, adder.Receive)
	if err != nil {
		return err
	}
	for {
		digits, err := p.ask(ctx, "%q (%s) shows six digits. Type them: ", display(name), kind)
		if err != nil {
			return err
		}
		err = adder.Enter(strings.ReplaceAll(digits, " ", ""))
		if err == nil {
			break
		}
		var why *seal.Refusal
		if !errors.As(err, &why) || why.Code != seal.WrongCode {
			return errors.Join(errNotAdded, err, box.send(ctx, []byte(`{"refused":true}`)))
		}
		fmt.Fprintln(p.Stderr, "These are not the digits of the other machine.")
	}
	fmt.Fprintln(p.Stderr, "The digits match. Confirm it on the other machine.")
	text, err := box.next(ctx, expires)
	if err != nil {
		return err
	}
	m, err := adder.Finish(text)
	if err != nil {
		return err
	}
	m.User, m.Role, m.Page = o.user, o.role, seal.PageCLI
	return p.finishAdd(ctx, s, box, m, name, o)
}

// exchange receives the other side's commitment, sends the reveal, and receives the other side's.
func exchange[A, B any](ctx context.Context, box *mailbox, expires time.Time, reveal func([]byte) ([]byte, error), receive func([]byte) (A, B, error)) (a A, b B, err error) {
	commit, err := box.next(ctx, expires)
	if err != nil {
		return a, b, err
	}
	own, err := reveal(commit)
	if err != nil {
		return a, b, err
	}
	if err := box.send(ctx, own); err != nil {
		return a, b, err
	}
	other, err := box.next(ctx, expires)
	if err != nil {
		return a, b, err
	}
	return receive(other)
}
