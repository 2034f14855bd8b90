package runner

import (
	"context"
	"errors"
	"time"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/record/activity"
	"github.com/concerto-lang/concerto/internal/term/progress"
	"github.com/concerto-lang/concerto/internal/term/screen"
)

// progressForms are the values of --progress.
var progressForms = []string{"auto", "plain", "none"}

// progressVariable is the environment variable with the default value of --progress.
const progressVariable = "CONCERTO_PROGRESS"

// progressForm returns the form in which progress is shown. The flag has priority over the
// environment variable; without either it is auto. With --quiet it is none, unless the flag is set.
func progressForm(a *console.Console, flag string) (string, error) {
	name := "--progress"
	if flag == "" && a.Quiet {
		flag = "none"
	}
	if flag == "" {
		name, flag = progressVariable, a.Getenv(progressVariable)
	}
	if flag == "" {
		flag = "auto"
	}
	return flag, console.OneOf(name, flag, progressForms)
}

// progressReporter shows on stderr what the hosts of a run are doing.
type progressReporter struct {
	a     *console.Console
	began time.Time
	tally progress.Tally
	plain *progress.Plain // set if progress is printed as permanent lines
	view  *progress.View  // set if progress is redrawn at the bottom of the terminal
}

// showProgress shows the progress of a run. On a terminal, lines at the bottom are redrawn;
// otherwise permanent lines are printed. It returns nil if nothing is shown, which is the case for
// a program without hosts and without visible stages. Otherwise the caller must call end after the
// run.
func (cmd *runCommand) showProgress(p *engine.Program, o *engine.Options) *progressReporter {
	live := cmd.shown == "auto" && cmd.console.TTY.ErrScreen && !cmd.console.WritesRecords() && !(cmd.console.TTY.Out && cmd.emit == "ndjson")
	if cmd.shown == "none" || len(p.Hosts()) == 0 && !(live && p.HasProgress()) {
		return nil
	}
	s := &progressReporter{a: cmd.console, began: time.Now()}
	if live {
		s.view = progress.NewView()
		o.Output.Viewed = true
		cmd.console.Bottom().Show(func(width, most int) []screen.Line { return s.view.Lines(time.Since(s.began), width, most) })
	} else {
		s.plain = progress.NewPlain(func(line string) { cmd.console.Notef("%s\n", line) })
		s.plain.All = cmd.console.Verbose > 0
		o.Output.Listed = true
	}
	o.Records.OnActivity = s.handleEvent
	return s
}

func (s *progressReporter) handleEvent(e activity.Event) {
	s.tally.Add(&e)
	if s.view != nil {
		s.view.HandleEvent(e)
	} else {
		s.plain.HandleEvent(e)
	}
}

// end stops showing progress. It prints a summary if the run used a host. used is what models and
// hosts have used.
func (s *progressReporter) end(err error, used models.Sum) {
	if s == nil {
		return
	}
	if s.plain != nil {
		s.plain.End(err)
	}
	if used.Exchanges == 0 {
		return
	}
	how := "done in"
	_, left := errors.AsType[*engine.Suspended](err)
	switch {
	case left:
		how = "suspended after"
	case errors.Is(err, console.ErrInterrupted), errors.Is(err, context.Canceled):
		how = "interrupted after"
	case err != nil:
		how = "failed after"
	}
	s.a.Notef("%s\n", s.tally.Summary(how, time.Since(s.began), used))
}
