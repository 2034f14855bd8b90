// Package env performs effect.Env, effect.EnvAll, effect.Args and effect.Session. It returns the
// environment variables as of the beginning of the run, the program's arguments, and the
// application's session data.
package env

import (
	"context"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/secret"
)

// Environment is the environment of a run. It is immutable and safe for concurrent use.
type Environment struct {
	// Secrets receives the values of variables whose names suggest a secret, when the program reads
	// them; it may be nil. It must be set before the first use.
	Secrets *secret.Set
	// Session is the session data of the application. It must be set before the first use.
	Session Session

	vars map[string]string
	args []string
}

// New returns an Environment for strings "NAME=value". If a name occurs several times, the last
// value is used. args are the program's arguments; bytes in them that are not valid UTF-8 are
// replaced by U+FFFD.
func New(environ, args []string) *Environment {
	e := &Environment{vars: make(map[string]string, len(environ))}
	for _, a := range args {
		e.args = append(e.args, strings.ToValidUTF8(a, "\ufffd"))
	}
	for _, kv := range environ {
		if name, v, ok := strings.Cut(kv, "="); ok {
			e.vars[name] = v
		}
	}
	return e
}

// Lookup returns a variable for the runtime itself, such as the key of a connection or a parameter
// of a host.
func (e *Environment) Lookup(name string) (value string, set bool) {
	value, set = e.vars[name]
	return value, set
}

// Perform returns a variable, all variables, the arguments or the session data. Reading a variable
// that is not valid UTF-8 is an EnvError; the list of all variables omits such a variable.
func (e *Environment) Perform(_ context.Context, r effect.Request) (effect.Result, error) {
	switch q := r.(type) {
	case *effect.Env:
		return e.readVariable(q)
	case *effect.EnvAll:
		return e.readAll(), nil
	case *effect.Args:
		return &effect.ArgsValue{Args: e.args}, nil
	case *effect.Continue: // a stored run answers the request itself
		return nil, effect.Errorf("RuntimeError", "run::continue_as_new requires a stored run: start the run with --journal DIR")
	case *effect.Session:
		s := &e.Session
		return &effect.SessionInfo{ID: s.ID, Cwd: s.Cwd, Inputs: s.Inputs, Metadata: s.Metadata, Render: s.Render}, nil
	}
	return nil, &effect.UnperformedError{Who: "the environment", Kind: r.Kind()}
}

func (e *Environment) readVariable(q *effect.Env) (effect.Result, error) {
	v, set := e.vars[q.Name]
	if !utf8.ValidString(v) {
		return nil, effect.Errorf("EnvError", "environment variable %s is not valid UTF-8", q.Name).With("name", q.Name)
	}
	e.markRead(q.Name)
	return &effect.EnvValue{Value: v, Set: set}, nil
}

// markRead records that the program has read a variable.
func (e *Environment) markRead(name string) {
	if secret.IsSecretName(name) {
		e.Secrets.Add(name, e.vars[name])
	}
}

func (e *Environment) readAll() *effect.EnvVariables {
	all := &effect.EnvVariables{}
	for _, name := range slices.Sorted(maps.Keys(e.vars)) {
		if utf8.ValidString(name + e.vars[name]) {
			e.markRead(name)
			all.Names = append(all.Names, name)
			all.Values = append(all.Values, e.vars[name])
		}
	}
	return all
}
