package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/concerto-lang/concerto"
	"github.com/concerto-lang/concerto/internal/progress"
)

// progressForms are the values of --progress.
var progressForms = []string{"auto", "plain", "none"}

// progressVariable is what says how progress is shown where --progress does not.
const progressVariable = "CONCERTO_PROGRESS"

// progressForm is how the progress of a run is shown: what the flag says, else
// the variable, else auto; with --quiet not at all, unless the flag says so.
func (a *app) progressForm(flag string) (string, error) {
	name := "--progress"
	if flag == "" && a.quiet {
		flag = "none"
	}
	if flag == "" {
		name = progressVariable
		for _, v := range a.environ {
			if value, ok := strings.CutPrefix(v, progressVariable+"="); ok {
				flag = value
			}
		}
	}
	if flag == "" {
		flag = "auto"
	}
	return flag, oneOf(name, flag, progressForms)
}

// shownProgress shows what a run does with its hosts, on stderr.
type shownProgress struct {
	a     *app
	began time.Time
	tally progress.Tally
	plain *progress.Plain
}

// showProgress has the run that the options are for show its progress. Nothing
// is followed of a program that has no hosts: it has none. What it gives is told
// of the run's end; nil when nothing is shown.
func (a *app) showProgress(form string, p *concerto.Program, o *concerto.Options) *shownProgress {
	if form == "none" || len(p.Hosts()) == 0 {
		return nil
	}
	s := &shownProgress{a: a, began: time.Now()}
	s.plain = progress.NewPlain(func(line string) { a.note("%s\n", line) })
	o.Records.OnActivity = s.hear
	others := o.Records.OnUsage
	o.Records.OnUsage = func(each []concerto.ModelUsage, all concerto.ModelUsage) {
		s.tally.Used.Tokens += all.TokensIn + all.TokensOut
		s.tally.Used.Cost += all.Cost.USD()
		if others != nil {
			others(each, all)
		}
	}
	return s
}

func (s *shownProgress) hear(e concerto.Activity) {
	s.tally.Add(&e)
	s.plain.Hear(e)
}

// end leaves a line about the run, when a host had a part in it.
func (s *shownProgress) end(err error) {
	if s == nil || s.tally.Exchanges == 0 {
		return
	}
	how := "done in"
	switch {
	case errors.Is(err, errInterrupted), errors.Is(err, context.Canceled):
		how = "interrupted after"
	case err != nil:
		how = "failed after"
	}
	s.a.note("%s\n", s.tally.Summary(how, time.Since(s.began)))
}
