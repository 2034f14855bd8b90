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

// Options say how to look.
type Options struct {
	Root     string // of the module
	Count    int    // how many mutants of a package, at most
	Seed     uint64
	Parallel int          // tests at once
	Only     string       // mutants whose names match this regular expression; "" means all
	Log      func(string) // is told what goes on; nil means nobody
}

// Result is what became of a package's mutants.
type Result struct {
	Target    Target
	All       int       // mutants there are
	Tried     int       // that were in the sample and compile
	Unreached []*Mutant // by no test
	Alive     []*Mutant // survivors
	LeftOut   []string  // tests that fail on the woven code as such
}

// Killed is the share, in percent, of the mutants that did not survive among
// those that a test reached.
func (r *Result) Killed() float64 {
	reached := r.Tried - len(r.Unreached)
	if reached == 0 {
		return 0
	}
	return 100 * float64(reached-len(r.Alive)) / float64(reached)
}

// Run tries a package's mutants.
func Run(t Target, o Options) (*Result, error) {
	if o.Log == nil {
		o.Log = func(string) {}
	}
	c, err := load(o.Root, t.Package)
	if err != nil {
		return nil, err
	}
	all := slices.DeleteFunc(c.find(), func(m *Mutant) bool { return isEqual(t.Package, m) })
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

// round tries mutants of one build.
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

// writeOverlay writes woven files, and the list of them for the go command's
// -overlay.
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

// suite is the tests of one package, on woven code.
type suite struct {
	binary  string
	dir     string // where the tests run
	reached map[int]bool
	leftOut []string
	cpu     int           // seconds after which a run is endless
	wall    time.Duration // after which it waits for what will never be
}

// newSuite builds a package's tests and runs them with no mutant switched on. It
// finds out which mutants they reach, how long they take, and which tests the
// weaving alone breaks, such as those that count allocations. It is nil when
// there are no tests.
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
			return nil, fmt.Errorf("the tests of %s fail on code that does the same:\n%s", pkg, text)
		}
		s.leftOut = append(s.leftOut, failed...)
	}
	return nil, fmt.Errorf("the tests of %s fail on code that does the same: %v", pkg, s.leftOut)
}

// read notes which mutants a run has reached.
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

// failedTests gives those tests that failed, the innermost.
func failedTests(output string) []string {
	var out []string
	for _, m := range failure.FindAllStringSubmatch(output, -1) {
		out = append(out, m[1])
	}
	return slices.DeleteFunc(slices.Clone(out), func(name string) bool {
		return slices.ContainsFunc(out, func(o string) bool { return strings.HasPrefix(o, name+"/") })
	})
}

// try runs the tests on each mutant that lives and is reached.
func (s *suite) try(alive []bool, parallel int, told func(i int, killed bool)) {
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
			told(i, !alive[i])
		})
	}
	wg.Wait()
}

// run runs the tests once. The shell bounds processor time and memory, as a
// mutant may compute for ever.
func (s *suite) run(variable string, args ...string) (*exec.Cmd, string) {
	args = append(args, "-test.short", "-test.timeout="+s.wall.String())
	if len(s.leftOut) > 0 {
		args = append(args, "-test.skip="+strings.Join(exact(s.leftOut), "|"))
	}
	cmd := exec.Command("sh", append([]string{"-c", fmt.Sprintf(`ulimit -t %d; ulimit -d 8388608; exec "$0" "$@"`, s.cpu), s.binary}, args...)...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), variable)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second // what a test has left running holds the pipe
	cmd.Run()                   // the state says how it went
	return cmd, out.String()
}

// exact gives the patterns of tests' names.
func exact(names []string) []string {
	var out []string
	for _, name := range names {
		out = append(out, "^"+strings.ReplaceAll(regexp.QuoteMeta(name), "/", "$/^")+"$")
	}
	return out
}
