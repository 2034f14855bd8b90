package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/runner/rerun"
)

// watched is a running command with --watch. It checks the files only when the test allows it.
type watched struct {
	t            *testing.T
	dir          string
	idle, resume chan struct{}
	end          context.CancelCauseFunc
	done         chan error
	out, err     bytes.Buffer // output; the test reads it while the command waits
}

func watchTests(t *testing.T, screen bool, files map[string]string) *watched {
	t.Helper()
	return watching(t, screen, files, func(ctx context.Context, a *console.Console) error {
		return execute(ctx, a, "test", "--watch", "main.conc")
	})
}

func watching(t *testing.T, screen bool, files map[string]string, run func(context.Context, *console.Console) error) *watched {
	t.Helper()
	w := &watched{t: t, dir: t.TempDir(), idle: make(chan struct{}), resume: make(chan struct{}), done: make(chan error, 1)}
	for name, text := range files {
		w.write(name, text)
	}
	ctx, end := context.WithCancelCause(context.Background())
	w.end = end
	a := &console.Console{Stdout: &w.out, Stderr: &w.err, Dir: w.dir, Pause: w.pause, TTY: console.TTY{Screen: screen}}
	go func() { w.done <- run(ctx, a) }()
	t.Cleanup(func() { end(nil) })
	return w
}

func (w *watched) pause(ctx context.Context) error {
	select {
	case w.idle <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case <-w.resume:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// settle waits until the command waits for the test's permission to check the files.
func (w *watched) settle() {
	w.t.Helper()
	select {
	case <-w.idle:
	case err := <-w.done:
		w.t.Fatalf("the watcher returned: %v\n%s%s", err, w.out.String(), w.err.String())
	}
}

// check lets the command check the files once. If files have changed, the command runs again.
func (w *watched) check() {
	w.t.Helper()
	w.resume <- struct{}{}
	w.settle()
}

// wrote returns the output since the last call.
func (w *watched) wrote() (out, err string) {
	defer w.out.Reset()
	defer w.err.Reset()
	return w.out.String(), w.err.String()
}

// changed returns the output after a change. The first check detects the change. The second check
// detects that the files are stable, and runs the command.
func (w *watched) changed() (out, err string) {
	w.t.Helper()
	w.check()
	if w.out.Len()+w.err.Len() > 0 {
		w.t.Fatalf("the command ran before the files were stable: %s%s", w.out.String(), w.err.String())
	}
	w.check()
	return w.wrote()
}

func (w *watched) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		w.t.Fatal(err)
	}
}

