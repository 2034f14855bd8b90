// Package runs manages stored runs: it shows, verifies and forks them and answers their questions.
// It lists, stops and removes those in directories. Resuming a run is not part of the package
// (spec/26-durable.md).
package runs

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/data/runconf"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/engine/telemetry"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/runtime"
	"github.com/concerto-lang/concerto/runtime/keeper"
	"github.com/concerto-lang/concerto/runtime/llm"
)

// Manifest returns the nearest manifest, or nil.
func Manifest(dir string) (*manifest.Manifest, error) {
	p, err := driver.ReadProject(dir)
	if err != nil || p == nil {
		return nil, err
	}
	return p.Manifest, nil
}

// Root returns the directory in which the nearest manifest stores runs, or "".
func Root(dir string) (string, error) {
	p, err := driver.ReadProject(dir)
	if err != nil || p == nil {
		return "", err
	}
	conf, err := runconf.Read(p.Manifest.Run.Config)
	if err != nil {
		return "", err
	}
	return conf.JournalRoot(p.Root), nil
}

// Show returns the state of a run, even if the journal is damaged. The error is journal.ErrNoRun, a
// *journal.NewerFormatError, or an error of the store.
func Show(run journal.Run) (*durable.Shown, error) {
	s, err := durable.Open(run)
	if damaged, ok := errors.AsType[*journal.DamagedError](err); ok {
		return durable.Broken(directory(run), damaged), nil
	}
	if err != nil {
		return nil, err
	}
	running, err := s.Run.IsRunning()
	if err != nil {
		return nil, err
	}
	return showStored(s, running)
}

// showStored returns the state of a run that was read before. running means that a process is
// running it.
func showStored(s *durable.Stored, running bool) (*durable.Shown, error) {
	p, err := ir.DecodeSettings(s.Program)
	if err != nil {
		return nil, err
	}
	conf, err := runconf.Read(p.Run)
	if err != nil {
		return nil, err
	}
	prices, err := connections(p)
	if err != nil {
		return nil, err
	}
	policy := func(kind, address string) string { return cmp.Or(conf.Policy(kind, address), durable.PolicyAsk) }
	shown, err := durable.Show(s, running, policy, prices.Cost)
	if err != nil {
		return nil, err
	}
	shown.Dir = directory(s.Run)
	if shown.Dir != "" {
		sent, unknown, found, err := telemetry.Status(filepath.Join(shown.Dir, telemetry.SentFile))
		if err != nil {
			return nil, err
		}
		if found {
			shown.Telemetry = &durable.ShownExport{Sent: sent, Unknown: unknown}
		}
	}
	if shown.Exit == nil && shown.Dir != "" {
		shown.Hosts = hosts(shown.Dir, running)
	}
	return shown, nil
}

// directory returns the path of the directory that contains a run, or "" for another store.
func directory(run journal.Run) string {
	if d, ok := run.(*rundir.Directory); ok {
		return d.Name()
	}
	return ""
}

// connections returns the connections of a program with the prices of their models.
func connections(p *ir.Program) (all runtime.Parties, err error) {
	for _, x := range p.Connections {
		c, err := llm.ParseConnection(x.Name, x.Config)
		if err != nil {
			return all, err
		}
		all.Connections = append(all.Connections, c)
	}
	return all, nil
}

// List returns the states of the runs in the subdirectories of root, oldest first.
func List(root string) ([]*durable.Shown, error) {
	all, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return []*durable.Shown{}, nil
	}
	if err != nil {
		return nil, err
	}
	runs := []*durable.Shown{}
	for _, e := range all {
		if !e.IsDir() {
			continue
		}
		s, err := Show(rundir.At(filepath.Join(root, e.Name())))
		if errors.Is(err, journal.ErrNoRun) {
			continue
		}
		if newer := (*journal.NewerFormatError)(nil); errors.As(err, &newer) {
			s, err = durable.Broken(filepath.Join(root, e.Name()), newer), nil
		}
		if err != nil {
			return nil, err
		}
		runs = append(runs, s)
	}
	slices.SortStableFunc(runs, func(a, b *durable.Shown) int { return strings.Compare(a.Started, b.Started) })
	return runs, nil
}

// hosts returns the processes of a run's hosts. running means that a process is running the run.
func hosts(dir string, running bool) []durable.ShownHost {
	all := []durable.ShownHost{}
	processes, err := keeper.Processes(dir)
	if err != nil {
		return all // the processes are unknown, so none are listed
	}
	shown := map[string]bool{}
	for _, p := range processes {
		shown[p.String()] = true
		h := durable.ShownHost{Host: p.Host, PID: p.PID, State: "kept"}
		switch {
		case p.Exit != nil:
			h.State = "ended"
		case running:
			h.State = "attached"
		}
		all = append(all, h)
	}
	dirs, _ := filepath.Glob(filepath.Join(dir, "hosts", "*.*")) // the pattern is valid
	for _, name := range dirs {
		if host := filepath.Base(name); !shown[host] && len(processes) == 0 && !running {
			all = append(all, durable.ShownHost{Host: host[:len(host)-len(filepath.Ext(host))], State: "lost"})
		}
	}
	return all
}
