package guards

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/user"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/agents/guard"
	"github.com/concerto-lang/concerto/internal/agents/guard/setup"
	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
)

// shownSessions is the number of sessions that guard status lists.
const shownSessions = 20

// agentStatus is what guard status reports about an agent.
type agentStatus struct {
	Name      string            `json:"agent"`
	Version   string            `json:"version,omitempty"` // "" if it is not installed
	Installed []setup.Installed `json:"installed"`
	Checked   *setup.Check      `json:"checked"` // the last check, or null
}

func newStatus(a *console.Console) *cobra.Command {
	cmd := setupCommand{console: a}
	c := &cobra.Command{
		Use:   "status",
		Short: "Show agents, their last check, and the latest sessions",
		Long: `Lists the supported agents with their versions, where hooks are installed, and whether this version
was checked, and then the latest sessions with their last call and its decision. A session that was
stopped by an alarm is marked.`,
		Example: `  concerto guard status
  concerto guard status --format json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return cmd.status(c.Context()) },
	}
	cmd.format = cmdline.AddFormat(c, "text", "json")
	return c
}

func (cmd *setupCommand) status(ctx context.Context) error {
	a, p := cmd.console, cmd.place()
	installed, err := p.Installed()
	if err != nil {
		return err
	}
	checks, err := p.Checks()
	if err != nil {
		return err
	}
	places := guardPlaces(a)
	sessions, err := places.Sessions()
	if err != nil {
		return err
	}
	var agents []agentStatus
	for _, x := range setup.Agents() {
		s := agentStatus{Name: x.Name, Checked: checks[x.Name], Installed: slices.DeleteFunc(slices.Clone(installed), func(i setup.Installed) bool { return i.Agent != x.Name })}
		var missing *setup.NotFoundError
		if _, s.Version, err = x.Locate(ctx, p); err != nil && !errors.As(err, &missing) {
			return err
		}
		agents = append(agents, s)
	}
	if !cmd.format.IsText() {
		return a.WriteJSON(map[string]any{"agents": agents, "sessions": sessions})
	}
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "AGENT\tVERSION\tHOOKS\tCHECK")
	for _, s := range agents {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", s.Name, cmp.Or(s.Version, "not installed"), cmp.Or(s.levels(), "none"), s.check())
	}
	if len(sessions) > 0 {
		fmt.Fprintln(w, "\nSESSION\tAGENT\tDIRECTORY\tLAST\tCALL\tDECISION")
		for _, s := range sessions[:min(len(sessions), shownSessions)] {
			decision := s.Decision
			if s.Stopped != "" {
				decision = "stopped: " + s.Stopped
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", s.ID, s.Agent, console.Printable(s.Dir), s.Time.Local().Format(time.DateTime), console.Printable(s.Tool), console.Printable(decision))
		}
	}
	return w.Flush()
}

// levels returns where hooks are installed.
func (s *agentStatus) levels() string {
	var names []string
	for _, i := range s.Installed {
		name := string(i.Level)
		if i.Dir != "" {
			name += " " + i.Dir
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// check returns what is known of the last check.
func (s *agentStatus) check() string {
	switch c := s.Checked; {
	case c == nil:
		return "never checked: run `concerto guard check " + s.Name + "`"
	case s.Version != "" && c.Version != s.Version:
		return "unchecked: the last check was of version " + c.Version
	case !c.Enforced:
		return "NOT enforced"
	default:
		return "enforced, checked " + c.Time.Local().Format(time.DateTime)
	}
}

func newRelease(a *console.Console) *cobra.Command {
	return &cobra.Command{
		Use:   "release SESSION",
		Short: "Release a session that an alarm has stopped",
		Long: `An alarm stops a session: a call has run without a decision, or with other arguments than those that
were judged. Check the session's ledger with 'concerto audit show' first. The release is recorded in
the ledger with your name. Agents cannot run this command.`,
		Example: `  concerto guard release 0c2f6a1e-5c1e-4d0a-9c57-2b1d0b6f7a3e`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return console.Usage("`concerto guard status` lists the sessions", "guard release requires a session")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			name := a.Getenv("USER")
			if u, err := user.Current(); err == nil {
				name = u.Username
			}
			places := guardPlaces(a)
			why, err := places.Release(args[0], name)
			if problem := (*guard.NotStoppedError)(nil); errors.As(err, &problem) {
				return console.Usage("`concerto guard status` lists the sessions", "%v", err)
			}
			if err == nil {
				fmt.Fprintf(a.Stdout, "released: %s\n", console.Printable(why))
			}
			return err
		},
	}
}

func newTrust(a *console.Console) *cobra.Command {
	return &cobra.Command{
		Use:   "trust",
		Short: "Use the rules of the current project that allow something",
		Long: `A project's policy can deny and ask by itself. It allows calls only after this command, which shows
the entries that allow something, and only as long as [guard] is as it is now: a change must be
trusted again. Agents cannot run this command. The policies of the user and of the system need no
trust.`,
		Example: `  concerto guard trust`,
		Args:    console.Arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			places := guardPlaces(a)
			file, allows, err := places.Trust(a.Dir)
			if err != nil {
				return console.Usage("write [guard] in the project's Concerto.toml", "%v", err)
			}
			fmt.Fprintf(a.Stdout, "trusted: %s\n", console.Printable(a.Relative(file)))
			for _, entry := range allows {
				fmt.Fprintf(a.Stdout, "  %s\n", console.Printable(entry))
			}
			return nil
		},
	}
}
