package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/runtime"
	"github.com/concerto-lang/concerto/stdlib"
	"github.com/concerto-lang/concerto/vm"
)

// StoredRun is a stored run.
type StoredRun struct {
	Dir   string
	ID    string
	Name  string          // path of the program's main file relative to Root
	Root  string          // directory to which the manifest's paths are relative
	Cwd   string          // directory to which the program's paths are relative
	Given json.RawMessage // Durable.Given
	// LedgerHead is the hash of the last record in the ledger of a completed run; "" if the run has
	// not completed.
	LedgerHead string
	stored     *durable.Stored
	shared     journal.Run // the run, if its store is shared; otherwise nil
	resumed    bool        // Resume was called
}

// OpenRun reads the stored run in a directory. The error is ErrNoRun, a *JournalDamaged, a
// *JournalNewer, or an error of reading the files.
func OpenRun(dir string) (*StoredRun, error) {
	return openStored(openRun(dir), dir)
}

// OpenSharedRun reads a run in a store that several machines share. Paths of the program and its
// manifest are relative to cwd. dir is Durable.Dir. The errors are those of OpenRun.
func OpenSharedRun(run journal.Run, dir, cwd string) (*StoredRun, error) {
	s, err := openStored(run, dir)
	if err != nil {
		return nil, err
	}
	s.shared, s.Root, s.Cwd = run, cwd, cwd
	return s, nil
}

func openStored(run journal.Run, dir string) (*StoredRun, error) {
	k, err := durable.Open(run)
	if err != nil {
		return nil, err
	}
	return newStoredRun(k, dir), nil
}

func newStoredRun(k *durable.Stored, dir string) *StoredRun {
	s := &StoredRun{Dir: dir, ID: k.Start.Run, Name: k.Start.Program, Root: k.Flags.Root, Cwd: k.Session.Cwd, Given: k.Flags.Given, stored: k}
	if last := k.History.Last(); last.RecordKind == journal.KFinish {
		s.LedgerHead = last.Ledger
	}
	return s
}

// Finished returns the exit code of the run. ok is false if the run has not completed.
func (s *StoredRun) Finished() (code int, ok bool) {
	at := s.stored.Code()
	if at == nil {
		return 0, false
	}
	return *at, true
}

// Is reports whether p is the program of the run.
func (s *StoredRun) Is(p *Program) bool { return hexsum.SHA256(p.Encode()) == s.stored.Sum }

// Program returns the program of the run.
func (s *StoredRun) Program() (*Program, error) { return Load(s.stored.Program) }

// options sets the options with which the run was started.
func (s *StoredRun) options(o *Options) error {
	start, session := s.stored.Start, &s.stored.Session
	o.Args, o.Inputs, o.WorkDir, o.Dir, o.Models.Mock = start.Args, start.Inputs, s.Cwd, s.Root, s.stored.Flags.Mock
	if len(o.Allow.Allow) == 0 && !o.Allow.Sandbox { // the caller grants nothing by itself
		stored := Limit(s.stored.Flags.Limit)
		if stored == ByCaller { // what it granted is not stored
			stored = Configured
		}
		o.Limit = stricter(o.Limit, stored)
	}
	o.Session.SessionID, o.Session.Cwd, o.Session.Render, o.Session.Metadata = s.ID, s.Cwd, session.Render, nil
	if session.Metadata != nil {
		if err := json.Unmarshal(session.Metadata, &o.Session.Metadata); err != nil {
			return err
		}
	}
	seed, err := strconv.ParseInt(start.Seed, 10, 64)
	if err != nil {
		return &journal.DamagedError{Where: "journal-000001.ndjson:1", Why: "its seed is not an Int"}
	}
	o.own.seed, o.own.durable = &seed, s
	return nil
}

// Resume replays the recorded results and then continues the run, with the options with which the
// run was started. The fields Park, Wait and Sync of o.Records.Durable override them if they are
// set.
func (s *StoredRun) Resume(ctx context.Context, o Options) error {
	if s.Continued() && s.shared == nil {
		return continued(ctx, o, s.continued())
	}
	return continued(ctx, o, s.resumeOnce(ctx, o))
}

// resumeOnce resumes the run until it ends or has continued as a new run.
func (s *StoredRun) resumeOnce(ctx context.Context, o Options) error {
	if s.resumed {
		if err := s.reload(); err != nil {
			return err
		}
	}
	s.resumed = true
	p, err := s.Program()
	if err != nil {
		return err
	}
	if err := s.options(&o); err != nil {
		return err
	}
	d := s.durable(o.Records.Durable)
	d.Dir, d.Run = s.Dir, s.shared
	o.Records.Durable = d
	return runOnce(ctx, p, o)
}

// reload reads the stored run again.
func (s *StoredRun) reload() (err error) {
	s.stored, err = durable.Open(s.stored.Run)
	return err
}

// Answered reports whether one of the questions has an answer that the run has not received yet.
func (s *StoredRun) Answered(all []durable.Question) bool {
	return slices.ContainsFunc(all, func(q durable.Question) bool { return journal.IsAnswered(s.stored.Run, q.ID) })
}

// Adopt replaces the run's program by p if p behaves as the run has so far. To check this, p is run
// with the recorded results and without effects. The error is a *DivergedError if p behaves
// differently, or the cause of ctx's end.
func (s *StoredRun) Adopt(ctx context.Context, p *Program, environ []string) error {
	if err := s.replayWith(ctx, p, environ); err != nil {
		return err
	}
	if err := s.stored.Adopt(p.Encode()); err != nil {
		return err
	}
	return s.reload()
}

// replayWith runs a program with the recorded results.
func (s *StoredRun) replayWith(ctx context.Context, p *Program, environ []string) error {
	o := Options{Environ: environ}
	if err := s.options(&o); err != nil {
		return err
	}
	k, err := durable.Open(s.stored.Run)
	if err != nil {
		return err
	}
	out, _, err := k.Run.Out()
	if err != nil {
		return err
	}
	config, err := p.runtimeConfig(&o)
	if err != nil {
		return err
	}
	run := durable.New(durable.Config{ID: s.ID, Stored: k.Run, History: k.History, Out: out, Seed: k.Start.Seed, Secret: o.secret, Trial: true})
	config.Layers = []effect.Layer{run.Layer}
	world := runtime.New(config)
	if err := run.SetSecrets(world.Secrets(), nil); err != nil {
		return err
	}
	c := vm.Config{Program: p.ir, Natives: stdlib.Native, Performer: world, Durable: run, AskPerson: k.Flags.Asks,
		Application: vm.Application{Run: s.ID, Tools: k.Flags.Tools, Audited: k.Flags.Audited}}
	machine, err := vm.New(c)
	if err != nil {
		return fmt.Errorf("could not load the program: %w", err)
	}
	defer context.AfterFunc(ctx, func() { run.Suspend(context.Cause(ctx)) })()
	_, err = machine.Run(context.Background())
	err = firstError(err, world.Close(context.Background()))
	diverged, ok := errors.AsType[*tape.DivergedError](err)
	switch why := run.Err(); {
	case ok:
		return diverged
	case errors.Is(why, durable.ErrTried):
		return nil
	case why != nil:
		return why
	case err != nil && !errors.As(err, new(*vm.Exit)):
		return err
	}
	return &tape.DivergedError{Journal: true, Reason: "the program ended before it reached the recorded point"}
}
