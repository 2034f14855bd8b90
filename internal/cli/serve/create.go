package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/record/otlp"
	"github.com/concerto-lang/concerto/runtime/tool"
)

type creating struct {
	Program struct {
		Path   *string         `json:"path,omitempty"`
		Source *string         `json:"source,omitempty"`
		IR     json.RawMessage `json:"ir,omitempty"`
	} `json:"program"`
	Inputs      json.RawMessage   `json:"inputs,omitempty"`
	Args        []string          `json:"args,omitempty"`
	Cwd         *string           `json:"cwd,omitempty"`
	Environment map[string]string `json:"environment,omitempty"`
	Metadata    map[string]any    `json:"metadata,omitempty"`
	// the trace that the session continues, as in the headers of these names
	Traceparent string `json:"traceparent,omitempty"`
	Tracestate  string `json:"tracestate,omitempty"`
	Budget      struct {
		RunSeconds float64 `json:"max_run_seconds,omitempty" min:"0"`
		Tokens     int64   `json:"max_tokens,omitempty" min:"0"`
		CostUSD    float64 `json:"max_cost_usd,omitempty" min:"0"`
		ToolCalls  int64   `json:"max_tool_calls,omitempty" min:"0"`
	} `json:"budget,omitempty"`
	Tools     json.RawMessage `json:"tools,omitempty"`
	Subscribe *bool           `json:"subscribe,omitempty"`
	LingerS   json.RawMessage `json:"linger_s,omitempty"`
}

// created is the result of sessions/create.
type created struct {
	SessionID string `json:"session_id"`
	State     string `json:"state"`
	Cursor    int64  `json:"cursor"`
}

// defaultLinger is the default time for which a session continues after its client has
// disconnected.
const defaultLinger = 60 * time.Second

// createSession compiles a program and starts it.
func createSession(r *request, p *creating) (any, error) {
	if r.srv.Stopping() {
		return nil, errStopping()
	}
	if len(p.Inputs) > 0 {
		if err := engine.CheckInputs(p.Inputs); err != nil {
			return nil, badParam("inputs", "%v", err)
		}
	}
	linger, lerr := p.linger()
	sees, serr := p.toolFilter()
	if err := cmpErr(lerr, serr); err != nil {
		return nil, err
	}
	o, err := r.options(p)
	if err != nil {
		return nil, err
	}
	program, err := r.program(p, &o)
	if err != nil {
		return nil, err
	}
	s := &session{srv: r.srv, id: o.Session.SessionID, creator: r.client, program: p.named(), does: work{program, o}, linger: linger, created: time.Now(),
		metadata: p.Metadata, ended: make(chan struct{}), log: eventLog{first: 1}, changed: make(chan struct{}), subs: map[*client]*subscription{},
		state: stateBody{State: stateRunning}}
	if s.metadata == nil {
		s.metadata = map[string]any{}
	}
	s.ctx, s.stop = context.WithCancelCause(context.Background())
	o.Service = &engine.Service{OnEvent: s.handleEvent, Answer: s.answer, Sees: sees, Budget: engine.Budget(p.Budget), Began: func(x engine.Running) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.running = x
	}}
	s.does.options = o
	if err := r.srv.add(s); err != nil {
		s.stop(nil)
		return nil, err
	}
	r.after = append(r.after, func() {
		if p.Subscribe == nil || *p.Subscribe {
			s.subscribe(r.client, 0, false)
		}
		go s.play()
	})
	return created{s.id, stateRunning, 0}, nil
}

func cmpErr(errs ...*Error) *Error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// linger returns the time for which the session continues after its client has disconnected. It
// returns nil if the session continues without a limit.
func (p *creating) linger() (*time.Duration, *Error) {
	const most = 365 * 24 * 3600
	seconds := defaultLinger.Seconds()
	switch text := string(p.LingerS); text {
	case "":
	case "null":
		return nil, nil
	default:
		if err := json.Unmarshal(p.LingerS, &seconds); err != nil || seconds < 0 || seconds > most {
			return nil, badParam("linger_s", "expected a number of seconds or null, got %s", text)
		}
	}
	d := time.Duration(seconds * float64(time.Second))
	return &d, nil
}

