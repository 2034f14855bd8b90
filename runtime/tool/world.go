package tool

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
)

// World is the environment in which the commands and HTTP requests of tools run. The zero World
// uses the environment of this process.
type World struct {
	Environ []string // environment of the run, as "NAME=value"; nil means that of this process
	// variables that contain the keys of models and servers: a command receives only those that it
	// names in pass_env
	Keys map[string]bool
	Run  *procgroup.Run // run that the commands belong to; nil means a run of this process
	// Executable is the path of the concerto program, used if Run is nil; "" for none.
	Executable string
	// Stderr receives the lines of a command's standard error; nil drops them.
	Stderr func(tool, line string)
	// Secret receives the value of each secret variable before the value is used; nil for none.
	Secret func(variable, value string)
	// Test means that the run is a test without effects outside the process: handlers that may have
	// such effects are not called.
	Test bool
	// Reach means that a test is being recorded, so that such handlers are called.
	Reach bool
	// Refused returns the reason why the tool of an owner may not access r, or "" if it may. nil
	// permits everything.
	Refused func(owner string, r Reach) string
}

// Reach describes the access that a handler needs: either Command or Address is set.
type Reach struct {
	Command string   // name of a program, or path of a file
	Address string   // a URL
	Env     []string // names of the run's variables that are passed on
}

// world returns the World of the call's session.
func (c *Context) world() *World {
	if c.running == nil {
		return &World{}
	}
	return &c.running.c.s.hooks.World
}

// checkReach returns an error if the call's handler may not access r.
func (c *Context) checkReach(r Reach) error {
	w, owner := c.world(), ""
	if c.running != nil {
		owner = c.running.c.e.owner
	}
	if w.Refused == nil {
		return nil
	}
	if why := w.Refused(owner, r); why != "" {
		return fmt.Errorf("%s", why)
	}
	return nil
}

// warn writes a warning to the log of the run.
func (c *Context) warn(format string, args ...any) {
	if c.running != nil {
		c.running.c.s.log("warn", fmt.Sprintf(format, args...))
	}
}

// runs contains the runs that this process has created for commands, by executable.
var runs sync.Map

// commandRun returns the run that commands belong to.
func (w *World) commandRun() *procgroup.Run {
	if w.Run != nil {
		return w.Run
	}
	r, ok := runs.Load(w.Executable)
	if !ok {
		r, _ = runs.LoadOrStore(w.Executable, &procgroup.Run{ID: procgroup.NewID(), Executable: w.Executable})
	}
	return r.(*procgroup.Run)
}

// environ returns the environment of the run.
func (w *World) environ() []string {
	if w.Environ == nil {
		return os.Environ()
	}
	return w.Environ
}

// lookupVariable returns the value of a variable: the one that the application has set for the
// session, otherwise that of the run. ofRun reports whether the value is the run's.
func (w *World) lookupVariable(name string, session map[string]string) (value string, ofRun bool, err error) {
	if v, ok := session[name]; ok {
		return v, false, nil
	}
	v, ok := procgroup.LookupEnv(w.environ(), name)
	if !ok {
		return "", false, fmt.Errorf("environment variable %s is not set", name)
	}
	return v, true, nil
}

// CallInfo is the description of a call for a handler that is not a Go function.
type CallInfo struct {
	SessionID   string            `json:"session_id"`
	Cwd         string            `json:"cwd"`
	Environment map[string]string `json:"environment"`
	Metadata    map[string]any    `json:"metadata"`
	CallID      string            `json:"call_id"`
	Tool        string            `json:"tool"`
	Version     int               `json:"version"`
	By          string            `json:"by"`
	Route       string            `json:"route"`
}

// CallInfo returns the description of the call. c must be the Context of a handler.
func (c *Context) CallInfo() CallInfo {
	t := CallInfo{SessionID: c.SessionID, Cwd: c.Cwd, Environment: c.Environment, Metadata: c.Metadata, CallID: c.CallID, By: c.Caller, Route: c.Route}
	if t.Environment == nil {
		t.Environment = map[string]string{}
	}
	if t.Metadata == nil {
		t.Metadata = map[string]any{}
	}
	if c.running != nil {
		d := &c.running.c.e.def
		t.Tool, t.Version = d.Name, d.Version
	}
	return t
}

// joined returns the environment with the variables in more added. Each name appears once, with its
// last value.
func joined(environ []string, more map[string]string) []string {
	all := map[string]string{}
	for _, kv := range environ {
		for i := 1; i < len(kv); i++ {
			if kv[i] == '=' {
				all[kv[:i]] = kv[i+1:]
				break
			}
		}
	}
	maps.Copy(all, more)
	out := make([]string, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, name+"="+all[name])
	}
	return out
}
