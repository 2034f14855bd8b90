package cli

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// runWithFile runs a command line in which the word FILE represents file. The working directory
// contains a program. It returns the exit code and the output.
func runWithFile(t *testing.T, command, file string) (code int, stdout, stderr string) {
	t.Helper()
	dir := t.TempDir()
	program := "fn main() { println(\"ran\"); }\n"
	if err := os.WriteFile(filepath.Join(dir, "main.conc"), []byte(program), 0o666); err != nil {
		t.Fatal(err)
	}
	var out, err bytes.Buffer
	args := strings.Fields(strings.ReplaceAll(command, "FILE", file))
	code = run(args, &console.Console{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &err, Dir: dir})
	return code, out.String(), err.String()
}

// oddFiles creates one file of each kind that is not a regular file of usual size. It returns the
// paths by kind. Each path ends in ext.
func oddFiles(t *testing.T, ext string) map[string]string {
	t.Helper()
	dir, err := os.MkdirTemp("", "odd") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := func(name string) string { return filepath.Join(dir, name+ext) }
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(syscall.Mkfifo(path("fifo"), 0o600))
	must(os.Symlink("/dev/zero", path("zero")))
	must(os.Symlink("/dev/full", path("full")))
	must(os.Symlink(path("loop"), path("loop")))
	must(os.Mkdir(path("directory"), 0o700))
	must(os.WriteFile(path("large"), nil, 0o600))
	must(os.Truncate(path("large"), 10<<30)) // sparse: it takes no space
	l, err := net.Listen("unix", path("socket"))
	must(err)
	t.Cleanup(func() { _ = l.Close() })
	all := map[string]string{"gone": path("gone")}
	for _, name := range []string{"fifo", "zero", "full", "loop", "directory", "large", "socket"} {
		all[name] = path(name)
	}
	return all
}

// TestFilesThatAreRead passes devices, FIFOs, sockets and too large files to each option that names
// an input file. The command must refuse them before the program runs, and without waiting.
func TestFilesThatAreRead(t *testing.T) {
	randtest.RacedElsewhere(t)
	const notRegular = "not a regular file"
	wants := map[string]string{"fifo": notRegular, "zero": notRegular, "full": notRegular, "socket": notRegular,
		"loop": "too many levels of symbolic links", "gone": "no such file", "large": "10240 MiB, and the limit is"}
	for command, ext := range map[string]string{
		"run FILE":                               ".conc",
		"check FILE":                             ".conc",
		"fmt FILE":                               ".conc",
		"test FILE":                              ".conc",
		"run --host-tools FILE main.conc":        ".yaml",
		"run --input @FILE main.conc":            ".json",
		"check --overlay FILE main.conc":         ".json",
		"replay FILE main.conc":                  ".tape",
		"inspect FILE":                           ".tape",
		"host replay FILE":                       ".wire",
		"tools check FILE":                       ".yaml",
		"run FILE -q":                            ".conc-ir",
		"audit verify FILE":                      ".ndjson",
		"audit show FILE":                        ".ndjson",
		"run --audit FILE main.conc":             ".ndjson",
		"run --ledger FILE main.conc":            ".ndjson",
		"run --host-tools-module FILE main.conc": ".conc",
	} {
		for kind, path := range oddFiles(t, ext) {
			want := wants[kind]
			written := strings.Contains(command, "--audit") || strings.Contains(command, "--ledger")
			switch {
			case want == "": // a directory has many names
				continue
			case kind == "gone" && written:
				continue // the command creates the missing file
			case command == "inspect FILE" && (kind == "gone" || kind == "loop"):
				want = "no such directory" // it could have been a run's
			case kind == "large" && (written || strings.HasPrefix(command, "audit")):
				want = "the line is longer than 256 MiB" // these have no limit but that of a line
			case kind == "large" && ext == ".yaml":
				want = "at most 1048576"
			}
			code, stdout, stderr := runWithFile(t, command, path)
			if wantCode := map[bool]int{false: 2, true: 76}[strings.Contains(want, "256 MiB")]; code != wantCode {
				t.Errorf("%s with FILE = %s: exit code %d, want %d\n%s", command, kind, code, wantCode, stderr)
			}
			if !strings.Contains(stderr, want) {
				t.Errorf("%s with FILE = %s: the message does not contain %q:\n%s", command, kind, want, stderr)
			}
			if strings.Contains(stdout, "ran") {
				t.Errorf("%s with FILE = %s: the program was run", command, kind)
			}
		}
	}
}

// TestFilesThatAreWritten passes special files to each option that names an output file. A device
// is accepted, a failing write is reported once, and a FIFO without a reader is refused.
func TestFilesThatAreWritten(t *testing.T) {
	odd := oddFiles(t, "")
	for command, ran := range map[string]string{
		"run --wire FILE main.conc":       "ran\n",
		"run --transcript FILE main.conc": "ran\n",
		"run --record FILE main.conc":     "ran\n",
		"run --profile FILE main.conc":    "ran\n",
		"run --trace FILE main.conc":      "ran\n",
		"build -o FILE main.conc":         "",
	} {
		if code, stdout, stderr := runWithFile(t, command, "/dev/null"); code != 0 || stdout != ran {
			t.Errorf("%s with FILE = /dev/null: exit code %d\n%s%s", command, code, stdout, stderr)
		}
		code, stdout, stderr := runWithFile(t, command, odd["full"])
		if n := strings.Count(stderr, "no space left on device"); code == 0 || n != 1 || stdout != ran {
			t.Errorf("%s with FILE = /dev/full: exit code %d, error reported %d times, want once\n%s%s", command, code, n, stdout, stderr)
		}
		code, stdout, stderr = runWithFile(t, command, odd["fifo"])
		if code != 2 || !strings.Contains(stderr, "a FIFO that no process reads") || stdout != "" {
			t.Errorf("%s with FILE = a FIFO: exit code %d\n%s%s", command, code, stdout, stderr)
		}
		for _, kind := range []string{"loop", "directory", "socket"} {
			if code, stdout, stderr := runWithFile(t, command, odd[kind]); code != 2 || stdout != "" {
				t.Errorf("%s with FILE = %s: exit code %d, want 2\n%s%s", command, kind, code, stdout, stderr)
			}
		}
	}
}

// TestManifestAndModuleAreRegular checks that a manifest or module that is not a regular file is
// refused.
func TestManifestAndModuleAreRegular(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"Concerto.toml": {"main.conc": "fn main() { println(\"ran\"); }"},
		"text.conc":     {"main.conc": "mod text;\nfn main() { println(\"ran\"); }"},
	} {
		for kind, path := range oddFiles(t, "") {
			if kind == "directory" || kind == "loop" || kind == "gone" {
				continue // these kinds are handled like a missing file
			}
			dir := t.TempDir()
			for file, text := range files {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
			var out, err bytes.Buffer
			code := run([]string{"run", "main.conc"}, &console.Console{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &err, Dir: dir})
			want := "not a regular file"
			if kind == "large" {
				want = "10240 MiB, and the limit is 64 MiB"
			}
			if code != 2 || !strings.Contains(err.String(), want) || out.Len() > 0 {
				t.Errorf("%s is replaced by %s: exit code %d\n%s%s", name, kind, code, out.String(), err.String())
			}
		}
	}
}