func TestWatch(t *testing.T) {
	w := watchTests(t, false, map[string]string{
		"main.conc":  "mod parts;\n@test fn t() { assert_eq(parts::one(), 1); }\nfn main() {}\n",
		"parts.conc": "pub fn one() -> Int { 1 }\n",
	})
	w.settle()
	out, err := w.wrote()
	if !strings.HasPrefix(out, "ok    t\n\n1 passed in ") || err != "\nwatching 2 files; press Ctrl-C to stop\n" {
		t.Fatalf("unexpected output of the first run: %s%s", out, err)
	}
	w.check()
	if w.out.Len()+w.err.Len() > 0 {
		t.Fatalf("the command ran without a change: %s%s", w.out.String(), w.err.String())
	}

	w.write("parts.conc", "pub fn one() -> Int { 1 + 1 }\n")
	out, err = w.changed()
	if !strings.Contains(out, "2 does not equal 1") || !strings.HasPrefix(err, "parts.conc changed\n\n") || strings.Contains(out, "\x1b") {
		t.Fatalf("unexpected output after a change: %s%s", out, err)
	}

	// A program with a syntax error is reported, and the command continues to watch it.
	w.write("parts.conc", "pub fn one( -> Int { 1 }\n")
	if out, err = w.changed(); out != "" || !strings.Contains(err, "parts.conc:1:") || !strings.HasSuffix(err, "watching 2 files; press Ctrl-C to stop\n") {
		t.Fatalf("unexpected output after a syntax error: %s%s", out, err)
	}

	// Remove a file, and add another one that replaces it.
	if err := os.Remove(filepath.Join(w.dir, "parts.conc")); err != nil {
		t.Fatal(err)
	}
	if out, err = w.changed(); !strings.Contains(err, "parts.conc changed") || !strings.Contains(err, "watching 1 file;") {
		t.Fatalf("unexpected output after removing a file: %s%s", out, err)
	}
	w.write("parts/mod.conc", "pub fn one() -> Int { 1 }\n")
	if out, err = w.changed(); !strings.Contains(out, "1 passed") || !strings.Contains(err, "parts/mod.conc changed") {
		t.Fatalf("unexpected output after adding a file: %s%s", out, err)
	}

	// Add a manifest.
	w.write("Concerto.toml", "[project]\nnam = \"x\"\n")
	if out, err = w.changed(); out != "" || !strings.Contains(err, "Concerto.toml changed") || !strings.Contains(err, "E0801") {
		t.Fatalf("unexpected output after adding a manifest: %s%s", out, err)
	}

	w.write("Concerto.toml", "[project]\nname = \"x\"\n")
	if out, err = w.changed(); !strings.Contains(out, "1 passed") {
		t.Fatalf("unexpected output after correcting the manifest: %s%s", out, err)
	}

	// Two changes between checks cause only one run.
	w.write("parts/mod.conc", "")
	w.check()
	w.write("parts/mod.conc", "pub fn one() -> Int { 1 } // done\n")
	if out, err = w.changed(); !strings.Contains(out, "1 passed") || strings.Count(err, "changed") != 1 {
		t.Fatalf("unexpected output after a change in two steps: %s%s", out, err)
	}

	w.end(console.ErrInterrupted)
	if err := <-w.done; !errors.Is(err, console.ErrInterrupted) {
		t.Error(err)
	}
}

// TestWatchData checks that the command watches the files that the tests read, but not the files
// that the tests write.
func TestWatchData(t *testing.T) {
	w := watchTests(t, true, map[string]string{
		"main.conc": "use std::fs;\n@test fn t() {\n    fs::append_file(\"log.txt\", \"x\")?;\n    assert(fs::exists(\"log.txt\"));\n    assert_eq(fs::read_file(\"data.txt\")?, \"1\");\n}\nfn main() {}\n",
		"data.txt":  "1",
	})
	w.settle()
	if out, err := w.wrote(); !strings.HasPrefix(out, rerun.ClearScreen+"ok    t\n") || !strings.Contains(err, "watching 3 files") {
		t.Fatalf("unexpected output of the first run: %s%s", out, err)
	}
	w.check()
	if w.out.Len() > 0 {
		t.Fatalf("a file that the test writes caused another run: %s", w.out.String())
	}
	w.write("data.txt", "22")
	if out, err := w.changed(); !strings.HasPrefix(out, rerun.ClearScreen+"FAIL  t\n") || !strings.HasPrefix(err, "data.txt changed\n") {
		t.Fatalf("unexpected output after changing a data file: %s%s", out, err)
	}
}

// TestWatchNothing checks that the command returns an error instead of waiting if its path does not
// exist.
func TestWatchNothing(t *testing.T) {
	w := watchTests(t, false, nil)
	if err := <-w.done; err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Error(err)
	}
}

// live is a running command with --watch that checks the files also while a program runs. It checks
// only while the test waits for output.
type live struct {
	t       *testing.T
	mu      sync.Mutex
	text    strings.Builder
	written chan struct{}
	look    chan struct{}
	done    chan error
}

func (l *live) Write(b []byte) (int, error) {
	l.mu.Lock()
	l.text.Write(b)
	l.mu.Unlock()
	select {
	case l.written <- struct{}{}:
	default:
	}
	return len(b), nil
}

