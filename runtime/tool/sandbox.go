package tool

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/process/sandbox"
)

// Sandbox confines a command. It is the member `sandbox` of a Command. The zero Sandbox only
// prevents the command from gaining privileges.
type Sandbox struct {
	Net *bool `json:"net"` // false means no network
	// Read and Write list files and directories. If one of the lists is not nil, the command can
	// access only the listed paths and the paths that programs need to run.
	Read       []string `json:"read"`
	Write      []string `json:"write"`       // for reading too
	CPUSeconds float64  `json:"cpu_seconds"` // of all its processes together
	MemoryMB   int64    `json:"memory_mb"`   // of all its processes together, in MiB
	FileMB     int64    `json:"file_mb"`     // size of the largest file that it may write, in MiB
	OpenFiles  int64    `json:"open_files"`  // of each process
	Processes  int64    `json:"processes"`   // at the same time
	Missing    string   `json:"missing"`     // MissingFail, MissingWarn
}

// Policies for a call whose sandbox this machine cannot enforce completely.
const (
	MissingFail = "fail" // it fails and starts nothing; the default
	MissingWarn = "warn" // it runs in the sandbox that is available, with a warning
)

// noProgram describes the missing feature if the path of the concerto program is unknown.
const noProgram = "the program concerto, which sets sandboxes up"

var landlock = sandbox.Landlock // returns the version of Landlock's ABI; replaced by tests

// restrictsFiles reports whether the sandbox restricts files.
func (s *Sandbox) restrictsFiles() bool { return s.Read != nil || s.Write != nil }

// offline reports whether the sandbox disables the network.
func (s *Sandbox) offline() bool { return s.Net != nil && !*s.Net }

// limits returns the resource limits of the sandbox, or nil if it has none.
func (s *Sandbox) limits() *procgroup.Limits {
	l := &procgroup.Limits{MemoryMB: s.MemoryMB, CPUSeconds: s.CPUSeconds, Processes: s.Processes, OpenFiles: s.OpenFiles, FileMB: s.FileMB}
	if !l.Any() {
		return nil
	}
	return l
}

// sandbox validates the member `sandbox` of a command.
func (r *rules) sandbox(s *Sandbox) {
	for at, list := range map[string][]string{"read": s.Read, "write": s.Write} {
		for i, path := range list {
			if path == "" || strings.ContainsRune(path, 0) {
				r.addProblem(fmt.Sprintf("/command/sandbox/%s/%d", at, i), "must be a path")
			}
		}
	}
	for _, n := range []struct {
		at    string
		value float64
	}{{"cpu_seconds", s.CPUSeconds}, {"memory_mb", float64(s.MemoryMB)}, {"file_mb", float64(s.FileMB)}, {"open_files", float64(s.OpenFiles)}, {"processes", float64(s.Processes)}} {
		if n.value < 0 {
			r.addProblem("/command/sandbox/"+n.at, "must be more than 0")
		}
	}
	if s.Missing == "" {
		s.Missing = MissingFail
	}
	if s.Missing != MissingFail && s.Missing != MissingWarn {
		r.addProblem("/command/sandbox/missing", "must be one of fail, warn, not %q", s.Missing)
	}
}

// Lacks returns the features that the sandbox needs and this machine lacks, or nil. run.Executable
// must be the concerto program. To check network isolation, Lacks may start it as a process of run.
func (s *Sandbox) Lacks(run *procgroup.Run) []string {
	var out []string
	if run == nil || run.Executable == "" {
		return []string{noProgram}
	}
	if s.offline() && !isolates(run) {
		out = append(out, "network namespaces")
	}
	if have := landlock(); s.restrictsFiles() && have < sandbox.LandlockNeeded {
		lack := "Landlock"
		if have > 0 {
			lack = fmt.Sprintf("version %d of Landlock's ABI (it has %d)", sandbox.LandlockNeeded, have)
		}
		out = append(out, lack)
	}
	if s.limits() != nil && runtime.GOOS != "linux" {
		out = append(out, "limits of processes")
	}
	return out
}