// toolFilter returns a function that reports whether the session may use a tool of the application.
// It returns nil if all tools may be used.
func (p *creating) toolFilter() (func(*tool.Definition) bool, *Error) {
	var all bool
	var words []string
	switch {
	case p.Tools == nil || json.Unmarshal(p.Tools, &all) == nil && all:
		return nil, nil
	case json.Unmarshal(p.Tools, &all) == nil && string(p.Tools) != "null":
		return func(*tool.Definition) bool { return false }, nil
	case json.Unmarshal(p.Tools, &words) != nil || words == nil:
		return nil, badParam("tools", "expected boolean or array of names, got %s", p.Tools)
	}
	only, err := tool.Only(words...)
	if err != nil {
		return nil, badParam("tools", "%v", err)
	}
	return only.Has, nil
}

// options returns the options of the session's run.
func (r *request) options(p *creating) (engine.Options, *Error) {
	c := &r.srv.config
	o := engine.Options{Tools: c.Tools, Args: p.Args, Inputs: p.Inputs, Executable: c.Executable, LogLevel: c.LogLevel, Kill: c.Kill, WorkDir: c.Roots[0],
		Session: tool.Context{SessionID: procgroup.NewID(), Caller: r.client.owner(), Environment: p.Environment, Metadata: p.Metadata, Render: r.client.render}}
	o.Records.Audit, o.Records.Telemetry, o.Records.LiveDir = c.Audit, c.Telemetry, c.LiveDir
	if p.Traceparent != "" {
		parent, ok := otlp.ParseContext(p.Traceparent, p.Tracestate)
		if !ok {
			return o, badParam("traceparent", "expected a traceparent such as 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
		}
		o.Records.TraceParent = parent
	}
	if p.Cwd != nil {
		at, err := c.below("cwd", *p.Cwd)
		if err != nil {
			return o, err
		}
		if info, err := os.Stat(at); err != nil || !info.IsDir() {
			return o, badParam("cwd", "no such directory: %s", *p.Cwd)
		}
		o.WorkDir = at
	}
	o.Session.Cwd = o.WorkDir
	environ, err := r.environ(p)
	o.Environ = environ
	return o, err
}

// environ returns the environment of the program. It consists of the permitted variables of the
// server and of the client's variables.
func (r *request) environ(p *creating) ([]string, *Error) {
	c := &r.srv.config
	environ := c.Environ
	if r.http && p.Program.Path == nil {
		environ = nil
		for _, kv := range c.Environ {
			if name, _, _ := strings.Cut(kv, "="); slices.Contains(c.PassEnv, name) {
				environ = append(environ, kv)
			}
		}
	}
	environ = slices.Clone(environ)
	for _, name := range slices.Sorted(maps.Keys(p.Environment)) {
		path := "environment." + name
		v := p.Environment[name]
		switch passed, _ := (procgroup.Inherit{}).Of([]string{name + "=" + v}); {
		case name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(v, 0):
			return nil, badParam(path, "invalid environment variable")
		case r.http && !c.Source && len(passed) > 0:
			return nil, badParam(path, "over HTTP, setting the environment requires a server with --allow-source")
		}
		environ = append(environ, name+"="+v)
	}
	return environ, nil
}

// named returns the program in the form that descriptions of the session contain.
func (p *creating) named() json.RawMessage {
	switch {
	case p.Program.Path != nil:
		return encode(map[string]string{"path": *p.Program.Path})
	case p.Program.Source != nil:
		return json.RawMessage(`{"source":"` + sourceName + `"}`)
	}
	return json.RawMessage(`{"ir":"` + irName + `"}`)
}

// Names for programs that have no file.
const (
	sourceName = "main.conc"
	irName     = "main.conc-ir"
)

// program compiles or loads the program.
func (r *request) program(p *creating, o *engine.Options) (*engine.Program, *Error) {
	sources := 0
	for _, there := range []bool{p.Program.Path != nil, p.Program.Source != nil, p.Program.IR != nil} {
		if there {
			sources++
		}
	}
	switch {
	case sources != 1:
		return nil, badParam("program", "expected exactly one of path, source and ir, got %d", sources)
	case p.Program.Path == nil && r.http && !r.srv.config.Source:
		return nil, failure(codeSource, "over HTTP, source and ir require a server with --allow-source")
	case p.Program.Path != nil:
		return r.atPath(*p.Program.Path, o)
	case p.Program.Source != nil:
		o.Dir = o.WorkDir
		return compile(driver.Request{Dir: o.WorkDir, Programs: r.srv.config.Programs, Inline: &driver.Inline{Name: sourceName, Text: []byte(*p.Program.Source)}})
	}
	o.Dir = o.WorkDir
	return load("program.ir", p.Program.IR)
}

func (r *request) atPath(path string, o *engine.Options) (*engine.Program, *Error) {
	c := &r.srv.config
	at, err := c.below("program.path", path)
	if err != nil {
		return nil, err
	}
	if filepath.Ext(at) == driver.IRExt {
		text, rerr := userfile.Read(at, userfile.MaxRecording)
		if rerr != nil {
			return nil, badParam("program.path", "%v", unwrap(rerr))
		}
		o.Dir = filepath.Dir(at)
		return load("program.path", text)
	}
	return compile(driver.Request{Path: path, Dir: c.Roots[0], Programs: c.Programs})
}

func unwrap(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// compile compiles a program. If there are errors, the returned error's data contains the
// diagnostics.
func compile(s driver.Request) (*engine.Program, *Error) {
	program, found, err := engine.CompileSource(s)
	var path *driver.PathError
	switch {
	case errors.As(err, &path):
		return nil, badParam("program.path", "%v", path)
	case err != nil:
		return nil, badParam("program", "%v", err)
	case program != nil:
		return program, nil
	}
	var b bytes.Buffer
	if err := diag.JSON(&b, found.Sorted()); err != nil {
		return nil, failure(codeInternal, "%v", err)
	}
	return nil, failure(codeCompile, "the program does not compile").with("diagnostics", json.RawMessage(b.Bytes()))
}

// load loads a compiled program.
func load(path string, text []byte) (*engine.Program, *Error) {
	program, err := engine.Load(text)
	if err != nil {
		return nil, &Error{codeCompile, fmt.Sprintf("%s: %v", path, err), json.RawMessage(`{"diagnostics":[]}`)}
	}
	return program, nil
}

// below resolves the links of the path that the parameter param contains. It returns an error
// unless the path is inside one of the roots.
func (c *Config) below(param, path string) (string, *Error) {
	if path == "" || strings.ContainsRune(path, 0) {
		return "", badParam(param, "expected a path, got %q", path)
	}
	full := path
	if !filepath.IsAbs(full) {
		full = filepath.Join(c.Roots[0], full)
	}
	real, err := filepath.EvalSymlinks(full)
	outside := failure(codePath, "%s: %s is not in a --root of the server", param, path)
	if err != nil {
		// A missing file inside the roots is reported as missing. Outside the roots, the error does
		// not reveal whether the file exists.
		if !c.within(filepath.Clean(full)) {
			return "", outside
		}
		return "", badParam(param, "%s: %v", path, unwrap(err))
	}
	if !c.within(real) {
		return "", outside
	}
	return real, nil
}

func (c *Config) within(path string) bool {
	return slices.ContainsFunc(c.Roots, func(root string) bool {
		rel, err := filepath.Rel(root, path)
		return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
	})
}
