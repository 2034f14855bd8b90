package evals

import (
	"fmt"
	"time"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/eval/result"
	"github.com/concerto-lang/concerto/internal/eval/runner"
	"github.com/concerto-lang/concerto/internal/term/screen"
)

// progress shows the samples that have ended, and prints them with --format ndjson.
type progress struct {
	cmd     *runCommand
	sampler *engine.Sampler
	plans   []*runner.Plan
	counts  map[*runner.Plan]*counts
	start   time.Time
	done    int
	stop    func(error) // ends the samples
	err     error       // error of printing
}

// counts are the samples of a plan that have ended.
type counts struct{ done, failed, errors int }

func newProgress(cmd *runCommand, sampler *engine.Sampler, plans []*runner.Plan, stop func(error)) *progress {
	p := &progress{cmd: cmd, sampler: sampler, plans: plans, stop: stop, counts: map[*runner.Plan]*counts{}, start: time.Now()}
	for _, plan := range plans {
		p.counts[plan] = &counts{}
	}
	return p
}

// add adds a sample.
func (p *progress) add(plan *runner.Plan, s *result.Sample) {
	c := p.counts[plan]
	c.done++
	p.done++
	switch s.Status {
	case result.StatusFailed:
		c.failed++
	case result.StatusError:
		c.errors++
	}
	a := p.cmd.console
	if p.cmd.format.String() == "ndjson" && p.err == nil {
		text, err := s.Line()
		if err == nil {
			_, err = a.Stdout.Write(text)
		}
		if p.err = err; err != nil {
			p.stop(err)
		}
	}
	if !a.TTY.ErrScreen || a.Quiet {
		return
	}
	var lines []screen.Line
	total := 0
	for _, plan := range p.plans {
		total += plan.Samples()
	}
	for _, plan := range p.plans {
		c := p.counts[plan]
		text := fmt.Sprintf("%s: %d of %s", planName(plan), c.done, console.Count(plan.Samples(), "sample"))
		if c.failed > 0 {
			text += fmt.Sprintf(", %d failed", c.failed)
		}
		if c.errors > 0 {
			text += ", " + console.Count(c.errors, "error")
		}
		lines = append(lines, screen.Line{Mark: "⇢", Text: text})
	}
	if cost := p.sampler.Used(); cost > 0 {
		lines[0].Text += fmt.Sprintf(", $%s", formatNumber(cost))
	}
	if left := time.Since(p.start) / time.Duration(p.done) * time.Duration(total-p.done); left > time.Second {
		lines[0].Text += fmt.Sprintf(", %s left", left.Round(time.Second))
	}
	a.Bottom().Show(func(int, int) []screen.Line { return lines })
}
