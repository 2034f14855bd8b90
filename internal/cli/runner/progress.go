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

// progressVariable is the environment variable that replaces --progress.
const progressVariable = "CONCERTO_PROGRESS"

// progressForm returns the form of the progress: the value of the flag, otherwise of the variable,
// otherwise auto. With --quiet and without the flag it returns none.
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

// progressReporter shows on stderr what a run's hosts do.
type progressReporter struct {
	a     *console.Console
	began time.Time
	tally progress.Tally
	plain *progress.Plain // nil if the view is live
	view  *progress.View  // nil if the view is not live
}

// showProgress shows the progress of the run: on a terminal by lines at its bottom that are
// redrawn, otherwise by permanent lines. It shows nothing for a program without hosts and visible
// stages. It returns nil if it shows nothing; otherwise the caller must call end after the run.
func (cmd *runCommand) showProgress(p *engine.Program, o *engine.Options) *progressReporter {
	live := cmd.shown == "auto" && cmd.console.TTY.ErrScreen && !cmd.console.WritesRecords() && !(cmd.console.TTY.Out && cmd.emit == "ndjson")
	if cmd.shown == "none" || len(p.Hosts()) == 0 && !(live && (p.HasPipelines() || p.HasProgress())) {
		return nil
	}
	s := &progressReporter{a: cmd.console, began: time.Now()}
	if live {
		s.view = progress.NewView()
		o.Output.Viewed = true
		cmd.console.Bottom().Show(func(width, most int) []screen.Line { return s.view.Lines(time.Since(s.began), width, most) })
	} else {
		s.plain = progress.NewPlain(func(line string) { cmd.console.Notef("%s\n", line) })
	}
	o.Records.OnActivity = s.handleEvent
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

func (s *progressReporter) handleEvent(e activity.Event) {
	s.tally.Add(&e)
	if s.view != nil {
		s.view.HandleEvent(e)
	} else {
		s.plain.HandleEvent(e)
	}
}

// end prints a summary of the run if it used a host.
func (s *progressReporter) end(err error) {
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