func (l *live) pause(ctx context.Context) error {
	select {
	case <-l.look:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// until waits until the texts have been written in this order. It removes the output up to the last
// text.
func (l *live) until(texts ...string) {
	l.t.Helper()
	for _, text := range texts {
		for !l.take(text) {
			select {
			case l.look <- struct{}{}:
			case <-l.written:
			case err := <-l.done:
				l.t.Fatalf("the command returned before printing %q: %v\n%s", text, err, l.text.String())
			}
		}
	}
}

func (l *live) take(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, rest, ok := strings.Cut(l.text.String(), text)
	if ok {
		l.text.Reset()
		l.text.WriteString(rest)
	}
	return ok
}

// TestWatchRun checks that `run --watch` runs a program again when one of its files changes, and
// cancels a program that is still running.
func TestWatchRun(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	program := func(text string) { write("main.conc", "mod part;\nfn main() { println(part::text()); "+text+" }\n") }
	program("")
	write("part.conc", `pub fn text() -> String { "one" }`)
	l := &live{t: t, written: make(chan struct{}, 1), look: make(chan struct{}), done: make(chan error, 1)}
	ctx, end := context.WithCancelCause(context.Background())
	defer end(nil)
	a := &console.Console{Stdin: strings.NewReader(""), Stdout: l, Stderr: l, Dir: dir, Pause: l.pause}
	go func() {
		l.done <- execute(ctx, a, "run", "--watch", "main.conc")
	}()

	l.until("one\n", "watching 2 files; press Ctrl-C to stop\n")
	write("part.conc", `pub fn text() -> String { "second" }`)
	l.until("part.conc changed\n", "second\n", "watching 2 files; press Ctrl-C to stop\n")
	program(`use std::time; println("waits"); time::sleep(3600000);`)
	l.until("main.conc changed\n", "waits\n")
	program("x")
	l.until("main.conc changed\n", "unknown name `x`", "watching 2 files")
	program("println(3);")
	l.until("main.conc changed\n", "3\n", "watching")
	end(console.ErrInterrupted)
	if err := <-l.done; !errors.Is(err, console.ErrInterrupted) {
		t.Error(err)
	}
}

// TestWatchCheck checks that `check --watch` checks a program again after a change.
func TestWatchCheck(t *testing.T) {
	w := watching(t, false, map[string]string{"main.conc": "fn main() { let x: Int = true; println(x); }\n"}, func(ctx context.Context, a *console.Console) error {
		return execute(ctx, a, "check", "--watch", "main.conc")
	})
	w.settle()
	if out, err := w.wrote(); out != "" || !strings.Contains(err, "1 error\n\nwatching 1 file; press Ctrl-C to stop\n") {
		t.Fatalf("unexpected output of the first check: %s%s", out, err)
	}
	w.write("main.conc", "fn main() {}\n")
	if _, err := w.changed(); err != "main.conc changed\n\n\nwatching 1 file; press Ctrl-C to stop\n" {
		t.Fatal(err)
	}
}

// TestWatchTools checks that --watch also watches the programs that provide tools, and the files of
// these programs.
func TestWatchTools(t *testing.T) {
	w := watching(t, false, map[string]string{
		"main.conc":  "fn main() {}\n",
		"tools.yaml": "tools:\n  - name: count\n    description: Counts\n    concerto: {file: count.conc, function: count}\n",
		"count.conc": "mod part;\n/// Counts\npub fn count() -> Int { part::number() }\nfn main() {}\n",
		"part.conc":  "pub fn number() -> Int { 1 }\n",
	}, func(ctx context.Context, a *console.Console) error {
		return execute(ctx, a, "check", "--watch", "main.conc", "--host-tools", "tools.yaml")
	})
	w.settle()
	if out, err := w.wrote(); out != "" || err != "\nwatching 4 files; press Ctrl-C to stop\n" {
		t.Fatalf("unexpected output of the first check: %s%s", out, err)
	}
	w.write("part.conc", "pub fn number() -> Int { true }\n")
	if _, err := w.changed(); !strings.HasPrefix(err, "part.conc changed\n") || !strings.Contains(err, "expected `Int`") || !strings.HasSuffix(err, "watching 4 files; press Ctrl-C to stop\n") {
		t.Fatal(err)
	}
}
