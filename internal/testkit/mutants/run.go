package mutants

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Options configures Run.
type Options struct {
	Root     string // root directory of the module
	Count    int    // maximum number of mutants per package
	Seed     uint64
	Parallel int          // number of parallel test runs
	Only     string       // a regular expression that selects mutants by name; "" selects all
	Log      func(string) // receives progress messages; may be nil
}

// Result is the outcome of a package's mutants.
type Result struct {
	Target    Target
	All       int       // number of all mutants of the package
	Tried     int       // number of mutants in the sample that compile
	Unreached []*Mutant // mutants that no test reaches
	Alive     []*Mutant // mutants that the tests did not detect
	LeftOut   []string  // tests that fail on the changed code without an active mutant
}

// Killed returns the percentage of the reached mutants that the tests killed.
func (r *Result) Killed() float64 {
	reached := r.Tried - len(r.Unreached)
	if reached == 0 {
		return 0
	}
	return 100 * float64(reached-len(r.Alive)) / float64(reached)
}

// Run tests a package's mutants.
func Run(t Target, o Options) (*Result, error) {
	if o.Log == nil {
		o.Log = func(string) {}
	}
	c, err := load(o.Root, t.Package)
	if err != nil {
		return nil, err
	}
	all := slices.DeleteFunc(c.findMutants(), func(m *Mutant) bool { return isEqual(t.Package, m) })
	out := &Result{Target: t, All: len(all)}
	if o.Only != "" {
		only, err := regexp.Compile(o.Only)
		if err != nil {
			return nil, err
		}
		all = slices.DeleteFunc(all, func(m *Mutant) bool { return !only.MatchString(m.String()) })
	}
	for _, round := range rounds(sample(all, o.Count, o.Seed)) {
		if err := out.round(c, round, o); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out.Alive, inText)
	slices.SortFunc(out.Unreached, inText)
	return out, nil
}

// round tests the mutants of one build.
func (r *Result) round(c *code, mutants []*Mutant, o Options) error {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	files, mutants, err := c.weave(mutants)
	if err != nil {
		return err
	}
	overlay, err := writeOverlay(dir, files)
	if err != nil {
		return err
	}
	r.Tried += len(mutants)
	alive := make([]bool, len(mutants))
	reached := make([]bool, len(mutants))
	for i := range alive {
		alive[i] = true
	}
	for _, pkg := range append([]string{r.Target.Package}, r.Target.Further...) {
		if !slices.Contains(alive, true) {
			break
		}
		s, err := newSuite(dir, overlay, pkg, o)
		if err != nil {
			return err
		}
		if s == nil {
			continue
		}
		r.LeftOut = append(r.LeftOut, s.leftOut...)
		for n := range s.reached {
			reached[n-1] = true
		}
		s.try(alive, o.Parallel, func(i int, killed bool) {
			verdict := "lives"
			if killed {
				verdict = "dies"
			}
			o.Log(fmt.Sprintf("%s, %s: %s", pkg, verdict, mutants[i]))
		})
	}
	for i, m := range mutants {
		switch {
		case !reached[i]:
			r.Unreached = append(r.Unreached, m)
		case alive[i]:
			r.Alive = append(r.Alive, m)
		}
	}
	return nil
}

// writeOverlay writes the changed files, and the file for the go command's -overlay flag that lists
// them.
func writeOverlay(dir string, files map[string][]byte) (string, error) {
	replace := map[string]string{}
	for name, text := range files {
		to := filepath.Join(dir, fmt.Sprint(len(replace), "_", filepath.Base(name)))
		if err := os.WriteFile(to, text, 0o666); err != nil {
			return "", err
		}
		replace[name] = to
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, list, 0o666)
}

// suite is the compiled tests of one package with its mutants.
type suite struct {
	binary  string
	dir     string // working directory of the tests
	reached map[int]bool
	leftOut []string
	cpu     int           // limit of processor time, in seconds
	wall    time.Duration // limit of wall time, for tests that wait forever
}

