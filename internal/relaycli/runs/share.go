package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/relaycli/connect"
	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/relaycli/device"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
)

// sharing has the flags of the commands of share.
type sharing struct {
	*console.Console
	server, tokenFile, state string
	ttl                      time.Duration
	role, from, page         string
	noQR                     bool
	format                   *cmdline.Format
}

// NewShare returns the command share.
func NewShare(a *console.Console) *cobra.Command {
	x := &sharing{Console: a}
	c := &cobra.Command{
		Use:   "share RUN…",
		Short: "Share sealed runs with those who have a link",
		Long: `Prints a link that opens the relay's page with the runs. The relay's server cannot read them: the
secret with which a browser opens them follows the # in the link, and browsers send that to no
server. Everyone with the link can read the runs until it expires: send it as you would a password.

With --role approver, the browser that first decides a request through the link can also decide
later ones of these runs, one at a time, and nothing else. No other browser can: send the link to
one person. The machine's ledger records these decisions as those of your guest.

The runs must be of one machine, which must be online. This command line must be an owner's device
of its account, and the token an owner's. 'share end' ends a link; what was read before, somebody
may have copied. For the runs of a machine without an account, use 'token create --runs'.`,
		Example: `  concerto-relay share run_4vd4sd65dabx --for 1h --server https://relay.example --token-file token
  concerto-relay share run_4vd4sd --role approver --server https://relay.example --token-file token
  concerto-relay share run_4vd4sd65dabx --from now --server https://relay.example --token-file token
  concerto-relay share list --server https://relay.example --token-file token`,
		Args: console.ArgsBetween(1, 100, "concerto-relay share RUN --for 1h"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := errors.Join(a.OneOf("role", x.role, seal.Viewer, seal.Approver), a.OneOf("from", x.from, "start", "now")); err != nil {
				return err
			}
			if x.ttl < time.Minute || x.ttl > 30*24*time.Hour {
				return a.InvalidSetting("for", "such as 30m, 1h or 72h; at least 1m, at most 720h", "invalid duration %v", x.ttl)
			}
			return x.connected(func(e *connect.Endpoint) error { return x.share(ctxOf(c), e, args) })
		},
	}
	p := c.PersistentFlags()
	p.StringVar(&x.server, "server", "", "use the server at `URL`")
	p.StringVar(&x.tokenFile, "token-file", "", "read an owner's access token from `FILE`")
	f := c.Flags()
	f.DurationVar(&x.ttl, "for", time.Hour, "let the link expire after `DURATION` (default 1h)")
	f.StringVar(&x.role, "role", seal.Viewer, "let those with the link act as `ROLE`: viewer (default) or approver")
	f.StringVar(&x.from, "from", "start", "share events from `start|now` on (default start)")
	f.StringVar(&x.page, "page", "", "open the page at `URL` instead of the server's")
	console.NoQRFlag(f, &x.noQR)
	x.format = cmdline.AddFormat(c, "text", "ndjson")
	device.StateFlag(a, c, &x.state)
	c.AddCommand(x.listCommand(), x.endCommand())
	return c
}

func (x *sharing) listCommand() *cobra.Command {
	var format *cmdline.Format
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the links that share runs",
		Long:    `Lists the links that have not expired, of all machines that have an account and are online.`,
		Example: `  concerto-relay share list --server https://relay.example --token-file token`,
		Args:    console.ArgsBetween(0, 0, "concerto-relay share list"),
		RunE: func(c *cobra.Command, _ []string) error {
			return x.connected(func(e *connect.Endpoint) error { return x.list(ctxOf(c), e, format) })
		},
	}
	format = cmdline.AddFormat(c, "text", "ndjson")
	device.StateFlag(x.Console, c, &x.state)
	return c
}

func (x *sharing) endCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "end ID",
		Short: "Stop a link that shares runs",
		Long: `The server no longer accepts the link, and its machine begins new keys, so that the link does not
open later events. If the machine is offline, run the command again when it is online.`,
		Example: `  concerto-relay share end s_3q2-7wAAEBAg --server https://relay.example --token-file token`,
		Args:    console.ArgsBetween(1, 1, "concerto-relay share end ID"),
		RunE: func(c *cobra.Command, args []string) error {
			return x.connected(func(e *connect.Endpoint) error { return x.end(ctxOf(c), e, args[0]) })
		},
	}
	device.StateFlag(x.Console, c, &x.state)
	return c
}

