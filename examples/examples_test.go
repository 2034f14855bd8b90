// Package examples holds programs for readers. Its test runs each of them with the real command,
// from source and compiled, and compares the output with its want.txt. No example needs a network
// or a key.
package examples_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/testkit/testproc"
)

var update = flag.Bool("update", false, "rewrite the want.txt files")

// command builds the command once.
var command = testproc.Command

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	testproc.RemoveCommand()
	os.Exit(code)
}

// TestExamples runs each folder with a want.txt. Its flags.txt lists further flags of `concerto
// run`, its env.txt required environment variables, one per line.
func TestExamples(t *testing.T) {
	var dirs []string
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Name() == "main.conc" {
			if _, apps := os.Stat(filepath.Join(filepath.Dir(path), "app.py")); apps != nil && path != fleet+"/main.conc" { // else an application runs the program, or TestFleet
				dirs = append(dirs, filepath.Dir(path))
			}
		}
		return err
	})
	if err != nil || len(dirs) == 0 {
		t.Fatal(dirs, err)
	}
	for _, dir := range dirs {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			needs(t, dir)
			flags := lines(t, dir, "flags.txt")
			got := run(t, dir, append([]string{"run"}, flags...)...)
			if *update {
				if err := os.WriteFile(filepath.Join(dir, "want.txt"), []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(read(t, dir, "want.txt"), got); diff != "" {
				t.Errorf("want.txt (-), printed (+):\n%s", diff)
			}
			compiled := temporary(t, dir)
			run(t, dir, "build", "-o", compiled)
			if diff := cmp.Diff(got, run(t, dir, append(append([]string{"run"}, flags...), compiled)...)); diff != "" {
				t.Errorf("from source (-), compiled (+):\n%s", diff)
			}
		})
	}
}

// fleet is the example that must be a repository of its own.
const fleet = "fleet"

// TestFleet runs the example fleet as its README.md describes, in a copy that is a repository. Each
// commit of its branch must pass the gate. The program and its files are those of the template.
func TestFleet(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	for _, name := range []string{"main.conc", "check.py", "NEWS.md", "shop/cart.py", "shop/receipt.py"} {
		if diff := cmp.Diff(read(t, "../internal/cli/project/templates/fleet", name), read(t, fleet, name)); diff != "" {
			t.Errorf("%s of the template (-), of the example (+):\n%s", name, diff)
		}
	}
	dir := filepath.Join(t.TempDir(), fleet)
	if err := os.CopyFS(dir, os.DirFS(fleet)); err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir() // outside the repository, which is the home directory, too
	wantCode := 1        // a change fails
	execute := func(name string, args ...string) string {
		t.Helper()
		c := exec.Command(name, args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "HOME="+dir, "CONCERTO_CACHE="+cache, "GIT_CONFIG_NOSYSTEM=1", "PYTHONDONTWRITEBYTECODE=1")
		out, err := c.CombinedOutput()
		if code := c.ProcessState.ExitCode(); code != wantCode {
			t.Fatalf("%s %s: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(".concerto\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := testproc.Repository(dir); err != nil {
		t.Fatal(err)
	}
	path, err := command()
	if err != nil {
		t.Fatal(err)
	}
	out := execute(path, "run", "--progress", "none")
	wantCode = 0
	for _, want := range []string{
		`(?m)^7 merged, 1 failed$`, `(?m)^\[resolved\] (opening|returns): NEWS.md$`, `(?m)^\[question\] Is shipping free for large orders\? Yes, above 50.$`,
		`(?m)^\[failed\] (shipping|rename): conflicts with (rename|shipping): `, `(?m)^\[host:decided\] \w+: allowed: Edit: shop/cart.py$`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("the output does not match %s:\n%s", want, out)
		}
	}
	if status := execute("git", "status", "--porcelain"); status != "" {
		t.Errorf("git status: %s", status)
	}
	for commit := range strings.FieldsSeq(execute("git", "rev-list", "--first-parent", "main")) {
		execute("git", "checkout", "-q", commit)
		execute("python3", "check.py")
	}
}

// TestFleetOutside checks that the example fleet does not work in a repository that it is only a
// part of, and leaves nothing there.
func TestFleetOutside(t *testing.T) {
	t.Parallel()
	path, err := command()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	inside := filepath.Join(dir, "examples", fleet)
	if err := os.CopyFS(inside, os.DirFS(fleet)); err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) string {
		t.Helper()
		c := exec.Command("git", args...)
		c.Dir = dir
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
		return string(out)
	}
	if err := testproc.Repository(dir); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(path, "run", "-q")
	c.Dir = inside
	out, err := c.CombinedOutput()
	if n := strings.Count(string(out), "[failed] "); c.ProcessState.ExitCode() != 1 || n != 8 || !strings.Contains(string(out), "test -e .git") {
		t.Errorf("run: %v, want eight tasks without a workspace:\n%s", err, out)
	}
	if got := git("worktree", "list") + git("branch", "--list", "concerto/*"); strings.Count(got, "\n") != 1 {
		t.Errorf("worktrees and branches = %s, want only the checkout", got)
	}
	if log := git("log", "--oneline"); strings.Count(log, "\n") != 1 {
		t.Errorf("commits = %s, want the first one", log)
	}
}

// TestApplications runs the applications of service in each language. It checks that they all print
// the same output.
func TestApplications(t *testing.T) {
	for app, interpreter := range map[string]string{"app.py": "python3", "app.mjs": "node"} {
		t.Run(app, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(interpreter); err != nil {
				t.Skipf("%s is not installed", interpreter)
			}
			path, err := command()
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
			defer cancel()
			c := exec.CommandContext(ctx, interpreter, app)
			c.Dir = "service"
			c.Env = append(os.Environ(), "CONCERTO="+path, "PYTHONPATH=../../sdk/python", "PYTHONDONTWRITEBYTECODE=1")
			var stderr bytes.Buffer
			c.Stderr = &stderr
			got, err := c.Output()
			if err != nil || stderr.Len() > 0 {
				t.Errorf("the application failed: %v\n%s", err, stderr.String())
			}
			if diff := cmp.Diff(read(t, "service", "want.txt"), string(got)); diff != "" {
				t.Errorf("want.txt (-), printed (+):\n%s", diff)
			}
		})
	}
}

