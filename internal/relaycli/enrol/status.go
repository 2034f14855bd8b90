package enrol

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/relaycli/daemon"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/relay/client/machineapi"
	"github.com/concerto-lang/concerto/relay/hostd/sealer"
	"github.com/concerto-lang/concerto/relay/seal"
)

func statusCommand(a *console.Console, s *daemon.HostdSettings) *cobra.Command {
	var resolve, yes bool
	var format *cmdline.Format
	c := &cobra.Command{
		Use:   "status",
		Short: "Show the account of this machine",
		Long: `Shows the account, what this machine and this command line are in it, the last line of the list of
members, and the members, each host with the line that it has confirmed: its keys are for the
devices of that line. Exit code 1: the server has another list (fork), and hostd refuses all
commands of the server until you have resolved that.

--resolve shows where the two lists differ, and asks whether to continue. If the server has lost
lines, it receives them again. If it has other lines, this machine takes the server's list: answer
yes only if you know who has added its members. --yes forgets no lines.`,
		Example: `  concerto-relay seal status
  concerto-relay seal status --resolve
  concerto-relay seal status --format ndjson | jq -r .account`,
		Args: console.ArgsBetween(0, 0, "concerto-relay seal status"),
		RunE: func(*cobra.Command, []string) error {
			if yes && !resolve {
				return console.Usage("add --resolve", "--yes requires --resolve")
			}
			return act(a, s, func(ctx context.Context, p *party) error {
				if resolve {
					return p.resolve(ctx, yes)
				}
				return p.status(ctx, !format.IsText())
			})
		},
	}
	c.Flags().BoolVar(&resolve, "resolve", false, "resolve a fork of the list of members")
	c.Flags().BoolVar(&yes, "yes", false, "resolve it without asking")
	format = cmdline.AddFormat(c, "text", "ndjson")
	return c
}

// state is the first line of seal status --format ndjson. The members follow.
type state struct {
	Account string         `json:"account,omitempty"`
	Host    string         `json:"host,omitempty"`   // id of this machine, if it is a host of the account
	Device  string         `json:"device,omitempty"` // id of this command line, if it is a device of the account
	Role    string         `json:"role,omitempty"`   // of this command line
	Roster  *seal.Position `json:"roster,omitempty"`
	Policy  *seal.Policy   `json:"policy,omitempty"`
	Epoch   int64          `json:"epoch,omitempty"` // of the keys of this machine; 0 if hostd is not running
	Fork    string         `json:"fork,omitempty"`
	Do      string         `json:"do,omitempty"` // the next step
}

func (p *party) status(ctx context.Context, asJSON bool) error {
	r := p.roster()
	if r == nil {
		if asJSON {
			return p.PrintJSON(state{Do: "concerto-relay seal init"})
		}
		_, err := fmt.Fprintln(p.Stdout, "this machine has no account: hostd performs every command that its server sends\nnext: concerto-relay seal init")
		return err
	}
	st := state{Account: r.Account(), Fork: p.host.Fork}
	if err := p.refreshIfPossible(ctx); err != nil && st.Fork == "" {
		st.Fork = err.Error()
	}
	r = p.roster()
	head := r.Head()
	policy := r.Policy()
	st.Roster, st.Policy = &head, &policy
	if p.hasHost() {
		st.Host = p.id.MachineID
		var now sealer.Status
		if p.id.Hostd.Call(ctx, http.MethodGet, "/seal", nil, &now) == nil { // otherwise hostd is not running
			st.Epoch = now.Epoch
		}
	}
	if p.device != nil && p.device.IsMember() {
		self, _ := r.Member(p.device.ID)
		st.Device, st.Role = p.device.ID, self.Role
	}
	st.Do = p.nextStep(&st)
	if st.Fork != "" {
		p.Exit = console.ExitFailed
	}
	all, err := p.members()
	if err != nil {
		return err
	}
	p.addConfirmations(ctx, all)
	if asJSON {
		return errors.Join(p.PrintJSON(st), console.JSONLines(p.Stdout, all))
	}
	return p.printState(&st, all)
}

// nextStep returns the command that the user should run, or "".
func (p *party) nextStep(st *state) string {
	switch {
	case st.Fork != "":
		return "concerto-relay seal status --resolve"
	case st.Device == "":
		return "concerto-relay devices join CODE, or concerto-relay seal recover: this command line is no device of the account"
	case p.host.Roster != nil && st.Host == "":
		return "concerto-relay seal leave: this machine was removed from the account"
	}
	return ""
}

