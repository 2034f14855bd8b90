package hosts

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/program"
	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/record/hostreplay"
	"github.com/concerto-lang/concerto/internal/record/hosttrace"
)

// replayCommand is the command host replay with its options, which it parses itself.
type replayCommand struct {
	console *console.Console
	flags   program.ReplayFlags
}

func newHostReplay(a *console.Console) *cobra.Command {
	cmd := replayCommand{console: a}
	return &cobra.Command{
		Use:   "replay FILE [--host NAME] [--proc N] [--timing] [--strict]",
		Short: "Be a host that was recorded",
		Long: `Is a host: it plays what a process of one said, from a recording that --wire of
run, test, host test or host talk has made, and hears what was said to it. A line
that is not the recorded one ends it with exit code 65.

  [hosts.coder]
  transport = "claude-code"              # as it was
  command = "concerto"
  args = ["host", "replay", "talk.wire"]

  --host NAME   which host, if there are several
  --proc N      which of its processes; else the one that is started: the first, …
  --timing      each line comes as long after the one before as it did
  --strict      also folders, versions, models and keys of prompts must be the same
  --version     what the host's program says to that

Lines are compared as JSON. A mark such as ***API_KEY*** fits any text. What else
stands behind the file is ignored, as a vendor's host is started with flags.`,
		DisableFlagParsing: true, // the flags of another program's are among them
		RunE: func(c *cobra.Command, args []string) (err error) {
			if cmd.flags, err = program.ReplayArgs(args); err != nil {
				return err
			}
			if cmd.flags.Help {
				return c.Help()
			}
			return cmd.replay()
		},
	}
}

func (cmd *replayCommand) replay() error {
	if err := cmd.console.ApplyFlags(cmd.flags.Dir, ""); err != nil {
		return err
	}
	r, err := cmd.read()
	if err != nil {
		return err
	}
	if cmd.flags.Version {
		return cmd.writeVersion(r)
	}
	host, proc, err := hostreplay.Choose(r, cmd.flags.Host, cmd.flags.Proc, cmd.console.Getenv)
	if err != nil {
		return cmd.notRecorded(err)
	}
	return console.ExitError(hostreplay.Play(hostreplay.Options{Recording: r, File: cmd.flags.File, Host: host, Proc: proc, Timing: cmd.flags.Timing, Strict: cmd.flags.Strict,
		In: cmd.console.Stdin, Out: cmd.console.Stdout, Err: cmd.console.Stderr}))
}

// read reads the recording.
func (cmd *replayCommand) read() (*hosttrace.Recording, error) {
	file, err := userfile.Open(cmd.console.Abs(cmd.flags.File), userfile.MaxRecording)
	if err != nil {
		return nil, console.Usage("`concerto run --wire "+cmd.flags.File+"` makes one", "replay: %s: %v", cmd.flags.File, console.Cause(err))
	}
	r, err := hosttrace.Read(file)
	err = errors.Join(err, file.Close())
	var line *hosttrace.LineError
	switch {
	case errors.As(err, &line):
		return nil, console.Usage("`concerto run --wire` makes recordings", "replay: %s:%d: %s", cmd.flags.File, line.Number, line.Why)
	case err != nil:
		return nil, console.Usage("", "replay: %s: %v", cmd.flags.File, console.Cause(err))
	}
	return r, nil
}

// writeVersion writes what the recorded program printed for --version.
func (cmd *replayCommand) writeVersion(r *hosttrace.Recording) error {
	host, err := hostreplay.ChooseHost(r, cmd.flags.Host, cmd.console.Getenv)
	if err != nil {
		return cmd.notRecorded(err)
	}
	version, ok := r.ProgramVersion(host)
	if !ok {
		return cmd.notRecorded(fmt.Errorf("host '%s' was not asked for its version", host))
	}
	_, err = fmt.Fprintln(cmd.console.Stdout, version)
	return err
}

// notRecorded reports what the recording does not have.
func (cmd *replayCommand) notRecorded(err error) error {
	fmt.Fprintf(cmd.console.Stderr, "replay: %s: %v\n", cmd.flags.File, err)
	return console.ExitError(hostreplay.Differs)
}