// TestImmutableContext checks the program of seeds/004_typed in the variant without `mut` that its
// document prints. The program assigns to an immutable variable. The compiler must report only that
// error, with a hint that suggests `let mut`.
func TestImmutableContext(t *testing.T) {
	path, err := command()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	text := read(t, "seeds/004_typed", "main.conc")
	printed := strings.Replace(text, "let mut context", "let context", 1)
	if printed == text {
		t.Fatal("seeds/004_typed has no `let mut context`")
	}
	for name, text := range map[string]string{"main.conc": printed, "Concerto.toml": read(t, "seeds/004_typed", "Concerto.toml")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command(path, "check")
	c.Dir = dir
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 {
		t.Fatalf("concerto check: error %v, want exit code 2; output:\n%s", err, out)
	}
	if n := strings.Count(string(out), ": error["); n != 1 || !strings.Contains(string(out), "let mut context") {
		t.Errorf("concerto check reports %d errors, want 1 that suggests `let mut context`:\n%s", n, out)
	}
}

// needs skips an example whose host's interpreter is not installed.
func needs(t *testing.T, dir string) {
	for _, m := range regexp.MustCompile(`(?m)^command = "(.*)"$`).FindAllStringSubmatch(read(t, dir, "Concerto.toml"), -1) {
		if _, err := exec.LookPath(m[1]); err != nil {
			t.Skipf("%s is not installed", m[1])
		}
	}
}

// Output that differs between runs: duration matches a field of every listen and pipeline event,
// and whereabouts matches fields of every question about a tool.
var (
	duration    = regexp.MustCompile(`"duration_ms":\d+`)
	whereabouts = regexp.MustCompile(`"(call_id|session_id|cwd)":"[^"]*"`)
)

// run runs the command in dir and returns its standard output, with every duration replaced by 0
// and whereabouts by dots.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	path, err := command()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, path, args...)
	c.Dir = dir
	c.Env = append(append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(filepath.Dir(path), "state")), lines(t, dir, "env.txt")...)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil {
		t.Fatalf("concerto %s: %s\n%s%s", strings.Join(args, " "), err, stdout.String(), stderr.String())
	}
	if strings.Contains(stderr.String(), diag.Unoptimised.Code) {
		t.Errorf("concerto %s: %s", strings.Join(args, " "), stderr.String())
	}
	return whereabouts.ReplaceAllString(duration.ReplaceAllString(stdout.String(), `"duration_ms":0`), `"$1":"…"`)
}

// temporary returns the name of a new file in dir for a compiled program. The file must be in dir
// because the program's relative paths start at its manifest.
func temporary(t *testing.T, dir string) string {
	f, err := os.CreateTemp(dir, "*.conc-ir")
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	t.Cleanup(func() { os.Remove(f.Name()) })
	return filepath.Base(f.Name())
}

func read(t *testing.T, dir, name string) string {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}

func lines(t *testing.T, dir, name string) []string { return strings.Fields(read(t, dir, name)) }
