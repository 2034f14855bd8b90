// Package locate finds stored runs, in directories and in an engine, a database that several
// machines share, and reads their output.
package locate

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/engine/runs"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/localowner"
	"github.com/concerto-lang/concerto/internal/record/journal/postgres"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
	"github.com/concerto-lang/concerto/internal/record/tape"
)

// Run is a stored run: in the directory Dir, or with the id ID in an engine.
type Run struct {
	Dir    string
	Engine *postgres.Engine // nil for a run in a directory
	ID     string           // id in the engine; "" for a run in a directory
}

// Journal returns the run for a process that does not execute it.
func (r *Run) Journal() journal.Run {
	if r.Engine != nil {
		return r.Engine.Run(r.ID)
	}
	return rundir.At(r.Dir)
}

// Tape returns the run's recorded results as a tape.
func (r *Run) Tape() (*engine.Tape, error) {
	var text bytes.Buffer
	if err := runs.Tape(r.Journal(), &text); err != nil {
		return nil, err
	}
	t, err := engine.ReadTape(&text)
	if err != nil {
		return nil, console.Modified("", "the recorded results of the run: %v", err)
	}
	return t, nil
}

// AddEngineFlag adds the flag --engine to a command.
func AddEngineFlag(a *console.Console, c *cobra.Command) {
	c.Flags().StringVar(&a.EngineURL, "engine", "", "use the engine at `URL` (default $CONCERTO_ENGINE)")
}

// EngineURL returns the URL of the engine: the value of --engine, the environment variable
// CONCERTO_ENGINE, or the variable that the nearest manifest names. It is "" if there is none.
func EngineURL(a *console.Console) (string, error) {
	if a.EngineURL != "" {
		return a.EngineURL, nil
	}
	if url := a.Getenv("CONCERTO_ENGINE"); url != "" {
		return url, nil
	}
	m, err := runs.Manifest(a.Dir)
	if err != nil || m == nil || m.Engine.URLEnv == "" {
		return "", err
	}
	return a.Getenv(m.Engine.URLEnv), nil
}

// NewSession registers this process as a worker that claims no runs, to write one run.
func NewSession(ctx context.Context, a *console.Console, e *postgres.Engine, lease time.Duration) (*postgres.Session, error) {
	return e.NewSession(ctx, WorkerRow(a), lease, nil)
}

// WorkerRow describes this process as a worker of an engine. It has no queues.
func WorkerRow(a *console.Console) postgres.WorkerRow {
	here := localowner.Here()
	return postgres.WorkerRow{Machine: here.Machine, Boot: here.Boot + here.PIDNS, PID: os.Getpid(), Version: a.Binary.Release, VMVersion: tape.VMVersion, Concurrency: 1}
}

// Needs returns what a program requires of workers. With mock, all models are replaced.
func Needs(p *engine.Program, mock bool) (postgres.Needs, error) {
	secrets, err := p.SecretNames(mock)
	if err != nil {
		return postgres.Needs{}, err
	}
	orphan, err := p.OrphanTimeout()
	return postgres.Needs{Secrets: secrets, Orphan: orphan}, err
}

// retry is how long commands try to connect to an engine.
const retry = 10 * time.Second

// The role that a command needs, for the message to users without it.
const (
	Reader = postgres.Reader
	Client = postgres.Client
	Worker = postgres.Worker
	Owner  = "" // the owner of the schema
)

// Engine connects to the engine that the flags, the environment or the manifest name. role is the
// role that the command needs. The schema must fit this program.
func Engine(ctx context.Context, a *console.Console, role string) (*postgres.Engine, error) {
	e, err := Connect(ctx, a, role)
	if err != nil {
		return nil, err
	}
	_, err = e.CheckSchema(ctx)
	return e, err
}

// Connect is Engine for a command that creates, changes or checks the schema.
func Connect(ctx context.Context, a *console.Console, role string) (*postgres.Engine, error) {
	url, err := EngineURL(a)
	if err != nil {
		return nil, err
	}
	if url == "" {
		return nil, console.Usage("set CONCERTO_ENGINE, or add --engine postgres://USER@HOST:PORT/DATABASE", "no engine is configured")
	}
	e, err := postgres.Connect(ctx, url, retry)
	if err != nil {
		return nil, explain(err)
	}
	a.OnExit(e.Close)
	a.Explain = func(err error) error { return explain(e.Explain(err, role)) }
	return e, nil
}

