package runner

import (
	"context"
	"errors"
	"time"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/record/activity"
	"github.com/concerto-lang/concerto/internal/term/progress"
	"github.com/concerto-lang/concerto/internal/term/screen"
	"github.com/concerto-lang/concerto/runtime/budget"
)

// progressForms are the values of --progress.
var progressForms = []string{"auto", "plain", "none"}

// progressVariable is the environment variable for the form of progress without --progress.
const progressVariable = "CONCERTO_PROGRESS"

// progressForm returns the form in which the progress of a run is shown: the flag, else the
// variable, else auto; with --quiet none, unless the flag is set.
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

// shownProgress shows what a run does with its hosts, on stderr.
type shownProgress struct {
	a     *console.Console
	began time.Time
	tally progress.Tally
	plain *progress.Plain // nil when the view is live
	view  *progress.View  // nil when it is not
}

// showProgress makes the run of the options show its progress: by lines at the bottom of the
// terminal that are redrawn, else by permanent lines. For a program without hosts and visible
// stages nothing is shown. It returns a value that must be notified of the run's end; nil if
// nothing is shown.
func (cmd *runCommand) showProgress(p *engine.Program, o *engine.Options) *shownProgress {
	live := cmd.shown == "auto" && cmd.console.TTY.ErrScreen && !cmd.console.WritesRecords() && !(cmd.console.TTY.Out && cmd.emit == "ndjson")
	if cmd.shown == "none" || len(p.Hosts()) == 0 && !(live && (p.HasPipelines() || p.HasProgress())) {
		return nil
	}
	s := &shownProgress{a: cmd.console, began: time.Now()}
	if live {
		s.view = progress.NewView()
		o.Output.Viewed = true
		cmd.console.Bottom().Show(func(width, most int) []screen.Line { return s.view.Lines(time.Since(s.began), width, most) })
	} else {
		s.plain = progress.NewPlain(func(line string) { cmd.console.Notef("%s\n", line) })
	}
	o.Records.OnActivity = s.hear
	others := o.Records.OnUsage
	o.Records.OnUsage = func(each []budget.Usage, all budget.Usage) {
		s.tally.Used.Tokens += all.TokensIn + all.TokensOut
		s.tally.Used.Cost += all.Cost.USD()
		if others != nil {
			others(each, all)
		}
	}
	return s
}

func (s *shownProgress) hear(e activity.Event) {
	s.tally.Add(&e)
	if s.view != nil {
		s.view.Hear(e)
	} else {
		s.plain.Hear(e)
	}
}

// end leaves a line about the run, when a host had a part in it.
func (s *shownProgress) end(err error) {
	if s == nil {
		return
	}
	if s.plain != nil {
		s.plain.End(err)
	}
	if s.tally.Exchanges == 0 {
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
	s.a.Notef("%s\n", s.tally.Summary(how, time.Since(s.began)))
}
