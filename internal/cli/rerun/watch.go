// Package rerun is --watch: it runs something again whenever one of its files changes.
package rerun

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/engine/driver"
)

// lookEvery is the interval at which --watch checks the files. Polling works on every file system
// and for every way of saving; checking a hundred files takes half a millisecond.
const lookEvery = 200 * time.Millisecond

// ClearScreen empties a terminal's screen and what can be scrolled back to.
const ClearScreen = "\x1b[2J\x1b[3J\x1b[H"

// errChanged is the cause of the end of what runs while a file of it changes.
var errChanged = errors.New("a file has changed")

// OnChange calls run, and again whenever a file changes that the run has read, until ctx ends. With
// restart, a change ends a run that is still executing. An error in the program is shown, and
// OnChange waits for a change; only a path that names no program at the start is an error.
func OnChange(ctx context.Context, a *console.Console, restart bool, run func(ctx context.Context, seen func(path string)) error) error {
	for first := true; ; first = false {
		if a.TTY.Screen {
			fmt.Fprint(a.Stdout, ClearScreen)
		}
		changed, err := untilChange(ctx, a, restart, first, run)
		if err != nil {
			return err
		}
		a.Notef("%s changed\n\n", a.Relative(changed))
	}
}

// untilChange calls run once and returns the file that changed afterwards; with
// restart, also one that changed meanwhile.
func untilChange(ctx context.Context, a *console.Console, restart, first bool, run func(context.Context, func(string)) error) (string, error) {
	looking, stop := context.WithCancel(ctx)
	defer stop()
	running, end := context.WithCancelCause(ctx)
	defer end(nil)
	files := &stamps{seen: map[string]stamp{}}
	ended := make(chan error, 1)
	go func() { ended <- run(running, files.see) }()
	var changes <-chan change
	if restart {
		changes = awaitChanges(looking, a, files)
	}
	select {
	case changed := <-changes:
		end(errChanged)
		<-ended
		return changed.path, changed.err
	case err := <-ended:
		var path *driver.PathError
		switch {
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		case first && errors.As(err, &path):
			return "", err
		case err != nil:
			a.Fail(err) // and shown by that
		}
	}
	a.Notef("\nwatching %s; Ctrl-C ends\n", console.Count(files.there(), "file"))
	if changes == nil {
		changes = awaitChanges(looking, a, files)
	}
	changed := <-changes
	return changed.path, changed.err
}

// change is a file that has changed, or why none is waited for any longer.
type change struct {
	path string
	err  error
}

// awaitChanges waits for a change beside what runs.
func awaitChanges(ctx context.Context, a *console.Console, files *stamps) <-chan change {
	pause := a.Pause
	if pause == nil {
		pause = moment
	}
	out := make(chan change, 1)
	go func() {
		path, err := files.await(ctx, pause)
		out <- change{path, err}
	}()
	return out
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

// stamps are the stamps of files and directories when a run first saw them. Safe
// for concurrent use.
type stamps struct {
	mu   sync.Mutex
	seen map[string]stamp
}

// stamp is what shows that a file has changed. The stamp of a file that does not
// exist is zero.
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
func (s *stamps) see(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.seen[path]; !known {
		s.seen[path] = look(path)
	}
}

// taken are the stamps so far.
func (s *stamps) taken() map[string]stamp {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.seen)
}

// there counts the files that there were.
func (s *stamps) there() int {
	n := 0
	for _, x := range s.taken() {
		if x.mode.IsRegular() && x != (stamp{}) {
			n++
		}
	}
	return n
}

// await waits until files have changed and then stay the same between two looks,
// as an editor may save in several steps. It returns the first of the changed
// files.
func (s *stamps) await(ctx context.Context, pause func(context.Context) error) (string, error) {
	before := s.taken()
	for {
		if err := pause(ctx); err != nil {
			return "", err
		}
		first, now := s.taken(), map[string]stamp{}
		for path := range first {
			now[path] = look(path)
		}
		changed := others(now, first)
		if len(changed) > 0 && len(others(now, before)) == 0 {
			return changed[0], nil
		}
		before = now
	}
}

// others lists the files whose stamps differ, sorted.
func others(now, before map[string]stamp) []string {
	var out []string
	for path, x := range now {
		if y := before[path]; x.size != y.size || x.mode != y.mode || !x.modified.Equal(y.modified) {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}
