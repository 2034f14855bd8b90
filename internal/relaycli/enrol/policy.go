package enrol

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/relaycli/daemon"
	"github.com/concerto-lang/concerto/relay/seal"
)

func policyCommand(a *console.Console, s *daemon.HostdSettings) *cobra.Command {
	var decide []string
	c := &cobra.Command{
		Use:   "policy",
		Short: "Show or set which pages may decide requests",
		Long: `Shows for each risk of a request which devices may decide it: any, or pinned, which excludes
browsers that were enrolled at the page of the relay. The relay can make such a browser show one
request and sign another. Command lines, and browsers at the page of 'concerto-relay page' or of
another site, are pinned. A request without a risk counts as one of high risk.

--decide changes the levels that it names. The machines of the account enforce them.`,
		Example: `  concerto-relay seal policy
  concerto-relay seal policy --decide high=pinned
  concerto-relay seal policy --decide low=any,medium=pinned,high=pinned`,
		Args: console.ArgsBetween(0, 0, "concerto-relay seal policy"),
		RunE: func(*cobra.Command, []string) error {
			return act(a, s, func(ctx context.Context, p *party) error { return p.policy(ctx, decide) })
		},
	}
	c.Flags().StringSliceVar(&decide, "decide", nil, "set the pages by `RISK=LEVEL`: low, medium or high is any or pinned")
	return c
}

// policy sets levels of the account's policy, and prints the policy.
func (p *party) policy(ctx context.Context, decide []string) error {
	if len(decide) > 0 {
		if err := p.setPolicy(ctx, decide); err != nil {
			return err
		}
	} else if err := p.refreshIfPossible(ctx); err != nil {
		return err
	}
	r := p.roster()
	if r == nil {
		return console.Usage(noAccount, "this machine has no account")
	}
	for _, l := range r.Policy().Levels() {
		fmt.Fprintf(p.Stdout, "%-7s %s\n", l.Risk, l.Pages)
	}
	return nil
}

func (p *party) setPolicy(ctx context.Context, decide []string) error {
	s, err := p.owner(ctx)
	if err != nil {
		return err
	}
	var settings [][2]string
	for _, text := range decide {
		risk, level, _ := strings.Cut(text, "=")
		if _, ok := (seal.Policy{}).With(risk, level); !ok {
			return p.InvalidSetting("decide", "for example low=any,high=pinned", "invalid value %q", text)
		}
		settings = append(settings, [2]string{risk, level})
	}
	return p.change(ctx, s, func(r *seal.Roster) ([]byte, error) {
		policy := r.Policy()
		for _, one := range settings {
			policy, _ = policy.With(one[0], one[1]) // checked above
		}
		return r.SetPolicy(p.device.ID, p.device.Keys, policy, now())
	})
}
