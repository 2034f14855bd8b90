package runner

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/program"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
)

// durableFlags are the flags that configure how a durable run is stored.
type durableFlags struct {
	journal    string
	park, wait bool
	sync       string
	dir        string         // directory of the run, as the user named it
	command    *cobra.Command // command whose flags are stored with the run

	notedUnstored bool // the user knows that the runs of --watch are not stored
}

var syncForms = []string{"output", "every", "never"}

func (f *durableFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.journal, "journal", "", "store the run in `DIR`, a new or empty directory")
	f.addWaitFlags(c)
}

// addWaitFlags adds the flags that run and resume share.
func (f *durableFlags) addWaitFlags(c *cobra.Command) {
	c.Flags().BoolVar(&f.park, "park", false, "exit with code 75 while the run waits only for answers and timers")
	c.Flags().BoolVar(&f.wait, "wait", false, "wait for answers by 'concerto runs answer'")
	c.Flags().StringVar(&f.sync, "sync", "", "sync the journal `WHEN`: output, every or never (default output)")
	c.MarkFlagsMutuallyExclusive("park", "wait")
}

// useJournal sets in o where the run is stored, if the flags or the manifest require storing.
func (cmd *runCommand) useJournal(p *engine.Program, o *engine.Options) error {
	d := &cmd.durable
	if err := d.validate(); err != nil {
		return err
	}
	root, err := p.JournalRoot(o)
	if err != nil {
		return err
	}
	switch {
	case d.journal != "":
		d.dir, cmd.console.RunName = d.journal, d.journal
		o.Records.Durable = d.options(cmd.console, cmd.console.Abs(d.journal))
	case root != "" && cmd.watch:
		if !d.notedUnstored {
			cmd.console.Notef("concerto: the runs are not stored: [run] journal has no effect with --watch\n")
		}
		d.notedUnstored = true
		return nil
	case root != "":
		id := procgroup.NewID()
		o.Session.SessionID, d.dir = id, id
		o.Records.Durable = d.options(cmd.console, filepath.Join(root, id))
		if err := os.MkdirAll(root, 0o700); err != nil {
			return fmt.Errorf("create %s, the manifest's directory of stored runs: %w", root, err)
		}
		cmd.console.Notef("concerto: storing run %s in %s\n", id, cmd.console.Relative(o.Records.Durable.Dir))
	case d.park || d.wait || d.sync != "":
		return console.Usage("add --journal <dir>", "--park, --wait and --sync require a stored run")
	default:
		return nil
	}
	if cmd.files.tape != "" {
		return console.Usage("leave out --record: `concerto runs tape` writes a tape of a stored run", "--record and --journal cannot be used together")
	}
	values, err := json.Marshal(program.ChangedFlags(d.command.Flags()))
	if err != nil {
		return err
	}
	o.Records.Durable.Given = values
	return nil
}

// changedFlag returns the name of a flag about the stored run that is set, or "".
func (f *durableFlags) changedFlag() (name string) {
	f.command.Flags().Visit(func(x *pflag.Flag) {
		if slices.Contains([]string{"journal", "park", "wait", "sync"}, x.Name) {
			name = "--" + x.Name
		}
	})
	return name
}

// validate returns an error for an invalid value of --sync.
func (f *durableFlags) validate() error {
	if f.sync != "" {
		if err := console.OneOf("--sync", f.sync, syncForms); err != nil {
			return err
		}
	}
	return nil
}

// options returns the options of a durable run that is stored in dir.
func (f *durableFlags) options(a *console.Console, dir string) *engine.Durable {
	return &engine.Durable{Dir: dir, Park: f.park, Wait: f.wait, Sync: f.sync, Remark: func(text string) { a.Notef("concerto: %s\n", text) }}
}
