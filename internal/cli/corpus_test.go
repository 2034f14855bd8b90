package cli

import (
	"bytes"
	"errors"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/compile/optimize"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// corpusRun matches a line of a script that runs a source file until it exits.
var corpusRun = regexp.MustCompile(`^exec (?:exits \d )?concerto run ((?:--?[a-z-]+[ =][^ ']+ )*)([a-z_]+)\.conc((?: -- .*)?)$`)

// TestCorpus records every program of the scripts, and runs it again in one of two ways, which its
// hash selects, in a new directory: replayed from the tape, without the hosts and the files that
// the program read, or compiled with a different choice of optimisations. The output and the exit
// code must be the same in all runs. Compiled programs also print the same to standard error.
func TestCorpus(t *testing.T) {
	if randtest.Raced {
		t.Skip("the test of the scripts runs the same programs with the race detector")
	}
	scripts, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil || len(scripts) == 0 {
		t.Fatal(scripts, err)
	}
	ran := 0
	for _, path := range scripts {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		script := string(a.Comment)
		if strings.Contains(script, "\nllm ") || strings.Contains(script, "\nrecorded ") {
			continue // skip scripts with mocked model replies or with a recording
		}
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		var environ []string
		for line := range strings.Lines(script) {
			line = strings.TrimSpace(line)
			if set, ok := strings.CutPrefix(line, "env "); ok {
				environ = append(environ, set)
				continue
			}
			m := corpusRun.FindStringSubmatch(line)
			if m == nil || strings.Contains(m[1], "--share") { // hostd is the script's: without it, a warning comes before the end or not
				continue
			}
			ran++
			c := corpusCase{a, environ[:len(environ):len(environ)], strings.Fields(m[1]), m[2], strings.Fields(m[3])}
			t.Run(name+"/"+m[2], func(t *testing.T) {
				t.Parallel()
				c.test(t)
			})
		}
	}
	if ran < len(scripts)/3 {
		t.Errorf("ran %d programs of %d scripts, want at least one third", ran, len(scripts))
	}
}

func timed(a *txtar.Archive) bool {
	for _, f := range a.Files {
		if bytes.Contains(f.Data, []byte("time::sleep(")) || bytes.Contains(f.Data, []byte("\nmax_run_seconds =")) {
			return true
		}
	}
	return false
}

type corpusCase struct {
	files   *txtar.Archive
	environ []string
	flags   []string
	program string
	args    []string
}

func (c *corpusCase) test(t *testing.T) {
	dir := c.unpack(t)
	recorded := !slices.Contains(c.flags, "--journal") // the command refuses both
	args := append([]string{"run"}, c.flags...)
	if recorded {
		args = append(args, "--record", "run.tape")
	}
	args = append(append(args, c.program+".conc"), c.args...)
	live := c.run(t, dir, args...)
	// Each program is run again in one way, or at night in all.
	way := c.hash() % 2
	if (way == 0 || randtest.Night()) && !timed(c.files) { // else the order or the end depends on the clock
		c.compiled(t, live)
	}
	if recorded && (way == 1 || randtest.Night()) {
		c.replayed(t, live, dir)
	}
}

// hash returns a number that depends on the texts of the program and on how it is run.
func (c *corpusCase) hash() int {
	h := fnv.New32a()
	h.Write([]byte(strings.Join(append(slices.Clone(c.flags), c.program), " ")))
	for _, f := range c.files.Files {
		h.Write(f.Data)
	}
	return int(h.Sum32() >> 4)
}

// compiled runs the program from its IR. The compiler prints its diagnostics when it builds the IR.
func (c *corpusCase) compiled(t *testing.T, live outcome) {
	dir := c.unpack(t)
	built := c.run(t, dir, "build", c.program+".conc", "--passes", c.passes(), "-o", "compiled.conc-ir")
	if built.code != 0 {
		if built.code != live.code || built.stderr != live.stderr {
			t.Errorf("run from source (-), built (+):\n%s", cmp.Diff(live, built, cmp.AllowUnexported(outcome{})))
		}
		return
	}
	compiled := c.run(t, dir, slices.Concat([]string{"run"}, c.flags, []string{"compiled.conc-ir"}, c.args)...)
	compiled.stderr = built.stderr + compiled.stderr
	// The lines about what a host sends come when it arrives.
	if strings.Contains(live.stderr, "host '") {
		live.stderr, compiled.stderr = sortedLines(live.stderr), sortedLines(compiled.stderr)
	}
	if diff := cmp.Diff(live, compiled, cmp.AllowUnexported(outcome{})); diff != "" {
		t.Errorf("from source (-), compiled (+):\n%s", diff)
	}
}

func sortedLines(text string) string {
	return strings.Join(slices.Sorted(strings.Lines(text)), "")
}

// replayed replays the recording in dir.
func (c *corpusCase) replayed(t *testing.T, live outcome, dir string) {
	text, err := os.ReadFile(filepath.Join(dir, "run.tape"))
	if err != nil || len(text) == 0 {
		if live.code != console.ExitRefused {
			t.Errorf("the run with exit code %d recorded no tape: %v", live.code, err)
		}
		return
	}
	for _, f := range c.files.Files {
		switch filepath.Ext(f.Name) {
		case ".conc", ".toml", ".md", ".json": // the compiler reads them
		default:
			if err := os.RemoveAll(filepath.Join(dir, f.Name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	replay := c.run(t, dir, "runs", "replay", "run.tape", c.program+".conc")
	if replay.stdout != live.stdout || replay.code != live.code {
		t.Errorf("live (-), replayed (+):\n%s\ntape:\n%s", cmp.Diff(live, replay, cmp.AllowUnexported(outcome{})), text)
	}
}

// passes selects the optimisations of the compiled program by the hash of its source: none, all,
// only one, or all except one. The last three choices apply to all functions, not only to hot ones.
// Together the programs show that no optimisation changes a program's behaviour.
func (c *corpusCase) passes() string {
	n := c.hash() / 2
	name := optimize.Passes[n/4%len(optimize.Passes)].Name
	return [...]string{"none", "all", name, "-hot,-" + name}[n%4]
}

// unpack writes the archive's files to a new directory.
func (c *corpusCase) unpack(t *testing.T) string {
	dir := t.TempDir()
	for _, f := range c.files.Files {
		name := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeManifest(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// outcome is the result of a run. Parts that differ between two runs of one program are normalized:
// durations, the run's directory and id, the part of an overlong line that was received, and the
// order in which hosts exit that are stopped together.
type outcome struct {
	stdout, stderr string
	code           int
}

var corpusVaries = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`"duration_ms":\d+`), `"duration_ms":0`},
	{regexp.MustCompile(`(?m)( ends after|^done in) \d+\.\ds`), `$1 0.0s`},
	{regexp.MustCompile(`\br_[a-z0-9]{16}\b`), `RUN`},
	{regexp.MustCompile(`(?m)^(ledger: \d+ records, head )[0-9a-f]{64}$`), `${1}HASH`}, // the records have times
	{regexp.MustCompile(`\(\d+ read, at offset `), `(N read, at offset `},
}

var endedTogether = regexp.MustCompile(`(?m)(^host '.*' ends after .*, failed: cancelled\n){2,}`)

func (c *corpusCase) run(t *testing.T, dir string, args ...string) outcome {
	t.Helper()
	p := exec.Command("concerto", args...)
	p.Dir = dir
	p.Env = append(append(os.Environ(), "NO_COLOR=1", "CONCERTO_PROGRESS=none", "HOME="+dir, "XDG_STATE_HOME="), c.environ...)
	var stdout, stderr bytes.Buffer
	p.Stdout, p.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := p.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	plain := func(b bytes.Buffer) string {
		s := strings.ReplaceAll(b.String(), dir, "DIR")
		for _, v := range corpusVaries {
			s = v.what.ReplaceAllString(s, v.with)
		}
		return endedTogether.ReplaceAllStringFunc(s, func(ends string) string {
			return strings.Join(slices.Sorted(strings.Lines(ends)), "")
		})
	}
	return outcome{plain(stdout), plain(stderr), p.ProcessState.ExitCode()}
}
