package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/concerto-lang/concerto"
)

// lookEvery is how often --watch looks at the files. Looking works on every file
// system and for every way to save; a hundred files take half a millisecond.
const lookEvery = 200 * time.Millisecond

// clearScreen empties a terminal's screen and what can be scrolled back to.
const clearScreen = "\x1b[2J\x1b[3J\x1b[H"

// watch runs the tests, and again whenever a file that they have seen changes,
// until ctx ends. What is wrong with the program is shown and waited on; only
// a path that leads to none at the start ends it.
func (a *app) watch(ctx context.Context, run func(seen func(path string)) error) error {
	pause := a.pause
	if pause == nil {
		pause = moment
	}
	for first := true; ; first = false {
		if a.screen {
			fmt.Fprint(a.stdout, clearScreen)
		}
		files := stamps{}
		err := run(files.see)
		var path *concerto.PathError
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case first && errors.As(err, &path):
			return err
		case err != nil:
			a.failed(err) // and shown by that
		}
		fmt.Fprintf(a.stderr, "\nwatching %s; Ctrl-C ends\n", counted(files.there(), "file"))
		changed, err := files.await(ctx, pause)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.stderr, "%s changed\n\n", a.shown(changed))
	}
}

// moment waits until it is time to look again.
func moment(ctx context.Context) error {
	timer := time.NewTimer(lookEvery)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// shown is a path as seen from the working directory.
func (a *app) shown(path string) string {
	if rel, err := filepath.Rel(a.dir, path); err == nil && filepath.IsLocal(rel) {
		path = rel
	}
	return filepath.ToSlash(path)
}

func counted(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// stamps are files and directories as they were when they were seen first.
type stamps map[string]stamp

// stamp is what shows that a file has changed. It is zero for one that is not
// there.
type stamp struct {
	size     int64
	modified time.Time
	mode     fs.FileMode
}

func look(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{info.Size(), info.ModTime(), info.Mode()}
}

// see takes a file's stamp, unless it has one.
func (s stamps) see(path string) {
	if _, known := s[path]; !known {
		s[path] = look(path)
	}
}

// there counts the files that there were.
func (s stamps) there() int {
	n := 0
	for _, x := range s {
		if x.mode.IsRegular() && x != (stamp{}) {
			n++
		}
	}
	return n
}

// await waits for a change and for its end: who saves may write in several
// steps. It gives the first of the files that have changed.
func (s stamps) await(ctx context.Context, pause func(context.Context) error) (string, error) {
	before := s
	for {
		if err := pause(ctx); err != nil {
			return "", err
		}
		now := stamps{}
		for path := range s {
			now.see(path)
		}
		changed := now.other(s)
		if len(changed) > 0 && len(now.other(before)) == 0 {
			return changed[0], nil
		}
		before = now
	}
}

// other lists the files whose stamps differ, sorted.
func (s stamps) other(o stamps) []string {
	var out []string
	for path, x := range s {
		if y := o[path]; x.size != y.size || x.mode != y.mode || !x.modified.Equal(y.modified) {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}
