//go:build unix

package cli

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/concerto-lang/concerto/internal/cli/console"
)

// TestOutputsAreNotReplaced checks that output is written into a FIFO or a device instead of
// replacing it by a regular file. Links are followed.
func TestOutputsAreNotReplaced(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(at("main.conc"), []byte("fn main() { println(7); }"), 0o666))
	run := func(args ...string) string {
		t.Helper()
		var out, errs output
		code := run(args, &console.Console{Stdout: &out, Stderr: &errs, Dir: dir, Environ: os.Environ()})
		if code != 0 {
			t.Fatalf("concerto %v: exit code %d, stderr %s", args, code, errs)
		}
		return string(out)
	}
	want := run("build", "main.conc", "--emit", "ir")

	must(os.Symlink("other", at("to-other")))
	must(os.Symlink("/dev/null", at("null")))
	// Each path has its own pipe. A process that is being started inherits open files for a moment,
	// and could count as the reader of a shared pipe.
	for name, pipe := range map[string]string{"pipe": "pipe", "to-other": "other"} {
		must(syscall.Mkfifo(at(pipe), 0o600))
		reader, err := os.OpenFile(at(pipe), os.O_RDWR, 0) // a FIFO can be opened for writing only while a reader has it open
		must(err)
		got := make(chan string, 1)
		go func() {
			defer reader.Close()
			text := make([]byte, len(want))
			if _, err := io.ReadFull(reader, text); err != nil {
				got <- err.Error()
				return
			}
			got <- string(text)
		}()
		run("build", "main.conc", "-o", name)
		if text := <-got; text != want {
			t.Errorf("the reader of %s received %.100q", name, text)
		}
	}
	run("build", "main.conc", "-o", "null")
	run("run", "main.conc", "--trace", "null", "--profile", "null")
	for name, mode := range map[string]fs.FileMode{"pipe": fs.ModeNamedPipe, "/dev/null": fs.ModeDevice | fs.ModeCharDevice, "null": fs.ModeSymlink} {
		if !filepath.IsAbs(name) {
			name = at(name)
		}
		if info, err := os.Lstat(name); err != nil || info.Mode().Type() != mode {
			t.Errorf("Lstat(%s) = %v, %v; want an unchanged file type", name, info, err)
		}
	}
}

// TestOutputsFollowLinks checks that writing through a link does not replace the link, even if the
// link's target does not exist. The written file retains its mode, and readers never see a part of
// the new content.
func TestOutputsFollowLinks(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{os.Mkdir(at("deep"), 0o777), os.WriteFile(at("deep/old"), []byte("old"), 0o640), os.Symlink("deep/old", at("one")),
		os.Symlink("one", at("two")), os.Symlink("deep/new", at("dangling")), os.Symlink("loop", at("loop")), os.WriteFile(at("fixed"), nil, 0o444)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"two": "deep/old", "dangling": "deep/new"} {
		if err := console.WriteFile(at(name), []byte("text of "+name)); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(at(target)); string(text) != "text of "+name {
			t.Error(string(text), err)
		}
		if info, err := os.Lstat(at(name)); err != nil || info.Mode().Type() != fs.ModeSymlink {
			t.Error(info, err)
		}
	}
	if info, err := os.Stat(at("deep/old")); err != nil || info.Mode().Perm() != 0o640 {
		t.Error(info, err)
	}
	for name, want := range map[string]string{"loop": "its links lead in a circle", "fixed": "it is read-only", "deep": "it is a directory",
		"no/where": "no such file or directory"} {
		if err := console.WriteFile(at(name), nil); err == nil || err.Error() != want {
			t.Errorf("WriteFile(%s) returns %v", name, err)
		}
	}
	if left, _ := filepath.Glob(at(".concerto-*")); left != nil {
		t.Error(left)
	}
}

// TestConversationsArePrivate checks that only the user can read the files that a run records.
func TestConversationsArePrivate(t *testing.T) {
	dir := t.TempDir()
	old := syscall.Umask(0o022)
	defer syscall.Umask(old)
	program := `hashmap seen: HashMap<String, Int> = HashMap::new().with_persistence("store.db");
@cache(60, persist: "cache.db") fn f() -> Int { 1 }
fn main() { seen.set("a", f()); }`
	if err := os.WriteFile(filepath.Join(dir, "main.conc"), []byte(program), 0o666); err != nil {
		t.Fatal(err)
	}
	var out, errs output
	if code := run([]string{"run", "main.conc", "--trace", "trace.json", "--profile", "cpu.pprof"}, &console.Console{Stdout: &out, Stderr: &errs, Dir: dir}); code != 0 {
		t.Fatal(string(errs))
	}
	for _, name := range []string{"trace.json", "cpu.pprof", "store.db", "cache.db"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Error(name, info, err)
		}
	}
}

// output is a writer that appends the written bytes to itself.
type output []byte

func (o *output) Write(b []byte) (int, error) {
	*o = append(*o, b...)
	return len(b), nil
}
