package hosts

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/program"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/record/hostreplay"
	"github.com/concerto-lang/concerto/internal/record/hosttrace"
)

func newHostReplay(a *console.Console) *cobra.Command {
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
		RunE: func(c *cobra.Command, args []string) error {
			f, err := program.ReplayArgs(args)
			if err != nil {
				return err
			}
			if f.Help {
				return c.Help()
			}
			return hostReplay(a, f)
		},
	}
}

func hostReplay(a *console.Console, f program.ReplayFlags) error {
	if err := a.ApplyFlags(f.Dir, ""); err != nil {
		return err
	}
	file, err := userfile.Open(a.Abs(f.File), userfile.MaxRecording)
	if err != nil {
		return console.Usage("`concerto run --wire "+f.File+"` makes one", "replay: %s: %v", f.File, console.Cause(err))
	}
	r, err := hosttrace.Read(file)
	err = errors.Join(err, file.Close())
	var line *hosttrace.LineError
	switch {
	case errors.As(err, &line):
		return console.Usage("`concerto run --wire` makes recordings", "replay: %s:%d: %s", f.File, line.Number, line.Why)
	case err != nil:
		return console.Usage("", "replay: %s: %v", f.File, console.Cause(err))
	}
	getenv := func(name string) string { return procgroup.Getenv(a.Environ, name) }
	if f.Version {
		return recordedVersion(a, r, &f, getenv)
	}
	host, proc, err := hostreplay.Choose(r, f.Host, f.Proc, getenv)
	if err != nil {
		return noReplay(a, f.File, err)
	}
	code := hostreplay.Play(hostreplay.Options{Recording: r, File: f.File, Host: host, Proc: proc, Timing: f.Timing, Strict: f.Strict,
		In: a.Stdin, Out: a.Stdout, Err: a.Stderr})
	return console.ExitError(code)
}

// recordedVersion says what the recorded program did to --version.
func recordedVersion(a *console.Console, r *hosttrace.Recording, f *program.ReplayFlags, getenv func(string) string) error {
	host, err := hostreplay.ChooseHost(r, f.Host, getenv)
	if err != nil {
		return noReplay(a, f.File, err)
	}
	version, ok := r.ProgramVersion(host)
	if !ok {
		return noReplay(a, f.File, fmt.Errorf("host '%s' was not asked for its version", host))
	}
	_, err = fmt.Fprintln(a.Stdout, version)
	return err
}

// noReplay says what the recording does not have.
func noReplay(a *console.Console, file string, err error) error {
	fmt.Fprintf(a.Stderr, "replay: %s: %v\n", file, err)
	return console.ExitError(hostreplay.Differs)
}
