// Package rerun implements --watch: it repeats a command when one of the files that the command has
// read changes.
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

// pollInterval is the interval at which --watch checks the files. Polling works on every file
// system and with every editor. Checking a hundred files takes half a millisecond.
const pollInterval = 200 * time.Millisecond

// ClearScreen clears a terminal's screen and its scrollback.
const ClearScreen = "\x1b[2J\x1b[3J\x1b[H"

// errChanged is the cause for cancelling a run when a file changes.
var errChanged = errors.New("a file has changed")

// OnChange calls run, and calls it again whenever a file changes that the run has read, until ctx
// is cancelled. run reports the files by calling seen. If restart is true, a change cancels a run
// that is still executing. OnChange prints an error of the program and waits for a change. It
// returns an error only if the first call shows that the path names no program.
func OnChange(ctx context.Context, a *console.Console, restart bool, run func(ctx context.Context, seen func(path string)) error) error {
	for first := true; ; first = false {
		if a.TTY.Screen {
			fmt.Fprint(a.Stdout, ClearScreen)
		}
		changed, err := runUntilChange(ctx, a, restart, first, run)
		if err != nil {
			return err
		}
		a.Notef("%s changed\n\n", a.Relative(changed))
	}
}

// runUntilChange calls run once and then waits for a change. It returns the first file that
// changed. If restart is true, a change during the run cancels the run.
func runUntilChange(ctx context.Context, a *console.Console, restart, first bool, run func(context.Context, func(string)) error) (string, error) {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	running, end := context.WithCancelCause(ctx)
	defer end(nil)
	files := &stamps{seen: map[string]stamp{}}
	ended := make(chan error, 1)
	go func() { ended <- run(running, files.add) }()
	var changes <-chan change
	if restart {
		changes = awaitChanges(watching, a, files)
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
			a.Fail(err) // print the error without its exit code
		}
	}
	a.Notef("\nwatching %s; press Ctrl-C to stop\n", console.Count(files.countFiles(), "file"))
	if changes == nil {
		changes = awaitChanges(watching, a, files)
	}
	changed := <-changes
	return changed.path, changed.err
}

// change is the result of waiting for a change: a changed file, or the reason why the wait ended.
type change struct {
	path string
	err  error
}

// awaitChanges waits for a change on its own goroutine.
func awaitChanges(ctx context.Context, a *console.Console, files *stamps) <-chan change {
	pause := a.Pause
	if pause == nil {
		pause = waitInterval
	}
	out := make(chan change, 1)
	go func() {
		path, err := files.await(ctx, pause)
		out <- change{path, err}
	}()
	return out
}

// waitInterval waits for pollInterval.
func waitInterval(ctx context.Context) error {
	timer := time.NewTimer(pollInterval)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// stamps are the stamps of the files and directories at the time when a run first read them. It is
// safe for concurrent use.
type stamps struct {
	mu   sync.Mutex
	seen map[string]stamp
}

// stamp identifies a version of a file. The stamp of a file that does not exist is zero.
type stamp struct {
	size     int64
	modified time.Time
	mode     fs.FileMode
}

func statFile(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{info.Size(), info.ModTime(), info.Mode()}
}

// add records the current stamp of a file, unless the file already has one.
func (s *stamps) add(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, recorded := s.seen[path]; !recorded {
		s.seen[path] = statFile(path)
	}
}

// snapshot returns a copy of the stamps.
func (s *stamps) snapshot() map[string]stamp {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.seen)
}

// countFiles returns the number of recorded files that exist.
func (s *stamps) countFiles() int {
	n := 0
	for _, x := range s.snapshot() {
		if x.mode.IsRegular() && x != (stamp{}) {
			n++
		}
	}
	return n
}

// await waits until a file has changed and all files are then unchanged for an interval, because an
// editor may save in several steps. It returns the first changed file.
func (s *stamps) await(ctx context.Context, pause func(context.Context) error) (string, error) {
	before := s.snapshot()
	for {
		if err := pause(ctx); err != nil {
			return "", err
		}
		first, now := s.snapshot(), map[string]stamp{}
		for path := range first {
			now[path] = statFile(path)
		}
		changed := changedFiles(now, first)
		if len(changed) > 0 && len(changedFiles(now, before)) == 0 {
			return changed[0], nil
		}
		before = now
	}
}

// changedFiles returns the sorted paths of the files whose stamps differ.
func changedFiles(now, before map[string]stamp) []string {
	var out []string
	for path, x := range now {
		if y := before[path]; x.size != y.size || x.mode != y.mode || !x.modified.Equal(y.modified) {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}
