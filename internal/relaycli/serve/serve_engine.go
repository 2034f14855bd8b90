package serve

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/concerto-lang/concerto/internal/record/journal/postgres"
	"github.com/concerto-lang/concerto/internal/relaycli/connect"
	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/relaycli/manage"
	"github.com/concerto-lang/concerto/relay/enginemachine"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/store"
)

// embeddedEngine presents an engine as a machine that runs in the server's process.
type embeddedEngine struct {
	engine  *postgres.Engine
	machine *enginemachine.Machine
	stop    context.CancelFunc
	ended   chan struct{} // closed when the machine has stopped; nil until start
}

// openEngine connects to the engine that --engine names, and registers it with the server as an
// accepted machine. origin is the URL at which the machine reaches the server.
func openEngine(ctx context.Context, a *console.Console, s *serveFlags, origin string, db *store.Store, users *auth.Auth) (_ *embeddedEngine, err error) {
	e, id, err := connect.Engine(ctx, s.engine)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			e.Close()
		}
	}()
	dir := filepath.Join(serverState(a, s.db), "engine-"+id)
	token, err := machineToken(dir)
	if err != nil {
		return nil, fmt.Errorf("create the state of the engine's machine: %w", err)
	}
	if err := users.Admit(ctx, id, token); err != nil {
		return nil, err
	}
	machine, err := enginemachine.Open(ctx, enginemachine.Options{Engine: e, ID: id, Name: e.Database(), Spool: filepath.Join(dir, "spool.db"), Server: origin, Token: token, Version: a.Release, Log: a.Log(),
		Stored: func(ctx context.Context) (int, error) { return store.CountRuns(ctx, db, id) }})
	if err != nil {
		return nil, err
	}
	return &embeddedEngine{engine: e, machine: machine}, nil
}

// serverState returns the directory that contains what the server stores besides its database.
func serverState(a *console.Console, db string) string {
	if path, ok := strings.CutPrefix(db, "sqlite:"); ok {
		return filepath.Dir(a.Abs(strings.TrimPrefix(path, "//")))
	}
	return filepath.Dir(manage.DefaultDatabase(a))
}

// machineToken returns the token in a directory. It creates the directory and the token if they do
// not exist.
func machineToken(dir string) (string, error) {
	file := filepath.Join(dir, "host-token")
	text, err := os.ReadFile(file)
	if !errors.Is(err, fs.ErrNotExist) {
		return strings.TrimSpace(string(text)), err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	token := rand.Text()
	return token, os.WriteFile(file, []byte(token+"\n"), 0o600)
}

// start runs the machine until ctx is cancelled or e is closed. It returns a channel that receives
// the error of the machine, or nil if e is nil.
func (e *embeddedEngine) start(ctx context.Context) <-chan error {
	if e == nil {
		return nil
	}
	ctx, e.stop = context.WithCancel(ctx)
	e.ended = make(chan struct{})
	how := make(chan error, 1)
	go func() {
		defer close(e.ended)
		if err := e.machine.Run(ctx); err != nil {
			how <- err
		}
	}()
	return how
}

// close stops the machine and closes its connections. It returns the error of closing the spool.
func (e *embeddedEngine) close() error {
	if e.ended != nil {
		e.stop()
		<-e.ended
	}
	err := e.machine.Close()
	e.engine.Close()
	return err
}
