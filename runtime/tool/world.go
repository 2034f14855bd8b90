package tool

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
)

// World is the environment of commands and HTTP requests: what a run passes to its processes. The
// zero World is that of this process.
type World struct {
	Environ []string // the run's, as "NAME=value"; nil means the process's
	// variables that contain others' keys: a command receives only those that it names
	Keys map[string]bool
	Run  *procgroup.Run // run that the commands belong to; nil means this process's
	// Executable is the path of the concerto program, used without a Run; "" for none.
	Executable string
	// Stderr receives lines of a command's standard error; nil drops them.
	Stderr func(tool, line string)
	// Secret, if not nil, receives the value of a secret variable before it is used.
	Secret func(variable, value string)
	// Test means that the run is a test, which reaches nothing outside: handlers that may do so are
	// not called.
	Test bool
	// Reach means that a test is being recorded and calls them nevertheless.
	Reach bool
	// Refused returns why an owner's tool may not access something, or "". nil permits all.
	Refused func(owner string, r Reach) string
}

// Reach is what a handler is about to use: a Command or an Address.
type Reach struct {
	Command string   // a name, or the path of a file
	Address string   // a URL
	Env     []string // variables of the run that are passed on
}

// world returns the environment of the call's handler.
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

// warn writes to the run's log.
func (c *Context) warn(format string, args ...any) {
	if c.running != nil {
		c.running.c.s.log("warn", fmt.Sprintf(format, args...))
	}
}

// runs contains the runs of this process, by executable.
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

// environ returns the run's environment.
func (w *World) environ() []string {
	if w.Environ == nil {
		return os.Environ()
	}
	return w.Environ
}

// lookupVariable returns a variable that the application set for the session, otherwise the run's.
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

// CallInfo describes a call to a handler that is not a Go function.
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

// CallInfo returns the description of the call, in a handler's Context.
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

// joined returns an environment in which each name appears once, with its last value.
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