func (x *sharing) connected(do func(e *connect.Endpoint) error) error {
	if x.server == "" && x.tokenFile == "" {
		return console.Usage("add --server URL --token-file FILE", "a link leads to a server")
	}
	e, err := connect.ServerEnd(x.Console, x.server, x.tokenFile)
	if err != nil {
		return err
	}
	return do(e)
}

// tokenName returns the name of the access token of a share, by which its end finds it.
func tokenName(share string) string { return "share " + share }

func (x *sharing) share(ctx context.Context, e *connect.Endpoint, all []string) error {
	machine := ""
	for _, run := range all {
		var row serverRun
		if err := e.Call(ctx, http.MethodGet, RunPath(run), nil, &row); err != nil {
			return err
		}
		if machine != "" && machine != row.MachineID {
			return console.Usage("share the runs of each machine with a link of their own", "the runs are of the machines %s and %s", console.DisplayText(machine, 64), console.DisplayText(row.MachineID, 64))
		}
		machine = row.MachineID
	}
	signer, err := x.signer(ctx, e, machine)
	if err != nil {
		return err
	}
	secret := seal.NewShareSecret()
	id := secret.ShareID()
	var made struct{ ID, Token, Page string }
	token := map[string]any{"name": tokenName(id), "role": x.role, "runs": all, "ttl_s": int64(x.ttl / time.Second)}
	if err := e.Call(ctx, http.MethodPost, "/tokens", token, &made); err != nil {
		return err
	}
	var started protocol.Share
	data := map[string]any{"share_id": id, "key": secret.ShareKey(), "runs": all, "from": x.from, "ttl_s": int64(x.ttl / time.Second)}
	page := cmp.Or(x.page, made.Page)
	if x.role == seal.Approver {
		data["guest"] = secret.GuestKey()
		at := seal.Link{Page: page, Server: made.Page}
		data["grant"], err = signer.Grant(seal.Grant{Share: id, Runs: all, Page: at.MemberPage()}, x.ttl)
	}
	if err == nil {
		err = signer.RPC(ctx, protocol.RPCShareStart, data, &started)
	}
	if err != nil {
		return errors.Join(err, e.Call(ctx, http.MethodDelete, "/tokens/"+url.PathEscape(made.ID), nil, nil))
	}
	return x.print(id, linkOf(page, made.Token, secret, all), &started)
}

// linkOf returns the link of a share at a page.
func linkOf(page, token string, secret seal.Key, all []string) string {
	text, err := secret.MarshalText()
	if err != nil {
		panic("runs: a key has a text: " + err.Error())
	}
	link := strings.TrimSuffix(page, "/") + "/#/s/" + token + "." + string(text)
	if len(all) == 1 {
		link += "/" + all[0]
	}
	return link
}

func (x *sharing) print(id, link string, s *protocol.Share) error {
	if !x.format.IsText() {
		return console.JSONLines(x.Stdout, []any{map[string]any{"id": id, "link": link, "role": s.Role, "runs": s.Runs, "expires_at": s.ExpiresAt}})
	}
	fmt.Fprintf(x.Stderr, "share %s for %s until %s\n", id, s.Role, s.ExpiresAt)
	if !x.noQR {
		console.PrintQR(x.Console, x.Stderr, link)
	}
	_, err := fmt.Fprintln(x.Stdout, link)
	return err
}

func (x *sharing) signer(ctx context.Context, e *connect.Endpoint, machine string) (*device.Signer, error) {
	s, err := device.NewSigner(ctx, x.Abs(x.state), e, machine)
	if err == nil && s == nil {
		err = console.Usage("`concerto-relay token create --role viewer --runs RUN --ttl 1h` prints a link to its runs", "machine %s has no account, and the server can read its runs", console.DisplayText(machine, 64))
	}
	return s, err
}

// sharesOf are the shares of a machine, or why they cannot be listed.
type sharesOf struct {
	machine string
	shares  []protocol.Share
	err     error
	signer  *device.Signer
}

