package console

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/concerto-lang/concerto/internal/compile/pkg"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/engine/packages"
	"github.com/concerto-lang/concerto/internal/engine/packages/pkgcache"
	"github.com/concerto-lang/concerto/internal/term/terminal"
)

// Fetcher returns the fetcher of packages. Unless the console is quiet, it prints a line for each
// package. CONCERTO_OFFLINE=1 has the effect of --offline.
func (a *Console) Fetcher(offline bool) *packages.Fetcher {
	f := &packages.Fetcher{Environ: a.Environ, Dir: a.Dir, Offline: offline || a.Getenv("CONCERTO_OFFLINE") == "1"}
	if !a.Quiet {
		f.Progress = func(line string) { a.Notef("%s\n", terminal.Escape(line)) }
	}
	return f
}

// Packages returns the source of packages for a command that compiles a program: it fetches what is
// missing in the cache.
func (a *Console) Packages() driver.PackageSource {
	return driver.PackageSource{Fetch: func(missing []*pkg.Package) error { return a.Fetcher(false).Missing(context.Background(), missing) }}
}

// Programs returns the directory of the cache of compiled programs, or "" with --no-cache and if
// the user has no directory for caches.
func (a *Console) Programs() string {
	dir := a.Getenv(pkgcache.Variable)
	if dir == "" {
		dir = a.UserDir("XDG_CACHE_HOME", ".cache")
	}
	if a.NoCache || !filepath.IsAbs(dir) {
		return ""
	}
	return filepath.Join(dir, "programs")
}

// reportPackageError prints an error about a package and returns its exit code. ok is false for any
// other error.
func (a *Console) reportPackageError(err error) (code int, ok bool) {
	var e *pkg.Error
	var found *driver.DiagnosticsError
	var lock *pkg.LockError
	var line *pkg.OutOfLineError
	switch {
	case errors.As(err, &found):
		return a.CodeOf(a.ShowDiagnostics(found.Found)), true
	case errors.As(err, &lock):
		a.Complain(lock.Error(), lock.Hint)
		return ExitRefused, true
	case errors.As(err, &line):
		a.Complain(line.Message, "run `concerto update --lock`")
		return ExitRefused, true
	case errors.As(err, &e):
		a.Complain(e.Message, e.Hint)
		return map[pkg.ErrorKind]int{pkg.Refused: ExitRefused, pkg.Unavailable: ExitFailed, pkg.Changed: ExitBroken}[e.Kind], true
	}
	return 0, false
}
