// Package mock is the world of a test (spec/16-tests.md): a layer around the
// runtime that records what the test emits and prints, plays the agents and
// hosts that it mocks, gives it a clock of its own, and lets nothing reach a
// network or start a process unless the test run is live; its API promises
// nothing.
//
// A World belongs to one test. When the VM uses its Choose, a test runs the same
// way every time: requests are performed one after the other, and time passes
// only when all tasks wait.
package mock

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// Options is what a World needs.
type Options struct {
	// Live lets the test reach, in real time, the agents, hosts and other things
	// that it does not mock.
	Live bool
	// Hosts are the program's, by declaration.
	Hosts map[string]Host
	// Seed decides what the test draws of secrets.
	Seed int64
	// Tape is asked for what no mock answers; nil: there is none.
	Tape Tape
}

// Tape answers what a test asks of the world.
type Tape interface {
	// Perform gives what is on the tape for a request, or has next perform it and records
	// that, where missing things are to be recorded. found is false when neither is so.
	Perform(ctx context.Context, r effect.Request, next effect.Performer) (result effect.Result, found bool, err error)
	// Called records a call of a tool that reached outside.
	Called(r *effect.AppCall, result effect.Result)
	// Closes says whether what was not found may not be had from the world, though it needs no mock.
	Closes(effect.Request) bool
	// Why says why the last request was not found, and how to record it.
	Why() string
}

// World is what a test sees of the world. Safe for concurrent use.
type World struct {
	options Options

	mu        sync.Mutex
	agents    map[string]*agent
	hosts     map[string]*host
	exchanges map[int64]*exchange
	streams   map[int64]*stream
	opened    int64 // streams so far
	answers   map[string][]json.RawMessage
	process   process
	web       script[*effect.HTTP, effect.HTTPResponse]
	requested []httpRequest // of web
	shell     script[*effect.Command, effect.CommandOutput]
	files     map[string]*file // by cleaned path
	secrets   *rand.ChaCha8
	record    Record // but for the output
	output    []byte
	prompts   map[string][]string
	clock     clock
	left      []string // scripted by a mock that another one replaced, and not used
}

// process is what a test sees of its process; input is what is left of standard
// input.
type process struct {
	env   map[string]*effect.EnvValue
	args  []string
	input string
}

// Record is what a test put out.
type Record struct {
	Emits  []Emit
	Output string   // what it printed
	Log    []string // log lines: "warn: text"
	// Files are the paths of real files and directories that the test looked at,
	// in order, as the test named them.
	Files []string
	// Drew says that it drew random numbers, which its seed decides.
	Drew bool
}

// Emit is an emit of a test. Payload is nil when there was none.
type Emit struct {
	Channel string          `json:"channel"`
	Payload json.RawMessage `json:"payload"`
}

// New makes the world of a test.
func New(o Options) *World {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], uint64(o.Seed))
	w := &World{options: o, agents: map[string]*agent{}, hosts: map[string]*host{}, exchanges: map[int64]*exchange{}, streams: map[int64]*stream{},
		answers: map[string][]json.RawMessage{}, process: process{env: map[string]*effect.EnvValue{}}, files: map[string]*file{}, prompts: map[string][]string{},
		web: newScript[*effect.HTTP, effect.HTTPResponse](nil), shell: newScript[*effect.Command, effect.CommandOutput](lineOf),
		secrets: rand.NewChaCha8(key), clock: newClock()}
	w.web.name = w.answerTo
	return w
}

// Missing is the error of a request to something outside that the test has not
// mocked. It ends the test.
type Missing struct {
	What string // "agent `Writer`"
	Mock string // the mock to add
	Why  string // what is wrong with the test's tape; "" where it could have none
}

func (e *Missing) Error() string {
	text := fmt.Sprintf("%s has no mock: add `%s` to the test before this call, or run it with --live", e.What, e.Mock)
	if e.Why != "" {
		text += "\n" + e.Why
	}
	return text
}

// reach gives what no mock has answered: what is on the tape, or what the world gives. Where the
// test may not reach the world missing is the error; nil where it may.
func (w *World) reach(ctx context.Context, r effect.Request, next effect.Performer, missing *Missing) (effect.Result, error) {
	if w.options.Live {
		return next.Perform(ctx, r)
	}
	if t := w.options.Tape; t != nil {
		if result, found, err := t.Perform(ctx, r, next); found {
			return result, err
		}
		if missing == nil && t.Closes(r) {
			missing = &Missing{What: string(r.Kind()) + " of `" + pathOf(r) + "`", Mock: fmt.Sprintf("mock_file(%q, …)", pathOf(r))}
		}
		if missing != nil {
			missing.Why = t.Why()
		}
	}
	if missing != nil {
		return nil, missing
	}
	return next.Perform(ctx, r)
}

