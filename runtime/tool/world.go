package tool

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
)

// World is where the handlers of commands and addresses act: what a run lets its
// processes have. The zero World is that of this process.
type World struct {
	Environ []string        // the run's, as "NAME=value"; nil: the process's
	Keys    map[string]bool // the variables that hold keys of others: a command gets those that it names
	Run     *procgroup.Run  // whose processes commands are; nil: this process's
	// Executable is the file of the command concerto where there is no Run; "" for none.
	Executable string
	// Stderr takes a line that a tool's command wrote to its standard error; nil drops it.
	Stderr func(tool, line string)
	// Secret is told of the value of a variable that is a secret, before it is used; nil: nobody.
	Secret func(variable, value string)
	// Test says that the run is a test, which reaches nothing outside: handlers that may are
	// not called.
	Test bool
	// Reach says of such a run that they are called all the same, to be recorded.
	Reach bool
	// Refused says why a tool of an owner may not reach something; "" when it may. nil permits all.
	Refused func(owner string, r Reach) string
}

// Reach is what a tool's handler is about to use: one of Command and Address.
type Reach struct {
	Command string   // a name, or the path of a file
	Address string   // a URL
	Env     []string // the variables of the run that are passed on
}

// world is where the call's handler acts.
func (c *Context) world() *World {
	if c.running == nil {
		return &World{}
	}
	return &c.running.c.s.hooks.World
}

// may gives the error of what the call's handler may not reach.
func (c *Context) may(r Reach) error {
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

// warn tells whoever reads the run's log.
func (c *Context) warn(format string, args ...any) {
	if c.running != nil {
		c.running.c.s.log("warn", fmt.Sprintf(format, args...))
	}
}

// runs are those of this process, by their executables.
var runs sync.Map

// run is whose processes commands are.
func (w *World) run() *procgroup.Run {
	if w.Run != nil {
		return w.Run
	}
	r, ok := runs.Load(w.Executable)
	if !ok {
		r, _ = runs.LoadOrStore(w.Executable, &procgroup.Run{ID: procgroup.NewID(), Executable: w.Executable})
	}
	return r.(*procgroup.Run)
}

// environ is the run's environment.
func (w *World) environ() []string {
	if w.Environ == nil {
		return os.Environ()
	}
	return w.Environ
}

// given is the variable of a name that the application gave the session, else the run's.
func (w *World) given(name string, session map[string]string) (value string, ofRun bool, err error) {
	if v, ok := session[name]; ok {
		return v, false, nil
	}
	v, ok := procgroup.LookupEnv(w.environ(), name)
	if !ok {
		return "", false, fmt.Errorf("the environment variable %s is not set", name)
	}
	return v, true, nil
}

// Told is what a handler that is no Go function is told of its call.
type Told struct {
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

// Told is what others are told of the call, as JSON: in a handler's Context.
func (c *Context) Told() Told {
	t := Told{SessionID: c.SessionID, Cwd: c.Cwd, Environment: c.Environment, Metadata: c.Metadata, CallID: c.CallID, By: c.Caller, Route: c.Route}
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

// joined is an environment in which each name stands once: that of its last value.
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
