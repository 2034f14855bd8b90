// Package engines has the commands for engines, databases whose runs several machines execute:
// engine, worker, submit and queue.
package engines

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/runs/locate"
	"github.com/concerto-lang/concerto/internal/record/journal/postgres"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
)

// engineCommand is one of the engine commands with its options.
type engineCommand struct {
	console   *console.Console
	format    *cmdline.Format
	noRoles   bool
	olderThan string
	failed    bool
}

func NewEngine(a *console.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "engine COMMAND",
		Short: "Set up and check the database of an engine",
		Long: `An engine is a PostgreSQL database (version 14 or later) that stores runs, so that workers on
several machines can execute them. Its URL is --engine URL, $CONCERTO_ENGINE, or the variable that
[engine] url_env in the manifest names. 'concerto submit' stores runs, 'concerto worker' executes
them, and 'concerto runs' shows and changes them.`,
		Example: `  export CONCERTO_ENGINE=postgres://me@127.0.0.1/runs
  concerto engine init
  concerto submit triage.conc
  concerto worker`,
		Args: console.UnknownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	add := func(x *cobra.Command, run func(cmd *engineCommand, ctx context.Context) error) *engineCommand {
		cmd := &engineCommand{console: a}
		x.Args = console.NoArguments
		x.RunE = func(c *cobra.Command, _ []string) error { return run(cmd, c.Context()) }
		cmd.format = cmdline.AddFormat(x, "text", "json")
		locate.AddEngineFlag(a, x)
		c.AddCommand(x)
		return cmd
	}
	init := &cobra.Command{Use: "init", Short: "Create the tables and roles of an engine",
		Long: `Creates the schema concerto in the database, and the group roles concerto_reader, concerto_client
and concerto_worker. Give each user of the engine one of them: GRANT concerto_worker TO w1.`,
		Example: "  concerto engine init\n  concerto engine init --no-roles"}
	cmd := add(init, (*engineCommand).init)
	init.Flags().BoolVar(&cmd.noRoles, "no-roles", false, "do not create roles")
	add(&cobra.Command{Use: "upgrade", Short: "Upgrade the tables of an engine to this version",
		Long:    "Upgrades the schema in one transaction. Workers of the previous version continue to work.\nUpgrade them afterwards.",
		Example: "  concerto engine upgrade"}, (*engineCommand).upgrade)
	add(&cobra.Command{Use: "check", Short: "Check an engine and show its workers",
		Long:    "Reports problems and how to fix them. Exits with code 1 if a check has failed; warnings do not fail.",
		Example: "  concerto engine check\n  concerto engine check --format json"}, (*engineCommand).check)
	prune := &cobra.Command{Use: "prune --older-than AGE", Short: "Delete old runs from an engine",
		Long:    "Deletes the runs that finished before a time, and the programs that nothing uses. Only the owner of\nthe schema can do that.",
		Example: "  concerto engine prune --older-than 30d\n  concerto engine prune --older-than 90d --failed"}
	cmd = add(prune, (*engineCommand).prune)
	prune.Flags().StringVar(&cmd.olderThan, "older-than", "", "delete runs that ended before `AGE`, such as 12h or 30d")
	prune.Flags().BoolVar(&cmd.failed, "failed", false, "also delete runs that failed")
	return c
}

// initReport is the result of `engine init --format json`.
type initReport struct {
	Engine  string `json:"engine"`
	Schema  int    `json:"schema"`
	Created bool   `json:"created"`
	Roles   bool   `json:"roles"` // the roles exist
}

func (cmd *engineCommand) init(ctx context.Context) error {
	e, err := locate.Connect(ctx, cmd.console, locate.Owner)
	if err != nil {
		return err
	}
	created, err := e.Init(ctx, !cmd.noRoles)
	var roles *postgres.RolesError
	if err != nil && !errors.As(err, &roles) {
		return err
	}
	if _, err := e.CheckSchema(ctx); err != nil {
		return err
	}
	if !cmd.format.IsText() {
		if err := cmd.console.WriteJSON(initReport{e.Address(), postgres.Schema, created, !cmd.noRoles && roles == nil}); err != nil {
			return err
		}
	} else if created {
		fmt.Fprintf(cmd.console.Stdout, "created the schema, version %d\n", postgres.Schema)
	} else {
		fmt.Fprintf(cmd.console.Stdout, "schema is already at version %d\n", postgres.Schema)
	}
	if roles != nil {
		cmd.console.Notef("concerto: %v\n", roles)
	}
	return nil
}

func (cmd *engineCommand) upgrade(ctx context.Context) error {
	e, err := locate.Connect(ctx, cmd.console, locate.Owner)
	if err != nil {
		return err
	}
	from, err := e.Upgrade(ctx)
	if err != nil {
		return err
	}
	if !cmd.format.IsText() {
		return cmd.console.WriteJSON(struct {
			Engine string `json:"engine"`
			From   int    `json:"from"`
			Schema int    `json:"schema"`
		}{e.Address(), from, postgres.Schema})
	}
	text := fmt.Sprintf("upgraded the schema from version %d to %d", from, postgres.Schema)
	if from == postgres.Schema {
		text = fmt.Sprintf("schema is already at version %d", from)
	}
	_, err = fmt.Fprintln(cmd.console.Stdout, text)
	return err
}

func (cmd *engineCommand) check(ctx context.Context) error {
	e, err := locate.Connect(ctx, cmd.console, locate.Reader)
	if err != nil {
		return err
	}
	r, err := e.Report(ctx)
	if err != nil {
		return err
	}
	if cmd.format.IsText() {
		err = cmd.showReport(r)
	} else {
		err = cmd.console.WriteJSON(r)
	}
	if err == nil && !r.OK {
		err = console.ExitError(console.ExitFailed)
	}
	return err
}

func (cmd *engineCommand) showReport(r *postgres.Report) error {
	w := tabwriter.NewWriter(cmd.console.Stdout, 0, 0, 2, ' ', 0)
	for _, c := range r.Checks {
		fmt.Fprintf(w, "%s\t%s\t%s\n", c.State, c.Name, console.Printable(c.Text))
		if c.Action != nil {
			fmt.Fprintf(w, "\t\t→ %s\n", *c.Action)
		}
	}
	for _, x := range r.Workers {
		state := ""
		if x.Draining {
			state = ", draining"
		}
		fmt.Fprintf(w, "worker\t%s\t%s, process %d, queues %s, %d of %d runs%s\n", x.ID, console.Printable(x.Machine), x.PID, strings.Join(x.Queues, ", "), x.Running, x.Concurrency, state)
	}
	return w.Flush()
}

func (cmd *engineCommand) prune(ctx context.Context) error {
	if cmd.olderThan == "" {
		return console.Usage("for example: concerto engine prune --older-than 30d", "engine prune requires --older-than")
	}
	age, err := console.ParseDuration("--older-than", cmd.olderThan)
	if err != nil {
		return err
	}
	e, err := locate.Engine(ctx, cmd.console, locate.Owner)
	if err != nil {
		return err
	}
	n, err := e.Prune(ctx, age, cmd.failed)
	if err != nil {
		return err
	}
	if !cmd.format.IsText() {
		return cmd.console.WriteJSON(struct {
			Removed int `json:"removed"`
		}{n})
	}
	_, err = fmt.Fprintf(cmd.console.Stdout, "deleted %d runs\n", n)
	return err
}
