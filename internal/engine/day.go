package engine

import (
	"path/filepath"
	"time"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/runtime"
	"github.com/concerto-lang/concerto/runtime/budget"
	"github.com/concerto-lang/concerto/runtime/budget/spent"
)

// openDay opens the file in which the run stores what it uses on a day, if the manifest requires
// one.
func (p *Program) openDay(o *Options, c *runtime.Config) (day runtime.DayLimits, err error) {
	l := &p.ir.Limits
	if l.DayFile == "" || o.Models.Mock {
		return day, nil
	}
	path, err := p.dayFile(o)
	if err != nil {
		return day, err
	}
	if c.Session.ID == "" {
		c.Session.ID = procgroup.NewID()
	}
	file, err := spent.Open(path, c.Session.ID, time.Now)
	if err != nil {
		return day, err
	}
	if c.Keeper == nil {
		// No exchange of an earlier process continues.
		if err := file.DropOthers(); err != nil {
			return day, firstError(err, file.Close())
		}
	}
	return runtime.DayLimits{File: file, Tokens: l.MaxDayTokens, CostUSD: l.MaxDayCostUSD}, nil
}

// dayFile returns the absolute path of the file in which runs of the program store what they use on
// a day, or "" if the manifest requires none.
func (p *Program) dayFile(o *Options) (string, error) {
	name := p.ir.Limits.DayFile
	if name == "" || filepath.IsAbs(name) {
		return name, nil
	}
	root, err := p.base(o)
	return filepath.Join(root, name), err
}

// DayBudget is what all runs with the same file have used on a day, and its limits; 0 means no
// limit.
type DayBudget struct {
	*spent.Summary
	MaxCost   budget.Money
	MaxTokens int64
}

// ReleaseDay ends the reservations of a run that no longer exists. It reports whether there were
// any. The error is a *spent.RunningError if a process of the run may be running.
func ReleaseDay(p *Program, dir, run string) (found bool, err error) {
	path, err := p.dayFile(&Options{Dir: dir})
	if err != nil || path == "" {
		return false, err
	}
	return spent.Release(path, run, false, time.Now)
}

// DayBudget reads what the runs of the program, and others with the same file, have used since
// midnight. The paths of a compiled program are relative to dir. The result is nil if the manifest
// requires no file.
func (p *Program) DayBudget(dir string) (*DayBudget, error) {
	path, err := p.dayFile(&Options{Dir: dir})
	if err != nil || path == "" {
		return nil, err
	}
	s, err := spent.Read(path, time.Now)
	if err != nil {
		return nil, err
	}
	return &DayBudget{s, budget.Dollars(p.ir.Limits.MaxDayCostUSD), p.ir.Limits.MaxDayTokens}, nil
}