// Layer puts the world around next, which performs what the test may reach.
func (w *World) Layer(next effect.Performer) effect.Performer {
	return effect.PerformerFunc(func(ctx context.Context, r effect.Request) (effect.Result, error) {
		if err := ctx.Err(); err != nil && !effect.Inline(r.Kind()) && r.Kind() != effect.KindExchangeClose {
			return nil, context.Cause(ctx)
		}
		return w.perform(ctx, r, next)
	})
}

// anyTool is the number of the call that lists the tools of a server without a
// mock. The list is empty. When the model calls a tool all the same, that call
// fails for want of a mock.
const anyTool = -1

func (w *World) perform(ctx context.Context, r effect.Request, next effect.Performer) (effect.Result, error) {
	switch r := r.(type) {
	case *effect.AgentCall:
		return w.ask(ctx, r, next)
	case *effect.StreamOpen:
		return w.openStream(ctx, r, next)
	case *effect.StreamNext:
		return w.nextPiece(ctx, r, next)
	case *effect.StreamClose:
		return w.closeStream(ctx, r, next)
	case *effect.ExchangeOpen:
		return w.open(ctx, r, next)
	case *effect.ExchangeNext:
		if x := w.exchange(r.ID); x != nil {
			return x.next()
		}
		return w.hear(ctx, r, next)
	case *effect.ExchangeReply:
		if x := w.exchange(r.ID); x != nil {
			return nil, x.reply(r)
		}
		w.asked(r.ID, -1)
	case *effect.ExchangeClose:
		if x := w.exchange(r.ID); x != nil {
			x.close()
			return nil, nil
		}
	case *effect.MCPNext:
		if r.ID == anyTool {
			return &effect.MCPEvent{Kind: "result", Data: json.RawMessage(`[{"any":true}]`)}, nil
		}
	case *effect.Sleep:
		return w.sleep(ctx, r, next)
	case *effect.Clock:
		return w.now(ctx, r, next)
	case *effect.Env:
		return w.variable(ctx, r, next)
	case *effect.EnvAll:
		return w.variables(ctx, r, next)
	case *effect.Args:
		if !w.options.Live {
			return w.arguments(), nil
		}
	case *effect.Input:
		if !w.options.Live {
			return w.readInput(r), nil
		}
	case *effect.HTTP:
		return w.request(ctx, r, next)
	case *effect.Command:
		return w.run(ctx, r, next)
	case *effect.Random:
		w.drew()
	case *effect.Secret:
		if !w.options.Live {
			w.drew()
			return w.secret(r), nil
		}
	case *effect.Emit, *effect.AwaitEmit, *effect.Print, *effect.Log, *effect.Record:
		return w.recorded(r)
	case *effect.MockScript, *effect.MockNext, *effect.MockAnswer, *effect.MockEnv, *effect.MockArgs, *effect.MockInput, *effect.MockTime, *effect.MockHTTP, *effect.MockFile, *effect.MockCommand:
		return nil, w.script(r)
	}
	if res, err, ok := w.filed(ctx, r, next); ok {
		return res, err
	}
	w.looks(r)
	switch r := r.(type) {
	case *effect.MCPOpen:
		return w.call(ctx, r, next)
	case *effect.AppCall:
		return w.tool(ctx, r, next)
	}
	return w.reach(ctx, r, next, nil)
}

// call calls a function of an MCP server that is not mocked, or lists them.
func (w *World) call(ctx context.Context, r *effect.MCPOpen, next effect.Performer) (effect.Result, error) {
	result, err := w.reach(ctx, r, next, &Missing{What: "`" + r.Server + "." + r.Function() + "` of an MCP server", Mock: "mock " + r.Server + " { " + r.Function() + ": … }"})
	if _, missing := err.(*Missing); missing && r.Method == effect.MCPListTools {
		return &effect.MCPOpened{ID: anyTool}, nil
	}
	return result, err
}