func (p *party) printState(st *state, all []member) error {
	fmt.Fprintf(p.Stdout, "account  %s\n", st.Account)
	if st.Host != "" {
		fmt.Fprintf(p.Stdout, "host     %s (this machine)\n", st.Host)
	} else {
		fmt.Fprintln(p.Stdout, "host     this machine is none")
	}
	if st.Device != "" {
		fmt.Fprintf(p.Stdout, "device   %s (this command line, role %s)\n", st.Device, st.Role)
	} else {
		fmt.Fprintln(p.Stdout, "device   this command line is none")
	}
	fmt.Fprintf(p.Stdout, "members  line %d, sha256 %s\n", st.Roster.N, st.Roster.Hash)
	var levels []string
	for _, l := range st.Policy.Levels() {
		levels = append(levels, l.Risk+" "+l.Pages)
	}
	fmt.Fprintf(p.Stdout, "policy   decide: %s\n", strings.Join(levels, ", "))
	if st.Epoch > 0 {
		fmt.Fprintf(p.Stdout, "epoch    %d of the keys of this machine\n", st.Epoch)
	}
	if st.Fork != "" {
		fmt.Fprintf(p.Stdout, "fork     %s; hostd refuses all commands of the server\n", console.DisplayText(st.Fork, 200))
	}
	if st.Do != "" {
		fmt.Fprintf(p.Stdout, "next     %s\n", st.Do)
	}
	fmt.Fprintln(p.Stdout)
	return printMembers(p.Console, all)
}

// resolve ends a fork: the server receives the lines that it has lost, or this machine takes the
// server's list, if the user recognizes its lines.
func (p *party) resolve(ctx context.Context, yes bool) error {
	own := p.roster()
	if own == nil {
		return console.Usage(noAccount, "this machine has no account")
	}
	if !yes {
		if err := p.requireTerminal("add --yes"); err != nil {
			return err
		}
	}
	s, err := newServer(p.id)
	if err != nil {
		return err
	}
	text, err := s.Roster(ctx, own.Account(), 0)
	if err != nil && !errors.Is(err, machineapi.ErrUnknownAccount) {
		return err
	}
	chosen := own
	if err == nil {
		if chosen, err = seal.ParseRoster(text, own.Account(), seal.Position{}); err != nil {
			return fmt.Errorf("the server's list is invalid, and this machine does not take it: %w", err)
		}
	}
	here, there := own.Head(), chosen.Head()
	fmt.Fprintf(p.Stderr, "here       line %d, sha256 %s\nthe server line %d, sha256 %s\n", here.N, here.Hash, there.N, there.Hash)
	forgets, err := p.printDifferences(chosen)
	if err != nil {
		return err
	}
	question := "The server's list continues that of this machine. Continue with it?"
	switch {
	case forgets && own.CommonLines(chosen) == there.N && !p.differs(own):
		question, chosen, forgets = "The server has lost lines. Send them again, and continue?", own, false
	case forgets:
		question = "The lists differ. Take the server's list, and forget the lines that are only here?"
	case here == there:
		question = "The lists are equal. Continue?"
	}
	if yes && forgets {
		return console.Usage("run it on a terminal, and compare the lines", "--yes would forget lines of this machine, such as the removal of a device")
	}
	if !yes {
		ok, err := p.confirm(ctx, "%s", question)
		if err != nil {
			return err
		}
		if !ok {
			return errors.New("nothing was changed: hostd refuses commands of the server until the fork is resolved; `concerto-relay seal leave` and `concerto-relay seal init` create a new account")
		}
	}
	return p.choose(ctx, s, chosen)
}

// rosters returns the rosters that are stored here: that of hostd, and that of this command line.
func (p *party) rosters() (all []*seal.Roster) {
	if p.host.Roster != nil {
		all = append(all, p.host.Roster)
	}
	if p.device != nil && (len(all) == 0 || p.device.Roster.Account() == all[0].Account()) {
		all = append(all, p.device.Roster)
	}
	return all
}

// differs reports whether a roster that is stored here has lines that own does not have.
func (p *party) differs(own *seal.Roster) bool {
	return slices.ContainsFunc(p.rosters(), func(r *seal.Roster) bool { return r.CommonLines(own) < r.Head().N })
}

// printDifferences prints the lines that are only in a roster that is stored here, or only at the
// server. It reports whether there are lines that the server's roster does not have.
func (p *party) printDifferences(there *seal.Roster) (forgets bool, err error) {
	theirs, err := linesOf(there)
	if err != nil {
		return false, err
	}
	same, shown := there.Head().N, ""
	for _, r := range p.rosters() {
		n := r.CommonLines(there)
		same = min(same, n)
		if text := string(r.Text()); n < r.Head().N && text != shown {
			lines, err := linesOf(r)
			if err != nil {
				return false, err
			}
			printLines(p, "only here", lines[n:])
			forgets, shown = true, text
		}
	}
	if forgets {
		printLines(p, "only at the server", theirs[same:])
	}
	return forgets, nil
}

func printLines(p *party, where string, lines []rosterLine) {
	for i := range lines {
		fmt.Fprintf(p.Stderr, "  %s: %s\n", where, &lines[i])
	}
}

// choose stores the roster that the user has chosen, at the server and here.
func (p *party) choose(ctx context.Context, s *machineapi.Client, r *seal.Roster) error {
	if err := s.Publish(ctx, r.Account(), r.Text()); err != nil {
		return err
	}
	if p.host.Roster != nil {
		if err := sealer.Resolve(p.id.State, r); err != nil {
			return err
		}
	}
	if p.device != nil && p.device.Roster.Account() == r.Account() {
		if err := p.device.SetRoster(r); err != nil {
			return err
		}
	}
	if _, err := p.reload(ctx); err != nil {
		return err
	}
	_, err := fmt.Fprintf(p.Stdout, "resolved: the list of members has %d lines\n", r.Head().N)
	return err
}
