package main

import (
	"fmt"

	"github.com/concerto-lang/concerto"
	"github.com/concerto-lang/concerto/internal/diag"
	"github.com/concerto-lang/concerto/internal/driver"
)

// compile compiles what a request names and shows what was found. With errors
// the error is an exitError.
func (a *app) compile(r driver.Request) (*concerto.Program, error) {
	in, err := driver.Load(r)
	if err != nil {
		return nil, refused(err)
	}
	if in.Entry != nil {
		with := "no manifest"
		if in.Manifest != nil {
			with = in.Manifest.File.Name
		}
		a.say("compiling %s with %s", in.Entry.Name, with)
	}
	p, found := driver.Build(in)
	return concerto.New(p, in.Root), a.show(found)
}

// refused makes an error of reading what should be compiled one of usage: a
// file that cannot be read is no program that failed.
func refused(err error) error {
	if _, ok := err.(*concerto.PathError); ok {
		return err
	}
	return usage("", "%v", err)
}

// show writes diagnostics to stderr, warnings unless --quiet. With errors it
// adds their number and gives an exitError.
func (a *app) show(found diag.List) error {
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
		if err := diag.Records(a.stderr, shown); err != nil || !found.HasErrors() {
			return err
		}
		return exitError(exitRefused)
	}
	if err := diag.Text(a.stderr, shown, diag.TextOptions{Color: a.color}); err != nil {
		return err
	}
	if !found.HasErrors() {
		return nil
	}
	fmt.Fprintf(a.stderr, "\n%s\n", diag.Count(all))
	return exitError(exitRefused)
}
