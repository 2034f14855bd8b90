package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
)

// Command is a handler that runs a command without a shell. It is the member `command` of a tool's
// full form (spec/21-application-tools.md). Each call starts a process. With the answer form
// "lines", one process serves many calls.
type Command struct {
	// program, a path if it contains a slash, and its arguments
	Run       []string          `json:"run"`
	PassEnv   []string          `json:"pass_env"`   // variables of the session, otherwise of the run
	Env       map[string]string `json:"env"`        // additional variables
	Cwd       string            `json:"cwd"`        // "" means the session's
	Answer    string            `json:"answer"`     // AnswerJSON, …
	MaxOutput int               `json:"max_output"` // bytes of the output; for AnswerLines of a message
	Sandbox   *Sandbox          `json:"sandbox"`    // nil means the permissions of this process
}

// command is the handler of a tool with a Command.
type command struct {
	Command
	name    string
	dir     string    // directory against which relative paths are resolved
	lacking sync.Once // limits the warning about an incomplete sandbox to one
}

// Definition returns the tool that runs the command. Relative paths are relative to dir. The error
// joins all *DefinitionErrors in the command.
func (x Command) Definition(s Spec, dir string) (Definition, error) {
	d := s.With(nil)
	r := rules{d: &d}
	if len(x.Run) == 0 || x.Run[0] == "" {
		r.addProblem("/command/run", "must contain a command")
	}
	for i, arg := range x.Run {
		if strings.ContainsRune(arg, 0) {
			r.addProblem(fmt.Sprintf("/command/run/%d", i), "must not contain NUL")
		}
	}
	for i, name := range x.PassEnv {
		r.checkVariable(fmt.Sprintf("/command/pass_env/%d", i), name)
	}
	for _, name := range slices.Sorted(maps.Keys(x.Env)) {
		r.checkVariable("/command/env/"+name, name)
		if strings.ContainsRune(x.Env[name], 0) {
			r.addProblem("/command/env/"+name, "must not contain NUL")
		}
	}
	r.form("/command/answer", &x.Answer, AnswerJSON, AnswerText, AnswerLines)
	r.most("/command/max_output", &x.MaxOutput)
	if x.Sandbox != nil {
		own := *x.Sandbox
		r.sandbox(&own)
		x.Sandbox, d.sandbox = &own, &own
	}
	c := &command{Command: x, name: s.Name, dir: dir}
	if x.Answer == AnswerLines {
		c.stay(&d)
	} else {
		d.Handler, d.grace = c.runCommand, commandGrace+procgroup.Settle
	}
	return d, errors.Join(r.errs...)
}

// startCommand returns the process configuration for a call. session contains the environment
// variables that the application has set.
func (x *command) startCommand(c *Context, session map[string]string) (procgroup.Command, error) {
	w := c.world()
	environ, of, err := x.environ(w, session)
	if err != nil {
		return procgroup.Command{}, err
	}
	dir, err := x.directory(c)
	if err != nil {
		return procgroup.Command{}, err
	}
	base := x.dir
	if base == "" {
		base = dir
	}
	path, err := procgroup.Find(x.Run[0], base, environ)
	if err != nil {
		return procgroup.Command{}, fmt.Errorf("cannot run %s: %s", x.Run[0], procgroup.WhyNot(err))
	}
	reach := Reach{Command: x.Run[0], Env: of}
	if strings.ContainsRune(reach.Command, '/') {
		reach.Command = path
	}
	if err := c.checkReach(reach); err != nil {
		return procgroup.Command{}, err
	}
	how := procgroup.Command{Name: "tool-" + x.name, Path: path, Args: x.Run[1:], Env: environ, Dir: dir, StderrLimit: stderrLimit, Grace: commandGrace}
	return how, x.confine(c, &how)
}

// environ returns the command's environment, and the names of the run's variables in it.
func (x *command) environ(w *World, session map[string]string) (environ, of []string, err error) {
	base, _ := procgroup.Inherit{Keys: w.Keys}.Of(w.environ())
	more := map[string]string{}
	for _, name := range x.PassEnv {
		value, ofRun, err := w.lookupVariable(name, session)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: it is listed in pass_env", err)
		}
		if more[name] = value; ofRun {
			of = append(of, name)
		}
	}
	maps.Copy(more, x.Env)
	return joined(base, more), of, nil
}

// directory returns the command's working directory: the one in the definition, or that of the
// session.
func (x *command) directory(c *Context) (string, error) {
	dir := c.Cwd
	if x.Cwd != "" {
		if dir = x.Cwd; !filepath.IsAbs(dir) {
			dir = filepath.Join(x.dir, dir)
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	switch info, err := os.Stat(dir); {
	case err != nil:
		return "", fmt.Errorf("cannot run %s in %s: %w", x.Run[0], dir, procgroup.BareError(err))
	case !info.IsDir():
		return "", fmt.Errorf("cannot run %s in %s: it is not a directory", x.Run[0], dir)
	}
	return dir, nil
}

// UnmarshalJSON parses the full form. It returns an error for an unknown member.
func (x *Command) UnmarshalJSON(text []byte) error {
	type plain Command
	return strictly(text, (*plain)(x))
}

// strictly decodes an object and returns an error for an unknown member.
func strictly(text []byte, into any) error {
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("there is more after the object")
	}
	return nil
}