// explain returns the error for the user.
func explain(err error) error {
	var unreachable *postgres.UnreachableError
	var denied *postgres.DeniedError
	switch {
	case errors.As(err, &unreachable):
		return console.Unreachable("%v; check that the server is running and that CONCERTO_ENGINE is correct", unreachable)
	case errors.As(err, &denied):
		return console.Usage("", "%v", denied)
	case errors.As(err, new(*postgres.URLError)), errors.As(err, new(*postgres.NoSchemaError)), errors.As(err, new(*postgres.SchemaError)),
		errors.As(err, new(*postgres.StateError)), errors.As(err, new(*postgres.PinnedError)), errors.As(err, new(*postgres.OtherStartError)):
		return console.Usage("", "%v", err)
	}
	return err
}

// Find returns a stored run. name is a directory, the id of a run below the manifest's [run]
// journal, or the id of a run in the engine. Errors contain name as given. role is the role in the
// engine that the command needs.
func Find(ctx context.Context, a *console.Console, name, role string) (*Run, error) {
	dir, dirErr := Directory(a, name)
	if dirErr == nil {
		return &Run{Dir: dir}, nil
	}
	if errors.As(dirErr, new(*driver.DiagnosticsError)) {
		return nil, dirErr
	}
	url, err := EngineURL(a)
	if err != nil || url == "" {
		return nil, dirErr
	}
	e, err := Engine(ctx, a, role)
	if err != nil {
		return nil, err
	}
	a.RunName = name
	if _, _, err := e.State(ctx, name); errors.Is(err, journal.ErrNoRun) {
		return nil, NotFound(name)
	} else if err != nil {
		return nil, err
	}
	return &Run{Engine: e, ID: name}, nil
}

// NotFound returns the error for an id that no run in the engine has.
func NotFound(id string) error {
	return console.Usage("", "run %s not found; concerto runs list shows all runs", id)
}

// Directory returns the directory of a stored run. run is a directory, or the id of a run below the
// manifest's [run] journal. Errors contain run as given.
func Directory(a *console.Console, run string) (string, error) {
	dir := a.Abs(run)
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		a.RunName = run
		return dir, nil
	}
	root, err := runs.Root(a.Dir)
	if err != nil {
		return "", err
	}
	if root != "" {
		below := filepath.Join(root, filepath.Base(run))
		if info, err := os.Stat(below); err == nil && info.IsDir() {
			a.RunName = run
			return below, nil
		}
		return "", console.Usage("`concerto runs list` lists the runs", "run %s not found: no such directory, and no such id below %s", run, a.Relative(root))
	}
	return "", console.Usage("name the directory that was given to --journal", "no such directory: %s", run)
}

// Root returns the directory of stored runs: the first argument, or the directory in the manifest
// if there is no argument.
func Root(a *console.Console, args []string) (string, error) {
	if len(args) > 0 {
		dir := a.Abs(args[0])
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return "", console.Usage("name the directory that contains the runs", "no such directory: %s", args[0])
		}
		return dir, nil
	}
	root, err := runs.Root(a.Dir)
	if err != nil {
		return "", err
	}
	if root == "" {
		return "", console.Usage("give a directory, such as `concerto runs list runs`, or set [run] journal in the manifest", "no directory of runs: the manifest here or above does not set [run] journal")
	}
	return root, nil
}

// The valid forms of ids, queues and priorities.
var (
	idForm    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.-]{1,120}$`) })
	queueForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,64}$`) })
)

// CheckID returns an error for an invalid id of a run.
func CheckID(id string) error {
	if idForm().MatchString(id) {
		return nil
	}
	return console.Usage("use 1 to 120 letters, digits, `_`, `.` and `-`", "invalid run id %q", id)
}

// CheckQueue returns an error for an invalid name of a queue.
func CheckQueue(name string) error {
	if queueForm().MatchString(name) {
		return nil
	}
	return console.Usage("use 1 to 64 letters, digits, `_`, `.`, `:` and `-`", "invalid queue name %q", name)
}

// CheckPriority returns an error for an invalid priority.
func CheckPriority(n int) error {
	if n >= -100 && n <= 100 {
		return nil
	}
	return console.Usage("use -100 to 100", "invalid priority %d", n)
}
