package runs

import (
	"errors"
	"fmt"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/program"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/runtime/budget"
	"github.com/concerto-lang/concerto/runtime/budget/spent"
)

// NewBudget returns the command budget.
func NewBudget(a *console.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "budget [PATH]",
		Short: "Show what the runs of today have used",
		Long: `Prints the cost and the tokens of all runs since midnight that share the project's day_file,
what running calls and exchanges of each run have reserved, and the limits. Runs store their use if
[limits] has max_day_cost_usd, max_day_tokens or day_file.`,
		Example: "  concerto budget\n  concerto budget --format json",
		Args:    console.Arguments(0, 1),
	}
	format := cmdline.AddFormat(c, "text", "json")
	c.RunE = func(_ *cobra.Command, args []string) error {
		p, err := readProgram(a, args)
		if err != nil {
			return err
		}
		b, err := p.DayBudget(a.Dir)
		switch {
		case err != nil:
			return err
		case b == nil:
			return errNoDay
		case format.IsText():
			return writeDay(a, b)
		}
		return a.WriteJSON(dayJSON(b))
	}
	c.AddCommand(newBudgetRelease(a))
	return c
}

var errNoDay = console.Usage("add max_day_cost_usd, max_day_tokens or day_file to [limits] in Concerto.toml", "the runs of this program do not store what they use")

// readProgram reads the program at the path in args, or that of the project.
func readProgram(a *console.Console, args []string) (*engine.Program, error) {
	path := ""
	if len(args) == 1 {
		path = args[0]
	}
	source, err := program.Source(a, path, nil)
	if err != nil {
		return nil, err
	}
	return program.Read(a, source)
}

// newBudgetRelease returns the command budget release.
func newBudgetRelease(a *console.Console) *cobra.Command {
	return &cobra.Command{
		Use:   "release RUN [PATH]",
		Short: "Release the reservations of a run that no longer exists",
		Long: `Frees what a run has reserved of the limits of the day. A run that ends frees it itself, and
so do runs stop and runs rm; the command is for a run without a journal that was killed.`,
		Example: "  concerto budget release r_4f7c2k9d1m3x8q5z",
		Args:    console.Arguments(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := readProgram(a, args[1:])
			if err != nil {
				return err
			}
			b, err := p.DayBudget(a.Dir)
			if err != nil {
				return err
			}
			if b == nil {
				return errNoDay
			}
			root, err := p.JournalRoot(&engine.Options{Dir: a.Dir})
			if err != nil {
				return err
			}
			if rundir.IsPending(root, args[0], "") {
				return console.Usage("resume it, or stop it with concerto runs stop "+args[0], "the run %s has not ended", args[0])
			}
			found, err := engine.ReleaseDay(p, a.Dir, args[0])
			if running, ok := errors.AsType[*spent.RunningError](err); ok {
				return console.Usage("stop the process first", "%v", running)
			}
			if err == nil && !found {
				return console.Usage("concerto budget lists the reservations", "the run %s has reserved nothing", args[0])
			}
			return err
		},
	}
}

// dayBudget is what runs have used on a day, in JSON. A limit that is not set is null.
type dayBudget struct {
	Day            string        `json:"day"` // "2006-01-02"
	CostUSD        budget.Money  `json:"cost_usd"`
	Tokens         int64         `json:"tokens"`
	ReservedUSD    budget.Money  `json:"reserved_usd"`
	ReservedTokens int64         `json:"reserved_tokens"`
	MaxCostUSD     *budget.Money `json:"max_cost_usd"`
	MaxTokens      *int64        `json:"max_tokens"`
	Runs           []spent.Run   `json:"runs"`
	Reservations   []spent.Run   `json:"reservations"`
}

func dayJSON(b *engine.DayBudget) *dayBudget {
	d := &dayBudget{Day: b.Day, CostUSD: b.Used.Cost, Tokens: b.Used.Tokens, ReservedUSD: b.Reserved.Cost, ReservedTokens: b.Reserved.Tokens, Runs: append([]spent.Run{}, b.Runs...), Reservations: append([]spent.Run{}, b.Reservations...)}
	if b.MaxCost > 0 {
		d.MaxCostUSD = &b.MaxCost
	}
	if b.MaxTokens > 0 {
		d.MaxTokens = &b.MaxTokens
	}
	return d
}

func writeDay(a *console.Console, b *engine.DayBudget) error {
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "cost USD\ttokens\t  run")
	row := func(cost, tokens, name string) { fmt.Fprintf(w, "%s\t%s\t  %s\n", cost, tokens, name) }
	amount := func(x budget.Amount, name string) { row(x.Cost.String(), strconv.FormatInt(x.Tokens, 10), name) }
	for _, r := range b.Runs {
		amount(budget.Amount{Cost: r.Cost, Tokens: r.Tokens}, r.ID)
	}
	amount(b.Used, "used on "+b.Day)
	for _, r := range b.Reservations {
		amount(budget.Amount{Cost: r.Cost, Tokens: r.Tokens}, "reserved by "+r.ID)
	}
	if len(b.Reservations) > 1 {
		amount(b.Reserved, "reserved")
	}
	if b.MaxCost > 0 || b.MaxTokens > 0 {
		cost, tokens := "", ""
		if b.MaxCost > 0 {
			cost = b.MaxCost.String()
		}
		if b.MaxTokens > 0 {
			tokens = strconv.FormatInt(b.MaxTokens, 10)
		}
		row(cost, tokens, "limit")
	}
	return w.Flush()
}