// all returns the shares of a machine, or, without one, those of all machines with an account.
func (x *sharing) all(ctx context.Context, e *connect.Endpoint, machine string) (all []sharesOf, err error) {
	var machines []struct{ ID, Account string }
	if err := e.Call(ctx, http.MethodGet, "/hosts", nil, &machines); err != nil {
		return nil, err
	}
	for _, m := range machines {
		if m.Account == "" || machine != "" && m.ID != machine {
			continue
		}
		one := sharesOf{machine: m.ID}
		var result protocol.ShareListResult
		if one.signer, one.err = x.signer(ctx, e, m.ID); one.err == nil {
			one.err = one.signer.RPC(ctx, protocol.RPCShareList, map[string]any{}, &result)
		}
		one.shares = result.Shares
		all = append(all, one)
	}
	return all, nil
}

func (x *sharing) list(ctx context.Context, e *connect.Endpoint, format *cmdline.Format) error {
	all, err := x.all(ctx, e, "")
	if err != nil {
		return err
	}
	rows, lines := [][]string{{"ID", "ROLE", "USED", "MACHINE", "RUNS", "EXPIRES"}}, []any{}
	for _, m := range all {
		name := console.DisplayText(m.machine, 64)
		if m.err != nil {
			fmt.Fprintf(x.Stderr, "machine %s: %v\n", name, m.err)
			x.Exit = console.ExitFailed
		}
		for _, s := range m.shares {
			rows = append(rows, []string{s.ShareID, s.Role, usedBy(s), name, strings.Join(s.Runs, ","), s.ExpiresAt})
			lines = append(lines, map[string]any{"id": s.ShareID, "role": s.Role, "guest": s.Guest, "host_id": m.machine, "runs": s.Runs, "expires_at": s.ExpiresAt})
		}
	}
	if !format.IsText() {
		return console.JSONLines(x.Stdout, lines)
	}
	return console.Table(x.Stdout, rows)
}

// usedBy returns "yes" or "no": whether a browser has decided through an approver's link. It is ""
// for a viewer's.
func usedBy(s protocol.Share) string {
	switch {
	case s.Role != seal.Approver:
		return ""
	case s.Guest == "":
		return "no"
	}
	return "yes"
}

// end revokes the access token of a share, and ends it at its machine.
func (x *sharing) end(ctx context.Context, e *connect.Endpoint, id string) error {
	var tokens []struct {
		ID, Name string
		Runs     []string
	}
	if err := e.Call(ctx, http.MethodGet, "/tokens", nil, &tokens); err != nil {
		return err
	}
	found, machine := false, "" // the machine is unknown if the token was revoked before, or its runs are deleted
	for _, t := range tokens {
		if t.Name != tokenName(id) {
			continue
		}
		found = true
		for _, run := range t.Runs {
			var row serverRun
			if e.Call(ctx, http.MethodGet, RunPath(run), nil, &row) == nil {
				machine = row.MachineID
				break
			}
		}
		if err := e.Call(ctx, http.MethodDelete, "/tokens/"+url.PathEscape(t.ID), nil, nil); err != nil {
			return err
		}
	}
	all, err := x.all(ctx, e, machine)
	if err != nil {
		return err
	}
	var failed []error
	for _, m := range all {
		failed = append(failed, m.err)
		for _, s := range m.shares {
			if s.ShareID != id {
				continue
			}
			var ended protocol.Share
			if err := m.signer.RPC(ctx, protocol.RPCShareEnd, map[string]any{"share_id": id}, &ended); err != nil {
				return err
			}
			_, err := fmt.Fprintf(x.Stdout, "ended %s: the link is refused, and opens no later events\n", id)
			return err
		}
	}
	switch err := errors.Join(failed...); {
	case err != nil && found:
		return fmt.Errorf("the server refuses the link now, and a machine has not confirmed the end: run the command again when it is online: %w", err)
	case err != nil:
		return err
	case found:
		_, err := fmt.Fprintf(x.Stdout, "ended %s: the link is refused\n", id)
		return err
	}
	return console.Usage("`concerto-relay share list` lists the links", "there is no share %s", console.DisplayText(id, 64))
}