// tool calls a tool of the application's. One that is a function of a program is called as such.
func (w *World) tool(ctx context.Context, r *effect.AppCall, next effect.Performer) (effect.Result, error) {
	result, err := next.Perform(ctx, r)
	x, ok := result.(*effect.AppResult)
	switch {
	case ok && x.Unplayed:
		return w.reach(ctx, r, next, &Missing{What: "the application's tool `" + r.Tool + "`", Mock: "mock_tool(\"" + r.Tool + "\", |args| …)"})
	case ok && x.Outside && w.options.Tape != nil:
		w.options.Tape.Called(r, result)
	}
	return result, err
}

func (w *World) drew() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.record.Drew = true
}

func (w *World) arguments() effect.Result {
	w.mu.Lock()
	defer w.mu.Unlock()
	return &effect.ArgsValue{Args: slices.Clone(w.process.args)}
}

// readInput reads a line of the test's standard input, or all that is left of it.
func (w *World) readInput(r *effect.Input) effect.Result {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.All {
		all := w.process.input
		w.process.input = ""
		return &effect.InputText{Text: all}
	}
	if w.process.input == "" {
		return &effect.InputText{End: true}
	}
	line, rest, _ := strings.Cut(w.process.input, "\n")
	w.process.input = rest
	return &effect.InputText{Text: strings.TrimSuffix(line, "\r")}
}

// script takes what the test scripts.
func (w *World) script(r effect.Request) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch r := r.(type) {
	case *effect.MockScript:
		if r.Host {
			return w.mockHost(r)
		}
		return w.mockAgent(r)
	case *effect.MockNext:
		if r.Host {
			return w.nextTalk(r)
		}
		return w.nextAnswer(r)
	case *effect.MockAnswer:
		w.answers[r.Channel] = append(w.answers[r.Channel], r.Value)
	case *effect.MockEnv:
		w.process.env[r.Name] = &effect.EnvValue{Value: r.Value, Set: r.Set}
	case *effect.MockArgs:
		w.process.args = r.Args
	case *effect.MockInput:
		w.process.input = r.Text
	case *effect.MockTime:
		w.clock.unix = r.Unix
	case *effect.MockHTTP:
		return w.mockHTTP(r)
	case *effect.MockCommand:
		return w.mockCommand(r)
	case *effect.MockFile:
		w.files[filepath.Clean(r.Path)] = &file{text: r.Text, missing: r.Missing}
	}
	return nil
}

func (w *World) variable(ctx context.Context, r *effect.Env, next effect.Performer) (effect.Result, error) {
	w.mu.Lock()
	v := w.process.env[r.Name]
	w.mu.Unlock()
	if v != nil {
		set := *v
		return &set, nil
	}
	return w.reach(ctx, r, next, nil)
}

// variables are the world's with what the test has set.
func (w *World) variables(ctx context.Context, r *effect.EnvAll, next effect.Performer) (effect.Result, error) {
	res, err := w.reach(ctx, r, next, nil)
	all, ok := res.(*effect.EnvVariables)
	if err != nil || !ok {
		return res, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	values := map[string]string{}
	for i, name := range all.Names {
		values[name] = all.Values[i]
	}
	for name, v := range w.process.env {
		if v.Set {
			values[name] = v.Value
		} else {
			delete(values, name)
		}
	}
	out := &effect.EnvVariables{Names: slices.Sorted(maps.Keys(values))}
	for _, name := range out.Names {
		out.Values = append(out.Values, values[name])
	}
	return out, nil
}

// secret gives bytes that are the same in every run of the test.
func (w *World) secret(r *effect.Secret) effect.Result {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := make([]byte, max(r.Bytes, 0))
	w.secrets.Read(b) // never fails
	return &effect.SecretBytes{Bytes: b}
}

// bad is what is wrong with a script: a fault of the test at its `mock`.
func bad(format string, args ...any) error { return effect.Errorf("RuntimeError", format, args...) }

// fields reads a JSON object's members, refusing those that are not known.
func fields(what string, raw json.RawMessage, known ...string) (map[string]json.RawMessage, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, bad("%s: %v", what, err)
	}
	for k := range m {
		found := false
		for _, n := range known {
			found = found || n == k
		}
		if !found {
			return nil, bad("%s has no member `%s`; it may have %s", what, k, strings.Join(known, ", "))
		}
	}
	return m, nil
}

// text reads a JSON string; ok is false for anything else.
func text(raw json.RawMessage) (s string, ok bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	return s, json.Unmarshal(raw, &s) == nil
}

// plural is "1 response", "2 responses".
func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
