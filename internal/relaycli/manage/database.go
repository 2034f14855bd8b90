package manage

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/concerto-lang/concerto/internal/process/lockfile"
	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/relay/store"
	"github.com/concerto-lang/concerto/relay/store/postgres"
	"github.com/concerto-lang/concerto/relay/store/sqlite"
)

// DatabaseFlag adds the flag --db, whose value is stored in into.
func DatabaseFlag(a *console.Console, f *pflag.FlagSet, into *string) {
	f.StringVar(into, "db", "sqlite:"+DefaultDatabase(a), "open `URL`: sqlite:PATH or postgres://USER@HOST/NAME")
	console.FromEnv(f, "db", "DATABASE_URL")
}

// DefaultDatabase returns the path of the SQLite file that is used without --db.
func DefaultDatabase(a *console.Console) string {
	return filepath.Join(a.XDGDir("XDG_STATE_HOME", ".local", "state"), "concerto", "relay.db")
}

const databaseForms = "write sqlite:PATH, or postgres://USER:PASSWORD@HOST/NAME"

// Database opens the database with the URL name. If make is set, it creates a missing SQLite file.
func Database(ctx context.Context, a *console.Console, name string, make bool) (s *store.Store, err error) {
	scheme, rest, _ := strings.Cut(name, ":")
	switch scheme {
	case "postgres", "postgresql":
		if _, err := url.Parse(name); err != nil {
			return nil, a.InvalidSetting("db", databaseForms, "it is not a URL") // the URL is not quoted: it may contain a password
		}
		s, err = postgres.Open(ctx, name)
	case "sqlite":
		path := strings.TrimPrefix(rest, "//")
		if path == "" {
			return nil, a.InvalidSetting("db", databaseForms, "it has no file name")
		}
		if err := databaseFile(a, a.Abs(path), make); err != nil {
			return nil, err
		}
		s, err = sqlite.Open(ctx, a.Abs(path))
	default:
		return nil, a.InvalidSetting("db", databaseForms, "databases of the scheme %q are not supported", scheme)
	}
	switch {
	case errors.Is(err, store.ErrDamaged):
		return nil, a.InvalidSetting("db", "the file was not changed: restore a backup, or name another file", "%v", err)
	case errors.Is(err, store.ErrNewer):
		return nil, a.InvalidSetting("db", "the file was not changed", "%v", err)
	case err != nil:
		return nil, a.InvalidSetting("db", "check that it exists, and that this user may write to it", "%v", err)
	}
	return s, nil
}

// databaseFile checks that the SQLite file exists. If make is set, it creates a missing file, which
// only this user can read, because it contains the output of runs.
func databaseFile(a *console.Console, path string, make bool) error {
	if !make {
		if _, err := os.Stat(path); err != nil {
			return a.InvalidSetting("db", "name the database of the server, or the server itself with --server", "%v", err)
		}
		return nil
	}
	// Only the default directory is created. Another directory that does not exist is probably a
	// mistyped path.
	var err error
	if dir := filepath.Dir(path); path == DefaultDatabase(a) {
		err = os.MkdirAll(dir, 0o700)
	} else if _, missing := os.Stat(dir); errors.Is(missing, fs.ErrNotExist) {
		return a.InvalidSetting("db", "create the directory, or name a file in another one", "there is no directory %s", dir)
	}
	if err == nil {
		var f *os.File
		if f, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600); err == nil {
			err = f.Close()
		}
	}
	if err != nil {
		return a.InvalidSetting("db", "name a file that this user may write to", "%v", err)
	}
	return nil
}

// LockDatabase locks a SQLite file, so that no other server uses it, and returns the function that
// unlocks it. It does not lock PostgreSQL, which several servers may share.
func LockDatabase(a *console.Console, name string) (release func(), err error) {
	scheme, rest, _ := strings.Cut(name, ":")
	path := strings.TrimPrefix(rest, "//")
	if scheme != "sqlite" || path == "" {
		return func() {}, nil
	}
	if err := databaseFile(a, a.Abs(path), true); err != nil {
		return nil, err
	}
	unlock, err := lockfile.Lock(a.Abs(path) + "-serve")
	switch {
	case errors.Is(err, lockfile.ErrHeld):
		return nil, a.InvalidSetting("db", "stop that server, name another file, or use a database for several servers: --db postgres://USER@HOST/NAME", "another server uses this file")
	case err != nil:
		return nil, a.InvalidSetting("db", "name a file in a directory that this user may write to", "%v", err)
	}
	return func() {
		if err := unlock(); err != nil {
			a.Log().Error("could not unlock the database", "error", err)
		}
	}, nil
}
