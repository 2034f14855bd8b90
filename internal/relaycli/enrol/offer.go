package enrol

import (
	"context"
	"fmt"
	"strings"

	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/relaycli/daemon"
	"github.com/concerto-lang/concerto/relay/seal"
)

// OfferAccount returns a function that offers to create an account for a machine that was paired,
// and to enrol a phone. Without a terminal it only prints the next step.
func OfferAccount(a *console.Console) func(ctx context.Context, s *daemon.HostdSettings, noQR bool) error {
	return func(ctx context.Context, s *daemon.HostdSettings, noQR bool) error {
		p, err := open(ctx, a, s)
		if err != nil {
			return err
		}
		if p.roster() != nil {
			return nil // it was paired before
		}
		if !p.Terminal().Keys {
			_, err := fmt.Fprintln(a.Stdout, "next: concerto-relay seal init    so that the machine performs only what your devices have signed")
			return err
		}
		text, err := p.ask(ctx, "\nCreate an account, so that this machine performs only what your devices have signed? (Join the\naccount of another machine with 'concerto-relay devices join'.) [Y/n] ")
		if err != nil {
			return err
		}
		if text != "" && !strings.HasPrefix(strings.ToLower(text), "y") {
			_, err := fmt.Fprintln(a.Stdout, "No account: the server can send this machine any command. `concerto-relay seal init` creates one.")
			return err
		}
		if err := p.create(ctx, "", ""); err != nil {
			return err
		}
		fmt.Fprintln(a.Stdout, "\nEnrol your phone (Ctrl-C: later):")
		return p.add(ctx, &addition{role: seal.Operator, noQR: noQR})
	}
}
