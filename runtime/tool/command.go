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

// Command is a handler that is a command, without a shell around it: the member `command` of
// a tool in its full form (spec/21-application-tools.md). A call is a process; with the answer
// "lines" a process takes many.
type Command struct {
	Run       []string          `json:"run"`        // the command, a file when it has a /, and its arguments
	PassEnv   []string          `json:"pass_env"`   // variables of the session, else of the run
	Env       map[string]string `json:"env"`        // others
	Cwd       string            `json:"cwd"`        // ""; the session's
	Answer    string            `json:"answer"`     // AnswerJSON, …
	MaxOutput int               `json:"max_output"` // bytes; of AnswerLines: of a message
	Sandbox   *Sandbox          `json:"sandbox"`    // nil: it may do what this process may
}

// command is a Command of a tool.
type command struct {
	Command
	name    string
	dir     string    // where its relative paths start
	lacking sync.Once // what of its sandbox is missing is said
}

// Definition is the tool that runs the command; its relative paths start at dir. The error
// is all *DefinitionErrors that there are of the command, joined.
func (x Command) Definition(s Spec, dir string) (Definition, error) {
	d := s.With(nil)
	r := rules{d: &d}
	if len(x.Run) == 0 || x.Run[0] == "" {
		r.wrong("/command/run", "must name a command")
	}
	for i, arg := range x.Run {
		if strings.ContainsRune(arg, 0) {
			r.wrong(fmt.Sprintf("/command/run/%d", i), "must not have a NUL in it")
		}
	}
	for i, name := range x.PassEnv {
		r.variable(fmt.Sprintf("/command/pass_env/%d", i), name)
	}
	for _, name := range slices.Sorted(maps.Keys(x.Env)) {
		r.variable("/command/env/"+name, name)
		if strings.ContainsRune(x.Env[name], 0) {
			r.wrong("/command/env/"+name, "must not have a NUL in it")
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
		d.Handler, d.grace = c.call, commandGrace+procgroup.Settle
	}
	return d, errors.Join(r.errs...)
}

// start says how the command's process is started for a call. session is the environment
// that the application gave.
func (x *command) start(c *Context, session map[string]string) (procgroup.Command, error) {
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
	if err := c.may(reach); err != nil {
		return procgroup.Command{}, err
	}
	how := procgroup.Command{Name: "tool-" + x.name, Path: path, Args: x.Run[1:], Env: environ, Dir: dir, Kept: keptStderr, Grace: commandGrace}
	return how, x.confine(c, &how)
}

// environ is the environment of the command, and the names of those of its variables that
// it was passed of the run's.
func (x *command) environ(w *World, session map[string]string) (environ, of []string, err error) {
	base, _ := procgroup.Inherit{Keys: w.Keys}.Of(w.environ())
	more := map[string]string{}
	for _, name := range x.PassEnv {
		value, ofRun, err := w.given(name, session)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: pass_env names it", err)
		}
		if more[name] = value; ofRun {
			of = append(of, name)
		}
	}
	maps.Copy(more, x.Env)
	return joined(base, more), of, nil
}

// directory is where the command runs: its own, else the session's.
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
		return "", fmt.Errorf("cannot run %s in %s: %w", x.Run[0], dir, reason(err))
	case !info.IsDir():
		return "", fmt.Errorf("cannot run %s in %s: it is no directory", x.Run[0], dir)
	}
	return dir, nil
}

// reason is an error without what was tried on what.
func reason(err error) error {
	var at *os.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// UnmarshalJSON reads the full form. A member that is not known is an error.
func (x *Command) UnmarshalJSON(text []byte) error {
	type plain Command
	return strictly(text, (*plain)(x))
}

// strictly decodes an object all of whose members are known.
func strictly(text []byte, into any) error {
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("there is more behind the object")
	}
	return nil
}
