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
		Short: "Play a recorded host",
		Long: `Runs as a host: plays the messages of a host's process from a file of --wire, and compares the
messages that it receives with the recorded ones as JSON. A difference ends it with exit code 65. A
mark such as ***API_KEY*** matches any text. Unknown flags after FILE are ignored, because vendors'
hosts are started with flags.

  [hosts.coder]
  transport = "claude-code"              # as recorded
  command = "concerto"
  args = ["host", "replay", "talk.wire"]

Flags:
      --host NAME   play the host NAME, if the recording has several
      --proc N      play its process N (default: the processes in order)
      --timing      send each line with the recorded delay
      --strict      also compare directories, versions, models and keys of prompts
      --version     print the recorded version`,
		Example: `  concerto host replay talk.wire
  concerto host replay talk.wire --host Coder --timing`,
		DisableFlagParsing: true, // the arguments may contain flags of other programs
		RunE: func(c *cobra.Command, args []string) (err error) {
			if cmd.flags, err = program.ParseReplayArgs(args); err != nil {
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
		return nil, console.Usage("create it with `concerto run --wire "+cmd.flags.File+"`", "replay: %s: %v", cmd.flags.File, console.Cause(err))
	}
	r, err := hosttrace.Read(file)
	err = errors.Join(err, file.Close())
	var line *hosttrace.LineError
	switch {
	case errors.As(err, &line):
		return nil, console.Usage("`concerto run --wire "+cmd.flags.File+"` creates a recording", "replay: %s:%d: %s", cmd.flags.File, line.Number, line.Why)
	case err != nil:
		return nil, console.Usage("", "replay: %s: %v", cmd.flags.File, console.Cause(err))
	}
	return r, nil
}

// writeVersion writes the recorded output of the host's --version.
func (cmd *replayCommand) writeVersion(r *hosttrace.Recording) error {
	host, err := hostreplay.ChooseHost(r, cmd.flags.Host, cmd.console.Getenv)
	if err != nil {
		return cmd.notRecorded(err)
	}
	version, ok := r.ProgramVersion(host)
	if !ok {
		return cmd.notRecorded(fmt.Errorf("the recording does not contain the version of host '%s'", host))
	}
	_, err = fmt.Fprintln(cmd.console.Stdout, version)
	return err
}

// notRecorded reports that the recording does not contain the requested part.
func (cmd *replayCommand) notRecorded(err error) error {
	fmt.Fprintf(cmd.console.Stderr, "replay: %s: %v\n", cmd.flags.File, err)
	return console.ExitError(hostreplay.Differs)
}
