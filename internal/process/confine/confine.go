// Package confine starts processes in sandboxes. It determines which parts of a sandbox this
// machine can enforce, and starts the concerto program, which confines itself before it executes
// the command (package sandbox).
package confine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/process/procgroup/systems"
	"github.com/concerto-lang/concerto/internal/process/sandbox"
)

// NoProgram describes the missing feature if the path of the concerto program is unknown.
const NoProgram = "the program concerto, which sets sandboxes up"

// Features of a system that sandboxes need.
const (
	featureNetwork = "network namespaces"
	featureMounts  = "mount namespaces"
	featureLimits  = "limits of processes"
)

// Landlock returns the version of Landlock's ABI. Tests replace it.
var Landlock = sandbox.Landlock

// Check returns the features that a confinement needs and this machine lacks, and the part of the
// confinement that the machine can enforce. run.Executable must be the concerto program. To check
// namespaces, Check may start it as a process of run.
func Check(run *procgroup.Run, c sandbox.Confinement) (lacks []string, rest sandbox.Confinement) {
	if run == nil || run.Executable == "" {
		rest = sandbox.Confinement{Limits: c.Limits}
		if runtime.GOOS != "linux" {
			rest.Limits = nil
		}
		return []string{NoProgram}, rest
	}
	network := sandbox.Plan{Loopback: c.Loopback, Strip: c.Loopback}
	if c.Offline && !supports(run, procgroup.Command{Isolated: true, SetsUp: c.Loopback}, network) {
		lacks = append(lacks, featureNetwork)
		c.Offline, c.Loopback, c.Proxy = false, false, nil
	}
	if have := Landlock(); c.Files && have < sandbox.LandlockNeeded {
		lack := "Landlock"
		if have > 0 {
			lack = fmt.Sprintf("version %d of Landlock's ABI (it has %d)", sandbox.LandlockNeeded, have)
		}
		lacks = append(lacks, lack)
		c.Files = false
	}
	mounts := sandbox.Plan{Hide: true, Devices: true, Strip: true, Read: []string{"/usr"}, Write: []string{os.DevNull}}
	if c.Hidden && !supports(run, procgroup.Command{PrivateMounts: true, SetsUp: true}, mounts) {
		lacks = append(lacks, featureMounts)
		c.Hidden = false
	}
	if runtime.GOOS != "linux" && (c.Limits.Any() || c.OpenFiles > 0 || c.FileMB > 0) {
		lacks = append(lacks, featureLimits)
		c.Limits, c.OpenFiles, c.FileMB = nil, 0, 0
	}
	return lacks, c
}

// supported caches the results of supports by the path of the concerto program and the plan.
var supported sync.Map

// supports reports whether a process can be started in the namespaces of c and execute a plan. It
// tries to start one.
func supports(run *procgroup.Run, c procgroup.Command, p sandbox.Plan) bool {
	c.Name, c.Path, c.Args, c.Dir, c.Env = "sandbox", run.Executable, p.Command(), "/", []string{}
	key := strings.Join(append([]string{c.Path}, c.Args...), "\x00")
	found, _ := supported.LoadOrStore(key, sync.OnceValue(func() bool {
		started, err := run.Start(c)
		if err != nil {
			return false
		}
		waitAndClose(started)
		return started.Exit().Code == 0
	}))
	return found.(func() bool)()
}

// Wrap changes a command so that it runs confined, as far as no other process has to help it. The
// machine must be able to enforce the confinement (see Check).
func Wrap(run *procgroup.Run, c *procgroup.Command, s *sandbox.Confinement) {
	p := planOf(c, s)
	c.Limits = procgroup.Stricter(c.Limits, s.Limits)
	c.Isolated = s.Offline
	c.Path, c.Args = run.Executable, p.Command()
}

// planOf returns the plan by which the program confines itself and executes a command.
func planOf(c *procgroup.Command, s *sandbox.Confinement) sandbox.Plan {
	return sandbox.Plan{Files: s.Files, Read: s.Read, Write: s.Write, OpenFiles: uint64(s.OpenFiles), FileMB: uint64(s.FileMB),
		Run: append([]string{c.Path}, c.Args...)}
}

// requiredPaths lists the paths that programs need to run. They contain no secrets.
var requiredPaths = []string{"/usr", "/lib*", "/bin", "/etc/ld.so*"}

// RequiredPaths returns the paths that programs need to run and that exist.
func RequiredPaths() (all []string, err error) {
	for _, pattern := range requiredPaths {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// ListedPaths returns the absolute paths of the list `key` of a sandbox. Relative paths start at
// base. It fails if one of the paths does not exist.
func ListedPaths(base, key string, paths []string) (all []string, err error) {
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			path = filepath.Join(base, path)
		}
		path, err := filepath.Abs(path)
		if err == nil {
			_, err = os.Stat(path)
		}
		if err != nil {
			return nil, fmt.Errorf("the sandbox lists %s in `%s`: %w", path, key, procgroup.BareError(err))
		}
		all = append(all, path)
	}
	return all, nil
}

// Lacking returns the error for a sandbox whose features are missing.
func Lacking(features []string) error {
	if missing := systems.Missing("sandbox", runtime.GOOS); missing != "" {
		return errors.New(missing + ": run without it with `missing = \"warn\"`")
	}
	return fmt.Errorf("this machine lacks %s", Describe(features))
}

// Describe lists features for a message.
func Describe(features []string) string { return strings.Join(features, ", ") }

// IsProgramMissing reports whether the features contain NoProgram.
func IsProgramMissing(lacks []string) bool { return slices.Contains(lacks, NoProgram) }