// newSuite builds a package's tests and runs them without an active mutant. This run shows which
// mutants the tests reach and how long the tests take. It also shows which tests fail on the
// changed code itself, such as those that count allocations. newSuite returns nil if there are no
// tests.
func newSuite(dir, overlay, pkg string, o Options) (*suite, error) {
	s := &suite{
		binary: filepath.Join(dir, strings.ReplaceAll(pkg, "/", "_")+".test"), dir: filepath.Join(o.Root, pkg),
		cpu: math.MaxInt32, wall: 10 * time.Minute,
	}
	if _, err := goCommand(o.Root, "test", "-c", "-vet=off", "-overlay", overlay, "-o", s.binary, "./"+path.Clean(pkg)); err != nil {
		return nil, err
	}
	if _, err := os.Stat(s.binary); err != nil {
		return nil, nil
	}
	notes := filepath.Join(dir, "reached")
	for range 5 {
		os.Remove(notes)
		start := time.Now()
		cmd, text := s.run(reachedVar+"="+notes, "-test.v")
		if cmd.ProcessState.Success() {
			used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			s.cpu = 2 + int(2*used.Seconds())
			s.wall = 20*time.Second + 4*time.Since(start)
			return s, s.read(notes)
		}
		failed := failedTests(text)
		if len(failed) == 0 {
			return nil, fmt.Errorf("the tests of %s fail without an active mutant:\n%s", pkg, text)
		}
		s.leftOut = append(s.leftOut, failed...)
	}
	return nil, fmt.Errorf("the tests of %s fail without an active mutant: %v", pkg, s.leftOut)
}

// read records the mutants that a run has reached.
func (s *suite) read(notes string) error {
	s.reached = map[int]bool{}
	text, err := os.ReadFile(notes)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	for _, line := range strings.Fields(string(text)) {
		n, err := strconv.Atoi(line)
		if err != nil {
			return err
		}
		s.reached[n] = true
	}
	return nil
}

var failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// failedTests returns the innermost failed tests.
func failedTests(output string) []string {
	var out []string
	for _, m := range failure.FindAllStringSubmatch(output, -1) {
		out = append(out, m[1])
	}
	return slices.DeleteFunc(slices.Clone(out), func(name string) bool {
		return slices.ContainsFunc(out, func(o string) bool { return strings.HasPrefix(o, name+"/") })
	})
}

// try runs the tests on each reached mutant that is still alive.
func (s *suite) try(alive []bool, parallel int, report func(i int, killed bool)) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	free := make(chan bool, max(1, parallel))
	for i := range alive {
		if !alive[i] || !s.reached[i+1] {
			continue
		}
		free <- true
		wg.Go(func() {
			defer func() { <-free }()
			cmd, _ := s.run(fmt.Sprint(activeVar, "=", i+1), "-test.failfast")
			mu.Lock()
			defer mu.Unlock()
			alive[i] = cmd.ProcessState.Success()
			report(i, !alive[i])
		})
	}
	wg.Wait()
}

// run runs the tests once. The shell limits processor time and memory, because a mutant may loop
// forever.
func (s *suite) run(variable string, args ...string) (*exec.Cmd, string) {
	args = append(args, "-test.short", "-test.timeout="+s.wall.String())
	if len(s.leftOut) > 0 {
		args = append(args, "-test.skip="+strings.Join(exactPattern(s.leftOut), "|"))
	}
	cmd := exec.Command("sh", append([]string{"-c", fmt.Sprintf(`ulimit -t %d; ulimit -d 8388608; exec "$0" "$@"`, s.cpu), s.binary}, args...)...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), variable)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second // child processes of a test may hold the pipe open
	cmd.Run()                   // the process state contains the outcome
	return cmd, out.String()
}

// exactPattern returns a pattern that matches exactly these test names.
func exactPattern(names []string) []string {
	var out []string
	for _, name := range names {
		out = append(out, "^"+strings.ReplaceAll(regexp.QuoteMeta(name), "/", "$/^")+"$")
	}
	return out
}
