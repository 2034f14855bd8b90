package console

import (
	"cmp"
	"fmt"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/pkg"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/driver"
)

// Compile compiles a source and shows its diagnostics. If these contain errors, it returns an
// ExitError.
func (a *Console) Compile(s driver.Request) (*engine.Program, error) {
	s = a.WithCache(s, "compiling", "code")
	if s.Packages.Fetch == nil {
		s.Packages.Fetch = a.Packages().Fetch
	}
	s.Plain = s.Plain || a.Debugging.Debugger != nil
	p, found, err := engine.CompileSource(s)
	if err != nil {
		return nil, SourceError(err)
	}
	return p, a.ShowDiagnostics(found)
}

// WithCache returns the request with the cache of compiled programs. With --verbose, it logs
// work, such as "compiling", or the result that the cache has.
func (a *Console) WithCache(s driver.Request, work, result string) driver.Request {
	s.Loaded = func(entry, manifest string, isCached bool) {
		if isCached {
			work = "using the cached " + result + " of"
		}
		a.Verbosef("%s %s with %s", work, entry, cmp.Or(manifest, "no manifest"))
	}
	s.Programs = a.Programs()
	return s
}

// SourceError turns an error of reading sources into a usage error. The exit code thus
// distinguishes an unreadable file from a failed program.
func SourceError(err error) error {
	switch err.(type) {
	case *driver.PathError, *driver.DiagnosticsError, *pkg.Error:
		return err
	}
	return Usage("", "%v", err)
}

// ShowDiagnostics writes diagnostics to stderr; with --quiet, errors only. If there are errors, it
// also prints their number and returns an ExitError.
func (a *Console) ShowDiagnostics(found diag.List) error {
	all := found.Sorted()
	shown := all
	if a.Quiet {
		shown = nil
		for _, d := range all {
			if d.Severity() == diag.Error {
				shown = append(shown, d)
			}
		}
	}
	if a.WritesRecords() {
		_ = diag.Records(a.Stderr, shown) // stderr is the last output for reports, so errors of writing to it are ignored
		if !found.HasErrors() {
			return nil
		}
		return ExitError(ExitRefused)
	}
	_ = diag.Text(a.Stderr, shown, diag.TextOptions{Color: a.TTY.Color}) // likewise
	if !found.HasErrors() {
		return nil
	}
	fmt.Fprintf(a.Stderr, "\n%s\n", diag.Count(all))
	return ExitError(ExitRefused)
}
