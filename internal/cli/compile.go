package cli

import (
	"fmt"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/engine"
)

// compile compiles a source and shows its diagnostics. When there are errors
// among them, the error is an exitError.
func (a *app) compile(s engine.Source) (*engine.Program, error) {
	s.Loaded = func(entry, manifest string) {
		if manifest == "" {
			manifest = "no manifest"
		}
		a.say("compiling %s with %s", entry, manifest)
	}
	s.Plain = s.Plain || a.debugged != nil
	p, found, err := engine.CompileSource(s)
	if err != nil {
		return nil, refused(err)
	}
	return p, a.show(found)
}

// refused makes an error about reading sources a usage error: a file that cannot
// be read is not a program that failed.
func refused(err error) error {
	if _, ok := err.(*engine.PathError); ok {
		return err
	}
	return usage("", "%v", err)
}

// show writes diagnostics to stderr; with --quiet, errors only. When there are
// errors it adds their number and gives an exitError.
func (a *app) show(found engine.Diagnostics) error {
	all := found.Sorted()
	shown := all
	if a.quiet {
		shown = nil
		for _, d := range all {
			if d.Severity() == diag.Error {
				shown = append(shown, d)
			}
		}
	}
	if a.records() {
		_ = diag.Records(a.stderr, shown) // a full stderr does not stop a program, and is the only place to report to
		if !found.HasErrors() {
			return nil
		}
		return exitError(exitRefused)
	}
	_ = diag.Text(a.stderr, shown, diag.TextOptions{Color: a.color}) // likewise
	if !found.HasErrors() {
		return nil
	}
	fmt.Fprintf(a.stderr, "\n%s\n", diag.Count(all))
	return exitError(exitRefused)
}
