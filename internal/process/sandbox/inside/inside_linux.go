// Package inside confines this process according to a sandbox.Plan and executes the command of the
// plan, if the program was started as `concerto host sandbox PLAN`. It is enough to import the
// package: it acts when it is initialised, before most of the program.
package inside

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"github.com/landlock-lsm/go-landlock/landlock"

	"github.com/concerto-lang/concerto/internal/process/sandbox"
)

func init() {
	if n := len(sandbox.Args); len(os.Args) == n+2 && os.Args[1] == sandbox.Args[0] && os.Args[2] == sandbox.Args[1] {
		os.Exit(executePlan(os.Args[n+1]))
	}
}

// executePlan executes a plan. It returns an exit code only if the execution fails or if the plan
// contains no command.
func executePlan(text string) int {
	var p sandbox.Plan
	err := json.Unmarshal([]byte(text), &p)
	if err == nil {
		runtime.LockOSThread() // the confined thread must execute the command
		err = confine(&p)
	}
	if err == nil && len(p.Run) > 0 {
		err = fmt.Errorf("cannot run %s in its sandbox: %w", p.Run[0], syscall.Exec(p.Run[0], p.Run, os.Environ()))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return sandbox.Failed
	}
	return 0
}

// noNewPrivileges is the option PR_SET_NO_NEW_PRIVS of the system call prctl.
const noNewPrivileges = 38

func confine(p *sandbox.Plan) error {
	if _, _, failed := syscall.Syscall6(syscall.SYS_PRCTL, noNewPrivileges, 1, 0, 0, 0, 0); failed != 0 {
		return fmt.Errorf("cannot disable gaining privileges: %w", failed)
	}
	if err := files(p); err != nil {
		return err
	}
	return errors.Join(limit(syscall.RLIMIT_NOFILE, p.OpenFiles), limit(syscall.RLIMIT_FSIZE, p.FileMB<<20))
}

// limit sets a resource limit of this process. The parent process could set limits only after the
// command has started.
func limit(which int, most uint64) error {
	if most == 0 {
		return nil
	}
	if err := syscall.Setrlimit(which, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
		return fmt.Errorf("cannot set its limits: %w", err)
	}
	return nil
}

func files(p *sandbox.Plan) error {
	if !p.Files {
		return nil
	}
	if have := sandbox.Landlock(); have < sandbox.LandlockNeeded {
		return fmt.Errorf("cannot restrict files: this machine has version %d of Landlock, but version %d is required", have, sandbox.LandlockNeeded)
	}
	var rules []landlock.Rule
	for _, path := range p.Read {
		rules = append(rules, rule(path, landlock.RODirs, landlock.ROFiles))
	}
	for _, path := range p.Write {
		rules = append(rules, rule(path, func(paths ...string) landlock.FSRule { return landlock.RWDirs(paths...).WithRefer() }, landlock.RWFiles))
	}
	if err := landlock.V3.RestrictPaths(rules...); err != nil {
		return fmt.Errorf("cannot restrict files: %w", err)
	}
	return nil
}

// rule returns the Landlock rule for path. It calls dirs if path is a directory, and files
// otherwise.
func rule(path string, dirs, files func(...string) landlock.FSRule) landlock.Rule {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return files(path)
	}
	return dirs(path)
}
