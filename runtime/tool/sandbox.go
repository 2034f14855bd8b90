package tool

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/concerto-lang/concerto/internal/process/confine"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/process/sandbox"
)

// Sandbox confines a command. It is the member `sandbox` of a Command. The zero Sandbox only
// prevents the command from gaining privileges.
type Sandbox struct {
	Net *bool `json:"net"` // false means no network
	sandbox.Settings
}

// offline reports whether the sandbox disables the network.
func (s *Sandbox) offline() bool { return s.Net != nil && !*s.Net }

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
		s.Missing = sandbox.MissingFail
	}
	if s.Missing != sandbox.MissingFail && s.Missing != sandbox.MissingWarn {
		r.addProblem("/command/sandbox/missing", "must be one of fail, warn, not %q", s.Missing)
	}
}

// confinement returns the confinement that the sandbox requires, without the paths.
func (s *Sandbox) confinement() sandbox.Confinement {
	return sandbox.Confinement{Files: s.RestrictsFiles(), Offline: s.offline(), OpenFiles: s.OpenFiles, FileMB: s.FileMB, Limits: s.Limits()}
}

// Lacks returns the features that the sandbox needs and this machine lacks, or nil. run.Executable
// must be the concerto program. To check network isolation, Lacks may start it as a process of run.
func (s *Sandbox) Lacks(run *procgroup.Run) []string {
	lacks, _ := confine.Check(run, s.confinement())
	return lacks
}

// Lacks returns the features that the sandbox of a tool's command needs and this machine lacks.
// fails reports whether a call of the tool then fails. lacks is nil if nothing is missing or the
// tool has no sandbox.
func Lacks(d *Definition, run *procgroup.Run) (lacks []string, fails bool) {
	if d.sandbox == nil {
		return nil, false
	}
	return d.sandbox.Lacks(run), d.sandbox.Missing == sandbox.MissingFail
}

// confine applies the sandbox to a command that is about to start. If the machine lacks a feature,
// confine fails, or records the missing features if the sandbox allows that.
func (x *command) confine(c *Context, how *procgroup.Command) error {
	s := x.Sandbox
	if s == nil {
		return nil
	}
	run := c.world().commandRun()
	lacks, rest := confine.Check(run, s.confinement())
	if len(lacks) > 0 && s.Missing != sandbox.MissingWarn {
		return confine.Lacking(lacks)
	}
	if len(lacks) > 0 {
		c.recordLacks(lacks)
		x.lacking.Do(func() {
			c.warn("tool '%s' runs without a complete sandbox: this machine does not support %s", x.name, confine.Describe(lacks))
		})
	}
	if confine.IsProgramMissing(lacks) {
		how.Limits = rest.Limits
		return nil
	}
	if rest.Files {
		if err := x.addFiles(&rest, how); err != nil {
			return err
		}
	}
	confine.Wrap(run, how, &rest)
	return nil
}

// addFiles adds the paths that the command may read and write.
func (x *command) addFiles(to *sandbox.Confinement, how *procgroup.Command) (err error) {
	if to.Read, err = confine.RequiredPaths(); err != nil {
		return err
	}
	read, err := confine.ListedPaths(x.dir, "read", x.Sandbox.Read)
	if err != nil {
		return err
	}
	write, err := confine.ListedPaths(x.dir, "write", x.Sandbox.Write)
	to.Read = append(append(to.Read, filepath.Dir(how.Path), how.Dir), read...)
	to.Write = append([]string{os.DevNull}, write...)
	return err
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