// Lacks returns the features that the sandbox of a tool's command needs and this machine lacks.
// fails reports whether a call of the tool then fails. lacks is nil if nothing is missing or the
// tool has no sandbox.
func Lacks(d *Definition, run *procgroup.Run) (lacks []string, fails bool) {
	if d.sandbox == nil {
		return nil, false
	}
	return d.sandbox.Lacks(run), d.sandbox.Missing == MissingFail
}

// isolated caches the results of isolates by the path of the concerto program.
var isolated sync.Map

// isolates reports whether a process can be started without a network. It tries to start one.
func isolates(run *procgroup.Run) bool {
	found, _ := isolated.LoadOrStore(run.Executable, sync.OnceValue(func() bool {
		p, err := run.Start(procgroup.Command{Name: "sandbox", Path: run.Executable, Args: sandbox.Plan{}.Command(), Isolated: true, Env: []string{}})
		if err != nil {
			return false
		}
		_ = p.Stdin.Close()
		<-p.GroupDone()
		return p.Exit().Code == 0
	}))
	return found.(func() bool)()
}

// confine applies the sandbox to a command that is about to start. If the machine lacks a feature,
// confine fails, or records the missing features if the sandbox allows that.
func (x *command) confine(c *Context, how *procgroup.Command) error {
	s := x.Sandbox
	if s == nil {
		return nil
	}
	run := c.world().commandRun()
	lacks := s.Lacks(run)
	if len(lacks) > 0 && s.Missing != MissingWarn {
		return fmt.Errorf("this machine lacks %s", strings.Join(lacks, ", and "))
	}
	if len(lacks) > 0 {
		c.recordLacks(lacks)
		x.lacking.Do(func() {
			c.warn("tool '%s' runs without a complete sandbox: this machine does not support %s", x.name, strings.Join(lacks, ", and "))
		})
	}
	if slices.Contains(lacks, noProgram) {
		how.Limits = s.limits()
		return nil
	}
	plan := sandbox.Plan{OpenFiles: uint64(s.OpenFiles), FileMB: uint64(s.FileMB), Run: append([]string{how.Path}, how.Args...)}
	if plan.Files = s.restrictsFiles() && landlock() >= sandbox.LandlockNeeded; plan.Files {
		if err := x.addFiles(&plan, how); err != nil {
			return err
		}
	}
	how.Isolated = s.offline() && isolates(run)
	if runtime.GOOS == "linux" {
		how.Limits = s.limits()
	}
	how.Path, how.Args = run.Executable, plan.Command()
	return nil
}

// requiredPaths lists the paths that programs need to run. They contain no secrets.
var requiredPaths = []string{"/usr", "/lib*", "/bin", "/etc/ld.so*"}

// addFiles adds the paths that the command may read and write to the plan.
func (x *command) addFiles(plan *sandbox.Plan, how *procgroup.Command) error {
	for _, pattern := range requiredPaths {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		plan.Read = append(plan.Read, found...)
	}
	plan.Read = append(plan.Read, filepath.Dir(how.Path), how.Dir)
	var err error
	if plan.Read, err = x.appendExisting(plan.Read, "read", x.Sandbox.Read); err != nil {
		return err
	}
	plan.Write, err = x.appendExisting([]string{os.DevNull}, "write", x.Sandbox.Write)
	return err
}

// appendExisting appends the paths of the sandbox's list key to a list. It fails if one of the
// paths does not exist.
func (x *command) appendExisting(to []string, key string, paths []string) ([]string, error) {
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			path = filepath.Join(x.dir, path)
		}
		path, err := filepath.Abs(path)
		if err == nil {
			_, err = os.Stat(path)
		}
		if err != nil {
			return nil, fmt.Errorf("the sandbox lists %s in `%s`: %w", path, key, bareError(err))
		}
		to = append(to, path)
	}
	return to, nil
}

// recordLacks adds the missing features to the metadata of the call's result.
func (c *Context) recordLacks(what []string) {
	if c.running == nil {
		return
	}
	c.running.mu.Lock()
	defer c.running.mu.Unlock()
	c.running.lacks = what
}
